/* SPDX-License-Identifier: MIT */
/* The scripts of the guarded writes, on a real server (S2): which fences are let in,
 * what is refused before anything is written, how long fences live, and that nothing counts
 * twice. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/native/guard.h"
#include "mode.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define KEY "stock"
#define FENCE_KEY "dibs:f:{stock}"
#define DAY_MS 86400000

/* What the next calls say; settled 0: everything before this very number. */
static uint64_t number, settled;

static guard_call call_of(uint64_t fence)
{
  return (guard_call){ .key = KEY, .key_size = strlen(KEY), .fence = fence,
                       .number = number, .settled = settled != 0 ? settled : number };
}

/* The outcome of what is in the world's buffer, which the server must not refuse. */
static guard_outcome outcome(int64_t *ret_value)
{
  const resp_reply *r = stage_send();
  guard_outcome o;

  if (resp_root(r)->kind == RESP_ERROR)
    fail_msg("%s", resp_root(r)->bytes);
  assert_true(native_guard_answer(r, &o, ret_value));
  return o;
}

/* The error of what is in the world's buffer. */
static const resp_node *error(void)
{
  const resp_node *root = resp_root(stage_send());

  assert_int_equal(root->kind, RESP_ERROR);
  return root;
}

static resp_fault fault(void)
{
  const resp_node *root = error();

  return resp_fault_of(root->bytes, root->size);
}

static void say_set(int who, uint64_t fence, const char *value, int64_t ttl_ms)
{
  guard_call c;

  number++;
  c = call_of(fence);
  assert_true(RENDERED(native_guarded_set, world_native(w, who), world_buffer(w), false,
                       &c, (resp_argument){ value, strlen(value) }, ttl_ms));
}

static void say_hset(uint64_t fence, const char *field, const char *value)
{
  resp_argument words[2] = { { field, strlen(field) }, { value, strlen(value) } };
  guard_call c;

  number++;
  c = call_of(fence);
  assert_true(RENDERED(native_guarded_hset, world_native(w, ANNA), world_buffer(w), false,
                       &c, words, 2));
}

static void say_hdel(uint64_t fence, const char *field)
{
  resp_argument word = { field, strlen(field) };
  guard_call c;

  number++;
  c = call_of(fence);
  assert_true(RENDERED(native_guarded_hdel, world_native(w, ANNA), world_buffer(w), false,
                       &c, &word, 1));
}

static void say_del(uint64_t fence)
{
  guard_call c;

  number++;
  c = call_of(fence);
  assert_true(RENDERED(native_guarded_del, world_native(w, ANNA), world_buffer(w), false,
                       &c));
}

/* The same number says: this is a repetition. */
static void say_incr_as(int who, uint64_t its_number, uint64_t fence, int64_t by)
{
  guard_call c;

  number = its_number;
  c = call_of(fence);
  assert_true(RENDERED(native_guarded_incr, world_native(w, who), world_buffer(w), false,
                       &c, by));
}

static guard_outcome set(uint64_t fence, const char *value)
{
  say_set(ANNA, fence, value, 0);
  return outcome(NULL);
}

static guard_outcome hset(uint64_t fence, const char *field, const char *value)
{
  say_hset(fence, field, value);
  return outcome(NULL);
}

/* The sum, or -1 when fenced, -2 when late. */
static int64_t incr_as(int who, uint64_t its_number, uint64_t fence, int64_t by)
{
  int64_t sum;

  say_incr_as(who, its_number, fence, by);
  switch (outcome(&sum)) {
  case GUARD_WRITTEN: return sum;
  case GUARD_FENCED: return -1;
  default: return -2;
  }
}

static int64_t incr(uint64_t fence, int64_t by) { return incr_as(ANNA, number + 1, fence, by); }

static const char *get(const char *key)
{
  return test_server_command(world_server(w), "GET %s", key);
}

