/* SPDX-License-Identifier: MIT */
/* sync/barrier.h - operations on barriers. */
#ifndef SYNC_BARRIER_H
#define SYNC_BARRIER_H

#include "dialect/native/barrier.h"
#include "sync/sync.h"

extern const sync_row barrier_look_row;
extern const sync_row barrier_reset_row;   /* of the generation in `seen` */
/* OK: all parties have arrived; BROKEN. It looks first, and arrives with the generation that it
 * read: so no copy of its arrival counts in a later round (protocol.md 12). */
extern const sync_row barrier_await_row;

typedef struct barrier_op {
  sync_op op;
  char name[NAME_MAX_BYTES + 1]; size_t name_size;
  barrier_look seen;                     /* result of look */
  /* Of await: */
  uint64_t party;
  uint32_t parties;
  bool has_looked;
  barrier_answer came;                   /* result; PASSED or BROKEN */
  char why[96];
} barrier_op;

#endif
