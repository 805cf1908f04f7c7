/* SPDX-License-Identifier: MIT */
/* local/ask.h - one question to a server on a unix socket.
 *
 * Async-signal-safe: also the supervisor asks, in a child of a program with threads. */
#ifndef LOCAL_ASK_H
#define LOCAL_ASK_H

#include <stdint.h>
#include <sys/types.h>

typedef enum answer {
  ANSWER_PONG,      /* it is there */
  ANSWER_NOBODY,    /* no socket, or nobody listens on it */
  ANSWER_NOT_YET,   /* somebody listens, but does not (or not yet) serve */
  ANSWER_OTHER      /* the socket cannot be used: see errno */
} answer;

/* PING. `ret_pid` (may be NULL) gets the process that listens, 0 when not known. */
answer ask_ping(const char *path, int limit_ms, pid_t *ret_pid);

/* SHUTDOWN NOSAVE, and waits for the connection to end. PONG: it ended. */
answer ask_to_shut_down(const char *path, int limit_ms, pid_t *ret_pid);

/* Milliseconds of CLOCK_MONOTONIC. */
int64_t clock_ms(void);
void nap_ms(int ms);

#endif
