/* SPDX-License-Identifier: MIT */
/* test/live/inspect_test.c - who holds it, who waits, all of them, and taking it
 * away: dibs_inspect, dibs_list by SCAN, dibs_break of one very lease. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "live.h"

static dibs_client *holder, *waiter, *admin;

static int setup(void **state)
{
  dibs_options o = live_options();

  (void)live_server_setup(state);
  o.note = "the nightly job";
  holder = live_open_with(live_url(), &o);
  waiter = live_open(live_url());
  admin = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  admin = dibs_close(admin);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

static dibs_inspection *inspect(const char *name)
{
  dibs_inspection *seen = NULL;

  live_expect(admin, dibs_inspect(admin, dibs_text(name), &seen), DIBS_OK);
  assert_non_null(seen);
  assert_string_equal(seen->name, name);
  assert_int_equal(seen->name_size, strlen(name));
  return seen;
}

static void expect_this_process(const dibs_party *party)
{
  char host[256] = "";

  assert_int_equal(gethostname(host, sizeof(host) - 1), 0);
  assert_int_equal(strlen(party->client), 22);
  assert_int_equal(party->pid, getpid());
  assert_int_equal(strncmp(party->host, host, 64), 0);
  assert_non_null(strstr(party->program, "inspect_test"));
  assert_string_equal(party->version, DIBS_VERSION);
}

TEST(a_holder_is_shown_with_all_about_it)
{
  live_needs_keys();
  dibs_lock_options o = live_lock_options(60000, 0);
  int64_t before_us = live_wall_us();
  dibs_inspection *seen;
  dibs_hold *hold;

  hold = live_lock_with(holder, "shown", &o);
  seen = inspect("shown");
  assert_true(seen->is_held);
  assert_int_equal(seen->fence, dibs_hold_fence(hold));
  assert_in_range(seen->remaining_ms, 50000, 60000);
  assert_int_equal(seen->ttl_ms, 60000);
  assert_in_range(seen->since_unix_us, before_us - 1, live_wall_us() + 1);
  expect_this_process(seen->holder);
  assert_string_equal(seen->holder->note, "the nightly job");
  assert_int_equal(seen->waiter_count, 0);
  seen = dibs_inspection_free(seen);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

struct noted { const char *name, *note; };

static bool has_note(void *data)
{
  const struct noted *n = data;
  dibs_inspection *seen = inspect(n->name);
  bool is_so = strcmp(seen->holder->note, n->note) == 0;

  seen = dibs_inspection_free(seen);
  return is_so;
}

TEST(a_note_of_one_hold_is_shown)
{
  dibs_lock_options o = live_lock_options(60000, 0);
  struct noted n = { "noted", "invoice 42" };
  dibs_hold *hold;

  o.note = n.note;
  hold = live_lock_with(holder, n.name, &o);
  assert_true(live_until(LIVE_LONG_MS, has_note, &n));        /* sent after the grant */
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_note_of_a_hold_of_several_names_is_shown_with_each)
{
  static const char *const names[] = { "noted-a", "noted-b" };

  live_needs_keys();
  dibs_lock_options o = live_lock_options(60000, LIVE_LONG_MS);
  struct noted n[] = { { names[0], "invoice 43" }, { names[1], "invoice 43" } };
  struct noted after[] = { { names[0], "the nightly job" }, { names[1], "the nightly job" } };
  dibs_hold *hold, *single[2];

  o.note = n[0].note;
  live_expect(holder, acquire_names(holder, names, 2, &o, &hold), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, has_note, &n[0]));
  assert_true(live_until(LIVE_LONG_MS, has_note, &n[1]));
  assert_int_equal(dibs_release(hold), DIBS_OK);
  for (int i = 0; i < 2; i++)
    single[i] = live_lock(holder, names[i], 60000);
  assert_true(live_until(LIVE_LONG_MS, has_note, &after[0]));
  assert_true(live_until(LIVE_LONG_MS, has_note, &after[1]));
  for (int i = 0; i < 2; i++)
    assert_int_equal(dibs_release(single[i]), DIBS_OK);
}

