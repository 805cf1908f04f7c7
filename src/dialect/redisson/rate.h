/* SPDX-License-Identifier: MIT */
/* dialect/redisson/rate.h - calls and answers of the rate limiters; protocol.md 20. In any
 * dialect their layout is Redisson's: the key is the name. */
#ifndef DIALECT_REDISSON_RATE_H
#define DIALECT_REDISSON_RATE_H

#include "dialect/native.h"

#define RATE_ID_SIZE 16

/* Why a limiter cannot have this valid name, or NULL: in a cluster all its keys must be in one
 * slot, and Redisson's rule finds one only for names without braces and for those with a tag. */
const char *rate_name_fault(const protocol *n, const void *name, size_t size);

/* The fields of a request. */
typedef struct rate_call {
  const void *name; size_t name_size;
  uint64_t permits;                /* acquire, cancel: below 2^32; release */
  const uint8_t *id;               /* acquire, cancel: RATE_ID_SIZE bytes, of this request only */
  uint64_t number;                 /* set, release, delete: a client counts */
  uint64_t rate, interval_ms, keepalive_ms, type;       /* set */
  char how;                        /* set: 'n', 's' or 'u', as in the script */
} rate_call;

typedef bool rate_encode(const protocol *n, request *out, const rate_call *c);
rate_encode rate_acquire, rate_cancel, rate_release, rate_look, rate_set, rate_delete;

/* ---- answers; false when the reply has another form ---- */

typedef enum rate_outcome {
  RATE_GRANTED = 1,
  RATE_LATER,                      /* `wait_ms` */
  RATE_NOT_SET,
  RATE_TOO_MANY                    /* more than `rate`; `interval_ms` */
} rate_outcome;

typedef struct rate_answer {
  rate_outcome outcome;
  int64_t left, wait_ms, rate, interval_ms;
} rate_answer;

bool rate_acquire_answer(const resp_reply *r, rate_answer *ret);
/* `ret_given` -1: no rate is set. */
bool rate_release_answer(const resp_reply *r, int64_t *ret_given);

typedef struct rate_state {
  bool is_set;
  int64_t rate, interval_ms, keepalive_ms, type, left;
} rate_state;

bool rate_look_answer(const resp_reply *r, rate_state *ret);
/* set, delete: 1 done, 0 not, -1 there is none. */
bool rate_change_answer(const resp_reply *r, int64_t *ret_done);

#endif
