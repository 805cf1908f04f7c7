/* SPDX-License-Identifier: MIT */
/* test/live/data_set_test.c - the calls of dibs/set.h one by one, and what each of them leaves
 * on the server. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE_CLIENT_COMMAND_MS LIVE_LONG_MS
#include "one_client.h"

#define NAME "online"

#define run(...) test_server_command(live_server, __VA_ARGS__)

static void clear(void)
{
  live_expect(client, dibs_data_delete(client, NAME, NULL), DIBS_OK);
}

TEST(members_are_added_once_found_and_removed)
{
  bool is_so = false;
  uint64_t size = 9;

  live_expect(client, dibs_set_size(client, NAME, &size), DIBS_OK);
  assert_int_equal(size, 0);
  live_expect(client, dibs_set_add(client, NAME, dibs_text("a"), &is_so), DIBS_OK);
  assert_true(is_so);
  live_expect(client, dibs_set_add(client, NAME, dibs_text("a"), &is_so), DIBS_OK);
  assert_false(is_so);
  assert_string_equal(run("SMEMBERS " NAME), "[a]");
  live_expect(client, dibs_set_contains(client, NAME, dibs_text("a"), &is_so), DIBS_OK);
  assert_true(is_so);
  live_expect(client, dibs_set_contains(client, NAME, dibs_text("b"), &is_so), DIBS_OK);
  assert_false(is_so);
  live_expect(client, dibs_set_size(client, NAME, &size), DIBS_OK);
  assert_int_equal(size, 1);
  live_expect(client, dibs_set_remove(client, NAME, dibs_text("b"), &is_so), DIBS_OK);
  assert_false(is_so);
  live_expect(client, dibs_set_remove(client, NAME, dibs_text("a"), &is_so), DIBS_OK);
  assert_true(is_so);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

TEST(zero_bytes_are_bytes)
{
  dibs_bytes zeros = { "\0\0", 2 }, none = { NULL, 0 };
  bool is_so = false;
  dibs_value *got = NULL;

  live_expect(client, dibs_set_add(client, NAME, zeros, NULL), DIBS_OK);
  assert_int_equal(test_server_integer(live_server, "SISMEMBER " NAME " %b", "\0\0", (size_t)2),
                   1);
  live_expect(client, dibs_set_contains(client, NAME, none, &is_so), DIBS_OK);
  assert_false(is_so);
  live_expect(client, dibs_set_pop(client, NAME, &got), DIBS_OK);
  assert_int_equal(got->size, 2);
  assert_memory_equal(got->bytes, "\0\0", 3);
  got = dibs_value_free(got);
  live_expect(client, dibs_set_add(client, NAME, none, NULL), DIBS_OK);
  live_expect(client, dibs_set_contains(client, NAME, none, &is_so), DIBS_OK);
  assert_true(is_so);
  clear();
}

TEST(pop_hands_out_each_member_once)
{
  bool seen[100] = { false };
  dibs_value *got = NULL;

  for (int i = 0; i < 100; i++)
    (void)run("SADD " NAME " %d", i);
  for (int i = 0; i < 100; i++) {
    long member;

    live_expect(client, dibs_set_pop(client, NAME, &got), DIBS_OK);
    assert_non_null(got);
    member = strtol(got->bytes, NULL, 10);
    assert_in_range(member, 0, 99);
    assert_false(seen[member]);
    seen[member] = true;
    got = dibs_value_free(got);
    assert_int_equal(test_server_integer(live_server, "SCARD " NAME), 99 - i);
  }
  live_expect(client, dibs_set_pop(client, NAME, &got), DIBS_OK);
  assert_null(got);
}

TEST(what_somebody_else_stored_too_long_stays)
{
  live_needs_keys();
  dibs_value *got = NULL;

  (void)run("EVAL %s 1 " NAME, "return redis.call('SADD', KEYS[1], ('x'):rep(3000000))");
  live_expect(client, dibs_set_pop(client, NAME, &got), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(test_server_integer(live_server, "SCARD " NAME), 1);
  clear();
}

/* ---- all of it ---- */

enum { MEMBERS = 2000 };

struct visits {
  bool seen[MEMBERS];
  int count, stop_at;
  size_t bytes;
  bool changes_it;
};

static bool visit(dibs_bytes member, void *data)
{
  struct visits *v = data;
  char words[24], other[24];
  long number;

  assert_true(member.size < sizeof(words));
  memcpy(words, member.bytes, member.size);
  words[member.size] = 0;
  number = strtol(words, NULL, 10);
  if (number < MEMBERS)
    v->seen[number] = true;
  v->count++;
  if (v->changes_it && v->count < 2 * MEMBERS) {
    (void)snprintf(other, sizeof(other), "%d", 10 * MEMBERS + v->count);
    live_expect(client, dibs_set_add(client, NAME, dibs_text(other), NULL), DIBS_OK);
  }
  return v->count != v->stop_at;
}

TEST(each_visits_what_stays_while_others_come)
{
  static struct visits v;

  memset(&v, 0, sizeof(v));
  live_expect(client, dibs_set_each(client, NAME, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 0);
  for (int i = 0; i < MEMBERS; i++)
    (void)run("SADD " NAME " %d", i);
  v.changes_it = true;
  live_expect(client, dibs_set_each(client, NAME, visit, &v), DIBS_OK);
  for (int i = 0; i < MEMBERS; i++)
    if (!v.seen[i])
      fail_msg("%d was not visited", i);
  memset(&v, 0, sizeof(v));
  v.stop_at = 3;
  live_expect(client, dibs_set_each(client, NAME, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 3);
  clear();
}

static bool measure(dibs_bytes member, void *data)
{
  struct visits *v = data;

  assert_non_null(member.bytes);
  v->count++;
  v->bytes += member.size;
  return true;
}

TEST(the_longest_members_are_all_visited)
{
  static char big[DIBS_KEY_MAX + 1];
  struct visits v = { .count = 0 };
  dibs_bytes longer = { big, sizeof(big) };

  memset(big, 'x', sizeof(big));
  for (int i = 0; i < 200; i++) {
    dibs_bytes longest = { big, DIBS_KEY_MAX };

    memcpy(big, &i, sizeof(i));
    live_expect(client, dibs_set_add(client, NAME, longest, NULL), DIBS_OK);
  }
  live_expect(client, dibs_set_add(client, NAME, longer, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_set_each(client, NAME, measure, &v), DIBS_OK);
  assert_true(v.count >= 200);
  assert_true(v.bytes == (size_t)v.count * DIBS_KEY_MAX);
  clear();
}

TEST(what_cannot_be_is_refused)
{
  dibs_bytes one = dibs_text("1");
  uint64_t size;
  bool is_so;
  dibs_value *got = NULL;

  live_expect(client, dibs_set_add(client, "", one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_set_contains(client, NAME, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_set_size(client, NAME, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_set_pop(client, NAME, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_set_each(client, NAME, NULL, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_set_add(NULL, NAME, one, NULL), DIBS_ERR_ARGUMENT);
  (void)run("RPUSH " NAME " a");
  live_expect(client, dibs_set_add(client, NAME, one, NULL), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_set_remove(client, NAME, one, NULL), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_set_contains(client, NAME, one, &is_so), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_set_size(client, NAME, &size), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_set_pop(client, NAME, &got), DIBS_ERR_WRONG_TYPE);
  live_expect(client, dibs_set_each(client, NAME, measure, NULL), DIBS_ERR_WRONG_TYPE);
  assert_string_equal(run("LRANGE " NAME " 0 -1"), "[a]");
  clear();
}

RUN_TESTS(setup, teardown)
