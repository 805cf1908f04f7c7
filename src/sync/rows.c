/* SPDX-License-Identifier: MIT */
/* sync/rows.c - the operations there are. */
#include "sync/barrier.h"
#include "sync/command.h"
#include "sync/data.h"
#include "sync/election.h"
#include "sync/guard.h"
#include "sync/latch.h"
#include "sync/rate.h"

const sync_row *const sync_rows[] = {
  &latch_set_row, &latch_down_row, &latch_delete_row, &latch_count_row, &latch_await_row,
  &barrier_look_row, &barrier_reset_row, &barrier_await_row,
  &election_look_row, &election_observe_row,
  &rate_set_row, &rate_delete_row, &rate_look_row, &rate_release_row, &rate_try_row,
  &rate_acquire_row,
  &data_list_await_row,
  &guarded_write_row,
  &command_row,
  NULL
};