static long long pttl(const char *key)
{
  return test_server_integer(world_server(w), "PTTL %s", key);
}

static void expect_untouched(const char *digest)
{
  assert_string_equal(test_server_command(world_server(w), "DEBUG DIGEST"), digest);
}

/* ---- the rule ---- */

TEST(a_newer_or_equal_fence_writes_an_older_one_does_not)
{
  assert_int_equal(set(7, "a"), GUARD_WRITTEN);
  assert_int_equal(set(7, "b"), GUARD_WRITTEN);
  assert_int_equal(set(8, "c"), GUARD_WRITTEN);
  assert_int_equal(set(7, "d"), GUARD_FENCED);
  assert_string_equal(get(KEY), "c");
  assert_int_equal(strncmp(get(FENCE_KEY), "8 ", 2), 0);
}

/* As doubles neighbours here are equal, and as text 9 is more than 10. */
TEST(fences_are_compared_as_numbers_of_any_length)
{
  static const uint64_t rising[] = { 1, 2, 9, 10, 11, 99, 100, 9007199254740991u,
    9007199254740992u, 9007199254740993u, 9007199254740994u, 1843200000000000000u,
    1843200000000000001u, 9223372036854775806u, 9223372036854775807u };
  char value[24];

  for (size_t i = 0; i < sizeof(rising) / sizeof(rising[0]); i++) {
    snprintf(value, sizeof(value), "%zu", i);
    assert_int_equal(set(rising[i], value), GUARD_WRITTEN);
    for (size_t j = 0; j < i; j++)
      assert_int_equal(set(rising[j], "old"), GUARD_FENCED);
    assert_string_equal(get(KEY), value);
  }
}

TEST(every_kind_of_write_is_refused_when_fenced)
{
  const char *digest;

  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  assert_int_equal(hset(4, "a", "2"), GUARD_FENCED);
  say_hdel(4, "a");
  assert_int_equal(outcome(NULL), GUARD_FENCED);
  say_del(4);
  assert_int_equal(outcome(NULL), GUARD_FENCED);
  expect_untouched(digest);
  test_server_command(world_server(w), "DEL " KEY);
  assert_int_equal(incr(4, 1), -1);
  assert_string_equal(get(KEY), "(nil)");
}

TEST(a_hash_gets_and_loses_fields)
{
  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  assert_int_equal(hset(5, "b", ""), GUARD_WRITTEN);
  say_hdel(6, "a");
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_string_equal(test_server_command(world_server(w), "HGETALL " KEY), "[b, ]");
}

TEST(a_thousand_fields_go_at_once)
{
  static char names[GUARD_FIELDS_MAX][8];
  resp_argument words[2 * GUARD_FIELDS_MAX], only[GUARD_FIELDS_MAX];
  guard_call c;

  for (size_t i = 0; i < GUARD_FIELDS_MAX; i++) {
    snprintf(names[i], sizeof(names[i]), "f%zu", i);
    only[i] = words[2 * i] = words[2 * i + 1] =
      (resp_argument){ names[i], strlen(names[i]) };
  }
  number++;
  c = call_of(1);
  assert_true(RENDERED(native_guarded_hset, world_native(w, ANNA), world_buffer(w), false,
                       &c, words, 2 * GUARD_FIELDS_MAX));
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_int_equal(test_server_integer(world_server(w), "HLEN " KEY), GUARD_FIELDS_MAX);
  assert_true(RENDERED(native_guarded_hdel, world_native(w, ANNA), world_buffer(w), false,
                       &c, only, GUARD_FIELDS_MAX));
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_int_equal(test_server_integer(world_server(w), "EXISTS " KEY), 0);
}

/* ---- refused before any write ---- */

