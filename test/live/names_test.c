/* SPDX-License-Identifier: MIT */
/* test/live/names_test.c - what a client has in memory of names: seen as it is, bounded, and
 * given back when it lies unused; in all dialects. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "one_client.h"

enum { TTL_MS = 20000, SOON_MS = 8000 };

/* ---- looking ---- */

static dibs_names *seen(dibs_client *c)
{
  dibs_names *names = NULL;

  live_expect(c, dibs_names_list(c, &names), DIBS_OK);
  assert_non_null(names);
  assert_int_equal(names->size, sizeof(*names));
  return names;
}

static size_t count_of(dibs_client *c)
{
  dibs_names *names = seen(c);
  size_t count = names->count;

  dibs_names_free(names);
  return count;
}

/* Assert: `name` is there once, and its bytes outlive nothing but the copy. */
static dibs_name_view look(dibs_client *c, const char *name)
{
  dibs_names *names = seen(c);
  dibs_name_view found = { .size = 0 };

  for (size_t i = 0; i < names->count; i++) {
    const dibs_name_view *v = names->names[i];

    assert_int_equal(strlen(v->name), v->name_size);
    if (strcmp(v->name, name) != 0)
      continue;
    assert_int_equal(found.size, 0);
    found = *v;
  }
  dibs_names_free(names);
  if (found.size == 0)
    fail_msg("%s is not in memory", name);
  return found;
}

static bool is_empty(void *c)
{
  return count_of(c) == 0;
}

static bool somebody_waits(void *c)
{
  return look(c, "one").waiting == 1;
}

/* ---- what is seen ---- */

static void a_lock_is_seen_as_long_as_somebody_here_cares(dibs_client *c)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold, *inner = NULL;
  struct live_ask ask;
  dibs_name_view v;

  assert_int_equal(count_of(c), 0);
  o.owner = "me";
  o.owner_size = 2;
  hold = live_lock_with(c, "one", &o);
  live_expect(c, dibs_lock(c, "one", &o, &inner), DIBS_OK);
  live_ask_begin(&ask, c, "one", NULL);
  assert_true(live_until(LIVE_LONG_MS, somebody_waits, c));
  v = look(c, "one");
  assert_int_equal(v.kind, DIBS_KIND_MUTEX);
  assert_int_equal(v.mode, DIBS_MODE_EXCLUSIVE);
  assert_int_equal(v.state, DIBS_NAME_HELD);
  assert_int_equal(v.holds, 2);
  assert_int_equal(v.units, 1);
  assert_true(v.fence == dibs_hold_fence(hold));
  assert_true(v.valid_ms > TTL_MS / 3 && v.valid_ms <= TTL_MS);
  live_expect(c, dibs_release(inner), DIBS_OK);
  assert_int_equal(look(c, "one").holds, 1);
  live_expect(c, dibs_release(hold), DIBS_OK);
  live_expect(c, dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)), DIBS_OK);
  assert_true(live_until(SOON_MS, is_empty, c));
}

TEST(a_held_lock_and_who_waits_for_it_here)
{
  a_lock_is_seen_as_long_as_somebody_here_cares(client);
}

TEST(it_is_so_in_every_dialect)
{
  static const dibs_dialect dialects[] = { DIBS_DIALECT_REDISSON, DIBS_DIALECT_SPRING,
                                           DIBS_DIALECT_PLAIN };
  live_needs_one_server();

  for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
    dibs_options o = live_options();
    dibs_client *c;

    o.dialect = dialects[i];
    if (o.dialect == DIBS_DIALECT_SPRING)
      o.registry = "orders";
    c = live_open_with(live_url(), &o);
    a_lock_is_seen_as_long_as_somebody_here_cares(c);
    dibs_close(c);
  }
}

TEST(readers_and_a_name_asked_for_twice)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;
  dibs_name_view v;

  live_expect(client, dibs_acquire(client, DIBS_WRITE("rw"), &o, &hold), DIBS_OK);
  v = look(client, "rw");
  assert_int_equal(v.kind, DIBS_KIND_RWLOCK);
  assert_int_equal(v.mode, DIBS_MODE_EXCLUSIVE);
  assert_int_equal(v.state, DIBS_NAME_HELD);
  live_expect(client, dibs_release(hold), DIBS_OK);
  live_expect(client, dibs_acquire(client, DIBS_READ("rw"), &o, &hold), DIBS_OK);
  assert_true(live_until(SOON_MS, is_empty, client) || look(client, "rw").holds == 1);
  assert_int_equal(look(client, "rw").mode, DIBS_MODE_READ);
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_true(live_until(SOON_MS, is_empty, client));
}

