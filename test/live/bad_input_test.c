/* SPDX-License-Identifier: MIT */
/* test/live/bad_input_test.c - whatever a program gives that is wrong is answered with the
 * status for it, in words that name it, and changes nothing. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"

static dibs_client *client;

static int setup(void **state)
{
  (void)live_server_setup(state);
  client = live_open(live_url());
  return 0;
}

/* All but the totals of the fleet and the history. */
static const char other_keys[] =
  "local n = 0 for _, k in ipairs(redis.call('KEYS', '*')) do "
  "if not string.find(k, '^dibs:t:') and not string.find(k, '^dibs:{fleet}:') then n = n + 1 end "
  "end return n";

static int teardown(void **state)
{
  client = dibs_close(client);
  if (live_place() != LIVE_CLUSTER && live_place() != LIVE_QUORUM)
    assert_int_equal(test_server_integer(live_server, "EVAL %s 0", other_keys),
                     test_server_integer(live_server, "EXISTS %s %s %s", live_key("fine"),
                                         live_key("stale"), live_key("sized")));
  return live_server_teardown(state);
}

/* ---- names ---- */

#define TAKEN(kind, bytes, units) (&DIBS_TARGET_BYTES(DIBS_TARGET_##kind, bytes, units, 0, NULL))

static void expect_name_refused(const void *name, size_t size)
{
  const dibs_bytes bytes = { name, size };
  dibs_hold *hold = NULL;
  dibs_inspection *seen = NULL;

  live_expect(client, acquire_now(client, TAKEN(LOCK, bytes, 0), NULL, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "name");
  live_expect(client, dibs_acquire(client, TAKEN(LOCK, bytes, 0), NULL, &hold), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_inspect(client, (dibs_bytes){ name, size }, &seen), DIBS_ERR_ARGUMENT);
  assert_null(hold);
  assert_null(seen);
}

static void never_called(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)hold;
  (void)data;
  live_fault("called: %s", dibs_status_name(error->status));
}