TEST(a_key_of_another_kind_is_refused_and_left_alone)
{
  const char *digest;

  test_server_command(world_server(w), "RPUSH " KEY " x");
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  say_set(ANNA, 1, "v", 0);
  assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
  say_hset(1, "f", "v");
  assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
  say_hdel(1, "f");
  assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
  say_incr_as(ANNA, number + 1, 1, 1);
  assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
  expect_untouched(digest);
  test_server_command(world_server(w), "FLUSHALL");
  test_server_command(world_server(w), "SET " KEY " text");
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  say_hset(1, "f", "v");
  assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
  say_incr_as(ANNA, number + 1, 1, 1);
  assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
  expect_untouched(digest);
}

TEST(a_fence_key_of_another_kind_is_refused_and_left_alone)
{
  static const char *const strange[] = { "HSET " FENCE_KEY " f 1", "SET " FENCE_KEY " words",
                                         "SET " FENCE_KEY " 007", "SET " FENCE_KEY " 1.5e9" };
  const char *digest;

  for (size_t i = 0; i < sizeof(strange) / sizeof(strange[0]); i++) {
    test_server_command(world_server(w), "FLUSHALL");
    test_server_command(world_server(w), strange[i]);
    digest = test_server_command(world_server(w), "DEBUG DIGEST");
    say_set(ANNA, 9, "v", 0);
    assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
    say_hset(9, "f", "v");
    assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
    say_hdel(9, "f");
    assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
    say_del(9);
    assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
    say_incr_as(ANNA, number + 1, 9, 1);
    assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
    expect_untouched(digest);
  }
}

/* "-0", or with a zero in front, is not how the server writes a number. */
TEST(a_sum_on_what_is_no_number_is_refused_and_writes_nothing)
{
  static const char *const values[] = { "word", "007", "-0", "+1", "99999999999999999999" };
  const char *digest;

  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
    test_server_command(world_server(w), "SET " KEY " %s", values[i]);
    digest = test_server_command(world_server(w), "DEBUG DIGEST");
    say_incr_as(ANNA, 1, 1, 1);
    assert_int_equal(fault(), RESP_FAULT_WRONG_TYPE);
    expect_untouched(digest);
  }
}

TEST(a_sum_that_would_overflow_is_refused_and_writes_nothing)
{
  const char *digest;

  test_server_command(world_server(w), "SET " KEY " 9223372036854775807");
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  say_incr_as(ANNA, 1, 1, 1);
  assert_true(native_guard_denies(error()));
  expect_untouched(digest);
  assert_int_equal(incr_as(ANNA, 2, 1, -7), 9223372036854775800);
}

TEST(a_full_server_refuses_what_needs_memory_and_removes_all_the_same)
{
  const char *digest;

  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  assert_int_equal(hset(5, "b", "1"), GUARD_WRITTEN);
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  stage_fill_memory();
  say_hset(6, "a", "2");
  assert_int_equal(fault(), RESP_FAULT_REFUSED);
  expect_untouched(digest);
  say_hdel(6, "a");
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_int_equal(strncmp(get(FENCE_KEY), "6 ", 2), 0);
  say_del(7);
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_int_equal(strncmp(get(FENCE_KEY), "7 ", 2), 0);
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  say_set(ANNA, 8, "v", 0);
  assert_int_equal(fault(), RESP_FAULT_REFUSED);
  say_incr_as(ANNA, number + 1, 8, 1);
  assert_int_equal(fault(), RESP_FAULT_REFUSED);
  expect_untouched(digest);
}

/* What a user may not do is refused before the first write, wherever in the script it stands:
 * half a write would be one that an older fence reverts, or a sum that counts again. */

enum { SET, HSET, HDEL, DEL, INCR };

static void say_write(int kind, uint64_t fence)
{
  switch (kind) {
  case SET: say_set(ANNA, fence, "8", 0); break;
  case HSET: say_hset(fence, "b", "8"); break;
  case HDEL: say_hdel(fence, "a"); break;
  case DEL: say_del(fence); break;
  default: say_incr_as(ANNA, number + 1, fence, 1); break;
  }
}

