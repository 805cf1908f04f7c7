/* SPDX-License-Identifier: MIT */
/* sync/rate.h - operations on rate limiters. */
#ifndef SYNC_RATE_H
#define SYNC_RATE_H

#include "dialect/redisson/rate.h"
#include "sync/sync.h"

extern const sync_row rate_set_row;        /* BUSY: another rate is set, or as `how` says */
extern const sync_row rate_delete_row;
extern const sync_row rate_look_row;       /* NOT_SET */
extern const sync_row rate_release_row;
extern const sync_row rate_try_row;        /* the first reply ends it; BUSY: not now */
extern const sync_row rate_acquire_row;    /* waits: each reply names the time of the next
                                              request; all have one `id` */

typedef struct rate_op {
  sync_op op;
  rate_call call;                /* without name and id */
  char name[NAME_MAX_BYTES + 1]; size_t name_size;
  uint8_t id[RATE_ID_SIZE];      /* try, acquire */
  rate_answer answer;            /* result of try */
  rate_state state;              /* of look */
  int64_t given;                 /* of release */
  char why[256];
  /* Of acquire: */
  random_source random;
  instant asks_at;               /* no request is under way until then; {0}: one is */
} rate_op;

#endif
