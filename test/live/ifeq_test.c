/* SPDX-License-Identifier: MIT */
/* test/live/ifeq_test.c - where the server has SET with IFEQ, an uncontended lease is released
 * without a script, and leaves the same behind; in all other cases the script releases. Skipped
 * where the server has it not. doc/design/protocol.md 23. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "two_clients.h"

#define run(...) test_server_command(live_server, __VA_ARGS__)

/* The client learns of it by the first release of a connection. */
static void needs_ifeq(void)
{
  live_needs_one_server();
  if (!live_has_ifeq())
    skip();
  live_expect_ok(dibs_release(live_lock(client, "learnt", 30000)));
  (void)run("CONFIG RESETSTAT");
}

static long calls_of(const char *command)
{
  char word[60];
  const char *line;

  (void)snprintf(word, sizeof(word), "cmdstat_%s:calls=", command);
  line = strstr(run("INFO commandstats"), word);
  return line == NULL ? 0 : atol(line + strlen(word));
}

TEST(a_pair_is_one_script_and_one_command)
{
  uint64_t fence = 0;

  needs_ifeq();
  for (int i = 0; i < 20; i++) {
    dibs_hold *hold = live_lock(client, "pair", 30000);

    assert_true(live_info(hold).fence > fence);
    fence = live_info(hold).fence;
    live_expect_ok(dibs_release(hold));
  }
  assert_int_equal(calls_of("evalsha") + calls_of("eval"), 20);
  assert_int_equal(calls_of("set"), 40);           /* half of them in the scripts */
}

/* The memory of the last grant, for as long as after the script. */
TEST(it_leaves_what_the_script_leaves)
{
  char held[200];
  dibs_hold *hold;

  needs_ifeq();
  hold = live_lock(client, "memory", 30000);
  (void)snprintf(held, sizeof(held), "%s", run("GET %s", live_key("memory")));
  live_expect_ok(dibs_release(hold));
  assert_int_equal(calls_of("evalsha") + calls_of("eval"), 1);
  assert_non_null(strchr(held, ' '));
  *strchr(held, ' ') = 0;
  assert_string_equal(run("GET %s", live_key("memory")) + 1, held);
  assert_int_equal(*run("GET %s", live_key("memory")), '=');
  assert_in_range(atol(run("PTTL %s", live_key("memory"))), 3590000, 3600000);
}

TEST(a_waiter_gets_it_by_the_script)
{
  dibs_lock_options options = live_lock_options(30000, 20000);
  dibs_hold *hold;
  struct live_ask ask;

  needs_ifeq();
  hold = live_lock(client, "queue", 30000);
  live_ask_begin(&ask, other, "queue", &options);
  live_expect_waiters(live_server, "queue", 1);
  live_still_waits(&ask, 0);
  live_expect_ok(dibs_release(hold));
  live_expect_ok(dibs_release(live_ask_granted(&ask, 5000)));
}

/* A key that was deleted, and one that another client has by now. */
TEST(what_is_no_longer_there_is_not_released)
{
  dibs_hold *hold, *taken;

  needs_ifeq();
  hold = live_lock(client, "gone", 30000);
  (void)run("DEL %s", live_key("gone"));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  hold = live_lock(client, "gone", 30000);
  (void)run("DEL %s", live_key("gone"));
  taken = live_lock(other, "gone", 30000);
  assert_int_equal(dibs_release(hold), DIBS_TAKEN);
  live_refused_beside(taken, live_try(client, "gone"), DIBS_BUSY);
  live_expect_ok(dibs_release(taken));
}

TEST(a_full_server_releases)
{
  dibs_hold *hold;

  needs_ifeq();
  hold = live_lock(client, "full", 30000);
  (void)run("CONFIG SET maxmemory 1");
  live_expect_ok(dibs_release(hold));
  (void)run("CONFIG SET maxmemory 0");
  live_expect_ok(dibs_release(live_lock(other, "full", 30000)));
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;
  return tests_run(setup, teardown, NULL, NULL);
}
