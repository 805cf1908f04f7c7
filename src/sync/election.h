/* SPDX-License-Identifier: MIT */
/* sync/election.h - the leader of an election: read once, or observed. */
#ifndef SYNC_ELECTION_H
#define SYNC_ELECTION_H

#include <dibs/election.h>

#include "dialect/native/election.h"
#include "sync/sync.h"

typedef struct leader_state {
  bool is_known;                     /* the server has replied; otherwise all is zero */
  bool is_led;
  bool is_published;                 /* `value` is, though it may be empty */
  uint64_t epoch;
  int64_t remaining_ms, led_for_ms;
  char client[CLIENT_ID_SIZE];       /* "" without a leader */
  size_t value_size;
  char value[DIBS_LEADER_VALUE_MAX + 1];
} leader_state;

void leader_read(const elect_answer *a, leader_state *ret);

/* What counts as a change for observers. */
bool leader_is_same(const leader_state *a, const leader_state *b);

extern const sync_row election_look_row;
extern const sync_row election_observe_row;     /* until it is stopped; news: another `state` */

typedef struct election_op {
  sync_op op;
  const void *name; size_t name_size;    /* borrowed */
  leader_state state;                    /* results */
  lease_id lease;
  /* Of observe: */
  uint64_t watched_renewals;             /* of `lease` */
  instant watched_since;
} election_op;

#endif
