/* SPDX-License-Identifier: MIT */
/* test/live/broken_hold_test.c - a holder learns that its lock was broken, or released by its
 * token in another process, long before its next renewal: each ttl here is an hour. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

#define TTL_MS 3600000

enum { KINDS_MAX = 9 };

typedef enum company { ALONE, READER, WAITER } company;

typedef struct kind {
  const char *name;
  dibs_status (*take)(const char *name, const dibs_lock_options *o, dibs_hold **ret);
  unsigned flags;
  company beside;             /* what `other` does with the name */
} kind;

static dibs_client *holder, *other;
static dibs_dialect dialect;

static dibs_client *open_one(void)
{
  dibs_options o = DIBS_OPTIONS_INIT;

  o.dialect = dialect;
  o.registry = dialect == DIBS_DIALECT_SPRING ? "jobs" : NULL;
  return live_open_with(live_url(), &o);
}

static int setup(void **state)
{
  return live_server_setup(state);
}

static int teardown(void **state)
{
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static dibs_status mutex(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  return dibs_lock(holder, name, o, ret);
}

static dibs_status reader(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  return dibs_acquire(holder, DIBS_READ(name), o, ret);
}

static dibs_status writer(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  return dibs_acquire(holder, DIBS_WRITE(name), o, ret);
}

static dibs_status many(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  const char *names[] = { "other", name };

  return acquire_names(holder, names, 2, o, ret);
}

static dibs_status permits(const char *name, const dibs_lock_options *o, dibs_hold **ret)
{
  live_expect_ok(dibs_semaphore_set(other, dibs_text(name), 3, DIBS_SEMAPHORE_IF_ABSENT, NULL));
  return dibs_acquire(holder, DIBS_PERMITS(name, 1), o, ret);
}

/* The lease of the hold among those of a name: its token has it, but for the number of the grant,
 * which not all dialects store. */
static bool is_of(const dibs_holder *h, const char *token)
{
  char owner[sizeof(h->lease)];

  (void)snprintf(owner, sizeof(owner), "%s", h->lease);
  strrchr(owner, ':')[1] = 0;
  return strstr(token, owner) != NULL;
}

static void break_it(const char *name, const char *token)
{
  dibs_inspection *seen = NULL;
  int count = 0;

  live_expect_ok(dibs_inspect(other, dibs_text(name), &seen));
  for (size_t i = 0; i < seen->shown_holders; i++)
    if (seen->shown_holders == 1 || is_of(seen->holders[i], token)) {
      live_expect_ok(dibs_break(other, dibs_text(name), seen->holders[i]->lease));
      count++;
    }
  assert_int_equal(count, 1);
  seen = dibs_inspection_free(seen);
}

/* Any process may have the token. Of several slots of a cluster there is none. */
static void release_by_token(const char *name, const char *token)
{
  if (token[0] == 0)
    break_it(name, token);
  else
    live_expect_ok(dibs_token_release(other, token));
}

typedef void ending(const char *name, const char *token);

typedef struct crowd {
  dibs_hold *reader;
  struct live_ask waiter;
} crowd;

/* The second time it is subscribed, and in the queue if there is one. */
static bool has_asked_twice(void *before)
{
  return live_stats(other).commands >= *(uint64_t *)before + 2;
}

static void crowd_begin(crowd *c, const kind *k, const dibs_lock_options *o)
{
  uint64_t before = live_stats(other).commands;

  *c = (crowd){ .reader = NULL };
  if (k->beside == READER)
    live_expect(other, dibs_acquire(other, DIBS_READ(k->name), o, &c->reader), DIBS_OK);
  if (k->beside == WAITER) {
    live_ask_begin(&c->waiter, other, k->name, o);
    assert_true(live_until(LIVE_LONG_MS, has_asked_twice, &before));
  }
}

static void crowd_end(crowd *c, const kind *k)
{
  if (k->beside == READER)
    assert_int_equal(dibs_release(c->reader), DIBS_OK);
  if (k->beside == WAITER)
    assert_int_equal(dibs_release(live_ask_granted(&c->waiter, LIVE_LONG_MS)), DIBS_OK);
}

typedef struct taken {
  const kind *kind;
  dibs_hold *hold;
  char token[DIBS_TOKEN_SIZE];
  struct live_loss loss;
  crowd beside;
} taken;

static void take(taken *t, const kind *k)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  *t = (taken){ .kind = k };
  o.flags = k->flags;
  live_report_loss(&o, &t->loss);
  live_expect(holder, k->take(k->name, &o, &t->hold), DIBS_OK);
  if (k->take != many || live_server_count() == 1)
    live_expect_ok(dibs_hold_token(t->hold, t->token, sizeof(t->token)));
  o.on_lost = NULL;
  o.on_lost_data = NULL;
  crowd_begin(&t->beside, k, &o);
}

