/* SPDX-License-Identifier: MIT */
/* dialect/native/barrier.h - barriers on the wire: key, channel, calls and answers.
 * doc/design/protocol.md 12. A party is `C:K`, K counted by its client. */
#ifndef DIALECT_NATIVE_BARRIER_H
#define DIALECT_NATIVE_BARRIER_H

#include "dialect/native.h"

#define BARRIER_CHANNEL_SIZE (KEY_TEXT_SIZE + 8)
#define BARRIER_SILENCE_MS 9000     /* without a request for this time a party counts as dead */
#define BARRIER_EVERY_MS 3000       /* interval of its requests */

void native_barrier_key(const protocol *n, const void *name, size_t size, text *out);
void native_barrier_channel(const protocol *n, const void *name, size_t size, text *out);

typedef struct barrier_call {
  const void *name; size_t name_size;
  uint64_t party;             /* K */
  uint32_t parties;
  uint64_t generation;        /* as read before; the request counts from there on */
  int64_t silence_ms;
} barrier_call;

bool native_barrier_arrive(const protocol *n, request *out, const barrier_call *c);
bool native_barrier_leave(const protocol *n, request *out, const barrier_call *c);
bool native_barrier_look(const protocol *n, request *out, const void *name,
                         size_t name_size);
/* `generation` as read before. */
bool native_barrier_reset(const protocol *n, request *out, const void *name,
                          size_t name_size, uint64_t generation);

typedef enum barrier_outcome {
  BARRIER_NONE = 0,   /* leave: no round waits for it */
  BARRIER_WAITING = 1,  /* arrive; leave: this broke the round */
  BARRIER_PASSED,
  BARRIER_BROKEN,       /* leave: broken before */
  BARRIER_OTHER,        /* arrive: another number of parties, which is in `arrived` */
  BARRIER_LATE          /* arrive: no record of this request */
} barrier_outcome;

typedef struct barrier_answer {
  barrier_outcome outcome;
  uint64_t generation;
  uint32_t arrived, place;
  int64_t look_ms;      /* WAITING: until then no party can count as dead */
} barrier_answer;

bool native_barrier_arrive_answer(const resp_reply *r, barrier_answer *ret);
bool native_barrier_leave_answer(const resp_reply *r, barrier_answer *ret);

typedef struct barrier_look {
  uint64_t generation;
  uint32_t parties, arrived;    /* parties 0: none ever arrived */
  bool is_broken;
} barrier_look;

bool native_barrier_look_answer(const resp_reply *r, barrier_look *ret);
bool native_barrier_reset_answer(const resp_reply *r);

#endif
