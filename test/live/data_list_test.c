/* SPDX-License-Identifier: MIT */
/* test/live/data_list_test.c - the calls of dibs/list.h one by one, but for waiting, and what
 * each of them leaves on the server. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE_CLIENT_COMMAND_MS LIVE_LONG_MS
#include "one_client.h"

#define NAME "todo"

#define run(...) test_server_command(live_server, __VA_ARGS__)

static void clear(void)
{
  live_expect(client, dibs_data_delete(client, NAME, NULL), DIBS_OK);
}

static void expect_all(const char *words)
{
  assert_string_equal(run("LRANGE " NAME " 0 -1"), words);
}

static void expect_words(dibs_value *value, const char *words)
{
  if (words == NULL) {
    assert_null(value);
    return;
  }
  assert_non_null(value);
  assert_int_equal(value->size, strlen(words));
  assert_string_equal(value->bytes, words);
  assert_null(dibs_value_free(value));
}

static void add(const char *words)
{
  live_expect(client, dibs_list_add(client, NAME, dibs_text(words), NULL), DIBS_OK);
}

static void get(int64_t index, const char *words)
{
  dibs_value *got = NULL;

  live_expect(client, dibs_list_get(client, NAME, index, &got), DIBS_OK);
  expect_words(got, words);
}

/* ---- one by one ---- */

TEST(elements_are_added_at_both_ends_and_popped_there)
{
  dibs_value *got = NULL;
  uint64_t size = 0;

  live_expect(client, dibs_list_size(client, NAME, &size), DIBS_OK);
  assert_int_equal(size, 0);
  live_expect(client, dibs_list_pop_first(client, NAME, &got), DIBS_OK);
  assert_null(got);
  live_expect(client, dibs_list_add(client, NAME, dibs_text("b"), &size), DIBS_OK);
  assert_int_equal(size, 1);
  live_expect(client, dibs_list_add_first(client, NAME, dibs_text("a"), &size), DIBS_OK);
  assert_int_equal(size, 2);
  add("c");
  expect_all("[a, b, c]");
  live_expect(client, dibs_list_pop_last(client, NAME, &got), DIBS_OK);
  expect_words(got, "c");
  live_expect(client, dibs_list_pop_first(client, NAME, &got), DIBS_OK);
  expect_words(got, "a");
  expect_all("[b]");
  clear();
}

