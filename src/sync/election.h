/* SPDX-License-Identifier: MIT */
/* sync/election.h - the leader of an election, read once. */
#ifndef SYNC_ELECTION_H
#define SYNC_ELECTION_H

#include <dibs/election.h>

#include "dialect/native/election.h"
#include "sync/sync.h"

typedef struct leader_state {
  bool is_led;
  uint64_t epoch;
  int64_t remaining_ms, led_for_ms;
  char client[CLIENT_ID_SIZE];       /* "" without a leader */
  size_t value_size;
  char value[DIBS_VALUE_MAX + 1];
} leader_state;

void leader_read(const elect_answer *a, leader_state *ret);

extern const sync_row election_look_row;

typedef struct election_op {
  sync_op op;
  const void *name; size_t name_size;    /* borrowed */
  leader_state state;                    /* results */
  lease_id lease;
} election_op;

#endif