static void expect_loss(taken *t)
{
  dibs_status released;

  if (!live_loss_wait(&t->loss, LIVE_LONG_MS))
    fail_msg("%s of dialect %d: the loss was not reported", t->kind->name, (int)dialect);
  assert_int_equal(t->loss.why, DIBS_LOST);
  released = dibs_release(t->hold);
  assert_true(released == DIBS_LOST || (t->kind->beside == WAITER && released == DIBS_TAKEN));
  crowd_end(&t->beside, t->kind);
}

static bool were_renewed(void *count)
{
  return live_stats(holder).renewed >= *(size_t *)count;
}

/* Of a client without a subscription. The first renewal comes with one. */
static void expect_losses(const kind *kinds, size_t count, ending *end, bool is_subscribed)
{
  static taken all[KINDS_MAX];

  assert_true(count <= KINDS_MAX);
  holder = open_one();
  other = open_one();
  for (size_t i = 0; i < count; i++)
    take(&all[i], &kinds[i]);
  if (is_subscribed)
    assert_true(live_until(LIVE_LONG_MS, were_renewed, &count));
  for (size_t i = 0; i < count; i++)
    end(kinds[i].name, all[i].token);
  for (size_t i = 0; i < count; i++)
    expect_loss(&all[i]);
  holder = dibs_close(holder);
  other = dibs_close(other);
}

static void expect_each_loss(dibs_dialect of, const kind *kinds, size_t count)
{
  dialect = of;
  expect_losses(kinds, count, break_it, false);
  expect_losses(kinds, count, break_it, true);
  expect_losses(kinds, count, release_by_token, false);
  expect_losses(kinds, count, release_by_token, true);
}

TEST(each_kind_learns_it)
{
  const kind kinds[] = {
    { "mutex", mutex, 0, ALONE },
    { "awaited", mutex, 0, WAITER },
    { "reader", reader, 0, ALONE },
    { "readers", reader, 0, READER },
    { "writer", writer, 0, ALONE },
    { "many", many, 0, ALONE },
    { "permits", permits, 0, ALONE },
    { "fixed", mutex, DIBS_LOCK_FIXED, ALONE },
  };

  expect_each_loss(DIBS_DIALECT_NATIVE, kinds, sizeof(kinds) / sizeof(*kinds));
}

/* The format has no message to one holder: each receives what wakes waiters; the holder of a spin
 * lock is not subscribed. */
TEST(each_kind_of_redisson_learns_it)
{
  const kind kinds[] = {
    { "lock", mutex, 0, ALONE },
    { "awaited", mutex, 0, WAITER },
    { "fair", mutex, DIBS_LOCK_FAIR, ALONE },
    { "fair_awaited", mutex, DIBS_LOCK_FAIR, WAITER },
    { "fenced", mutex, DIBS_LOCK_FENCED, ALONE },
    { "readers", reader, 0, READER },
    { "reader", reader, 0, ALONE },
    { "writer", writer, 0, ALONE },
    { "permits", permits, 0, ALONE },
  };

  expect_each_loss(DIBS_DIALECT_REDISSON, kinds, sizeof(kinds) / sizeof(*kinds));
}

TEST(a_lock_of_spring_learns_it)
{
  const kind kinds[] = { { "lock", mutex, 0, ALONE }, { "awaited", mutex, 0, WAITER } };

  expect_each_loss(DIBS_DIALECT_SPRING, kinds, sizeof(kinds) / sizeof(*kinds));
}

int main(void)
{
  if (live_is_beyond(LIVE_CLUSTER))
    return 0;

  return tests_run(setup, teardown, NULL, NULL);
}
