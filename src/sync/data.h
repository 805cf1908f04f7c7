/* SPDX-License-Identifier: MIT */
/* sync/data.h - operations on maps, lists and sets: so far the wait for an element of a list. */
#ifndef SYNC_DATA_H
#define SYNC_DATA_H

#include "dialect/data.h"
#include "sync/sync.h"

extern const sync_row data_list_await_row;     /* OK: the list has an element */

typedef struct data_list_op {
  sync_op op;
  resp_argument name;            /* borrowed */
  int64_t pause_ms;              /* before the next request; it grows */
} data_list_op;

#endif
