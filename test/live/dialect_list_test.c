/* SPDX-License-Identifier: MIT */
/* test/live/dialect_list_test.c - dibs_list() in dialects: locks stand among other keys, and are
 * found by a pattern, their type and their owner. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <hiredis/hiredis.h>

#include "live.h"

#define JAVA_U "b983c153-7421-469a-addb-44fb92259a1b"
#define JAVA JAVA_U ":42"

enum { TTL_MS = 20000, NAMES = 24 };

static dibs_client *open_as(dibs_dialect dialect)
{
  dibs_options o = live_options();

  o.dialect = dialect;
  if (dialect == DIBS_DIALECT_SPRING)
    o.registry = "or[d]ers";
  return live_open_with(live_url(), &o);
}

/* ---- what is found ---- */

struct found {
  int counts[NAMES], others;
  const char *const *names;
  size_t stop_at, seen;
};

static bool add(const dibs_inspection *in, void *data)
{
  struct found *f = data;
  bool is_known = false;

  f->seen++;
  for (int i = 0; i < NAMES && f->names[i] != NULL; i++)
    if (strcmp(f->names[i], in->name) == 0) {
      f->counts[i]++;
      is_known = true;
      assert_true(in->is_held && in->remaining_ms > 0);
    }
  f->others += !is_known;
  return f->seen != f->stop_at;
}

/* Assert: those and no others; SCAN may tell one twice. */
static void expect(dibs_client *c, const char *pattern, const char *const *names)
{
  struct found f = { .names = names };

  live_expect(c, dibs_list(c, pattern, add, &f), DIBS_OK);
  assert_int_equal(f.others, 0);
  for (int i = 0; i < NAMES && names[i] != NULL; i++)
    if (f.counts[i] == 0)
      fail_msg("%s is not found by %s", names[i], pattern == NULL ? "NULL" : pattern);
}

static void expect_one(dibs_client *c, const char *pattern, const char *name)
{
  const char *const names[] = { name, NULL };

  expect(c, pattern, names);
}

/* ---- tests ---- */

TEST(locks_of_redisson_are_found_among_other_keys)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_REDISSON);
  const char *const all[] = { "orders:1", "orders:2", "orders:java", "stock", NULL };
  const char *const orders[] = { "orders:1", "orders:2", "orders:java", NULL };
  dibs_hold *lock = live_lock(c, "orders:1", TTL_MS), *stock = live_lock(c, "stock", TTL_MS);
  dibs_hold *reads = NULL;

  live_expect(c, dibs_acquire(c, DIBS_READ("orders:2"), NULL, &reads), DIBS_OK);
  test_server_integer(live_server, "HINCRBY orders:java " JAVA " 1");
  test_server_integer(live_server, "PEXPIRE orders:java 20000");
  test_server_integer(live_server, "HSET orders:map a b");
  test_server_integer(live_server, "HSET orders:map2 user:4 7");
  test_server_integer(live_server, "HSET orders:map3 mode read");
  test_server_integer(live_server, "RPUSH orders:list " JAVA);
  test_server_integer(live_server, "INCR orders:number");
  expect(c, "*", all);
  expect(c, "orders:*", orders);
  expect_one(c, "orders:[1]", "orders:1");
  expect_one(c, "*:java", "orders:java");
  expect_one(c, "st?ck", "stock");
  live_expect(c, dibs_list(c, NULL, add, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(c, "no prefix");
  live_expect(c, dibs_release(lock), DIBS_OK);
  live_expect(c, dibs_release(reads), DIBS_OK);
  live_expect(c, dibs_release(stock), DIBS_OK);
  expect_one(c, "*", "orders:java");
  dibs_close(c);
}

static dibs_inspection *inspected(dibs_client *c, const char *name)
{
  dibs_inspection *in = NULL;

  live_expect(c, dibs_inspect(c, dibs_text(name), &in), DIBS_OK);
  return in;
}

TEST(a_foreign_key_ends_no_listing_of_redisson_s_locks)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_REDISSON);
  const char *const all[] = { "ma:lock", "ma:token", NULL };
  dibs_hold *lock = live_lock(c, "ma:lock", TTL_MS), *token = live_lock(c, "ma:token", TTL_MS);
  dibs_inspection *in;

  test_server_integer(live_server, "HSET ma:p user:12 123456789012345678901234567890");
  test_server_integer(live_server, "HSET ma:n user:12 -1");
  test_server_command(live_server, "SET redisson_lock_token:{ma:token} word");
  test_server_command(live_server, "SET ma:f 3");
  test_server_integer(live_server, "ZADD {ma:f}:timeout 9000000000000.5 a");
  test_server_command(live_server, "SET ma:i 3");
  test_server_integer(live_server, "ZADD {ma:i}:timeout +inf a");
  expect(c, "ma:*", all);
  live_expect(c, dibs_inspect(c, dibs_text("ma:p"), &in), DIBS_ERR_WRONG_TYPE);
  live_expect(c, dibs_inspect(c, dibs_text("ma:f"), &in), DIBS_ERR_WRONG_TYPE);
  live_expect(c, dibs_release(lock), DIBS_OK);
  live_expect(c, dibs_release(token), DIBS_OK);
  dibs_close(c);
}

/* lockAsync(threadId) takes any long. */
TEST(a_lock_of_a_negative_thread_is_shown_and_can_be_broken)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_REDISSON);
  dibs_inspection *in;

  test_server_integer(live_server, "HSET neg:x " JAVA_U ":-8123456789012345678 1");
  test_server_integer(live_server, "PEXPIRE neg:x 20000");
  expect_one(c, "neg:*", "neg:x");
  in = inspected(c, "neg:x");
  assert_string_equal(in->holder->note, JAVA_U ":-8123456789012345678");
  live_expect(c, dibs_break(c, dibs_text("neg:x"), in->lease), DIBS_OK);
  in = dibs_inspection_free(in);
  in = inspected(c, "neg:x");
  assert_false(in->is_held);
  in = dibs_inspection_free(in);
  dibs_close(c);
}