TEST(an_index_counts_from_either_end)
{
  bool is_done = false;

  get(0, NULL);
  live_expect(client, dibs_list_set(client, NAME, 0, dibs_text("x"), &is_done), DIBS_OK);
  assert_false(is_done);
  add("a");
  add("b");
  add("c");
  get(0, "a");
  get(2, "c");
  get(-1, "c");
  get(-3, "a");
  get(3, NULL);
  get(-4, NULL);
  live_expect(client, dibs_list_set(client, NAME, 1, dibs_text("x"), &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_list_set(client, NAME, -1, dibs_text("y"), &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_list_set(client, NAME, 3, dibs_text("z"), &is_done), DIBS_OK);
  assert_false(is_done);
  expect_all("[a, x, y]");
  clear();
}

TEST(an_element_is_inserted_at_its_index_whatever_is_equal_to_it)
{
  bool is_done = false;

  live_expect(client, dibs_list_insert(client, NAME, 1, dibs_text("x"), &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_list_insert(client, NAME, 0, dibs_text("x"), &is_done), DIBS_OK);
  assert_true(is_done);
  add("x");
  add("x");
  live_expect(client, dibs_list_insert(client, NAME, 2, dibs_text("2"), &is_done), DIBS_OK);
  assert_true(is_done);
  expect_all("[x, x, 2, x]");
  live_expect(client, dibs_list_insert(client, NAME, 0, dibs_text("0"), &is_done), DIBS_OK);
  live_expect(client, dibs_list_insert(client, NAME, 5, dibs_text("5"), &is_done), DIBS_OK);
  assert_true(is_done);
  expect_all("[0, x, x, 2, x, 5]");
  live_expect(client, dibs_list_insert(client, NAME, 7, dibs_text("7"), &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_list_insert(client, NAME, -1, dibs_text("7"), &is_done),
              DIBS_ERR_ARGUMENT);
  expect_all("[0, x, x, 2, x, 5]");
  clear();
}

/* Both scripts write a mark over an element first. */
TEST(a_user_without_the_right_to_the_second_write_destroys_no_element)
{
  bool is_done = false;
  dibs_client *weak;
  char url[256];

  live_needs_one_server();
  add("a");
  add("b");
  add("c");
  assert_string_equal(run("ACL SETUSER weak on >w ~* &* +@all -linsert -lrem"), "OK");
  (void)snprintf(url, sizeof(url), "unix://weak:w@%s", test_server_socket(live_server));
  weak = live_open(url);
  live_expect(weak, dibs_list_insert(weak, NAME, 1, dibs_text("x"), &is_done), DIBS_ERR_DENIED);
  expect_all("[a, b, c]");
  live_expect(weak, dibs_list_remove_at(weak, NAME, 1, &is_done), DIBS_ERR_DENIED);
  live_expect(weak, dibs_list_remove_at(weak, NAME, -1, &is_done), DIBS_ERR_DENIED);
  expect_all("[a, b, c]");
  assert_false(is_done);
  assert_null(dibs_close(weak));
  clear();
}

TEST(elements_are_removed_by_value_and_by_index)
{
  uint64_t removed = 9;
  bool is_done = false;

  for (const char *at = "xaxbxcx"; *at != 0; at++) {
    char words[2] = { *at, 0 };

    add(words);
  }
  live_expect(client, dibs_list_remove(client, NAME, dibs_text("x"), 1, &removed), DIBS_OK);
  assert_int_equal(removed, 1);
  expect_all("[a, x, b, x, c, x]");
  live_expect(client, dibs_list_remove(client, NAME, dibs_text("x"), -1, NULL), DIBS_OK);
  expect_all("[a, x, b, x, c]");
  live_expect(client, dibs_list_remove_at(client, NAME, 3, &is_done), DIBS_OK);
  assert_true(is_done);
  expect_all("[a, x, b, c]");                       /* the second x, not the first */
  live_expect(client, dibs_list_remove_at(client, NAME, 4, &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_list_remove_at(client, NAME, -1, &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_list_remove(client, NAME, dibs_text("x"), 0, &removed), DIBS_OK);
  assert_int_equal(removed, 1);
  live_expect(client, dibs_list_remove(client, NAME, dibs_text("x"), 0, &removed), DIBS_OK);
  assert_int_equal(removed, 0);
  expect_all("[a, b]");
  live_expect(client, dibs_list_remove_at(client, NAME, 0, &is_done), DIBS_OK);
  live_expect(client, dibs_list_remove_at(client, NAME, 0, &is_done), DIBS_OK);
  assert_true(is_done);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

TEST(zero_bytes_and_long_elements_are_bytes)
{
  static char big[DIBS_DATA_MAX + 1];
  dibs_bytes zeros = { "\0\0a", 3 }, longest = { big, DIBS_DATA_MAX };
  dibs_bytes longer = { big, DIBS_DATA_MAX + 1 }, none = { NULL, 0 };
  dibs_value *got = NULL;

  memset(big, 'b', sizeof(big));
  live_expect(client, dibs_list_add(client, NAME, zeros, NULL), DIBS_OK);
  live_expect(client, dibs_list_add(client, NAME, longest, NULL), DIBS_OK);
  live_expect(client, dibs_list_add(client, NAME, none, NULL), DIBS_OK);
  live_expect(client, dibs_list_add(client, NAME, longer, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "1048577 bytes; 1048576");
  live_expect(client, dibs_list_pop_first(client, NAME, &got), DIBS_OK);
  assert_int_equal(got->size, 3);
  assert_memory_equal(got->bytes, "\0\0a", 4);
  got = dibs_value_free(got);
  live_expect(client, dibs_list_pop_first(client, NAME, &got), DIBS_OK);
  assert_int_equal(got->size, DIBS_DATA_MAX);
  assert_memory_equal(got->bytes, big, DIBS_DATA_MAX);
  got = dibs_value_free(got);
  live_expect(client, dibs_list_pop_first(client, NAME, &got), DIBS_OK);
  expect_words(got, "");
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

TEST(what_somebody_else_stored_too_long_stays)
{
  live_needs_keys();
  dibs_value *got = NULL;
  bool is_done = false;

  (void)run("EVAL %s 1 " NAME, "return redis.call('RPUSH', KEYS[1], ('x'):rep(3000000))");
  live_expect(client, dibs_list_get(client, NAME, 0, &got), DIBS_ERR_UNSUPPORTED);
  live_expect(client, dibs_list_pop_first(client, NAME, &got), DIBS_ERR_UNSUPPORTED);
  live_expect(client, dibs_list_pop_last(client, NAME, &got), DIBS_ERR_UNSUPPORTED);
  live_expect_words(client, "3000000");
  assert_null(got);
  assert_int_equal(test_server_integer(live_server, "LLEN " NAME), 1);
  live_expect(client, dibs_list_remove_at(client, NAME, 0, &is_done), DIBS_OK);
  assert_true(is_done);
  clear();
}

static bool never(uint64_t index, dibs_bytes element, void *data)
{
  (void)index;
  (void)element;
  (void)data;
  live_fault("an element of what is no list");
  return true;
}

TEST(what_cannot_be_is_refused_with_words)
{
  dibs_bytes none = { NULL, 1 };
  dibs_value *got = NULL;

  live_expect(client, dibs_list_add(client, "", dibs_text("1"), NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_list_add(client, NAME, none, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_list_get(client, NAME, INT64_MAX, &got), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "index");
  live_expect(client, dibs_list_get(client, NAME, 0, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_list_remove(client, NAME, dibs_text("1"), INT64_MIN, NULL),
              DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_list_range(client, NAME, 0, 0, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_list_range(client, NAME, UINT64_MAX, 0, never, NULL),
              DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_list_pop_first(NULL, NAME, &got), DIBS_ERR_ARGUMENT);
}

/* ---- many of them ---- */

struct visits {
  uint64_t next, count, stop_at;
  bool pops;
  size_t gaps;
};

static bool visit(uint64_t index, dibs_bytes element, void *data)
{
  struct visits *v = data;
  char words[24];
  int size = snprintf(words, sizeof(words), "%llu", (unsigned long long)v->next);

  assert_int_equal(index, v->next);
  assert_int_equal(element.size, size);
  assert_memory_equal(element.bytes, words, element.size);
  v->next++;
  v->count++;
  return v->count != v->stop_at;
}

TEST(range_visits_what_it_is_asked_for_in_its_order)
{
  struct visits v = { 0 };

  live_expect(client, dibs_list_range(client, NAME, 0, 0, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 0);
  for (int i = 0; i < 1000; i++)
    (void)run("RPUSH " NAME " %d", i);
  live_expect(client, dibs_list_range(client, NAME, 0, 0, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 1000);
  v = (struct visits){ .next = 300 };
  live_expect(client, dibs_list_range(client, NAME, 300, 400, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 400);
  v = (struct visits){ .next = 990 };
  live_expect(client, dibs_list_range(client, NAME, 990, 400, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 10);
  v = (struct visits){ .stop_at = 260 };
  live_expect(client, dibs_list_range(client, NAME, 0, 0, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 260);
  v = (struct visits){ 0 };
  live_expect(client, dibs_list_range(client, NAME, 1000, 0, visit, &v), DIBS_OK);
  assert_int_equal(v.count, 0);
  clear();
}

static bool measure(uint64_t index, dibs_bytes element, void *data)
{
  struct visits *v = data;

  assert_int_equal(index, v->count);
  v->gaps += element.bytes == NULL;
  v->count++;
  if (v->pops)
    (void)run("RPOP " NAME);
  return true;
}

TEST(elements_that_fill_a_page_each_are_all_visited)
{
  struct visits v = { 0 };

  (void)run("EVAL %s 1 " NAME, "for i = 1, 20 do redis.call('RPUSH', KEYS[1], "
                               "('x'):rep(i == 5 and 3000000 or 1048576)) end");
  live_expect(client, dibs_list_range(client, NAME, 0, 0, measure, &v), DIBS_OK);
  assert_int_equal(v.count, 20);
  assert_int_equal(v.gaps, 1);
  clear();
}

TEST(a_list_that_shrinks_meanwhile_ends_earlier)
{
  struct visits v = { .pops = true };

  for (int i = 0; i < 1000; i++)
    (void)run("RPUSH " NAME " %d", i);
  live_expect(client, dibs_list_range(client, NAME, 0, 0, measure, &v), DIBS_OK);
  assert_in_range(v.count, 500, 800);      /* what was in memory by then is visited */
  clear();
}

RUN_TESTS(setup, teardown)
