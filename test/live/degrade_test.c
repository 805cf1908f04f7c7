/* SPDX-License-Identifier: MIT */
/* test/live/degrade_test.c - degrade=local: locks of this machine while no server answers, and
 * their end when one does. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "degrade_place.h"

#define LOCAL_FENCES ((uint64_t)1 << 40)

static struct live_events events;
static char lost_text[512];              /* of the last DIBS_EVENT_LOST; before its count */

static void with_lost_text(const dibs_event *event, void *data)
{
  if (event->kind == DIBS_EVENT_LOST)
    (void)snprintf(lost_text, sizeof(lost_text), "%s", event->text);
  live_on_event(event, data);
}

static dibs_client *open_local(uint32_t flags)
{
  dibs_options o = local_options();

  o.flags |= flags;
  o.on_event = with_lost_text;
  o.on_event_data = &events;
  return live_open_with(test_server_url(live_server), &o);
}

/* The server is down. */
static int setup(void **state)
{
  (void)state;
  memset(&events, 0, sizeof(events));
  (void)pthread_mutex_init(&events.mutex, NULL);
  test_server_kill9(live_server);
  a = open_local(0);
  b = open_local(0);
  return 0;
}

static void is_local(const dibs_hold *hold)
{
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_LOCAL);
  assert_true(dibs_hold_fence(hold) > 0 && dibs_hold_fence(hold) < LOCAL_FENCES);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
}

/* ---- taking ---- */

