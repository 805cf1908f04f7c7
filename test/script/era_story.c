/* SPDX-License-Identifier: MIT */
/* test/script/era_story.c - see era_story.h. */
#include "tests.h"
#include "era_story.h"

#include <stdio.h>
#include <string.h>

#include "server.h"

int era_clear(void **state)
{
  const char *found;
  char value[64];

  stage_clear(state);
  world_guard(w, QUARANTINE_MS);
  world_set_time(w, START_US);
  found = strstr(test_server_command(world_server(w), "INFO replication"), "master_replid:");
  snprintf(value, sizeof(value), "%.40s %lld", found + strlen("master_replid:"),
           (long long)START_US - 1000000);
  assert_string_equal(test_server_command(world_server(w), "SET %s %s", ERA_KEY, value), "OK");
  return 0;
}

void era_change(void)
{
  assert_string_equal(test_server_command(world_server(w), "DEBUG CHANGE-REPL-ID"), "OK");
}

void era_at(int64_t us) { world_set_time(w, START_US + us); }

void assert_quarantined(const acquire_answer *a, acquire_outcome outcome, int64_t remaining_ms)
{
  assert_int_equal(a->outcome, outcome);
  assert_string_equal(a->lease.client, "......................");
  assert_int_equal(a->lease.ask, 0);
  assert_int_equal(a->remaining_ms, remaining_ms);
  assert_int_equal(a->lease_ms, QUARANTINE_MS);
  assert_int_equal(a->renewals, 0);
}
