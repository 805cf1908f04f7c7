/* SPDX-License-Identifier: MIT */
/* sync/guard.h - guarded writes. */
#ifndef SYNC_GUARD_H
#define SYNC_GUARD_H

#include "dialect/native/guard.h"
#include "sync/sync.h"

extern const sync_row guarded_write_row;   /* FENCED; UNKNOWN: it came as a late copy */

typedef enum guarded_kind {
  GUARDED_SET, GUARDED_HSET, GUARDED_HDEL, GUARDED_DEL, GUARDED_INCR
} guarded_kind;

typedef struct guarded_op {
  sync_op op;
  guarded_kind kind;
  guard_call call;                 /* borrowed, as all that follows */
  resp_argument value;             /* SET */
  int64_t ttl_ms;
  resp_argument *arguments;        /* HSET: fields and values; HDEL: fields */
  size_t count;
  int64_t by;                      /* INCR */
  int64_t sum;                     /* its result */
  bool is_settled;                 /* the server has answered */
  bool is_written;                 /* and has executed it */
} guarded_op;

#endif