TEST(names_out_of_range_are_refused)
{
  live_needs_one_view();
  char longest[DIBS_NAME_MAX + 2];
  dibs_hold *hold = NULL;

  memset(longest, 'n', sizeof(longest));
  longest[sizeof(longest) - 1] = '\0';
  expect_name_refused(NULL, 5);
  expect_name_refused("", 0);
  expect_name_refused("}x", 2);
  expect_name_refused(longest, DIBS_NAME_MAX + 1);
  expect_name_refused(longest, (size_t)-1);
  assert_int_equal(dibs_lock(client, NULL, NULL, &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock(client, longest, NULL, &hold), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock_async(client, "}", NULL, never_called, NULL, NULL),
                   DIBS_ERR_ARGUMENT);
  longest[DIBS_NAME_MAX] = '\0';
  hold = live_lock(client, longest, 5000);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  (void)test_server_command(live_server, "DEL dibs:m:{%s}", longest);
}

TEST(names_of_any_bytes_are_names)
{
  live_needs_one_view();
  const char bytes[] = { 'a', '\0', '\n', ' ', '\xff', '{', '}', '\0' };
  const dibs_bytes long_one = { bytes, sizeof(bytes) }, short_one = { bytes, sizeof(bytes) - 1 };
  dibs_hold *hold = NULL, *other = NULL;

  live_expect(client, dibs_acquire(client, TAKEN(LOCK, long_one, 0), NULL, &hold), DIBS_OK);
  live_expect(client, dibs_acquire(client, TAKEN(LOCK, short_one, 0), NULL, &other), DIBS_OK);
  assert_int_equal(live_info(other).depth, 1);      /* another name */
  assert_int_equal(dibs_release(other), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  (void)test_server_command(live_server, "DEL %s", live_key("fine"));
  (void)test_server_command(live_server, "FLUSHALL");
}

/* The zero byte and what is behind it belong to the name. */
TEST(shares_have_names_of_any_bytes_too)
{
  live_needs_one_view();
  const dibs_bytes ra = { "r\0a", 3 }, rb = { "r\0b", 3 }, no_bytes = { "r\0b", 0 };
  const dibs_bytes sa = { "s\0a", 3 };
  dibs_hold *reads = NULL, *writes = NULL, *none = NULL, *permits = NULL;
  uint32_t count = 0;

  live_expect(client, dibs_acquire(client, TAKEN(READ, ra, 0), NULL, &reads), DIBS_OK);
  live_expect(client, dibs_acquire(client, TAKEN(WRITE, rb, 0), NULL, &writes), DIBS_OK);
  live_expect(client, acquire_now(client, DIBS_WRITE("r"), NULL, &none), DIBS_OK);
  assert_int_equal(dibs_release(none), DIBS_OK);
  none = NULL;
  live_expect(client, acquire_now(client, TAKEN(READ, no_bytes, 0), NULL, &none),
              DIBS_ERR_ARGUMENT);
  assert_null(none);
  assert_int_equal(test_server_integer(live_server, "EXISTS %s", live_key("r")), 1);
  assert_int_equal(dibs_release(reads), DIBS_OK);
  assert_int_equal(dibs_release(writes), DIBS_OK);
  live_expect(client, dibs_semaphore_set(client, (dibs_bytes){ "s\0a", 3 }, 2, 0, NULL), DIBS_OK);
  live_expect(client,
              dibs_semaphore_set(client, (dibs_bytes){ "s\0a", 3 }, 5, DIBS_SEMAPHORE_IF_ABSENT,
                                 &count), DIBS_OK);
  assert_int_equal(count, 2);
  live_expect(client, acquire_now(client, DIBS_PERMITS("s", 1), NULL, &none),
              DIBS_ERR_NOT_SET);
  live_expect(client, dibs_acquire(client, TAKEN(PERMITS, sa, 1), NULL, &permits), DIBS_OK);
  live_expect_refused(client,
                      acquire_now(client, TAKEN(PERMITS, sa, 2), NULL, &none),
                      DIBS_BUSY);
  live_expect(client,
              dibs_acquire(client, TAKEN(PERMITS, sa, DIBS_UNITS_ALL_FREE), NULL, &none), DIBS_OK);
  assert_int_equal(live_info(none).units, 1);
  live_expect(client, dibs_semaphore_delete(client, (dibs_bytes){ "s\0a", 3 }), DIBS_BUSY);
  live_expect_words(client, "permits are in use");
  assert_int_equal(dibs_release(none), DIBS_OK);
  assert_int_equal(dibs_release(permits), DIBS_OK);
  live_expect(client, dibs_semaphore_delete(client, (dibs_bytes){ "s\0a", 3 }), DIBS_OK);
  (void)test_server_command(live_server, "FLUSHALL");
}

/* ---- options of a lock ---- */

static void expect_option_refused(const dibs_lock_options *o, const char *word)
{
  dibs_hold *hold = NULL;

  live_expect(client, dibs_lock(client, "fine", o, &hold), DIBS_ERR_ARGUMENT);
  live_expect_words(client, word);
  live_expect(client, dibs_try_lock(client, "fine", o, &hold), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_lock_async(client, "fine", o, never_called, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  assert_null(hold);
}

TEST(times_out_of_range_are_refused)
{
  static const int32_t times[] = { -1, INT32_MIN, DIBS_MS_MAX + 1, INT32_MAX };
  dibs_lock_options o;

  for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
    o = live_lock_options(times[i], 0);
    expect_option_refused(&o, "ttl_ms");
    if (times[i] != DIBS_FOREVER) {
      o = live_lock_options(5000, times[i]);
      expect_option_refused(&o, "wait_ms");
    }
    o = live_lock_options(5000, 0);
    o.max_hold_ms = times[i];
    expect_option_refused(&o, "max_hold_ms");
  }
  o = live_lock_options(99, 0);
  expect_option_refused(&o, "ttl_ms");
  o = live_lock_options(5000, 0);
  o.max_hold_ms = 4999;
  expect_option_refused(&o, "max_hold_ms");
}

TEST(other_options_out_of_range_are_refused)
{
  char note[DIBS_NOTE_MAX + 2], owner[DIBS_OWNER_MAX + 1];
  dibs_lock_options o = live_lock_options(5000, 0);

  memset(note, 'n', sizeof(note));
  memset(owner, 'o', sizeof(owner));
  note[sizeof(note) - 1] = '\0';
  o.flags = 0x80000000u;
  expect_option_refused(&o, "flags");
  o.flags = 0;
  o.note = note;
  expect_option_refused(&o, "note");
  o.note = NULL;
  o.owner = owner;
  expect_option_refused(&o, "owner_size");
  o.owner_size = sizeof(owner);
  expect_option_refused(&o, "owner_size");
  o.owner_size = 3;
  o.flags = DIBS_LOCK_NO_OWNER;
  expect_option_refused(&o, "owner");
  o.flags = 0;
  o.owner = NULL;
  expect_option_refused(&o, "owner");
}

TEST(options_from_the_future_are_refused_if_used)
{
  struct {
    dibs_lock_options known;
    char more[16];
  } future = { .known = live_lock_options(5000, 0) };
  dibs_hold *hold;

  future.known.size = sizeof(future);
  future.more[7] = 1;
  expect_option_refused(&future.known, "newer version");
  future.more[7] = 0;
  hold = live_lock_with(client, "fine", &future.known);      /* unknown, and not used */
  assert_int_equal(dibs_release(hold), DIBS_OK);
  future.known.size = 0;
  expect_option_refused(&future.known, "size");
  future.known.size = offsetof(dibs_lock_options, owner);      /* from the past */
  hold = live_lock_with(client, "fine", &future.known);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

/* ---- opening ---- */

static void expect_open_refused(const char *url, const dibs_options *o, dibs_status status,
                                const char *word)
{
  dibs_client *none = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  assert_int_equal(dibs_open(url, o, &none, &error), status);
  assert_int_equal(error.status, status);
  if (strstr(error.text, word) == NULL)
    fail_msg("no \"%s\" in \"%s\"", word, error.text);
  assert_null(strstr(error.text, "geheim"));
  assert_int_equal(dibs_open(url, o, &none, NULL), status);
  assert_null(none);
}

/* A later library may write more than this program has room for. */
TEST(an_error_of_unknown_size_is_not_written)
{
  dibs_error error = DIBS_ERROR_INIT, before;
  char line[DIBS_ACL_LINE_SIZE];
  dibs_client *none = NULL;

  error.size = sizeof(error) - 1;
  before = error;
  assert_int_equal(dibs_open("nonsense:", NULL, &none, &error), DIBS_ERR_ARGUMENT);
  live_expect_words(NULL, "DIBS_ERROR_INIT");
  assert_int_equal(dibs_client_error(client, 0, &error), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_acl_line(NULL, NULL, line, sizeof(line), &error), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_local_status(NULL, &error), DIBS_ERR_ARGUMENT);
  assert_memory_equal(&error, &before, sizeof(error));
  assert_int_equal(dibs_client_error(client, 0, NULL), DIBS_ERR_ARGUMENT);
}

TEST(addresses_that_are_none_are_refused)
{
  dibs_options o = live_options();

  expect_open_refused("http://localhost", &o, DIBS_ERR_CONFIG, "redis://");
  expect_open_refused("redis://:geheim@", &o, DIBS_ERR_CONFIG, "");
  expect_open_refused("redis://:geheim@host:99999", &o, DIBS_ERR_CONFIG, "port");
  expect_open_refused("redis://:geheim@host/x", &o, DIBS_ERR_CONFIG, "");
  expect_open_refused("redis://host?nonsense=1", &o, DIBS_ERR_CONFIG, "nonsense");
  expect_open_refused("nonsense", &o, DIBS_ERR_CONFIG, "");
  expect_open_refused("unix://", &o, DIBS_ERR_CONFIG, "");
}

TEST(client_options_out_of_range_are_refused)
{
  dibs_options o = live_options();

  o.flags |= 0x100;
  expect_open_refused("redis://host", &o, DIBS_ERR_ARGUMENT, "flags");
  o = live_options();
  o.connect_timeout_ms = -5;
  expect_open_refused("redis://host", &o, DIBS_ERR_ARGUMENT, "connect_timeout_ms");
  o = live_options();
  o.clock_rate_error_ppm = -1;
  expect_open_refused("redis://host", &o, DIBS_ERR_ARGUMENT, "clock_rate_error_ppm");
  o = live_options();
  o.prefix = "with blank";
  expect_open_refused("redis://host", &o, DIBS_ERR_ARGUMENT, "prefix");
  o.prefix = "with{brace";
  expect_open_refused("redis://host", &o, DIBS_ERR_ARGUMENT, "prefix");
  o = live_options();
  o.size = 3;
  expect_open_refused("redis://host", &o, DIBS_ERR_ARGUMENT, "size");
}

/* ---- handles ---- */

TEST(handles_that_are_none_are_answered)
{
  dibs_hold *hold = live_lock(client, "stale", 5000);
  dibs_hold *const strange[] = { NULL, hold, (dibs_hold *)(uintptr_t)12345,
                                 (dibs_hold *)UINTPTR_MAX, (dibs_hold *)client };
  char token[DIBS_TOKEN_SIZE];

  assert_int_equal(dibs_release(hold), DIBS_OK);
  for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
    assert_int_equal(dibs_release(strange[i]), DIBS_ERR_STALE);
    assert_int_equal(dibs_release_async(strange[i], NULL, NULL), DIBS_ERR_STALE);
    assert_int_equal(dibs_hold_state(strange[i]), DIBS_HOLD_GONE);
    assert_int_equal(dibs_hold_valid_ms(strange[i]), 0);
    assert_int_equal(dibs_hold_fence(strange[i]), 0);
    assert_int_equal(live_info(strange[i]).depth, 0);
    assert_int_equal(dibs_hold_fd(strange[i]), -1);
    assert_int_equal(dibs_hold_detach(strange[i]), DIBS_ERR_STALE);
    assert_int_equal(dibs_hold_token(strange[i], token, sizeof(token)), DIBS_ERR_STALE);
    assert_int_equal(dibs_request_cancel((dibs_request *)strange[i]), DIBS_ERR_STALE);
  }
}

TEST(handles_of_a_closed_client_are_stale)
{
  dibs_client *closed = live_open(live_url());
  dibs_hold *hold = live_lock(closed, "stale", 5000);

  closed = dibs_close(closed);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_equal(dibs_release(hold), DIBS_ERR_STALE);
  assert_int_equal(live_try(client, "stale"), DIBS_OK);
}

/* A record that was never set has any size, and bytes of the program's stack behind it. */
TEST(a_size_that_no_record_has_is_refused_and_nothing_written)
{
  static const size_t sizes[] = { 0, sizeof(size_t) - 1, 1 << 20, SIZE_MAX };
  dibs_hold *hold = live_lock(client, "sized", 5000);

  for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
    dibs_client_info info = { .size = sizes[i], .connects = 7 };
    dibs_hold_info of_hold = { .size = sizes[i], .fence = 7 };
    dibs_error error = { .size = sizes[i], .status = DIBS_BUSY };
    dibs_barrier_info met = { .size = sizes[i], .parties = 7 };

    assert_int_equal(dibs_client_get_info(client, &info), DIBS_ERR_ARGUMENT);
    assert_int_equal(dibs_hold_get_info(hold, &of_hold), DIBS_ERR_ARGUMENT);
    assert_int_equal(dibs_client_error(client, 0, &error), DIBS_ERR_ARGUMENT);
    if (live_place() != LIVE_QUORUM)     /* which has no barriers */
      assert_int_equal(dibs_barrier_await(client, "met", 1, NULL, &met), DIBS_ERR_ARGUMENT);
    assert_true(info.connects == 7 && of_hold.fence == 7 && error.status == DIBS_BUSY &&
                met.parties == 7);
  }
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

TEST(what_is_missing_is_answered)
{
  dibs_client_info stats = { .size = 0 };

  assert_int_equal(dibs_lock(client, "x", NULL, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_ping(client, -3, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_client_get_info(client, &stats), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_client_get_info(client, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_lock_async(client, "x", NULL, NULL, NULL, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_break(client, dibs_text("x"), NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_list(client, NULL, NULL, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_inspect(client, dibs_text("x"), NULL), DIBS_ERR_ARGUMENT);
  assert_null(dibs_close(NULL));
  dibs_cancel(NULL);
  assert_null(dibs_canceller_free(NULL));
  assert_null(dibs_inspection_free(NULL));
}

RUN_TESTS(setup, teardown)