static void acl(const char *rule, const char *more, const char *most)
{
  assert_string_equal(test_server_command(world_server(w), "ACL SETUSER %s %s %s %s", mode_user(),
                                          rule, more, most), "OK");
}

/* Without the right to `command`, but for the keys of two selectors, if there are any, it is
 * refused with nothing done; or it needs no more, and the fence has no end, as the key has none. */
static void expect_all_or_nothing(int kind, bool is_first, const char *command,
                                  const char *const selectors[2])
{
  char without[16], with[16];
  const char *digest;
  bool is_refused;

  test_server_command(world_server(w), "FLUSHALL");
  if (!is_first) {
    say_write(kind == HDEL ? HSET : kind, 5);
    assert_int_equal(outcome(kind == INCR ? &(int64_t){ 0 } : NULL), GUARD_WRITTEN);
  }
  if (kind == HDEL)
    test_server_command(world_server(w), "HSET " KEY " a 1 c 1");
  digest = test_server_command(world_server(w), "DEBUG DIGEST");
  (void)snprintf(without, sizeof(without), "-%s", command);
  (void)snprintf(with, sizeof(with), "+%s", command);
  acl(without, selectors != NULL ? selectors[0] : without,
      selectors != NULL ? selectors[1] : without);
  say_write(kind, 6);
  is_refused = resp_root(stage_send())->kind == RESP_ERROR;
  acl(with, selectors != NULL ? "clearselectors" : with, with);
  if (is_refused)
    expect_untouched(digest);
  else
    assert_int_equal(pttl(FENCE_KEY) == -1, kind != DEL);
}

TEST(a_right_that_is_missing_anywhere_leaves_all_as_it_was)
{
  static const char *const commands[] = { "set", "get", "mget", "exists", "type", "pttl", "hset",
                                          "hdel", "del", "incrby" };

  for (int kind = SET; kind <= INCR; kind++)
    for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
      expect_all_or_nothing(kind, true, commands[i], NULL);
      expect_all_or_nothing(kind, false, commands[i], NULL);
    }
}

/* Servers from 7 on have rights for a command on some keys only. */
TEST(a_right_that_is_missing_for_one_key_leaves_all_as_it_was)
{
  static const char *const selectors[] = { "(+set ~" KEY ")", "(+set ~" FENCE_KEY ")",
                                           "(+set ~dibs:c:*)", "(+set ~" KEY ")" };

  if (strcmp(test_server_command(world_server(w), "ACL SETUSER other %s", selectors[0]), "OK") != 0)
    skip();
  for (int kind = SET; kind <= INCR; kind++)
    for (size_t i = 0; i < 3; i++) {
      expect_all_or_nothing(kind, true, "set", selectors + i);
      expect_all_or_nothing(kind, false, "set", selectors + i);
    }
}

/* ---- how long fences live ---- */

TEST(the_fence_of_a_key_without_end_has_none)
{
  assert_int_equal(set(1, "v"), GUARD_WRITTEN);
  assert_int_equal(pttl(KEY), -1);
  assert_int_equal(pttl(FENCE_KEY), -1);
}

TEST(the_fence_outlives_its_key_by_a_day)
{
  say_set(ANNA, 1, "v", 5000);
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_in_range(pttl(KEY), 1, 5000);
  assert_in_range(pttl(FENCE_KEY), DAY_MS - 1000, DAY_MS + 5000);
  assert_int_equal(set(2, "for ever"), GUARD_WRITTEN);
  assert_int_equal(pttl(FENCE_KEY), -1);
}