TEST(waiters_are_shown_in_order)
{
  live_needs_keys();
  dibs_hold *hold = live_lock(holder, "queue", 60000);
  dibs_lock_options o = live_lock_options(5000, 0);
  struct live_ask first, second;
  dibs_inspection *seen;

  live_ask_begin(&first, waiter, "queue", &o);
  live_expect_waiters(live_server, "queue", 1);
  live_ask_begin(&second, admin, "queue", &o);
  live_expect_waiters(live_server, "queue", 2);
  seen = inspect("queue");
  assert_int_equal(seen->waiter_count, 2);
  assert_int_equal(seen->party_count, 2);
  expect_this_process(seen->waiters[0]);
  assert_string_not_equal(seen->waiters[0]->client, seen->waiters[1]->client);
  assert_true(seen->waiters[0]->waited_ms >= seen->waiters[1]->waited_ms);
  seen = dibs_inspection_free(seen);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&first, LIVE_LONG_MS)), DIBS_OK);
  assert_int_equal(dibs_release(live_ask_granted(&second, LIVE_LONG_MS)), DIBS_OK);
}

TEST(a_free_lock_is_shown_as_free)
{
  live_needs_keys();
  dibs_inspection *seen = inspect("never-seen");
  uint64_t fence;

  assert_false(seen->is_held);
  assert_int_equal(seen->fence, 0);
  assert_int_equal(seen->remaining_ms, 0);
  assert_string_equal(seen->holder->client, "");
  seen = dibs_inspection_free(seen);
  assert_int_equal(test_server_integer(live_server, "EXISTS %s", live_key("never-seen")), 0);
  {
    dibs_hold *hold = live_lock(holder, "given-back", 60000);

    fence = dibs_hold_fence(hold);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
  seen = inspect("given-back");
  assert_false(seen->is_held);
  assert_int_equal(seen->fence, fence);
  seen = dibs_inspection_free(seen);
}

/* ---- the list ---- */

struct found {
  int held, all, stop_after;
  char last[64];
};

static bool look(const dibs_inspection *seen, void *data)
{
  struct found *f = data;

  f->all++;
  f->held += seen->is_held;
  (void)snprintf(f->last, sizeof(f->last), "%s", seen->name);
  return f->all != f->stop_after;
}

static long calls_of(const char *command)
{
  const char *stats = test_server_command(live_server, "INFO commandstats");
  char key[32];
  const char *at;

  (void)snprintf(key, sizeof(key), "cmdstat_%s:calls=", command);
  at = strstr(stats, key);
  return at == NULL ? 0 : atol(at + strlen(key));
}

TEST(the_list_shows_all_of_the_prefix_by_scan)
{
  live_needs_one_view();
  dibs_hold *holds[100];
  struct found all = { 0 }, some = { 0 }, one = { .stop_after = 1 };
  dibs_options o = live_options();
  dibs_client *elsewhere;
  long keys = calls_of("keys");
  char name[32];

  for (int i = 0; i < 100; i++) {
    (void)snprintf(name, sizeof(name), "list:%d", i);
    holds[i] = live_lock(holder, name, 60000);
  }
  assert_string_equal(test_server_command(live_server, "SET dibs:other x"), "OK");
  assert_string_equal(test_server_command(live_server, "SET unrelated x"), "OK");
  live_expect(admin, dibs_list(admin, NULL, look, &all), DIBS_OK);
  assert_int_equal(all.held, 100);
  live_expect(admin, dibs_list(admin, "list:4?", look, &some), DIBS_OK);
  assert_int_equal(some.held, 10);
  live_expect(admin, dibs_list(admin, "list:*", look, &one), DIBS_OK);
  assert_int_equal(one.all, 1);
  memset(&some, 0, sizeof(some));
  live_expect(admin, dibs_list(admin, "list:42", look, &some), DIBS_OK);
  assert_int_equal(some.all, 1);
  assert_string_equal(some.last, "list:42");

  o.prefix = "other";
  elsewhere = live_open_with(live_url(), &o);
  memset(&all, 0, sizeof(all));
  live_expect(elsewhere, dibs_list(elsewhere, NULL, look, &all), DIBS_OK);
  assert_int_equal(all.all, 0);
  assert_int_equal(live_try(elsewhere, "list:1"), DIBS_OK);      /* another lock */
  elsewhere = dibs_close(elsewhere);

  assert_int_equal(calls_of("keys"), keys);
  assert_true(calls_of("scan") > 0);
  for (int i = 0; i < 100; i++)
    assert_int_equal(dibs_release(holds[i]), DIBS_OK);
  (void)test_server_command(live_server, "DEL dibs:other unrelated");
}

/* Names that clash with the key's own form, and names of any bytes. */
TEST(odd_names_come_back_as_they_were)
{
  live_needs_one_view();
  static const char *const names[] = { "a{b}c", "{x}", "x{}", "a b", "*", "[a-z]", "x}y",
                                       "\xc3\xa4", "a\nb", "{", "\\" };

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    dibs_hold *hold = live_lock(holder, names[i], 60000);
    struct found all = { 0 };
    dibs_inspection *seen = inspect(names[i]);

    assert_true(seen->is_held);
    seen = dibs_inspection_free(seen);
    live_expect(admin, dibs_list(admin, NULL, look, &all), DIBS_OK);
    assert_int_equal(all.held, 1);
    live_refused(live_try(waiter, names[i]), DIBS_BUSY);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    (void)test_server_command(live_server, "FLUSHALL");
  }
}