TEST(permits_and_several_names_come_each_by_itself)
{
  const char *const both[] = { "{t}a", "{t}b" };
  dibs_hold *permits = NULL, *many = NULL;
  dibs_status set = dibs_semaphore_set(client, dibs_text("pool"), 5, 0, NULL);

  live_needs_answer(set);
  live_expect(client, set, DIBS_OK);
  live_expect(client, dibs_acquire(client, DIBS_PERMITS("pool", 3), NULL, &permits), DIBS_OK);
  live_expect(client, acquire_names(client, both, 2, NULL, &many), DIBS_OK);
  assert_int_equal(look(client, "pool").kind, DIBS_KIND_SEMAPHORE);
  assert_int_equal(look(client, "pool").mode, DIBS_MODE_PERMITS);
  assert_int_equal(look(client, "pool").units, 3);
  assert_int_equal(look(client, "{t}a").state, DIBS_NAME_HELD);
  assert_int_equal(look(client, "{t}b").state, DIBS_NAME_HELD);
  assert_true(look(client, "{t}b").fence == dibs_hold_fence(many));
  assert_int_equal(count_of(client), 3);
  live_expect(client, dibs_release(many), DIBS_OK);
  live_expect(client, dibs_release(permits), DIBS_OK);
  assert_true(live_until(SOON_MS, is_empty, client));
}

TEST(a_lost_lock_is_seen_until_it_is_released)
{
  live_needs_keys();
  dibs_lock_options o = live_lock_options(200, 0);
  struct live_loss loss = { 0 };
  dibs_hold *hold;

  o.flags = DIBS_LOCK_FIXED;
  live_report_loss(&o, &loss);
  hold = live_lock_with(client, "short", &o);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_int_equal(look(client, "short").holds, 0);
  assert_int_equal(look(client, "short").valid_ms, 0);
  assert_true(dibs_release(hold) != DIBS_OK);
  assert_true(live_until(SOON_MS, is_empty, client));
}

TEST(it_needs_no_server)
{
  dibs_options options = live_options();
  struct live_ask ask;
  dibs_client *lonely;

  options.connect_timeout_ms = LIVE_LONG_MS;
  lonely = live_open_with("unix:///nonexistent/dibs.sock", &options);
  live_ask_begin(&ask, lonely, "far", NULL);
  assert_int_equal(look(lonely, "far").state, DIBS_NAME_WAITING);
  assert_int_equal(look(lonely, "far").waiting, 1);
  assert_int_equal(look(lonely, "far").valid_ms, 0);
  dibs_close(lonely);
  assert_true(live_ask_wait(&ask, LIVE_LONG_MS));
}

TEST(the_copy_outlives_its_client)
{
  dibs_client *c = live_open(live_url());
  dibs_hold *hold = live_lock(c, "kept", TTL_MS);
  dibs_names *names = seen(c);

  live_expect(c, dibs_release(hold), DIBS_OK);
  dibs_close(c);
  assert_int_equal(names->count, 1);
  assert_string_equal(names->names[0]->name, "kept");
  assert_null(dibs_names_free(names));
  assert_null(dibs_names_free(NULL));
}

/* ---- the bound ---- */

TEST(one_name_too_many_is_refused_and_the_limit_named)
{
  dibs_options options = live_options();
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *first, *second, *again = NULL, *third = NULL;
  dibs_client *small;

  options.names_max = 2;
  small = live_open_with(live_url(), &options);
  o.owner = "me";
  o.owner_size = 2;
  first = live_lock_with(small, "first", &o);
  second = live_lock_with(small, "second", &o);
  live_expect(small, dibs_lock(small, "third", &o, &third), DIBS_ERR_LIMIT);
  live_expect_words(small, "names_max is 2");
  live_expect(small, dibs_try_lock(small, "third", &o, &third), DIBS_ERR_LIMIT);
  live_expect(small, dibs_lock(small, "first", &o, &again), DIBS_OK);       /* it is there */
  live_expect(small, dibs_release(again), DIBS_OK);
  assert_int_equal(count_of(small), 2);
  live_expect(small, dibs_release(first), DIBS_OK);
  live_expect(small, dibs_lock(small, "third", &o, &third), DIBS_OK);
  live_expect(small, dibs_release(third), DIBS_OK);
  live_expect(small, dibs_release(second), DIBS_OK);
  dibs_close(small);
}