TEST(without_a_server_a_lock_is_one_of_this_machine)
{
  dibs_hold *hold = live_lock(a, "x", 5000);
  uint64_t fence = dibs_hold_fence(hold);

  is_local(hold);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  assert_int_equal(live_try(b, "y"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  hold = live_lock(b, "x", 5000);
  is_local(hold);
  PROMISE_GROWN(dibs_hold_fence(hold), fence);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(it_is_told_once_for_each_client_and_outage)
{
  assert_int_equal(live_try(a, "x"), DIBS_OK);
  assert_int_equal(live_try(a, "y"), DIBS_OK);
  assert_int_equal(live_try(a, "x"), DIBS_OK);
  a = dibs_close(a);                       /* runs what is left of callbacks */
  assert_int_equal(atomic_load(&events.counts[DIBS_EVENT_WARNING]), 1);
  assert_non_null(strstr(events.warning, "this machine only"));
}

TEST(who_waits_is_granted_after_the_release)
{
  dibs_lock_options o = live_lock_options(5000, LIVE_LONG_MS);
  dibs_hold *hold = live_lock(a, "x", 5000);
  struct live_ask ask;

  live_refused(live_try(b, "x"), DIBS_BUSY);
  live_ask_begin(&ask, b, "x", &o);
  assert_false(live_ask_wait(&ask, 0) && ask.status == DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  is_local(hold);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(waiting_ends_in_time_by_cancel_and_by_close)
{
  dibs_lock_options forever = live_lock_options(5000, 0), o = live_lock_options(5000, 300);
  dibs_hold *hold = live_lock(a, "x", 5000), *none = NULL;
  struct live_ask cancelled, closed;

  live_refused(live_try(b, "x"), DIBS_BUSY);
  live_expect_refused(b, dibs_lock(b, "x", &o, &none), DIBS_TIMED_OUT);
  live_ask_begin(&cancelled, b, "x", &forever);
  live_ask_begin(&closed, b, "x", &forever);
  assert_int_equal(dibs_request_cancel(cancelled.request), DIBS_OK);
  assert_true(live_ask_wait(&cancelled, LIVE_LONG_MS));
  assert_int_equal(cancelled.status, DIBS_CANCELLED);
  b = dibs_close(b);
  assert_int_equal(closed.callbacks, 1);
  assert_int_equal(closed.status, DIBS_ERR_CLOSED);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(the_same_owner_enters_again)
{
  dibs_lock_options o = live_lock_options(5000, 1000), alone = o;
  dibs_hold *outer = live_lock_with(a, "x", &o), *inner, *none = NULL;

  inner = live_lock_with(a, "x", &o);
  assert_int_equal(live_info(inner).depth, 2);
  assert_int_equal(dibs_hold_fence(inner), dibs_hold_fence(outer));
  alone.flags = DIBS_LOCK_NO_REENTRY;
  live_expect(a, dibs_lock(a, "x", &alone, &none), DIBS_WOULD_DEADLOCK);
  assert_int_equal(dibs_release(outer), DIBS_OK);
  live_refused(live_try(b, "x"), DIBS_BUSY);
  live_refused(live_try(a, "x"), DIBS_BUSY);      /* of nobody */
  assert_int_equal(dibs_release(inner), DIBS_OK);
  assert_int_equal(live_try(b, "x"), DIBS_OK);
}

TEST(a_fixed_lease_ends)
{
  dibs_lock_options o = live_lock_options(300, 1000);
  struct live_loss loss = { 0 };
  dibs_hold *hold;

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  hold = live_lock_with(a, "x", &o);
  is_local(hold);
  assert_true(dibs_hold_valid_ms(hold) <= 300);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(live_try(b, "x"), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

static void enters_not(const dibs_lock_options *o)
{
  dibs_hold *none = NULL;

  live_expect(a, dibs_lock(a, "x", o, &none), DIBS_ERR_ARGUMENT);
  assert_null(none);
}

TEST(an_inner_hold_has_the_end_of_the_outer_one)
{
  dibs_lock_options renewed = live_lock_options(5000, 1000), limited = renewed, fixed = renewed;
  struct live_loss loss = { 0 };
  dibs_hold *outer = live_lock_with(a, "x", &renewed), *inner[2];

  limited.max_hold_ms = 5000;
  fixed.flags = DIBS_LOCK_FIXED;
  enters_not(&fixed);
  enters_not(&limited);
  assert_int_equal(dibs_release(outer), DIBS_OK);

  outer = live_lock_with(a, "x", &fixed);
  fixed.ttl_ms = 100;
  enters_not(&fixed);
  live_report_loss(&renewed, &loss);
  inner[0] = live_lock_with(a, "x", &renewed);
  assert_true(dibs_hold_valid_ms(inner[0]) <= 5000);
  fixed.ttl_ms = 10000;
  inner[1] = live_lock_with(a, "x", &fixed);
  assert_true(dibs_hold_valid_ms(inner[1]) <= 5000);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(live_try(b, "x"), DIBS_OK);
  assert_int_equal(dibs_release(outer), DIBS_LOST);
  assert_int_equal(dibs_release(inner[0]), DIBS_LOST);
  assert_int_equal(dibs_release(inner[1]), DIBS_LOST);
}

TEST(a_client_without_threads_can_do_it_too)
{
  dibs_client *c = open_local(DIBS_CLIENT_NO_THREAD);
  dibs_hold *hold = live_lock(c, "x", 5000), *none = NULL;
  dibs_lock_options o = live_lock_options(5000, 200);

  is_local(hold);
  live_refused(live_try(a, "x"), DIBS_BUSY);
  o.flags = DIBS_LOCK_NO_OWNER;
  live_expect_refused(c, dibs_lock(c, "x", &o, &none), DIBS_TIMED_OUT);
  c = dibs_close(c);
  live_expect_free(a, "x", LIVE_LONG_MS);
}

/* ---- what is not ---- */

TEST(other_kinds_and_other_clients_are_told_that_no_server_answers)
{
  dibs_lock_options o = live_lock_options(5000, 1000);
  dibs_options strict = live_options();
  dibs_client *c;
  dibs_hold *none = NULL;

  live_expect(a, dibs_acquire(a, DIBS_READ("x"), &o, &none), DIBS_ERR_UNREACHABLE);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("x", 1), &o, &none), DIBS_ERR_UNREACHABLE);
  live_expect(a, dibs_acquire(a, DIBS_LEAD("x", "me"), &o, &none), DIBS_ERR_UNREACHABLE);
  o.min_replicas = 1;
  live_expect(a, dibs_lock(a, "x", &o, &none), DIBS_ERR_UNREACHABLE);
  strict.connect_timeout_ms = 200;
  c = live_open_with(test_server_url(live_server), &strict);
  assert_int_equal(live_try(c, "x"), DIBS_ERR_UNREACHABLE);
  c = dibs_close(c);
}

TEST(there_is_no_token_of_it)
{
  dibs_hold *hold = live_lock(a, "x", 5000);
  char token[DIBS_TOKEN_SIZE];

  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(dibs_hold_detach(hold), DIBS_ERR_UNSUPPORTED);
  is_local(hold);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

/* ---- processes ---- */

/* What a process of its own says that does `work`, which never returns. */
static int child_says(void (*work)(void))
{
  pid_t child = fork();
  int how = 0;

  if (child == 0)
    work();
  assert_true(child > 0);
  assert_int_equal(promise_waitpid(child, &how, 0), child);
  assert_true(WIFEXITED(how));
  return WEXITSTATUS(how);
}

static void try_in_child(void)
{
  dibs_client *c = open_local(0);
  dibs_status status = live_try(c, "x");

  c = dibs_close(c);
  _exit((int)status);
}

static void take_and_die(void)
{
  dibs_client *c = open_local(0);
  dibs_lock_options o = live_lock_options(5000, 5000);
  dibs_hold *hold = NULL;

  _exit((int)dibs_lock(c, "x", &o, &hold));
}

static void close_of_parent(void)
{
  a = dibs_close(a);
  _exit(0);
}

TEST(processes_exclude_each_other_and_their_end_lets_go)
{
#ifdef __SANITIZE_THREAD__
  (void)state;               /* it loses count of threads that are made behind a fork */
  return;
#endif
  dibs_hold *hold = live_lock(a, "x", 5000);

  assert_int_equal(child_says(try_in_child), DIBS_BUSY);
  assert_int_equal(child_says(close_of_parent), 0);
  assert_int_equal(child_says(try_in_child), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(child_says(take_and_die), DIBS_OK);
  assert_int_equal(live_try(a, "x"), DIBS_OK);
}

/* ---- the server is back ---- */

static bool is_up(void *client)
{
  uint64_t us;

  return dibs_ping(client, 100, &us) == DIBS_OK;
}

static bool was_lost_once(void *counts)
{
  return atomic_load(&((struct live_events *)counts)->counts[DIBS_EVENT_LOST]) == 1;
}

static void has_counts(uint64_t granted, uint64_t holds, uint64_t lost, uint64_t released)
{
  dibs_client_info info = live_stats(a);

  assert_int_equal(info.granted, granted);
  assert_int_equal(info.granted_local, granted);
  assert_int_equal(info.holds, holds);
  assert_int_equal(info.lost, lost);
  assert_int_equal(info.released, released);
}

TEST(a_hold_is_lost_when_a_server_answers)
{
  dibs_error error = DIBS_ERROR_INIT;
  dibs_lock_options o = live_lock_options(1000, 5000);
  struct live_loss loss = { 0 };
  struct pollfd watched = { .events = POLLIN };
  dibs_hold *hold, *other;
  uint64_t fence;

  live_report_loss(&o, &loss);
  hold = live_lock_with(a, "x", &o);
  is_local(hold);
  assert_int_equal(dibs_release(live_lock(a, "y", 5000)), DIBS_OK);
  has_counts(2, 1, 0, 1);
  fence = dibs_hold_fence(hold);
  watched.fd = dibs_hold_fd(hold);
  test_server_restart(live_server, false);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(atomic_load(&loss.why), DIBS_LOST);
  assert_true(live_until(LIVE_LONG_MS, was_lost_once, &events));
  assert_non_null(strstr(lost_text, "\"x\": a server answers again"));
  has_counts(2, 0, 1, 1);
  assert_int_equal(poll(&watched, 1, LIVE_LONG_MS), 1);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_true(live_until(LIVE_LONG_MS, is_up, b));
  other = live_lock(b, "x", 5000);
  assert_int_equal(live_info(other).durability, DIBS_DURABLE_PRIMARY);
  PROMISE_GROWN(dibs_hold_fence(other), fence);
  assert_true(dibs_hold_fence(other) > LOCAL_FENCES);
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  assert_int_equal(dibs_client_error(a, 0, &error), DIBS_OK);
  assert_non_null(strstr(error.text, "a server answers again"));
  assert_int_equal(dibs_release(other), DIBS_OK);
  assert_int_equal(atomic_load(&loss.count), 1);
  assert_true(was_lost_once(&events));
  has_counts(2, 0, 1, 1);
}

static bool is_gone(void *hold)
{
  return dibs_hold_state(hold) == DIBS_HOLD_GONE;
}

/* Not why no server can be asked, which is a warning of its own. */
static void only_outages(const dibs_event *event, void *data)
{
  if (strstr(event->text, "this machine only") != NULL)
    live_on_event(event, data);
}

static void open_telling(void (*on_event)(const dibs_event *, void *), struct live_events *told)
{
  dibs_options o = local_options();

  o.on_event = on_event;
  o.on_event_data = told;
  a = dibs_close(a);
  a = live_open_with(test_server_url(live_server), &o);
}

/* Of the first outage nothing is left when the server is back: no claim needed it for 30 s. If a
 * slow machine still looks for its end then, that end makes the second one another, too. */
TEST(the_next_outage_is_told_again)
{
  struct live_events told = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_hold *hold;

  open_telling(only_outages, &told);
  assert_int_equal(live_try(a, "x"), DIBS_OK);
  (void)poll(NULL, 0, 31000);
  test_server_restart(live_server, false);
  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  hold = live_lock(a, "x", 5000);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_PRIMARY);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  test_server_kill9(live_server);
  live_expect_free(a, "y", LIVE_LONG_MS);  /* on this machine */
  a = dibs_close(a);                       /* runs what is left of callbacks */
  assert_int_equal(atomic_load(&told.counts[DIBS_EVENT_WARNING]), 2);
}

static bool is_recovered(void *told)
{
  return atomic_load(&((struct live_events *)told)->counts[DIBS_EVENT_RECOVERED]) > 0;
}

static bool is_warned_of_both(void *told)
{
  return atomic_load(&((struct live_events *)told)->counts[DIBS_EVENT_WARNING]) == 2;
}

/* That locks are local now, and that no server could be asked: its end is found by no call. */
TEST(the_end_of_an_outage_is_told)
{
  struct live_events told = { .mutex = PTHREAD_MUTEX_INITIALIZER };
  dibs_hold *hold;

  open_telling(live_on_event, &told);
  hold = live_lock(a, "x", 60000);
  assert_true(live_until(LIVE_LONG_MS, is_warned_of_both, &told));
  test_server_restart(live_server, false);
  assert_true(live_until(LIVE_LONG_MS, is_recovered, &told));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  a = dibs_close(a);
}

TEST(who_waits_then_waits_at_the_server)
{
  dibs_lock_options o = live_lock_options(5000, LIVE_LONG_MS);
  dibs_hold *lost = live_lock(a, "x", 1000), *hold;
  struct live_ask ask;

  live_refused(live_try(b, "x"), DIBS_BUSY);
  live_ask_begin(&ask, b, "x", &o);
  test_server_restart(live_server, false);
  hold = live_ask_granted(&ask, LIVE_LONG_MS);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_PRIMARY);
  assert_true(dibs_hold_fence(hold) > LOCAL_FENCES);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_gone, lost));
  assert_int_equal(dibs_release(lost), DIBS_LOST);
}

TEST(what_a_server_gave_before_still_excludes)
{
  dibs_lock_options o = live_lock_options(20000, 1000);
  dibs_hold *hold, *none = NULL;

  test_server_restart(live_server, false);
  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  hold = live_lock(a, "x", 20000);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_PRIMARY);
  test_server_kill9(live_server);
  o.flags = DIBS_LOCK_NO_OWNER;
  live_expect_refused(a, dibs_lock(a, "x", &o, &none), DIBS_TIMED_OUT);
  assert_int_equal(dibs_hold_state(hold) == DIBS_HOLD_GONE, false);
  test_server_restart(live_server, false);
  (void)dibs_release(hold);
}

/* Its loss is reported up to 5 ms before the end that the program was told. */
TEST(what_a_server_gave_before_excludes_until_its_end)
{
  dibs_hold *hold;
  dibs_status status;
  int64_t end_us = 0;

  test_server_restart(live_server, false);
  assert_true(live_until(LIVE_LONG_MS, is_up, a));
  hold = live_lock(a, "x", 1000);
  assert_int_equal(live_info(hold).durability, DIBS_DURABLE_PRIMARY);
  test_server_kill9(live_server);
  assert_int_equal(live_try(b, "y"), DIBS_OK);       /* its outage begins */
  do {
    int64_t now_us = live_now_us(), valid_ms = dibs_hold_valid_ms(hold);

    if (valid_ms > 0)
      end_us = now_us + 1000 * valid_ms;
    status = live_try(b, "x");
  } while (status == DIBS_BUSY);
  assert_int_equal(status, DIBS_OK);
  promise_kept(live_now_us() >= end_us, "granted %lld us before the end of another hold",
               (long long)(end_us - live_now_us()));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

RUN_TESTS_EACH(group_setup, group_teardown, setup, teardown)
