/* SPDX-License-Identifier: MIT */
/* api/leader.h - the leader of an election, as one reply of the server shows it. */
#ifndef API_LEADER_H
#define API_LEADER_H

#include <dibs/election.h>

#include "api/api.h"
#include "sync/election.h"

/* `s` as the program sees it; value and `error` are borrowed, party written to `room`. */
dibs_leader leader_show(leader_state *s, const dibs_error *error, dibs_party *room);
/* A copy for the program; NULL: no memory. */
dibs_leader *leader_copy(const memory *m, const leader_state *s, const dibs_error *error);

#endif