/* A dialect takes them one after the other: what was had before the limit is given back. */
TEST(several_names_beyond_the_limit_leave_none)
{
  live_needs_one_server();
  const char *const both[] = { "{s}a", "{s}b" };
  dibs_options options = live_options();
  dibs_hold *many = NULL;
  dibs_client *small;

  options.dialect = DIBS_DIALECT_REDISSON;
  options.names_max = 1;
  small = live_open_with(live_url(), &options);
  live_expect(small, acquire_names(small, both, 2, NULL, &many), DIBS_ERR_LIMIT);
  assert_true(live_until(SOON_MS, is_empty, small));
  assert_int_equal(test_server_integer(live_server, "EXISTS %s %s", both[0], both[1]), 0);
  dibs_close(small);
}

TEST(a_limit_below_one_is_refused)
{
  dibs_options options = live_options();
  dibs_client *c = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  options.names_max = -1;
  assert_int_equal(dibs_open(live_url(), &options, &c, &error), DIBS_ERR_ARGUMENT);
  assert_non_null(strstr(error.text, "names_max is -1"));
}

/* ---- what lies unused ---- */

static dibs_lock_options lingering(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  o.linger_ms = 60000;
  return o;
}

/* The inbox has to stand before anything is kept: the first cycles open it. */
static void keep_idle(dibs_client *c, const char *name)
{
  dibs_lock_options o = lingering();
  int64_t until = live_now_ms() + LIVE_LONG_MS;

  do {
    live_expect(c, dibs_release(live_lock_with(c, name, &o)), DIBS_OK);
    if (count_of(c) > 0 && look(c, name).state == DIBS_NAME_LINGERING)
      return;
  } while (live_now_ms() < until);
  fail_msg("%s is never kept", name);
}

TEST(what_lingers_unused_is_given_back)
{
  live_needs_keys();
  dibs_client *other = live_open(live_url());
  size_t count = 9;

  keep_idle(client, "idle");
  assert_int_equal(look(client, "idle").holds, 0);
  assert_true(look(client, "idle").valid_ms > 0);
  live_expect(client, dibs_names_expire(client, 50000, &count), DIBS_OK);
  assert_int_equal(count, 0);
  assert_int_equal(look(client, "idle").state, DIBS_NAME_LINGERING);
  live_expect(client, dibs_names_expire(client, 0, &count), DIBS_OK);
  assert_int_equal(count, 1);
  assert_true(live_until(SOON_MS, is_empty, client));
  assert_int_equal(live_lease_end_us(live_server, "idle"), 0);      /* and nobody asked for it */
  dibs_close(other);
}

TEST(what_is_held_does_not_expire)
{
  dibs_hold *hold = live_lock(client, "busy", TTL_MS);
  size_t count = 9;

  live_expect(client, dibs_names_expire(client, 0, &count), DIBS_OK);
  assert_int_equal(count, 0);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  live_expect(client, dibs_names_expire(client, -1, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "unused_ms");
  live_expect(client, dibs_release(hold), DIBS_OK);
}

TEST(the_longest_idle_makes_room_for_a_new_one)
{
  live_needs_keys();
  dibs_options options = live_options();
  dibs_lock_options o = lingering();
  dibs_client *small;
  dibs_hold *hold;

  options.names_max = 2;
  small = live_open_with(live_url(), &options);
  /* One tag, one channel in a cluster: a second one that begins would end what lingers. */
  keep_idle(small, "{t}older");
  keep_idle(small, "{t}newer");
  hold = live_lock_with(small, "{t}newest", &o);
  assert_int_equal(look(small, "{t}newer").state, DIBS_NAME_LINGERING);
  live_expect_free(client, "{t}older", SOON_MS);
  live_expect(small, dibs_release(hold), DIBS_OK);
  dibs_close(small);
}

RUN_TESTS(setup, teardown)
