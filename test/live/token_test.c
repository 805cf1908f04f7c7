/* SPDX-License-Identifier: MIT */
/* test/live/token_test.c - tokens of locks, shared resources and sets in another client's
 * hands: renewed, released, gone. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

enum { TTL_MS = 20000, LONGER_MS = 60000 };

static const char *const set[] = { "a:1", "b", "c%d" };
static dibs_client *a, *b;

static int setup(void **state)
{
  (void)live_server_setup(state);
  a = live_open(live_url());
  b = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  a = dibs_close(a);
  b = dibs_close(b);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

/* Its token, and the hold into nobody's hands. */
static const char *detach(dibs_hold *hold)
{
  static char token[DIBS_TOKEN_SIZE];

  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  live_expect_ok(live_detach(hold));
  return token;
}

static void expect_renewed(const char *token)
{
  int64_t remaining_ms = 0;

  live_expect(b, dibs_token_renew(b, token, LONGER_MS, &remaining_ms), DIBS_OK);
  assert_in_range(remaining_ms, TTL_MS + 1, LONGER_MS);
}

static dibs_hold *take_set(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;

  live_expect(a, acquire_names(a, set, 3, &o, &hold), DIBS_OK);
  return hold;
}

/* ---- stories ---- */

/* Its token would end what the other hold believes in. */
TEST(one_of_two_nested_holds_is_not_detached)
{
  char token[DIBS_TOKEN_SIZE];
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *outer = NULL, *inner = NULL;

  o.owner = "me";
  o.owner_size = 2;
  live_expect(a, dibs_lock(a, "nested", &o, &outer), DIBS_OK);
  live_expect(a, dibs_lock(a, "nested", &o, &inner), DIBS_OK);
  live_expect_ok(dibs_hold_token(inner, token, sizeof(token)));
  live_expect(a, live_detach(inner), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "another hold");
  assert_int_equal(dibs_hold_state(inner), DIBS_HOLD_HELD);
  assert_int_equal(live_info(inner).depth, 2);
  live_expect_ok(dibs_release(outer));
  live_expect_ok(live_detach(inner));
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
}

/* A lingering lock of which more than half of the fences are used: the server, which stands
 * still, is to raise its token (protocol.md 11). */
static dibs_hold *take_numbered(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  uint64_t granted;

  o.linger_ms = 60000;
  do {                                   /* until it lingers, and nothing is under way */
    granted = live_stats(a).granted_local;
    for (int i = 0; i < 2; i++)
      live_expect_ok(dibs_release(live_lock_with(a, "numbered", &o)));
    live_expect(a, dibs_ping(a, LIVE_LONG_MS, NULL), DIBS_OK);
  } while (live_stats(a).granted_local < granted + 2);
  test_server_pause(live_server);
  for (int i = 0; i < 600; i++)
    live_expect_ok(dibs_release(live_lock_with(a, "numbered", &o)));
  return live_lock_with(a, "numbered", &o);
}

TEST(a_token_from_before_a_raise_names_the_lease)
{
  live_needs_one_server();
  dibs_lock_options soon = live_lock_options(TTL_MS, 300);
  const char *token = detach(take_numbered());
  dibs_hold *none = NULL;

  test_server_resume(live_server);
  expect_renewed(token);
  /* The client asks for its own detached lease; then another one wants it from that client. */
  live_refused(live_try(a, "numbered"), DIBS_BUSY);
  live_refused(dibs_lock(b, "numbered", &soon, &none), DIBS_TIMED_OUT);
  live_refused(live_try(a, "numbered"), DIBS_BUSY);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  live_expect_free(b, "numbered", LIVE_LONG_MS);
}

TEST(a_hold_hears_that_its_token_of_before_a_raise_was_released)
{
  live_needs_one_server();
  dibs_hold *hold = take_numbered();
  char token[DIBS_TOKEN_SIZE];

  live_expect_ok(dibs_hold_token(hold, token, sizeof(token)));
  test_server_resume(live_server);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  live_expect_free(b, "numbered", LIVE_LONG_MS);
  assert_true(dibs_release(hold) != DIBS_OK);
}

TEST(a_set_is_renewed_and_released_by_its_token)
{
  const char *token = detach(take_set());

  assert_int_equal(strncmp(token, "many:", 5), 0);
  expect_renewed(token);
  for (int i = 0; i < 3; i++)
    live_refused(live_try(a, set[i]), DIBS_BUSY);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  for (int i = 0; i < 3; i++)
    assert_int_equal(live_try(a, set[i]), DIBS_OK);
  live_expect(b, dibs_token_renew(b, token, LONGER_MS, NULL), DIBS_LOST);
}

TEST(a_set_that_lost_one_member_is_gone)
{
  live_needs_keys();
  const char *token = detach(take_set());
  dibs_hold *taker;

  test_server_command(live_server, "DEL %s", "dibs:m:{b}");
  live_expect(b, dibs_token_renew(b, token, LONGER_MS, NULL), DIBS_LOST);
  taker = live_lock(a, "b", TTL_MS);
  live_expect(b, dibs_token_renew(b, token, LONGER_MS, NULL), DIBS_TAKEN);
  live_expect(b, dibs_token_release(b, token), DIBS_TAKEN);
  assert_int_equal(live_try(b, "a:1"), DIBS_OK);
  assert_int_equal(live_try(b, "c%d"), DIBS_OK);
  live_refused(live_try(b, "b"), DIBS_BUSY);
  assert_int_equal(dibs_release(taker), DIBS_OK);
}

