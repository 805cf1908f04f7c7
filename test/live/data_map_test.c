/* SPDX-License-Identifier: MIT */
/* test/live/data_map_test.c - the calls of dibs/map.h and data.h one by one, and what each of
 * them leaves on the server. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ONE_CLIENT_COMMAND_MS LIVE_LONG_MS
#include "one_client.h"

#define NAME "users"

#define run(...) test_server_command(live_server, __VA_ARGS__)

static void clear(void)
{
  live_expect(client, dibs_data_delete(client, NAME, NULL), DIBS_OK);
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

static void put(const char *key, const char *value, const char *old)
{
  dibs_value *was = (dibs_value *)(void *)&was;

  live_expect(client, dibs_map_put(client, NAME, dibs_text(key), dibs_text(value), &was),
              DIBS_OK);
  expect_words(was, old);
}

static void expect_at(const char *key, const char *words)
{
  dibs_value *value = NULL;

  live_expect(client, dibs_map_get(client, NAME, dibs_text(key), &value), DIBS_OK);
  expect_words(value, words);
}

/* ---- one by one ---- */

TEST(put_tells_what_was_there)
{
  put("a", "1", NULL);
  assert_string_equal(run("HGETALL " NAME), "[a, 1]");
  put("a", "2", "1");
  live_expect(client, dibs_map_put(client, NAME, dibs_text("a"), dibs_text("3"), NULL), DIBS_OK);
  assert_string_equal(run("HGETALL " NAME), "[a, 3]");
  expect_at("a", "3");
  expect_at("b", NULL);
  put("", "", NULL);
  put("", "x", "");
  assert_string_equal(run("HGET " NAME " %s", ""), "x");
  clear();
}