/* ---- break ---- */

TEST(a_broken_lock_is_handed_on_and_its_holder_told)
{
  live_needs_keys();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(600000, 0), wait = live_lock_options(5000, 0);
  struct live_ask next;
  dibs_inspection *seen;
  dibs_hold *hold;

  live_report_loss(&o, &loss);
  hold = live_lock_with(holder, "broken", &o);
  live_ask_begin(&next, waiter, "broken", &wait);
  live_expect_waiters(live_server, "broken", 1);
  /* Its holder is told at once if it listens, else at its next renewal. */
  live_refused(live_try(holder, "broken"), DIBS_BUSY);
  seen = inspect("broken");
  live_expect(admin, dibs_break(admin, dibs_text("broken"), seen->lease), DIBS_OK);
  assert_true(dibs_hold_fence(live_ask_granted(&next, LIVE_LONG_MS)) > dibs_hold_fence(hold));
  /* A late or repeated call hits nobody else. */
  assert_int_equal(dibs_break(admin, dibs_text("broken"), seen->lease), DIBS_TAKEN);
  assert_int_equal(dibs_hold_state(next.hold), DIBS_HOLD_HELD);
  live_refused(live_try(admin, "broken"), DIBS_BUSY);
  assert_int_equal(dibs_release(hold), DIBS_TAKEN);
  assert_int_equal(dibs_release(next.hold), DIBS_OK);
  assert_int_equal(dibs_break(admin, dibs_text("broken"), seen->lease), DIBS_LOST);
  assert_int_equal(dibs_break(admin, dibs_text("broken"), "nonsense"), DIBS_ERR_ARGUMENT);
  seen = dibs_inspection_free(seen);
}

/* In a cluster each name has its own inbox: who waited for another one does not hear. */
TEST(a_listening_holder_hears_of_the_break_at_once)
{
  live_needs_one_view();
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(600000, 0), soon = live_lock_options(1000, 50);
  dibs_hold *mine = live_lock(admin, "{ear}listen", 60000), *hold = NULL;
  dibs_inspection *seen;

  live_refused(dibs_lock(holder, "{ear}listen", &soon, &hold), DIBS_TIMED_OUT);
  live_report_loss(&o, &loss);
  hold = live_lock_with(holder, "{ear}heard", &o);
  seen = inspect("{ear}heard");
  live_expect(admin, dibs_break(admin, dibs_text("{ear}heard"), seen->lease), DIBS_OK);
  assert_true(live_loss_wait(&loss, 2000));          /* its renewal is 200 s away */
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
  seen = dibs_inspection_free(seen);
  assert_int_equal(dibs_release(mine), DIBS_OK);
}

RUN_TESTS(setup, teardown)
