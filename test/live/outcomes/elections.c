/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/elections.c - what a leader and its observers call; ways.c has how
 * it becomes one. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

static void lead(dibs_client *c)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  live_expect(c, dibs_acquire(c, DIBS_LEAD(name, "value"), &o, &hold), DIBS_OK);
}

/* ---- publish ---- */

static dibs_status publish(void)
{
  return dibs_publish(hold, "another value");
}

static dibs_status publish_of_a_leader(void)
{
  dibs_status status;

  lead(client);
  status = publish();
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status publish_of_a_broken_leader(void)
{
  char lease[96];
  dibs_status status;

  lead(client);
  lease_of(lease);
  live_expect_ok(dibs_break(other, dibs_text(name), lease));
  status = publish();
  (void)dibs_release(hold);
  return status;
}

static dibs_status publish_of_a_lock(void)
{
  dibs_status status;

  hold = held(client);
  status = publish();
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status publish_of_a_long_value(void)
{
  char value[DIBS_LEADER_VALUE_MAX + 2];
  dibs_status status;

  memset(value, 'x', sizeof(value) - 1);
  value[sizeof(value) - 1] = 0;
  lead(client);
  status = dibs_publish(hold, value);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status publish_of_a_former_leader(void)
{
  lead(client);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return publish();
}

static dibs_status publish_without_a_reply(void)
{
  dibs_status status;

  lead(quick);
  status = without_a_reply(publish);
  (void)dibs_release(hold);
  return status;
}

/* ---- one look ---- */

static dibs_status look(void)
{
  dibs_leader *leader = NULL;
  dibs_status status = dibs_get_leader(other, name, &leader);

  leader = dibs_leader_free(leader);
  return status;
}

static dibs_status look_at_a_leader(void)
{
  dibs_status status;

  lead(client);
  status = look();
  assert_int_equal(dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status look_at_a_semaphore(void)
{
  live_expect_ok(dibs_semaphore_set(client, dibs_text(name), 1, 0, NULL));
  return look();
}

static dibs_status look_without_a_name(void)
{
  name = "";
  return look();
}

static dibs_status look_without_a_reply(void) { return without_a_reply(look); }
static dibs_status look_in_plain(void) { return in_plain(look); }

/* ---- observers ---- */

static dibs_observer *observer;

static dibs_status observe(void)
{
  return dibs_observe(other, name, NULL, NULL, NULL, &observer);
}

static dibs_status observe_a_name(void)
{
  dibs_status status = observe();

  observer = dibs_observer_free(observer);
  return status;
}

static dibs_status observe_without_a_name(void)
{
  name = "";
  return observe_a_name();
}

static dibs_status observe_in_plain(void) { return in_plain(observe_a_name); }

static dibs_status next(void)
{
  dibs_leader *leader = NULL;
  dibs_status status = dibs_observer_next(observer, &leader);

  leader = dibs_leader_free(leader);
  return status;
}

static dibs_status news;

static bool has_news(void *data)
{
  (void)data;
  news = next();
  return news != DIBS_BUSY;
}

/* What the first report is. */
static dibs_status first_news(void)
{
  live_expect_ok(observe());
  assert_true(live_until(LIVE_LONG_MS, has_news, NULL));
  return news;
}

static dibs_status of_an_observer(situation *run)
{
  dibs_status status = run();

  observer = dibs_observer_free(observer);
  return status;
}

static dibs_status second_news(void)
{
  live_expect_ok(first_news());
  return next();
}

static dibs_status news_of_a_semaphore(void)
{
  live_expect_ok(dibs_semaphore_set(client, dibs_text(name), 1, 0, NULL));
  return first_news();
}

static dibs_status next_without_room(void)
{
  live_expect_ok(observe());
  return dibs_observer_next(observer, NULL);
}

static dibs_status next_in_a_child(void)
{
  live_expect_ok(observe());
  return in_a_child(next);
}

static dibs_status next_of_a_state(void) { return of_an_observer(first_news); }
static dibs_status next_of_nothing_new(void) { return of_an_observer(second_news); }
static dibs_status next_of_a_semaphore(void) { return of_an_observer(news_of_a_semaphore); }
static dibs_status next_with_nothing(void) { return of_an_observer(next_without_room); }
static dibs_status next_of_the_parent(void) { return of_an_observer(next_in_a_child); }

static dibs_status next_of_a_freed_one(void)
{
  dibs_observer *freed;

  live_expect_ok(observe());
  freed = observer;
  (void)dibs_observer_free(observer);
  observer = freed;
  return next();
}

/* ---- the table ---- */

#define ROWS(X, NOT_HERE) \
  X(dibs_publish, DIBS_OK, publish_of_a_leader) \
  X(dibs_publish, DIBS_LOST, publish_of_a_broken_leader) \
  X(dibs_publish, DIBS_ERR_ARGUMENT, publish_of_a_lock) \
  X(dibs_publish, DIBS_ERR_ARGUMENT, publish_of_a_long_value) \
  X(dibs_publish, DIBS_ERR_STALE, publish_of_a_former_leader) \
  X(dibs_publish, DIBS_UNKNOWN, publish_without_a_reply) \
  X(dibs_get_leader, DIBS_OK, look) \
  X(dibs_get_leader, DIBS_OK, look_at_a_leader) \
  X(dibs_get_leader, DIBS_ERR_ARGUMENT, look_without_a_name) \
  X(dibs_get_leader, DIBS_ERR_WRONG_TYPE, look_at_a_semaphore) \
  X(dibs_get_leader, DIBS_ERR_UNSUPPORTED, look_in_plain) \
  X(dibs_get_leader, DIBS_ERR_UNREACHABLE, look_without_a_reply) \
  X(dibs_observe, DIBS_OK, observe_a_name) \
  X(dibs_observe, DIBS_ERR_ARGUMENT, observe_without_a_name) \
  X(dibs_observe, DIBS_ERR_UNSUPPORTED, observe_in_plain) \
  X(dibs_observer_next, DIBS_OK, next_of_a_state) \
  X(dibs_observer_next, DIBS_BUSY, next_of_nothing_new) \
  X(dibs_observer_next, DIBS_ERR_WRONG_TYPE, next_of_a_semaphore) \
  X(dibs_observer_next, DIBS_ERR_ARGUMENT, next_with_nothing) \
  X(dibs_observer_next, DIBS_ERR_STALE, next_of_a_freed_one) \
  X(dibs_observer_next, DIBS_ERR_FORKED, next_of_the_parent)

OUTCOMES(outcomes_of_elections);