TEST(a_removed_key_leaves_its_fence_for_a_day)
{
  assert_int_equal(set(3, "v"), GUARD_WRITTEN);
  say_del(3);
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_string_equal(get(KEY), "(nil)");
  assert_in_range(pttl(FENCE_KEY), DAY_MS - 60000, DAY_MS);
  assert_int_equal(set(2, "old"), GUARD_FENCED);
  /* So does the last field of a hash. */
  test_server_command(world_server(w), "FLUSHALL");
  assert_int_equal(hset(3, "f", "v"), GUARD_WRITTEN);
  assert_int_equal(pttl(FENCE_KEY), -1);
  say_hdel(3, "f");
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_in_range(pttl(FENCE_KEY), DAY_MS - 60000, DAY_MS);
}

TEST(a_sum_keeps_the_end_of_its_key)
{
  test_server_command(world_server(w), "SET " KEY " 5 PX 60000");
  assert_int_equal(incr(1, 1), 6);
  assert_in_range(pttl(KEY), 1, 60000);
  assert_in_range(pttl(FENCE_KEY), DAY_MS, DAY_MS + 60000);
}

static long long end_by(data_verb verb, int64_t ms)
{
  const data_call c = { .verb = verb, .name = { KEY, strlen(KEY) }, .number = ms };
  const resp_node *root;

  assert_true(RENDERED(data_encode, world_native(w, ANNA), world_buffer(w), true, &c));
  root = resp_root(stage_send());
  assert_int_equal(root->kind, RESP_INTEGER);
  return root->integer;
}

/* The calls on maps that change the end of one: 0 ms is no end. */
static long long set_end(int64_t ms)
{
  return end_by(ms > 0 ? DATA_EXPIRE : DATA_PERSIST, ms);
}

TEST(the_fence_of_what_had_no_end_ends_a_day_after_it)
{
  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  assert_int_equal(pttl(FENCE_KEY), -1);
  assert_int_equal(set_end(60000), 1);
  assert_in_range(pttl(FENCE_KEY), DAY_MS + 50000, DAY_MS + 60000);
  assert_int_equal(set_end(0), 1);
  assert_int_equal(end_by(DATA_DELETE, 0), 1);
  assert_int_equal(pttl(KEY), -2);
  assert_in_range(pttl(FENCE_KEY), DAY_MS - 10000, DAY_MS);
  assert_int_equal(set(4, "old"), GUARD_FENCED);
  assert_int_equal(end_by(DATA_DELETE, 0), 0);
}

/* Without the right to `command`, or with that to it for some keys only, `verb` gives the fence no
 * end: else an old write is let in a day later, while the key lives on. */
static void expect_endless_without(const char *command, const char *selector, data_verb verb)
{
  const data_call c = { .verb = verb, .name = { KEY, strlen(KEY) }, .number = 60000 };
  char without[16], with[16];

  (void)snprintf(without, sizeof(without), "-%s", command);
  (void)snprintf(with, sizeof(with), "+%s", command);
  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  acl(without, without, selector != NULL ? selector : without);
  assert_true(RENDERED(data_encode, world_native(w, ANNA), world_buffer(w), true, &c));
  (void)stage_send();
  acl(with, with, selector != NULL ? "clearselectors" : with);
  assert_int_equal(pttl(FENCE_KEY), -1);
}

TEST(the_fence_of_what_may_not_be_ended_has_no_end)
{
  expect_endless_without("unlink", NULL, DATA_DELETE);
  assert_int_equal(pttl(KEY), -1);
  expect_endless_without("pexpire", NULL, DATA_EXPIRE);
  assert_int_equal(pttl(KEY), -1);
}

TEST(the_fence_of_what_may_not_be_ended_alone_has_no_end)
{
  const char *selector = "(+pexpire ~" FENCE_KEY ")";

  if (strcmp(test_server_command(world_server(w), "ACL SETUSER other %s", selector), "OK") != 0)
    skip();
  expect_endless_without("pexpire", selector, DATA_EXPIRE);
  assert_int_equal(pttl(KEY), -1);
}