TEST(a_lock_with_colons_in_its_name_is_found_by_its_token)
{
  const char *token = detach(live_lock(a, "jobs:nightly", TTL_MS));

  expect_renewed(token);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  assert_int_equal(live_try(a, "jobs:nightly"), DIBS_OK);
}

TEST(a_writers_token_renews_it_and_does_not_make_it_a_reader)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL, *none = NULL;
  const char *token;

  live_expect(a, dibs_acquire(a, DIBS_WRITE("page"), &o, &hold), DIBS_OK);
  token = detach(hold);
  assert_int_equal(strncmp(token, "share:", 6), 0);
  expect_renewed(token);
  live_expect_refused(b, acquire_now(b, DIBS_READ("page"), &o, &none), DIBS_BUSY);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  live_expect(b, acquire_now(b, DIBS_READ("page"), &o, &hold), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(a_readers_token_renews_and_releases_it)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL, *none = NULL;
  const char *token;

  live_expect(a, dibs_acquire(a, DIBS_READ("page"), &o, &hold), DIBS_OK);
  token = detach(hold);
  expect_renewed(token);
  live_expect_refused(b, acquire_now(b, DIBS_WRITE("page"), &o, &none), DIBS_BUSY);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  live_expect(b, dibs_token_renew(b, token, LONGER_MS, NULL), DIBS_LOST);
  live_expect(b, acquire_now(b, DIBS_WRITE("page"), &o, &hold), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(permits_are_given_back_by_their_token)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL, *none = NULL;
  const char *token;

  live_expect(a, dibs_semaphore_set(a, dibs_text("pool"), 3, 0, NULL), DIBS_OK);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("pool", 2), &o, &hold), DIBS_OK);
  token = detach(hold);
  expect_renewed(token);
  live_expect_refused(b, acquire_now(b, DIBS_PERMITS("pool", 2), &o, &none), DIBS_BUSY);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  live_expect(b, acquire_now(b, DIBS_PERMITS("pool", 3), &o, &hold), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  live_expect(a, dibs_semaphore_delete(a, dibs_text("pool")), DIBS_OK);
}

TEST(scripts_that_the_server_forgot_are_sent_again)
{
  const char *token;

  test_server_command(live_server, "SCRIPT FLUSH");
  token = detach(take_set());
  test_server_command(live_server, "SCRIPT FLUSH");
  expect_renewed(token);
  test_server_command(live_server, "SCRIPT FLUSH");
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  assert_int_equal(live_try(a, "b"), DIBS_OK);
}

TEST(a_set_too_long_for_a_token_is_held_all_the_same)
{
  static char bytes[5][DIBS_NAME_MAX + 1];
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  const char *names[5];
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = NULL;

  for (int i = 0; i < 5; i++) {
    memset(bytes[i], 'n', DIBS_NAME_MAX);
    bytes[i][0] = (char)('a' + i);
    names[i] = bytes[i];
  }
  live_expect(a, acquire_names(a, names, 5, &o, &hold), DIBS_OK);
  live_expect(a, dibs_hold_token(hold, token, sizeof(token)), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "too long");
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_ERR_STALE);
}

TEST(other_texts_are_refused)
{
  live_expect(b, dibs_token_release(b, "many:AAAAAAAAAAAAAAAAAAAAAA:1:2:a"),
              DIBS_ERR_ARGUMENT);
  live_expect(b, dibs_token_renew(b, "share:AAAAAAAAAAAAAAAAAAAAAA:1:2:a:b", TTL_MS, NULL),
              DIBS_ERR_ARGUMENT);
  live_expect_words(b, "\"share:AAAAAAAAAAAAAAAAAAAAAA:1:2:a:b\" is no token");
  live_expect(b, dibs_token_release(b, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(b, "NULL is no token");
}

static void expect_unsupported(dibs_client *c, const char *token)
{
  live_expect(c, dibs_token_renew(c, token, TTL_MS, NULL), DIBS_ERR_UNSUPPORTED);
  live_expect(c, dibs_token_release(c, token), DIBS_ERR_UNSUPPORTED);
  live_expect_words(c, "has no ");
}

TEST(a_token_of_a_kind_that_the_dialect_has_not_is_refused)
{
  static const dibs_dialect dialects[] = { DIBS_DIALECT_REDISSON, DIBS_DIALECT_SPRING,
                                           DIBS_DIALECT_PLAIN };

  for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
    dibs_options o = live_options();
    dibs_client *c;

    o.dialect = dialects[i];
    o.registry = dialects[i] == DIBS_DIALECT_SPRING ? "r" : NULL;
    c = live_open_with(test_server_url(live_server), &o);
    expect_unsupported(c, "many:AAAAAAAAAAAAAAAAAAAAAA.1:1:2:a:b");
    if (dialects[i] != DIBS_DIALECT_REDISSON)
      expect_unsupported(c, "share:AAAAAAAAAAAAAAAAAAAAAA:1:2:a");
    c = dibs_close(c);
  }
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
