/* SPDX-License-Identifier: MIT */
/* bench/raw.h - the limits that the library is measured against: the same commands over a
 * plain blocking socket, written and read by a few lines of code. */
#ifndef BENCH_RAW_H
#define BENCH_RAW_H

#include "dialect/native.h"
#include "server.h"

typedef struct raw {
  int fd;
  protocol names;
  request command;
  buffer out;
  uint64_t ask;
  bool has_ifeq;             /* the server knows SET with IFEQ */
  bool uses_ifeq;            /* the caller sets it: raw_pairs() releases by it */
  char input[65536];
  size_t used, read;
} raw;

/* Connected and, like the library, known to the server by an own client id. */
raw *raw_open(const struct test_server *s, bool is_unix);
raw *raw_close(raw *r);

/* One write, one line read. */
void raw_ping(raw *r);
/* Two EVALSHA, one after the other. */
void raw_pair(raw *r, const char *name);
/* `count` acquires in one write, their answers, `count` releases in one write. */
void raw_pairs(raw *r, const char *const *names, size_t count);

/* A script sends a message to `channel`. After raw_listen(), `r` is for raw_hear() only, which
 * waits for the next message. */
void raw_publish(raw *r, const char *channel);
void raw_listen(raw *r, const char *channel);
void raw_hear(raw *r);

/* The first half of a pair. */
void raw_hold(raw *r, const char *name);
/* The same two commands as words for a shell, for redis-benchmark; they live on, and are
 * good for a day. The release is one of `lease`, as the server has it in a held key. */
const char *raw_acquire_words(raw *r, const char *name);
const char *raw_release_words(raw *r, const char *name, const char *lease);

#endif
