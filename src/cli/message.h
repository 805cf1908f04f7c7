/* SPDX-License-Identifier: MIT */
/* cli/message.h - words for people, on stderr.
 *
 * While a command runs under a lock, nothing here may keep the wrapper from stopping it
 * in time: a stderr that takes nothing (a stopped pager, a terminal held by Ctrl-S) costs
 * a line, not the deadline. Thread: any. */
#ifndef CLI_MESSAGE_H
#define CLI_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

/* "dibs: <words>\n". */
void say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, unless -q. */
void say_softly(const char *format, ...) __attribute__((format(printf, 1, 2)));
void message_be_quiet(bool is_quiet);

/* Writes one line as it is (JSON events). */
void say_raw(const char *line);

/* Says what is wrong with the usage, and where help is; returns CODE_USAGE. */
int say_usage(const char *subcommand, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* Draws lines that the next live_show() replaces; "" removes them. Only for terminals.
 * say() removes them first. */
void live_show(const char *const *lines, size_t count);
void live_clear(void);

/* What terminals may get of a text that came from elsewhere: control characters, broken
 * UTF-8 and direction marks become '?'. Cuts to ret_size. Returns ret_text. */
const char *printable(const char *text, char *ret_text, size_t ret_size);

/* The bytes at the start of `text` that take at most `columns` on a terminal. */
size_t printable_cut(const char *text, size_t columns);

#endif
