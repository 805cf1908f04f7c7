/* SPDX-License-Identifier: MIT */
/* dialect/native_barrier.h - barriers on the wire: key, channel, calls and answers.
 * doc/design/protocol.md 12. A party is `C:K`, K counted up by its client. */
#ifndef DIALECT_NATIVE_BARRIER_H
#define DIALECT_NATIVE_BARRIER_H

#include "dialect/native.h"

#define BARRIER_CHANNEL_SIZE (KEY_TEXT_SIZE + 8)
#define BARRIER_SILENCE_MS 9000     /* a party that asked nothing for so long is missed */
#define BARRIER_EVERY_MS 3000       /* how often it asks */

void native_barrier_key(const native *n, const void *name, size_t size, text *out);
void native_barrier_channel(const native *n, const void *name, size_t size, text *out);

typedef struct barrier_call {
  const void *name; size_t name_size;
  uint64_t party;             /* K */
  uint32_t parties;
  uint64_t generation;        /* as looked at before; the request counts from there on */
  int64_t silence_ms;
} barrier_call;

bool native_barrier_arrive(const native *n, buffer *out, bool with_text,
                           const barrier_call *c);
bool native_barrier_leave(const native *n, buffer *out, bool with_text,
                          const barrier_call *c);
bool native_barrier_look(const native *n, buffer *out, bool with_text, const void *name,
                         size_t name_size);
/* `generation` as looked at before. */
bool native_barrier_reset(const native *n, buffer *out, bool with_text, const void *name,
                          size_t name_size, uint64_t generation);

typedef enum barrier_outcome {
  BARRIER_NOBODY = 0,   /* leave: nobody waits for it */
  BARRIER_WAITING = 1,  /* arrive; leave: broken by it */
  BARRIER_PASSED,
  BARRIER_BROKEN,       /* leave: before */
  BARRIER_OTHER,        /* arrive: another number of parties, which is in `arrived` */
  BARRIER_LATE          /* arrive: nothing is remembered of this request */
} barrier_outcome;

typedef struct barrier_answer {
  barrier_outcome outcome;
  uint64_t generation;
  uint32_t arrived, place;
  int64_t look_ms;      /* WAITING: till then nobody has to be missed */
} barrier_answer;

bool native_barrier_arrive_answer(const resp_reply *r, barrier_answer *ret);
bool native_barrier_leave_answer(const resp_reply *r, barrier_answer *ret);

typedef struct barrier_look {
  uint64_t generation;
  uint32_t parties, arrived;    /* parties 0: nobody ever arrived */
  bool is_broken;
} barrier_look;

bool native_barrier_look_answer(const resp_reply *r, barrier_look *ret);
bool native_barrier_reset_answer(const resp_reply *r);

#endif
