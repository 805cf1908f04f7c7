/* SPDX-License-Identifier: MIT */
/* test/script/share_story.c - see share_story.h. */

#include "tests.h"

#include <string.h>

#include "share_story.h"

int share_clear(void **state)
{
  share_mistake_us = 0;
  return stage_clear(state);
}

int share_clear_clock(void **state)
{
  (void)share_clear(state);
  world_set_time(w, START_US);
  return 0;
}

void share_hear(int first, int last)
{
  for (int who = first; who <= last; who++)
    world_listen(w, who);
}

lease_id share_told(int who, uint64_t ask, uint64_t units)
{
  const char *messages = world_messages(w, who), *end = strchr(messages, '\n');
  inbox_message m;

  if (end == NULL || end[1] != 0)
    fail_msg("%d has been told: %s", who, messages);
  assert_true(inbox_message_read(messages, (size_t)(end - messages), &m));
  assert_int_equal(m.word, INBOX_SHARE);
  assert_int_equal(m.lease.ask, ask);
  assert_int_equal(m.units, units);
  assert_int_equal(m.ttl_ms, 30000);
  return m.lease;
}

void share_nothing_told(int who) { assert_string_equal(world_messages(w, who), ""); }
