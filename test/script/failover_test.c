/* SPDX-License-Identifier: MIT */
/* A real failover: the world's server is cut off from its replica, grants something that is
 * lost with it, comes back as the replica's replica, and is promoted. Whoever held the lost
 * lease, and whoever would get the same name, never hold it at the same time where there is an
 * era guard; without one they do, and the later fence is the higher. doc/design/protocol.md 16. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server.h"
#include "stage.h"

#define QUARANTINE_MS 40000

static struct test_server *replica;

static int start(void **state)
{
  stage_start(state);
  replica = test_server_start();
  return 0;
}

static int stop(void **state)
{
  replica = test_server_stop(replica);
  return stage_stop(state);
}

static void become_replica(const struct test_server *of, const struct test_server *s)
{
  const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
  char port[16];

  snprintf(port, sizeof(port), "%d", test_server_port(of));
  assert_string_equal(test_server_command(of, "CONFIG SET repl-diskless-sync-delay 0"), "OK");
  assert_string_equal(test_server_command(s, "REPLICAOF 127.0.0.1 %s", port), "OK");
  for (int i = 0; i < 1000; i++) {
    if (strstr(test_server_command(s, "INFO replication"), "master_link_status:up") != NULL)
      return;
    nanosleep(&pause, NULL);
  }
  fail_msg("it does not follow");
}

static void promote(const struct test_server *s)
{
  assert_string_equal(test_server_command(s, "REPLICAOF NO ONE"), "OK");
}

/* The replica has all that was written before; it is not told of anything later. */
static void cut_off(void)
{
  const struct timespec pause = { .tv_nsec = 20 * 1000 * 1000 };
  const struct test_server *s = world_server(w);

  assert_string_equal(test_server_command(s, "SET mark here"), "OK");
  for (int i = 0; strcmp(test_server_command(replica, "GET mark"), "here") != 0; i++) {
    assert_true(i < 1000);
    nanosleep(&pause, NULL);
  }
  promote(replica);
}

static void fail_over(void)
{
  become_replica(replica, world_server(w));
  promote(world_server(w));
}

static int begin(void **state)
{
  stage_clear(state);
  world_set_time(w, START_US);
  become_replica(world_server(w), replica);
  return 0;
}

static void at(int64_t us) { world_set_time(w, START_US + us); }

/* Not what the guard is about: the era that this server begins with is over. */
static void guard(void)
{
  world_guard(w, QUARANTINE_MS);
  at(0);
  (void)world_try(w, FRED, 99);
  at(QUARANTINE_MS * INT64_C(1000));
}

TEST(a_lease_that_was_lost_is_not_given_to_another_before_it_is_over)
{
  acquire_answer lost, next;

  guard();
  cut_off();
  lost = world_acquire(w, ANNA, 1);
  assert_int_equal(lost.outcome, ACQUIRE_GRANTED);
  fail_over();
  at(QUARANTINE_MS * 1000 + 1000);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);
  assert_false(world_renew(w, ANNA, &lost.lease, 30000).is_ours);
  at(QUARANTINE_MS * 1000 + lost.remaining_ms * 1000);
  assert_int_equal(world_try(w, BERT, 2).outcome, ACQUIRE_BUSY);
  at(2 * QUARANTINE_MS * 1000 + 1000);
  next = world_try(w, BERT, 3);
  assert_int_equal(next.outcome, ACQUIRE_GRANTED);
  assert_true(next.lease.token > lost.lease.token);
  world_guard(w, 0);
}

TEST(without_a_guard_two_hold_it_and_the_later_fence_is_higher)
{
  acquire_answer lost, next;

  cut_off();
  lost = world_acquire(w, ANNA, 1);
  fail_over();
  at(1000);
  next = world_try(w, BERT, 1);
  assert_int_equal(next.outcome, ACQUIRE_GRANTED);
  assert_true(next.lease.token > lost.lease.token);
}

TEST(who_is_known_to_the_new_primary_goes_on)
{
  acquire_answer a;

  guard();
  a = world_acquire(w, ANNA, 1);
  cut_off();
  fail_over();
  at(QUARANTINE_MS * 1000 + 1000000);
  assert_true(world_renew(w, ANNA, &a.lease, 30000).is_ours);
  assert_int_equal(world_release(w, ANNA, &a.lease).outcome, RELEASE_DONE);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);
  at(2 * QUARANTINE_MS * 1000 + 1000000);
  assert_int_equal(world_try(w, BERT, 2).outcome, ACQUIRE_GRANTED);
  world_guard(w, 0);
}

/* Its lease ended, another's grant was lost: late as it is, it must not come back to life. */
TEST(who_was_stopped_does_not_renew_over_a_lease_that_was_lost)
{
  acquire_answer stopped, lost;

  guard();
  stopped = world_acquire(w, ANNA, 1);
  cut_off();
  at(QUARANTINE_MS * 1000 + 31000001);
  lost = world_try(w, BERT, 1);
  assert_int_equal(lost.outcome, ACQUIRE_GRANTED);
  fail_over();
  at(QUARANTINE_MS * 1000 + 32000000);
  assert_false(world_renew(w, ANNA, &stopped.lease, 30000).is_ours);
  assert_false(world_renew(w, BERT, &lost.lease, 30000).is_ours);
  world_guard(w, 0);
}

/* A primary that was left behind has its own era, and leaves it nowhere. */
TEST(the_era_of_a_stale_primary_counts_nowhere)
{
  char key[64];

  guard();
  cut_off();
  (void)world_try(w, ANNA, 1);
  snprintf(key, sizeof(key), "%s", test_server_command(world_server(w), "GET dibs:era"));
  assert_non_null(strstr(key, " "));
  fail_over();
  assert_string_equal(test_server_command(world_server(w), "GET dibs:era"), key);
  at(QUARANTINE_MS * 1000 + 2000);
  assert_int_equal(world_try(w, BERT, 1).outcome, ACQUIRE_BUSY);
  assert_string_not_equal(test_server_command(world_server(w), "GET dibs:era"), key);
  world_guard(w, 0);
}

/* In Cluster a new tag is held back where its node was promoted, however long it is up: the
 * words of Cluster, said to a server of its own. */
TEST(a_tag_that_is_new_after_a_failover_is_held_back)
{
  const struct timespec pause = { .tv_nsec = 50 * 1000 * 1000 };

  cut_off();
  fail_over();
  at(0);
  while (strtoll(strstr(test_server_command(world_server(w), "INFO server"),
                        "uptime_in_seconds:") + strlen("uptime_in_seconds:"), NULL, 10) < 4)
    nanosleep(&pause, NULL);
  setenv("DIBS_SCRIPT_MODE", "cluster", 1);
  world_guard(w, 1);
  assert_int_equal(world_try(w, ANNA, 1).outcome, ACQUIRE_BUSY);
  unsetenv("DIBS_SCRIPT_MODE");
  world_guard(w, 0);
}

RUN_STAGE(start, stop, begin, NULL)
