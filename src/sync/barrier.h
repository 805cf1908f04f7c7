/* SPDX-License-Identifier: MIT */
/* sync/barrier.h - operations on barriers, without those of a party that waits. */
#ifndef SYNC_BARRIER_H
#define SYNC_BARRIER_H

#include "dialect/native/barrier.h"
#include "sync/sync.h"

extern const sync_row barrier_look_row;
extern const sync_row barrier_reset_row;   /* of the generation in `seen` */

typedef struct barrier_op {
  sync_op op;
  const void *name; size_t name_size;    /* borrowed */
  barrier_look seen;                     /* result of look */
} barrier_op;

#endif