TEST(the_fence_of_a_map_without_an_end_has_none_again)
{
  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  assert_int_equal(set_end(60000), 1);
  assert_int_equal(hset(6, "a", "2"), GUARD_WRITTEN);
  assert_in_range(pttl(FENCE_KEY), DAY_MS, DAY_MS + 60000);
  assert_int_equal(set_end(0), 1);
  assert_int_equal(pttl(KEY), -1);
  assert_int_equal(pttl(FENCE_KEY), -1);
  assert_int_equal(set_end(0), 0);
  /* Of a key that another program has persisted, too. */
  test_server_command(world_server(w), "PEXPIRE " FENCE_KEY " 1000");
  assert_int_equal(set_end(0), 0);
  assert_int_equal(pttl(FENCE_KEY), -1);
}

TEST(the_fence_of_a_map_with_a_later_end_outlives_it)
{
  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  assert_int_equal(set_end(1000), 1);
  assert_int_equal(hset(6, "a", "2"), GUARD_WRITTEN);
  stage_fill_memory();
  assert_int_equal(set_end(INT64_C(9) * DAY_MS), 1);
  assert_in_range(pttl(KEY), INT64_C(9) * DAY_MS - 1000, INT64_C(9) * DAY_MS);
  assert_in_range(pttl(FENCE_KEY), INT64_C(10) * DAY_MS - 1000, INT64_C(10) * DAY_MS);
  assert_int_equal(set_end(1000), 1);
  assert_int_equal(set_end(1000000000000000), 1);
  assert_in_range(pttl(FENCE_KEY), 1000000000000000, 1000000000000000 + DAY_MS);
}

TEST(a_map_that_is_gone_or_unguarded_gets_no_fence)
{
  assert_int_equal(hset(5, "a", "1"), GUARD_WRITTEN);
  say_del(5);
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  assert_int_equal(set_end(0), 0);
  assert_int_equal(set_end(INT64_C(9) * DAY_MS), 0);
  assert_in_range(pttl(FENCE_KEY), DAY_MS - 60000, DAY_MS);
  test_server_command(world_server(w), "DEL " FENCE_KEY);
  test_server_command(world_server(w), "HSET " KEY " a 1");
  assert_int_equal(set_end(60000), 1);
  assert_int_equal(set_end(0), 1);
  assert_int_equal(pttl(FENCE_KEY), -2);
}

/* ---- copies that come twice or late ---- */

TEST(a_repeated_sum_counts_once)
{
  assert_int_equal(incr_as(ANNA, 1, 5, 10), 10);
  assert_int_equal(incr_as(ANNA, 1, 5, 10), 10);
  assert_int_equal(incr_as(ANNA, 2, 5, 10), 20);
  assert_int_equal(incr_as(BERT, 1, 5, 1), 21);
  assert_string_equal(get(KEY), "21");
}

TEST(a_repeated_sum_counts_once_also_behind_a_newer_fence)
{
  assert_int_equal(incr_as(ANNA, 1, 5, 10), 10);
  assert_int_equal(incr_as(BERT, 1, 6, 1), 11);
  say_set(BERT, 7, "100", 0);
  assert_int_equal(outcome(NULL), GUARD_WRITTEN);
  /* It is told what it did, not that it was fenced. */
  assert_int_equal(incr_as(ANNA, 1, 5, 10), 10);
  assert_string_equal(get(KEY), "100");
  assert_int_equal(incr_as(ANNA, 2, 5, 10), -1);
  assert_string_equal(get(KEY), "100");
}

/* Many threads of one holder, none of which has heard yet. */
TEST(sums_that_are_not_settled_are_all_remembered)
{
  settled = 1;
  for (uint64_t i = 1; i <= 50; i++)
    assert_int_equal(incr_as(ANNA, i, 5, 1), i);
  for (uint64_t i = 50; i >= 1; i--)
    assert_int_equal(incr_as(ANNA, i, 5, 1), i);
  assert_string_equal(get(KEY), "50");
}

