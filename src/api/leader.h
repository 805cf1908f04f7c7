/* SPDX-License-Identifier: MIT */
/* api/leader.h - who leads, as one answer of the server tells it. */
#ifndef API_LEADER_H
#define API_LEADER_H

#include <dibs/election.h>

#include "api/api.h"
#include "dialect/native_election.h"

typedef struct leader_state {
  bool is_led;
  uint64_t epoch;
  int64_t remaining_ms, led_for_ms;
  char client[CLIENT_ID_SIZE];       /* "" when nobody leads */
  size_t value_size;
  char value[DIBS_VALUE_MAX + 1];
} leader_state;

void leader_read(const elect_answer *a, leader_state *ret);
/* What counts as a change for observers. */
bool leader_is_same(const leader_state *a, const leader_state *b);
/* `s` as the program sees it; value borrowed from it. */
dibs_leader leader_show(leader_state *s);
/* A copy for the program; NULL: memory. */
dibs_leader *leader_copy(const memory *m, const leader_state *s);

#endif
