/* SPDX-License-Identifier: MIT */
/* cli/screen.h - the terminal as a screen of cells, and its keys. By ncursesw, or not at all
 * (screen_none.c). While it is open, what is written to stderr is kept and read as messages.
 *
 * Thread: one; once in a process. */
#ifndef CLI_SCREEN_H
#define CLI_SCREEN_H

#include <stdbool.h>
#include <stddef.h>

#include "watch/top.h"

/* Why there can be no screen, "": stdin or stdout is no terminal. NULL: there may be one. */
const char *screen_hindrance(void);

/* false: the terminal cannot move its cursor, or is not known. */
bool screen_open(void);

/* The terminal as it was, and the messages that were not read. Copes with one that is not open. */
void screen_close(void);

/* For a stop: the terminal as it was; and the screen again. */
void screen_leave(void);
void screen_enter(void);

void screen_size(size_t *ret_lines, size_t *ret_columns);
void screen_begin(void);
void screen_put(const top_cell *cell, void *data);   /* a top_put */
void screen_show(void);

/* The next key that was typed, as top_screen_key() takes it; false: there is none. */
bool screen_key(int *ret_key);

/* The next line that was written to stderr, without "dibs: "; false: there is none. */
bool screen_message(char *ret_text, size_t size);

#endif
