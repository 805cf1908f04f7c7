/* SPDX-License-Identifier: MIT */
/* test/fault/hostile.h - a server that greets as a real one does, and then goes mad: every
 * connection is led to a real server until the client's first script, and answered by an
 * attack from then on. A thread for each connection, of the process that starts it. */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <stdint.h>

#include "lib/server.h"

struct hostile;

enum attack {
  ATTACK_WRONG_TYPE,       /* a whole reply of a type that nobody expects */
  ATTACK_HUGE_LENGTH,      /* a string or an array of 2 GB, and bytes of it */
  ATTACK_NESTING,          /* arrays in arrays without end */
  ATTACK_PUSHES,           /* push messages without end, and no answer */
  ATTACK_DRIP,             /* a byte now and then, of what could become an answer */
  ATTACK_LINE,             /* a line without end */
  ATTACK_UNASKED,          /* a thousand answers to one question */
  ATTACK_NOISE,            /* random bytes */
  ATTACK_CHANGED,          /* the real answers, with some bytes changed */
  ATTACK_CUT,              /* the real answers, and an end in the middle of one */
  ATTACK_COUNT
};

const char *attack_name(enum attack a);

/* Listens at a socket beside `s`'s. Ends the process when it cannot. */
struct hostile *hostile_start(const struct test_server *s, uint64_t seed);
const char *hostile_url(const struct hostile *h);
/* For connections yet to come. */
void hostile_choose(struct hostile *h, enum attack a);
/* How many connections have seen this attack begin. */
int64_t hostile_attacks(const struct hostile *h, enum attack a);
struct hostile *hostile_stop(struct hostile *h);     /* returns NULL */

#endif
