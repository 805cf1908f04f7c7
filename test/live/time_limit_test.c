/* SPDX-License-Identifier: MIT */
/* test/live/time_limit_test.c - every exported function that waits for a server has one limit and
 * keeps it, as <dibs/client.h> lists them: with a server that is stopped, from a client that was
 * connected before and from a new one. Those that do not wait return at once. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "call_limits.h"

static dibs_client *client;

/* ---- the server is stopped ---- */

static void is_cannot_ask(const struct trial *t)
{
  if (t->status != DIBS_ERR_UNREACHABLE && t->status != DIBS_UNKNOWN)
    live_fault("%s: %s", t->row->function, dibs_status_name(t->status));
}

/* The first that is late may be so for want of a processor: it is run again. A second run also
 * finds the connection broken. */
static void *with_a_stopped_server(void *data)
{
  struct trial *t = data;
  int64_t over = BOUND_MS + 1;

  limited(t, t->row->function);
  for (int i = 0; i < TRIES && (i < 2 || over > BOUND_MS); i++) {
    over = over_limit(t, client);
    is_cannot_ask(t);
  }
  if (over > BOUND_MS)
    is_late(t, over, 0);
  return NULL;
}

static void *with_a_stopped_server_of_its_own(void *data)
{
  struct trial *t = data;
  int64_t over = BOUND_MS + 1;

  limited(t, t->row->function);
  for (int i = 0; i < TRIES && over > BOUND_MS; i++) {
    dibs_client *c = open_at(t->url);

    over = over_limit(t, c);
    is_cannot_ask(t);
    c = dibs_close(c);
  }
  if (over > BOUND_MS)
    is_late(t, over, 0);
  return NULL;
}

TEST(every_call_keeps_its_limit_when_the_server_is_stopped)
{
  client = open_at(live_url());
  live_expect_free(client, "warm", LIVE_LONG_MS);
  test_server_pause(live_server);
  run_all(with_a_stopped_server);
  test_server_resume(live_server);
  client = dibs_close(client);
}

TEST(every_call_of_a_new_client_keeps_its_limit)
{
  test_server_pause(live_server);
  run_all(with_a_stopped_server_of_its_own);
  test_server_resume(live_server);
}

/* ---- with a hold ---- */

static void in_time(const char *name, int64_t begun_ms, const stall_mark *stalls, int limit_ms)
{
  int64_t took = live_now_ms() - begun_ms - stall_since_ms(stalls);

  if (took > limit_ms + BOUND_MS)
    fail_msg("%s may take %d ms, and took %lld", name, limit_ms, (long long)took);
}

#define expect_in_time(call, limit_ms, wanted) \
  do { \
    stall_mark stalls = stall_now(); \
    int64_t begun = live_now_ms(); \
    \
    assert_int_equal(call, wanted); \
    in_time(#call, begun, &stalls, limit_ms); \
  } while (0)

TEST(the_end_of_a_hold_keeps_its_limit)
{
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_hold *held, *led, *published;

  client = open_at(live_url());
  held = live_lock(client, "held", 60000);
  (void)live_lock(client, "held too", 60000);
  live_expect(client, dibs_acquire(client, DIBS_LEAD("led", "v"), &o, &led), DIBS_OK);
  live_expect(client, dibs_acquire(client, DIBS_LEAD("published", "v"), &o, &published),
              DIBS_OK);
  test_server_pause(live_server);
  expect_in_time(dibs_release(held), COMMAND_MS, DIBS_UNKNOWN);
  expect_in_time(dibs_release(led), COMMAND_MS, DIBS_UNKNOWN);
  expect_in_time(dibs_publish(published, "w") < 0, CONNECT_MS, true);     /* not sent */
  expect_in_time((client = dibs_close(client)) == NULL, CLOSE_MS, true);
  test_server_resume(live_server);
}

TEST(the_limit_of_a_call_can_be_set)
{
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_inspection *seen;
  dibs_hold *led;

  client = open_at(live_url());
  live_expect(client, dibs_acquire(client, DIBS_LEAD("limited", "v"), &o, &led), DIBS_OK);
  assert_int_equal(dibs_client_set_call_timeout(client, -1), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_client_set_call_timeout(client, 150), DIBS_OK);
  test_server_pause(live_server);
  expect_in_time(dibs_inspect(client, dibs_text("l"), &seen), 150, DIBS_ERR_UNREACHABLE);
  expect_in_time(dibs_publish(led, "w"), 150, DIBS_UNKNOWN);
  test_server_resume(live_server);
  client = dibs_close(client);
}

/* ---- what does not wait ---- */

static void *waits_long(void *data)
{
  dibs_inspection *seen;

  (void)data;
  if (dibs_inspect(client, dibs_text("l"), &seen) == DIBS_OK)
    live_fault("a stopped server answered");
  return NULL;
}

TEST(what_does_not_wait_returns_at_once)
{
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
  char text[DIBS_TOKEN_SIZE];
  dibs_observer *observer = NULL;
  dibs_leader *leader = NULL;
  dibs_names *names = NULL;
  dibs_hold *held, *written;
  pthread_t waits;

  client = open_at(live_url());
  held = live_lock(client, "at once", 60000);
  live_expect(client, dibs_acquire(client, DIBS_WRITE("written"), &o, &written), DIBS_OK);
  test_server_pause(live_server);
  assert_int_equal(pthread_create(&waits, NULL, waits_long, NULL), 0);
  expect_in_time(dibs_client_get_info(client, &stats), 0, DIBS_OK);
  expect_in_time(dibs_client_set_credentials(client, NULL, NULL), 0, DIBS_OK);
  expect_in_time(dibs_is_connected(client), 0, true);
  expect_in_time(dibs_names_list(client, &names), 0, DIBS_OK);
  expect_in_time(dibs_names_expire(client, 0, NULL), 0, DIBS_OK);
  expect_in_time(dibs_hold_state(held) != DIBS_HOLD_GONE, 0, true);
  expect_in_time(dibs_hold_token(held, text, sizeof(text)), 0, DIBS_OK);
  expect_in_time(dibs_hold_name(held, 0, text, sizeof(text), NULL), 0, DIBS_OK);
  expect_in_time(dibs_hold_fd(held) >= 0, 0, true);
  expect_in_time(dibs_downgrade(written), 0, DIBS_OK);
  expect_in_time(dibs_observe(client, "election", NULL, NULL, NULL, &observer), 0, DIBS_OK);
  expect_in_time(dibs_observer_next(observer, &leader), 0, DIBS_BUSY);
  expect_in_time(dibs_observer_free(observer) == NULL, 0, true);
  expect_in_time(dibs_hold_detach(held), 0, DIBS_OK);
  expect_in_time(dibs_release_async(written, NULL, NULL), 0, DIBS_OK);
  assert_int_equal(pthread_join(waits, NULL), 0);
  test_server_resume(live_server);
  names = dibs_names_free(names);
  client = dibs_close(client);
}

/* ---- the world ---- */

static int setup(void **state)
{
  (void)every_call_setup(state);
  stall_watch_start();
  return 0;
}

/* A test may have failed in between. */
static int go_on(void **state)
{
  (void)state;
  test_server_resume(live_server);
  client = dibs_close(client);
  return 0;
}

static int teardown(void **state)
{
  stall_watch_stop();
  return live_server_teardown(state);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;

  return tests_run(setup, teardown, NULL, go_on);
}