TEST(what_is_settled_is_forgotten_and_its_copies_do_nothing)
{
  settled = 1;
  assert_int_equal(incr_as(ANNA, 1, 5, 1), 1);
  assert_int_equal(incr_as(ANNA, 2, 5, 1), 2);
  settled = 2;
  assert_int_equal(incr_as(ANNA, 3, 5, 1), 3);
  assert_string_equal(get("dibs:c:{stock}:AAAAAAAAAAAAAAAAAAAAAA"), "2 2=2 3=3");
  assert_in_range(pttl("dibs:c:{stock}:AAAAAAAAAAAAAAAAAAAAAA"), HOUR_MS - 60000, HOUR_MS);
  settled = 1;
  assert_int_equal(incr_as(ANNA, 1, 5, 1), -2);
  assert_int_equal(incr_as(ANNA, 2, 5, 1), 2);
  assert_string_equal(get(KEY), "3");
}

/* Numbers that are lower, but not settled, are other threads' first sendings. */
TEST(a_late_copy_of_a_settled_write_does_not_undo_a_later_one)
{
  number = 0;
  assert_int_equal(set(5, "first"), GUARD_WRITTEN);        /* 1 */
  assert_int_equal(set(5, "second"), GUARD_WRITTEN);       /* 2, and 1 is settled */
  number = 0;
  assert_int_equal(set(5, "first"), GUARD_LATE);
  assert_string_equal(get(KEY), "second");
  number = 3, settled = 3;
  assert_int_equal(set(5, "fourth"), GUARD_WRITTEN);       /* 4; 3 is not settled */
  number = 2, settled = 1;
  assert_int_equal(set(5, "third"), GUARD_WRITTEN);
  number = 1, settled = 1;
  assert_int_equal(set(5, "second"), GUARD_LATE);
  assert_string_equal(get(KEY), "third");
}

TEST(a_sum_that_may_be_repeated_is_not_late_beside_a_settled_write)
{
  number = 2;
  assert_int_equal(set(5, "7"), GUARD_WRITTEN);            /* 3, and 2 is settled, 1 a sum */
  assert_int_equal(incr_as(ANNA, 1, 5, 1), 8);
  assert_int_equal(incr_as(ANNA, 1, 5, 1), 8);
  number = 1;
  assert_int_equal(set(5, "late"), GUARD_LATE);
}

TEST(a_newer_fence_of_the_same_client_knows_nothing_of_late_copies)
{
  number = 10;
  assert_int_equal(set(5, "a"), GUARD_WRITTEN);
  number = 0;
  assert_int_equal(set(6, "b"), GUARD_WRITTEN);
  number = 10;
  assert_int_equal(set(5, "a"), GUARD_FENCED);
}

/* ---- where the keys are ---- */

/* The server's own word for it, from a server with Cluster switched on. */
TEST(the_keys_of_a_guarded_write_are_in_one_slot)
{
  static const char *const keys[] = { "stock", "{user:7}:cart", "a{b}c", "two words", "{", "a{",
                                      "{}", "a{}b", "x}y", "}" };
  struct test_server_options options = { .has_cluster = true };
  struct test_server *s = test_server_start_with(&options);
  char fence[GUARD_KEY_TEXT_SIZE];
  size_t refused = 0;

  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    text t = text_over(fence, sizeof(fence));

    if (native_guard_fault(keys[i], strlen(keys[i])) != NULL) {
      refused++;
      continue;
    }
    native_fence_key(world_native(w, ANNA), keys[i], strlen(keys[i]), &t);
    assert_int_equal(test_server_integer(s, "CLUSTER KEYSLOT %s", fence),
                     test_server_integer(s, "CLUSTER KEYSLOT %s", keys[i]));
  }
  assert_int_equal(refused, 4);
  test_server_stop(s);
}

static int clear(void **state)
{
  number = settled = 0;
  return stage_clear(state);
}

RUN_STAGE(stage_start_with_debug, stage_stop, clear, NULL)