/* Of so many readers, the field `mode` is in a later page of HSCAN. */
TEST(a_read_write_lock_of_many_readers_is_one)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_REDISSON);
  dibs_inspection *in;

  test_server_integer(live_server, "HSET many:r mode read");
  for (int i = 0; i < 3000; i++) {
    char command[96];

    (void)snprintf(command, sizeof(command), "HSET many:r " JAVA_U ":%d 1", i + 1);
    test_server_integer(live_server, command);
  }
  test_server_integer(live_server, "PEXPIRE many:r 20000");
  in = inspected(c, "many:r");
  assert_int_equal(in->kind, DIBS_KIND_RWLOCK);
  assert_int_equal(in->holder_count, 3000);
  assert_int_equal(in->holder->mode, DIBS_MODE_READ);
  in = dibs_inspection_free(in);
  dibs_close(c);
}

TEST(permits_of_redisson_that_are_out_are_found_too)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_REDISSON);
  const char *const all[] = { "pool:a", "{pool:t}", "pool:lock", NULL };
  dibs_hold *lock = live_lock(c, "pool:lock", TTL_MS), *holds[2] = { NULL, NULL };
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  for (int i = 0; i < 2; i++) {
    live_expect(c, dibs_semaphore_set(c, dibs_text(all[i]), 2, 0, NULL), DIBS_OK);
    live_expect(c, dibs_acquire(c, DIBS_PERMITS(all[i], 1), &o, &holds[i]), DIBS_OK);
  }
  live_expect(c, dibs_semaphore_set(c, dibs_text("pool:nobody's"), 2, 0, NULL), DIBS_OK);
  test_server_integer(live_server, "ZADD pool:scores:timeout 1 a");
  test_server_integer(live_server, "ZADD {pool:old}:timeout 1 a");
  expect(c, "*pool*", all);
  expect_one(c, "pool:a", "pool:a");
  expect_one(c, "{*", "{pool:t}");
  for (int i = 0; i < 2; i++)
    live_expect(c, dibs_release(holds[i]), DIBS_OK);
  expect_one(c, "*pool*", "pool:lock");
  live_expect(c, dibs_release(lock), DIBS_OK);
  dibs_close(c);
}

/* Whoever asks about it must not make the server copy all of it. */
TEST(a_map_is_told_from_a_lock)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_REDISSON);
  dibs_inspection *in = NULL;

  test_server_integer(live_server, "HSET map:big a b");
  live_expect(c, dibs_inspect(c, dibs_text("map:big"), &in), DIBS_ERR_WRONG_TYPE);
  live_expect_words(c, "Redisson");
  dibs_close(c);
}

TEST(locks_of_a_registry_are_found_without_a_pattern)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_SPRING);
  const char *const both[] = { "invoice:7", "stock", NULL };
  dibs_hold *ours = live_lock(c, "stock", TTL_MS);

  test_server_command(live_server, "SET or[d]ers:invoice:7 some-uuid PX 20000");
  test_server_command(live_server, "SET ordersX:no some-uuid PX 20000");
  test_server_command(live_server, "SET orders:no some-uuid PX 20000");
  expect(c, NULL, both);
  expect_one(c, "inv*", "invoice:7");
  live_expect(c, dibs_release(ours), DIBS_OK);
  expect_one(c, NULL, "invoice:7");
  dibs_close(c);
}

TEST(plain_locks_are_strings_that_match)
{
  live_needs_one_server();
  dibs_client *c = open_as(DIBS_DIALECT_PLAIN);
  const char *const both[] = { "plain:ours", "plain:endless", NULL };
  dibs_hold *ours = live_lock(c, "plain:ours", TTL_MS);

  test_server_command(live_server, "SET plain:endless token");       /* redis-py, no timeout */
  test_server_integer(live_server, "HSET plain:map a b");
  expect(c, "plain:*", both);
  live_expect(c, dibs_list(c, NULL, add, NULL), DIBS_ERR_ARGUMENT);
  live_expect(c, dibs_release(ours), DIBS_OK);
  expect_one(c, "plain:*", "plain:endless");
  test_server_integer(live_server, "DEL plain:endless");
  dibs_close(c);
}

/* In a cluster on whichever node they are; and the callback ends the walk. */
TEST(all_of_them_are_found_wherever_they_are)
{
  char texts[NAMES][32];
  const char *names[NAMES + 1] = { NULL };
  dibs_hold *holds[NAMES];
  struct found few = { .names = names, .stop_at = 3 };
  dibs_client *c;

  if (live_place() == LIVE_QUORUM)
    skip();
  c = open_as(DIBS_DIALECT_REDISSON);
  for (int i = 0; i < NAMES; i++) {
    (void)snprintf(texts[i], sizeof(texts[i]), "spread:%d", i);
    names[i] = texts[i];
    holds[i] = live_lock(c, names[i], TTL_MS);
  }
  expect(c, "spread:*", names);
  live_expect(c, dibs_list(c, "spread:*", add, &few), DIBS_OK);
  assert_int_equal(few.seen, 3);
  for (int i = 0; i < NAMES; i++)
    live_expect(c, dibs_release(holds[i]), DIBS_OK);
  dibs_close(c);
}

RUN_TESTS(live_server_setup, live_server_teardown)
