/* SPDX-License-Identifier: MIT */
/* test/peers/side.h - one participant: a peer process that is spoken to as PROTOCOL.md says.
 *
 * Whatever is not as expected fails the running cmocka test. One thread. */
#ifndef TEST_PEERS_SIDE_H
#define TEST_PEERS_SIDE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum {
  SIDE_OPTIONS_MAX = 8,
  SIDE_START_MS = 60000,           /* a virtual machine on a busy machine */
  SIDE_SOON_MS = 10000,            /* how long an answer may take that waits for nobody */
};

struct side;

/* Starts `program` with `address` and options (NULL at the end) and waits for its greeting.
 * NULL: it ended, or did not become ready; `ret_why` then says what it said last. */
struct side *side_open(const char *program, const char *address, const char *const *options,
                       const char **ret_why);
/* Ends its input and waits for its end. NULL is allowed. Returns NULL. */
struct side *side_close(struct side *s);
/* SIGKILL; gone on return, with its memory. Returns NULL. */
struct side *side_kill(struct side *s);

/* What the greeting said: "redisson 4.7.0"; and whether `kind` is among its kinds. */
const char *side_library(const struct side *s);
bool side_has(const struct side *s, const char *kind);
const char *side_kinds(const struct side *s);    /* of a server: its address */
pid_t side_pid(const struct side *s);

/* A command, as in "lock fair %s - 5000", to a worker; its answer comes later. */
void side_tell(struct side *s, int worker, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
/* The worker's next answer without worker and time: "ok 1"; NULL: none within `limit_ms`.
 * Valid until the next answer of this side is taken. */
const char *side_answer(struct side *s, int worker, int limit_ms);
/* When the call of the answer taken last had returned, CLOCK_MONOTONIC. */
int64_t side_answered_ns(const struct side *s);

/* Fails unless the worker's next answer comes within `limit_ms` and is `wanted`: all of it, or
 * its first word where `wanted` is one word. */
void side_expect(struct side *s, int worker, int limit_ms, const char *wanted);
/* Fails if the worker answers within `ms`: it must be waiting. */
void side_expect_waiting(struct side *s, int worker, int ms);
/* Both: tells, and expects an answer soon. */
void side_does(struct side *s, int worker, const char *wanted, const char *format, ...)
  __attribute__((format(printf, 4, 5)));

#endif