TEST(what_depends_on_the_value_there_does_so)
{
  dibs_bytes key = dibs_text("k"), one = dibs_text("1"), two = dibs_text("2");
  bool is_done = true;

  live_expect(client, dibs_map_replace(client, NAME, key, one, &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_map_replace_if(client, NAME, key, one, two, &is_done), DIBS_OK);
  assert_false(is_done);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
  live_expect(client, dibs_map_put_if_absent(client, NAME, key, one, &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_map_put_if_absent(client, NAME, key, two, &is_done), DIBS_OK);
  assert_false(is_done);
  assert_string_equal(run("HGETALL " NAME), "[k, 1]");
  live_expect(client, dibs_map_replace_if(client, NAME, key, two, one, &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_map_replace_if(client, NAME, key, one, two, &is_done), DIBS_OK);
  assert_true(is_done);
  assert_string_equal(run("HGETALL " NAME), "[k, 2]");
  live_expect(client, dibs_map_replace(client, NAME, key, one, &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_map_remove_if(client, NAME, key, two, &is_done), DIBS_OK);
  assert_false(is_done);
  assert_string_equal(run("HGETALL " NAME), "[k, 1]");
  live_expect(client, dibs_map_remove_if(client, NAME, key, one, &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_map_remove_if(client, NAME, key, one, &is_done), DIBS_OK);
  assert_false(is_done);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

TEST(remove_contains_and_size)
{
  dibs_value *old = NULL;
  uint64_t size = 9;
  bool is_there = true;

  live_expect(client, dibs_map_size(client, NAME, &size), DIBS_OK);
  assert_int_equal(size, 0);
  put("a", "1", NULL);
  put("b", "2", NULL);
  live_expect(client, dibs_map_size(client, NAME, &size), DIBS_OK);
  assert_int_equal(size, 2);
  live_expect(client, dibs_map_contains(client, NAME, dibs_text("b"), &is_there), DIBS_OK);
  assert_true(is_there);
  live_expect(client, dibs_map_remove(client, NAME, dibs_text("b"), &old), DIBS_OK);
  expect_words(old, "2");
  live_expect(client, dibs_map_contains(client, NAME, dibs_text("b"), &is_there), DIBS_OK);
  assert_false(is_there);
  live_expect(client, dibs_map_remove(client, NAME, dibs_text("b"), &old), DIBS_OK);
  assert_null(old);
  live_expect(client, dibs_map_remove(client, NAME, dibs_text("a"), NULL), DIBS_OK);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

TEST(zero_bytes_are_bytes)
{
  static const char key[] = "k\0\r\n", value[] = "\0v\0";
  dibs_bytes k = { key, 4 }, v = { value, 3 }, nothing = { NULL, 0 };
  dibs_value *got = NULL;
  bool is_done = false;

  live_expect(client, dibs_map_put(client, NAME, k, v, NULL), DIBS_OK);
  assert_int_equal(test_server_integer(live_server, "HSTRLEN " NAME " %b", key, (size_t)4), 3);
  live_expect(client, dibs_map_get(client, NAME, k, &got), DIBS_OK);
  assert_non_null(got);
  assert_int_equal(got->size, 3);
  assert_memory_equal(got->bytes, value, 4);       /* and a zero behind it */
  got = dibs_value_free(got);
  live_expect(client, dibs_map_get(client, NAME, dibs_text("k"), &got), DIBS_OK);
  assert_null(got);
  live_expect(client, dibs_map_replace_if(client, NAME, k, nothing, v, &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_map_replace_if(client, NAME, k, v, nothing, &is_done), DIBS_OK);
  assert_true(is_done);
  assert_int_equal(test_server_integer(live_server, "HSTRLEN " NAME " %b", key, (size_t)4), 0);
  assert_int_equal(test_server_integer(live_server, "HEXISTS " NAME " %b", key, (size_t)4), 1);
  clear();
}

TEST(the_longest_value_comes_and_goes_and_a_longer_one_is_refused)
{
  char *big = malloc(DIBS_DATA_MAX + 1);
  dibs_bytes longest = { big, DIBS_DATA_MAX }, longer = { big, DIBS_DATA_MAX + 1 };
  dibs_bytes long_key = { big, DIBS_KEY_MAX }, longer_key = { big, DIBS_KEY_MAX + 1 };
  dibs_value *got = NULL;

  assert_non_null(big);
  for (size_t i = 0; i < DIBS_DATA_MAX + 1; i++)
    big[i] = (char)(i * 31 + i / 251);
  live_expect(client, dibs_map_put(client, NAME, long_key, longest, &got), DIBS_OK);
  assert_null(got);
  live_expect(client, dibs_map_put(client, NAME, long_key, longest, &got), DIBS_OK);
  assert_int_equal(got->size, DIBS_DATA_MAX);
  assert_memory_equal(got->bytes, big, DIBS_DATA_MAX);
  got = dibs_value_free(got);
  live_expect(client, dibs_map_put(client, NAME, long_key, longer, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "1048577 bytes; 1048576");
  live_expect(client, dibs_map_put(client, NAME, longer_key, longest, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "65537 bytes; 65536");
  clear();
  free(big);
}

/* Java may do so. The connection stays what it is. */
TEST(what_somebody_else_stored_too_long_is_told_and_left)
{
  live_needs_one_view();
  uint64_t connects = live_stats(client).connects;
  dibs_value *got = NULL;
  bool is_done = false;

  (void)run("EVAL %s 1 " NAME, "return redis.call('HSET', KEYS[1], 'big', ('x'):rep(5000000))");
  live_expect(client, dibs_map_get(client, NAME, dibs_text("big"), &got), DIBS_ERR_UNSUPPORTED);
  live_expect_words(client, "5000000");
  live_expect(client, dibs_map_put(client, NAME, dibs_text("big"), dibs_text("1"), &got),
              DIBS_ERR_UNSUPPORTED);
  live_expect(client, dibs_map_remove(client, NAME, dibs_text("big"), &got),
              DIBS_ERR_UNSUPPORTED);
  assert_null(got);
  assert_int_equal(test_server_integer(live_server, "HSTRLEN " NAME " big"), 5000000);
  live_expect(client, dibs_map_replace(client, NAME, dibs_text("big"), dibs_text("1"), &is_done),
              DIBS_OK);
  assert_true(is_done);
  assert_string_equal(run("HGETALL " NAME), "[big, 1]");
  assert_int_equal(live_stats(client).connects, connects);
  clear();
}

TEST(what_cannot_be_is_refused_with_words)
{
  dibs_bytes one = dibs_text("1"), none = { NULL, 3 };
  bool is_done = false;

  live_expect(client, dibs_map_put(client, NULL, one, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_put(client, "", one, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_put(client, "}x", one, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_put(client, NAME, none, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_put(client, NAME, one, none, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "bytes");
  live_expect(client, dibs_map_replace(client, NAME, one, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_get(client, NAME, one, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_size(client, NAME, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_map_each(client, NAME, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_data_expire(client, NAME, 0, &is_done), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "ttl_ms");
  live_expect(client, dibs_data_ttl(client, NAME, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_map_put(NULL, NAME, one, one, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_map_each(NULL, NAME, NULL, NULL), DIBS_ERR_ARGUMENT);
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

/* ---- lives ---- */

static bool is_gone(void *data)
{
  int64_t left = 0;

  (void)data;
  return dibs_data_ttl(client, NAME, &left) == DIBS_OK && left == -2;
}

TEST(it_ends_by_itself_when_it_is_told_to)
{
  int64_t left = 0;
  bool is_done = true;

  live_expect(client, dibs_data_expire(client, NAME, 1000, &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_data_ttl(client, NAME, &left), DIBS_OK);
  assert_int_equal(left, -2);
  put("a", "1", NULL);
  live_expect(client, dibs_data_ttl(client, NAME, &left), DIBS_OK);
  assert_int_equal(left, -1);
  live_expect(client, dibs_data_persist(client, NAME, &is_done), DIBS_OK);
  assert_false(is_done);
  live_expect(client, dibs_data_expire(client, NAME, 60000, &is_done), DIBS_OK);
  assert_true(is_done);
  live_expect(client, dibs_data_ttl(client, NAME, &left), DIBS_OK);
  assert_in_range(left, 50000, 60000);
  put("b", "2", NULL);                     /* a write leaves it as it is */
  assert_in_range(test_server_integer(live_server, "PTTL " NAME), 40000, 60000);
  live_expect(client, dibs_data_persist(client, NAME, &is_done), DIBS_OK);
  assert_true(is_done);
  assert_int_equal(test_server_integer(live_server, "PTTL " NAME), -1);
  live_expect(client, dibs_data_expire(client, NAME, 50, NULL), DIBS_OK);
  assert_true(live_until(LIVE_LONG_MS, is_gone, NULL));
  live_expect(client, dibs_data_delete(client, NAME, &is_done), DIBS_OK);
  assert_false(is_done);
  put("a", "1", NULL);
  live_expect(client, dibs_data_delete(client, NAME, &is_done), DIBS_OK);
  assert_true(is_done);
}

/* ---- all of it ---- */

enum { ENTRIES = 3000 };

struct visits {
  unsigned char seen[ENTRIES];
  int count, others, stop_at;
  bool changes_it;
};

static void change(int step)
{
  char key[16];

  (void)snprintf(key, sizeof(key), "new%d", step);
  live_expect(client, dibs_map_put(client, NAME, dibs_text(key), dibs_text("n"), NULL), DIBS_OK);
  (void)snprintf(key, sizeof(key), "%d", ENTRIES + step);
  live_expect(client, dibs_map_remove(client, NAME, dibs_text(key), NULL), DIBS_OK);
}

static bool visit(dibs_bytes key, dibs_bytes value, void *data)
{
  struct visits *v = data;
  char text[32];
  long number;

  assert_true(key.size < sizeof(text));
  memcpy(text, key.bytes, key.size);
  text[key.size] = 0;
  number = strtol(text, NULL, 10);
  if (text[0] != 'n' && number < ENTRIES) {
    assert_int_equal(value.size, key.size + 1);
    assert_int_equal(((const char *)value.bytes)[0], 'v');
    v->seen[number]++;
  } else {
    v->others++;
  }
  v->count++;
  if (v->changes_it && v->count % 3 == 0 && v->count < 3 * ENTRIES)
    change(v->count / 3);
  return v->count != v->stop_at;
}

static void fill(int count)
{
  for (int i = 0; i < count; i++)
    (void)run("HSET " NAME " %d v%d", i, i);
}

TEST(each_visits_every_entry)
{
  static struct visits all, some;

  memset(&all, 0, sizeof(all));
  live_expect(client, dibs_map_each(client, NAME, visit, &all), DIBS_OK);
  assert_int_equal(all.count, 0);
  fill(ENTRIES);
  live_expect(client, dibs_map_each(client, NAME, visit, &all), DIBS_OK);
  for (int i = 0; i < ENTRIES; i++)
    assert_true(all.seen[i] >= 1);
  memset(&some, 0, sizeof(some));
  some.stop_at = 7;
  live_expect(client, dibs_map_each(client, NAME, visit, &some), DIBS_OK);
  assert_int_equal(some.count, 7);
  clear();
}

TEST(what_stays_is_visited_while_others_come_and_go)
{
  static struct visits all;

  memset(&all, 0, sizeof(all));
  all.changes_it = true;
  fill(2 * ENTRIES);                       /* those behind ENTRIES go meanwhile */
  live_expect(client, dibs_map_each(client, NAME, visit, &all), DIBS_OK);
  for (int i = 0; i < ENTRIES; i++)
    if (all.seen[i] == 0)
      fail_msg("%d was not visited", i);
  assert_true(all.others > 0);
  clear();
}

struct sizes {
  size_t entries, bytes, gaps;
};

static bool measure(dibs_bytes key, dibs_bytes value, void *data)
{
  struct sizes *s = data;

  s->entries++;
  if (key.bytes == NULL || value.bytes == NULL)
    s->gaps++;
  else
    s->bytes += value.size;
  return true;
}

static uint64_t reconnects(dibs_client *c)
{
  dibs_metrics *m = NULL;
  uint64_t count;

  live_expect(c, dibs_metrics_read(c, &m), DIBS_OK);
  count = m->reconnects;
  m = dibs_metrics_free(m);
  return count;
}

/* A walk that took a page for too large would drop its connection. A busy machine may take seconds
 * for the 60 MiB, in which a command timeout must not do that. */
TEST(values_that_fill_a_page_each_are_all_visited)
{
  dibs_options options = live_options();
  struct sizes s = { 0 };
  dibs_client *own;

  live_needs_one_view();
  options.command_timeout_ms = 60000;
  own = live_open_with(live_url(), &options);
  live_expect(own, dibs_ping(own, 0, NULL), DIBS_OK);
  (void)run("EVAL %s 1 " NAME, "for i = 1, 60 do redis.call('HSET', KEYS[1], i, "
                               "('x'):rep(1048576)) end");
  live_expect(own, dibs_map_each(own, NAME, measure, &s), DIBS_OK);
  assert_true(s.entries >= 60 && s.gaps == 0);
  assert_true(s.bytes >= (size_t)60 * 1048576);
  (void)run("EVAL %s 1 " NAME, "redis.call('HSET', KEYS[1], 'big', ('x'):rep(3000000))");
  memset(&s, 0, sizeof(s));
  live_expect(own, dibs_map_each(own, NAME, measure, &s), DIBS_OK);
  assert_true(s.gaps >= 1 && s.entries >= 61);
  assert_int_equal(reconnects(own), 0);      /* to sentinels it may connect at any time */
  own = dibs_close(own);
  clear();
}

/* ---- with others ---- */

TEST(guarded_writes_are_on_the_same_map)
{
  dibs_field field = { "k", "new", 3 };
  dibs_hold *hold = live_lock(client, "guard-of-users", 10000);
  uint64_t fence = dibs_hold_fence(hold);
  const char *const names[] = { "k" };

  put("k", "old", NULL);
  live_expect(client, dibs_guarded_hset(client, NAME, fence, &field, 1), DIBS_OK);
  expect_at("k", "new");
  live_expect_refused(client, dibs_guarded_hset(client, NAME, fence - 1, &field, 1),
                      DIBS_FENCED);
  live_expect(client, dibs_guarded_hdel(client, NAME, fence, names, 1), DIBS_OK);
  expect_at("k", NULL);
  live_expect(client, dibs_release(hold), DIBS_OK);
  clear();
}

TEST(a_lost_answer_to_a_write_is_unknown_and_not_repeated)
{
  live_needs_one_server();
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_client *mine = live_open(test_proxy_url(proxy));
  dibs_value *got = NULL;
  bool is_done = false;

  live_expect(mine, dibs_map_put(mine, NAME, dibs_text("k"), dibs_text("1"), NULL), DIBS_OK);
  test_proxy_lose_reply_to(proxy, "HSETNX");
  live_expect(mine, dibs_map_put_if_absent(mine, NAME, dibs_text("n"), dibs_text("1"), &is_done),
              DIBS_UNKNOWN);
  assert_false(is_done);
  assert_string_equal(run("HGET " NAME " n"), "1");        /* it was executed */
  test_proxy_lose_reply_to(proxy, "EVALSHA");
  live_expect(mine, dibs_map_put(mine, NAME, dibs_text("k"), dibs_text("2"), &got),
              DIBS_UNKNOWN);
  assert_null(got);
  live_expect(mine, dibs_map_put(mine, NAME, dibs_text("k"), dibs_text("3"), &got), DIBS_OK);
  expect_words(got, "2");
  test_proxy_lose_reply_to(proxy, "EVALSHA");              /* a question is asked again */
  live_expect(mine, dibs_map_get(mine, NAME, dibs_text("k"), &got), DIBS_OK);
  expect_words(got, "3");
  assert_null(dibs_close(mine));
  proxy = test_proxy_stop(proxy);
  clear();
}

TEST(a_full_server_refuses_what_adds_and_lets_remove)
{
  live_needs_one_server();
  dibs_value *got = NULL;
  bool is_done = false;

  put("a", "1", NULL);
  put("b", "2", NULL);
  (void)run("CONFIG SET maxmemory 1");
  live_expect(client, dibs_map_put(client, NAME, dibs_text("c"), dibs_text("3"), NULL),
              DIBS_ERR_REFUSED);
  live_expect(client, dibs_map_put(client, NAME, dibs_text("c"), dibs_text("3"), &got),
              DIBS_ERR_REFUSED);
  live_expect(client, dibs_map_get(client, NAME, dibs_text("a"), &got), DIBS_OK);
  expect_words(got, "1");
  live_expect(client, dibs_map_remove(client, NAME, dibs_text("a"), &got), DIBS_OK);
  expect_words(got, "1");
  live_expect(client, dibs_map_remove_if(client, NAME, dibs_text("b"), dibs_text("2"), &is_done),
              DIBS_OK);
  assert_true(is_done);
  (void)run("CONFIG SET maxmemory 0");
  assert_int_equal(test_server_integer(live_server, "EXISTS " NAME), 0);
}

TEST(values_outlive_their_client)
{
  dibs_client *mine = live_open(live_url());
  dibs_value *got = NULL;

  live_expect(mine, dibs_map_put(mine, NAME, dibs_text("k"), dibs_text("1"), NULL), DIBS_OK);
  live_expect(mine, dibs_map_get(mine, NAME, dibs_text("k"), &got), DIBS_OK);
  assert_null(dibs_close(mine));
  expect_words(got, "1");
  clear();
}

TEST(the_lock_of_a_key_has_the_name_that_java_gives_it)
{
  char name[DIBS_NAME_MAX + 1], small[8] = "x";
  dibs_hold *hold;

  assert_int_equal(dibs_key_lock_name(NAME, dibs_text("key1"), DIBS_KEY_LOCK, name,
                                      sizeof(name)), DIBS_OK);
  assert_string_equal(name, "{users}:td70ePIfZeWyYYH5QeK0MQ:lock");
  hold = live_lock(client, name, 10000);
  live_expect(client, dibs_release(hold), DIBS_OK);
  assert_int_equal(dibs_key_lock_name(NAME, dibs_text("k"), DIBS_KEY_LOCK, small,
                                      sizeof(small)), DIBS_ERR_ARGUMENT);
  assert_string_equal(small, "x");
  assert_int_equal(dibs_key_lock_name(NULL, dibs_text("k"), DIBS_KEY_LOCK, name,
                                      sizeof(name)), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_key_lock_name(NAME, dibs_text("k"), (dibs_key_lock)7, name,
                                      sizeof(name)), DIBS_ERR_ARGUMENT);
}

TEST(a_quorum_has_no_data)
{
  dibs_client *mine = live_open("redis://127.0.0.1:1 redis://127.0.0.1:2 redis://127.0.0.1:3");

  live_expect(mine, dibs_map_put(mine, NAME, dibs_text("k"), dibs_text("1"), NULL),
              DIBS_ERR_UNSUPPORTED);
  assert_null(dibs_close(mine));
}

RUN_TESTS(setup, teardown)
