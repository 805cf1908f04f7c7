/* SPDX-License-Identifier: MIT */
/* cli/message.h - messages on stderr, as text or as JSON.
 *
 * While a command runs under a lock, nothing here may keep the wrapper from stopping it
 * in time: a stderr that takes nothing (a stopped pager, a terminal held by Ctrl-S) costs
 * a line, not the deadline. Thread: any. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* "dibs: <text>\n". After message_use_json() each message is an object on a line of its own:
 * "v", "event" (notice, warning, error), "text", "time" and what is known of message_facts. */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, unless -q. */
void say_softly(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_be_quiet(bool is_quiet);
void message_use_json(void);

/* A warning of the library, unless -q. */
void say_warning(const char *text);

/* What a program that reads messages goes by; NULL and 0: not known. Texts are borrowed. */
typedef struct message_facts {
  int code;              /* the exit status of dibs, which ends with it; 0: dibs goes on */
  const char *status;    /* DIBS_BUSY */
  const char *name;      /* the lock, as it was given */
  const char *server;    /* HOST:PORT */
} message_facts;

/* An error; returns the code. */
int say_fault(const message_facts *facts, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* The error that errno has, after `what` could not be done; returns CODE_INTERNAL. */
int say_system(const char *what);

/* Returns CODE_INTERNAL. */
int say_no_memory(void);

/* Writes a JSON event with its time, and drops it. */
void json_say(json_t *object);

/* Says what is wrong with the usage, and where help is; returns CODE_USAGE. */
int say_usage(const char *subcommand, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* Draws lines that the next live_show() replaces; "" removes them. Only for terminals.
 * say() removes them first. */
void live_show(const char *const *lines, size_t count);
void live_clear(void);

/* The width of the terminal `fd`, 80 where that is not known; 0: not a terminal. */
size_t terminal_columns_of(int fd);
/* Whether it is a terminal whose lines can be erased: not one that TERM calls dumb, or nothing. */
bool terminal_erases(int fd);

/* ---- printable.c ---- */

/* What terminals may get of a text that came from elsewhere: control characters, broken UTF-8, and
 * marks of direction or without width become \xHH, so that two names do not look the same. Cuts to
 * ret_size. Returns ret_text. */
const char *printable(const char *text, char *ret_text, size_t ret_size);
const char *printable_bytes(const char *bytes, size_t size, char *ret_text, size_t ret_size);

/* The columns of a terminal that `text` takes, and the bytes at its start that take at most
 * `columns`. */
size_t printable_width(const char *text);
size_t printable_cut(const char *text, size_t columns);

/* Those of one UTF-8 character: a watch_cells. */
size_t printable_cells(const char *character, size_t size);

#endif
