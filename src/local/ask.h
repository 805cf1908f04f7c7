/* SPDX-License-Identifier: MIT */
/* local/ask.h - sends one command to a server on a unix socket.
 *
 * Async-signal-safe: the supervisor uses it in a child of a program with threads. */
#ifndef LOCAL_ASK_H
#define LOCAL_ASK_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef enum answer {
  ANSWER_PONG,      /* the server replied */
  ANSWER_NONE,    /* no socket, or no process listens */
  ANSWER_NOT_YET,   /* a process listens, but does not reply (yet) */
  ANSWER_OTHER      /* the socket cannot be used: see errno */
} answer;

/* Connects and closes. PONG: a process listens. */
answer ask_whether_it_listens(const char *path);

/* Sends PING. `ret_pid` (may be NULL) receives the listening process, 0 if unknown. */
answer ask_ping(const char *path, int limit_ms, pid_t *ret_pid);

/* Sends SHUTDOWN NOSAVE and waits until the connection ends. PONG: it ended. */
answer ask_to_shut_down(const char *path, int limit_ms, pid_t *ret_pid);

/* Sends `command`, its arguments separated by blanks, and returns the reply as text: see
 * form_ask in form.h. PONG: there is a reply. */
answer ask_text(const char *path, int limit_ms, const char *command, char *ret_text,
                size_t size);

typedef struct contents {
  int64_t keys;         /* in all databases */
  int64_t connections;  /* without that of this command */
} contents;

/* Returns what a stop would lose. PONG: `ret_contents` is filled. */
answer ask_contents(const char *path, int limit_ms, contents *ret_contents);

/* Sends CONFIG SET appendonly yes, and waits until the file has all data. PONG: done. */
answer ask_to_keep(const char *path, int limit_ms);

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t clock_ms(void);
void nap_ms(int ms);

#endif
