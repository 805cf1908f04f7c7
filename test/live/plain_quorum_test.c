/* SPDX-License-Identifier: MIT */
/* test/live/plain_quorum_test.c - the dialect plain on independent servers is Redlock: a majority
 * that redsync and node-redlock respect, and theirs we. The other side are plain connections
 * that do what redsync does. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "deployment.h"
#include "live.h"

#define REDSYNC "uIbXh5u4dR7Zm1xQ0yJ8Fg=="

enum { TTL_MS = 20000, SERVERS = 3 };

static dibs_client *open_at(const char *url)
{
  dibs_options o = live_options();

  o.dialect = DIBS_DIALECT_PLAIN;
  return live_open_with(url, &o);
}

static dibs_hold *take(dibs_client *c, const char *name)
{
  return live_lock(c, name, TTL_MS);
}

static struct test_quorum *servers;
static dibs_client *many, *rival;

static int setup(void **state)
{
  (void)state;
  servers = test_quorum_start(SERVERS, NULL, NULL);
  many = open_at(test_quorum_url(servers));
  rival = open_at(test_quorum_url(servers));
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  many = dibs_close(many);
  rival = dibs_close(rival);
  servers = test_quorum_stop(servers);
  return 0;
}

/* ---- what a redsync does that may have only some ---- */

static struct test_server *member(int i)
{
  return test_quorum_server(servers, i);
}

static bool peer_takes(int i, const char *name)
{
  const char *answer = test_server_command(member(i), "SET %s " REDSYNC " NX PX %d", name, TTL_MS);

  return answer != NULL && strcmp(answer, "OK") == 0;
}

static bool peer_has(int i, const char *name)
{
  const char *found = test_server_command(member(i), "GET %s", name);

  return found != NULL && strcmp(found, REDSYNC) == 0;
}

static int peer_takes_where_it_can(const char *name)
{
  int count = 0;

  for (int i = 0; i < SERVERS; i++)
    count += peer_takes(i, name);
  return count;
}

static void peer_lets_go_everywhere(const char *name)
{
  for (int i = 0; i < SERVERS; i++)
    if (peer_has(i, name))
      assert_int_equal(test_server_integer(member(i), "DEL %s", name), 1);
}

/* ---- facts ---- */

TEST(a_majority_holds_and_redsync_finds_none)
{
  dibs_hold *hold = take(many, "held");

  assert_true(peer_takes_where_it_can("held") < 2);
  peer_lets_go_everywhere("held");
  live_refused(live_try(rival, "held"), DIBS_BUSY);
  live_expect(many, dibs_release(hold), DIBS_OK);
  live_expect_free(rival, "held", LIVE_LONG_MS);
}

TEST(a_majority_of_redsync_is_busy_and_its_end_is_found)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_ask ask;

  assert_int_equal(peer_takes_where_it_can("theirs"), SERVERS);
  live_refused(live_try(many, "theirs"), DIBS_BUSY);
  live_ask_begin(&ask, many, "theirs", &o);
  live_still_waits(&ask, 300);
  for (int i = 0; i < SERVERS; i++)
    assert_true(peer_has(i, "theirs"));
  peer_lets_go_everywhere("theirs");
  live_expect(many, dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
}

TEST(two_clients_take_turns_on_a_majority)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *hold = take(many, "turns");

  for (int i = 0; i < 30; i++) {
    uint64_t fence = dibs_hold_fence(hold);
    struct live_ask ask;

    live_ask_begin(&ask, i % 2 == 0 ? rival : many, "turns", &o);
    live_expect_ok(dibs_release(hold));
    hold = live_ask_granted(&ask, LIVE_LONG_MS);
    PROMISE_GROWN(dibs_hold_fence(hold), fence);
  }
  live_expect_ok(dibs_release(hold));
}

TEST(a_majority_is_kept_by_the_watchdog_without_one_server)
{
  dibs_hold *hold = live_lock(many, "kept", 900);
  int64_t until;

  test_server_kill9(member(0));
  until = live_now_ms() + 2000;
  while (live_now_ms() < until)
    assert_false(peer_takes(1, "kept") && peer_takes(2, "kept"));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(many, dibs_release(hold), DIBS_OK);
}

/* No message reaches the holder. The first lease that its renewals find ended has it look at the
 * others; repaired one by one they would never be fewer than a majority. */
TEST(a_broken_lock_is_lost_with_the_next_renewal)
{
  dibs_lock_options options = live_lock_options(6000, LIVE_LONG_MS);
  struct live_loss loss = { 0 };
  dibs_inspection *seen = NULL;
  dibs_hold *hold = NULL;

  live_report_loss(&options, &loss);
  live_expect(many, dibs_lock(many, "stuck", &options, &hold), DIBS_OK);
  live_expect(rival, dibs_inspect(rival, dibs_text("stuck"), &seen), DIBS_OK);
  live_expect(rival, dibs_break(rival, dibs_text("stuck"), seen->lease), DIBS_OK);
  seen = dibs_inspection_free(seen);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

RUN_TESTS(setup, teardown)
