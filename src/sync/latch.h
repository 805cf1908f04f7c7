/* SPDX-License-Identifier: MIT */
/* sync/latch.h - operations on count-down latches. */
#ifndef SYNC_LATCH_H
#define SYNC_LATCH_H

#include "dialect/native/latch.h"
#include "sync/sync.h"

extern const sync_row latch_set_row;       /* BUSY: armed already */
extern const sync_row latch_down_row;      /* NOT_SET: not armed */
extern const sync_row latch_delete_row;
extern const sync_row latch_count_row;
extern const sync_row latch_await_row;     /* OK: it has reached zero, or is not armed */

typedef struct latch_op {
  sync_op op;
  latch_call call;                 /* await and count: the name only; borrowed */
  int64_t left;                    /* result of down and count: what is left to count */
  /* Of await: */
  bool was_armed;
  uint64_t zeroed_us, deleted_us;  /* as they were when it was seen armed */
} latch_op;

#endif
