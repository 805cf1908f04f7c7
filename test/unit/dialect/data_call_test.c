/* SPDX-License-Identifier: MIT */
/* The calls for maps, lists and sets, word for word; the names of locks that belong to a key,
 * as Java makes them. */

#include "tests.h"
#include "call_reader.h"
#include "dialect/data.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define MOST "1048576"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const data_call all = { .name = { "n", 1 }, .key = { "k", 1 }, .value = { "v", 1 },
                               .expected = { "x", 1 }, .number = -1, .count = 7,
                               .cursor = "42" };

static void encode(data_verb verb)
{
  data_call c = all;

  c.verb = verb;
  assert_true(RENDERED(data_encode, &here, &sent, false, &c));
}

/* A command of the server and its words. */
static void check_command(data_verb verb, const char *words)
{
  resp_reply *r;
  char said[200] = "";

  encode(verb);
  assert_true(buffer_append(&sent, "", 1));
  r = reply_of(buffer_bytes(&sent));
  for (size_t i = 0; i < (size_t)resp_root(r)->integer; i++) {
    strcat(said, i == 0 ? "" : " ");
    strcat(said, resp_child(r, resp_root(r), i)->bytes);
  }
  assert_string_equal(said, words);
  resp_reply_free(r);
  buffer_clear(&sent);
}

TEST(a_read_that_one_command_does_is_that_command)
{
  check_command(DATA_MAP_HAS, "HEXISTS n k");
  check_command(DATA_MAP_SIZE, "HLEN n");
  check_command(DATA_LIST_SIZE, "LLEN n");
  check_command(DATA_SET_HAS, "SISMEMBER n k");
  check_command(DATA_SET_SIZE, "SCARD n");
  check_command(DATA_TTL, "PTTL n");
}

#define CHECK_SCRIPT(verb, script, ...)                                                       \
  do {                                                                                        \
    encode(verb);                                                                             \
    CHECK_WORDS(&sent, &script, "1", "n", __VA_ARGS__);                                        \
  } while (0)

/* The script checks the limit, and executes the command. */
TEST(a_change_that_one_command_does_is_a_script_with_that_command)
{
  CHECK_SCRIPT(DATA_MAP_SET, script_redisson_data_add, "HSET", "k", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_ADD, script_redisson_data_add, "HSETNX", "k", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_LIST_ADD, script_redisson_data_add, "RPUSH", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_LIST_ADD_FIRST, script_redisson_data_add, "LPUSH", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_SET_ADD, script_redisson_data_add, "SADD", "k", NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_REMOVE, script_redisson_data_remove, "HDEL", "k", NO_LIMIT);
  CHECK_SCRIPT(DATA_LIST_REMOVE, script_redisson_data_remove, "LREM", "7", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_SET_REMOVE, script_redisson_data_remove, "SREM", "k", NO_LIMIT);
  CHECK_SCRIPT(DATA_EXPIRE, script_redisson_data_remove, "PEXPIRE", "-1", NO_LIMIT);
  CHECK_SCRIPT(DATA_PERSIST, script_redisson_data_remove, "PERSIST", NO_LIMIT);
  CHECK_SCRIPT(DATA_DELETE, script_redisson_data_remove, "UNLINK", NO_LIMIT);
}

TEST(the_others_are_scripts_of_one_key)
{
  CHECK_SCRIPT(DATA_MAP_PUT, script_redisson_map_put, "k", "v", MOST, NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_REPLACE, script_redisson_map_replace, "k", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_REPLACE_IF, script_redisson_map_replace, "k", "v", "x", NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_GET, script_redisson_map_get, "k", MOST);
  CHECK_SCRIPT(DATA_MAP_TAKE, script_redisson_map_take, "k", MOST, NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_REMOVE_IF, script_redisson_map_remove_if, "k", "x", NO_LIMIT);
  CHECK_SCRIPT(DATA_MAP_PAGE, script_redisson_map_page, "42", "7", "1572864");
  CHECK_SCRIPT(DATA_LIST_GET, script_redisson_list_get, "-1", MOST);
  CHECK_SCRIPT(DATA_LIST_SET, script_redisson_list_set, "-1", "v", NO_LIMIT);
  CHECK_SCRIPT(DATA_LIST_INSERT, script_redisson_list_insert, "-1", "v", "dibs:" ANNA, NO_LIMIT);
  CHECK_SCRIPT(DATA_LIST_REMOVE_AT, script_redisson_list_remove_at, "-1", "dibs:" ANNA, NO_LIMIT);
  CHECK_SCRIPT(DATA_LIST_PAGE, script_redisson_list_page, "-1", "7", "1572864");
  CHECK_SCRIPT(DATA_LIST_POP, script_redisson_list_pop, "-1", MOST, NO_LIMIT);
  CHECK_SCRIPT(DATA_SET_PAGE, script_redisson_set_page, "42", "7", "1572864");
  CHECK_SCRIPT(DATA_SET_POP, script_redisson_set_pop, MOST, NO_LIMIT);
}

/* Only these may be sent again when no answer came. */
TEST(reads_are_those_that_change_nothing)
{
  static const data_verb reads[] = { DATA_MAP_GET, DATA_MAP_HAS, DATA_MAP_SIZE, DATA_MAP_PAGE,
                                     DATA_LIST_GET, DATA_LIST_SIZE, DATA_LIST_PAGE,
                                     DATA_SET_HAS, DATA_SET_SIZE, DATA_SET_PAGE, DATA_TTL };
  size_t count = 0;

  for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
    assert_true(data_is_read(reads[i]));
  for (int verb = DATA_MAP_SET; verb <= DATA_DELETE; verb++)
    count += data_is_read((data_verb)verb);
  assert_int_equal(count, sizeof(reads) / sizeof(reads[0]));
}

/* ---- names of locks ---- */

static void check_name(const char *name, const char *key, const char *kind, const char *expected)
{
  char bytes[200];
  text out = text_over(bytes, sizeof(bytes));

  data_lock_name(name, (resp_argument){ key, strlen(key) }, kind, &out);
  assert_string_equal(bytes, expected);
}

TEST(a_name_gets_braces_unless_it_has_one)
{
  check_name("users", "key1", "lock", "{users}:td70ePIfZeWyYYH5QeK0MQ:lock");
  check_name("users", "user:42", "rw_lock", "{users}:/daebcSkFTlYx0L3+eilig:rw_lock");
  check_name("users", "", "semaphore", "{users}:t6rZwibGo2uy1OSmNVe8pg:semaphore");
  check_name("{app}:users", "a", "fairlock", "{app}:users:qwvAS12pR0CgRitaypEjUw:fairlock");
  check_name("a{b", "a", "countdownlatch", "a{b:qwvAS12pR0CgRitaypEjUw:countdownlatch");
  check_name("a}b", "a", "permitexpirablesemaphore",
             "{a}b}:qwvAS12pR0CgRitaypEjUw:permitexpirablesemaphore");
}

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)
