/* SPDX-License-Identifier: MIT */
/* What is answered about maps, lists and sets, and what is no answer; which calls may be repeated
 * without one; the names of locks that belong to a key, as Java makes them. */

#include "tests.h"
#include "answer_reader.h"
#include "dialect/data.h"

TEST(a_value_is_there_or_not_or_too_long)
{
  data_value v;
  resp_reply *r = reply_of("$3\r\na\tc\r\n");

  assert_true(data_value_answer(r, &v));
  assert_true(v.is_there);
  assert_int_equal(v.size, 3);
  assert_memory_equal(v.bytes, "a\tc", 3);
  resp_reply_free(r);

  r = reply_of("$0\r\n\r\n");
  assert_true(data_value_answer(r, &v));
  assert_true(v.is_there && v.bytes != NULL && v.size == 0);
  resp_reply_free(r);

  r = reply_of("$-1\r\n");
  assert_true(data_value_answer(r, &v));
  assert_false(v.is_there);
  resp_reply_free(r);

  r = reply_of(":5000000\r\n");
  assert_true(data_value_answer(r, &v));
  assert_true(v.is_there && v.bytes == NULL);
  assert_int_equal(v.size, 5000000);
  resp_reply_free(r);
}

TEST(what_is_no_value_is_none)
{
  static const char *const odd[] = { ":-1\r\n", "*0\r\n", "+OK\r\n" };
  data_value v;

  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    resp_reply *r = reply_of(odd[i]);

    assert_false(data_value_answer(r, &v));
    resp_reply_free(r);
  }
}

TEST(an_integer_is_one)
{
  int64_t value;
  resp_reply *r = reply_of(":-2\r\n");

  assert_true(data_integer_answer(r, &value));
  assert_int_equal(value, -2);
  resp_reply_free(r);
  r = reply_of("$1\r\n1\r\n");
  assert_false(data_integer_answer(r, &value));
  resp_reply_free(r);
}

TEST(a_page_has_a_cursor_and_entries_and_tells_of_gaps)
{
  data_page page;
  resp_reply *r = reply_of("*2\r\n$2\r\n17\r\n*2\r\n$1\r\nk\r\n$2\r\nvv\r\n");

  assert_true(data_page_answer(r, &page));
  assert_string_equal(page.cursor, "17");
  assert_int_equal(page.count, 2);
  assert_int_equal(page.bytes, 3);
  assert_false(page.has_gaps);
  resp_reply_free(r);

  r = reply_of("*2\r\n$1\r\n0\r\n*2\r\n$1\r\nk\r\n:9\r\n");
  assert_true(data_page_answer(r, &page));
  assert_string_equal(page.cursor, "0");
  assert_true(page.has_gaps);
  resp_reply_free(r);

  r = reply_of("*0\r\n");
  assert_true(data_list_page_answer(r, &page));
  assert_int_equal(page.count, 0);
  resp_reply_free(r);
}

TEST(what_is_no_page_is_none)
{
  static const char *const odd[] = {
    "*0\r\n", "*1\r\n$1\r\n0\r\n", "*2\r\n:0\r\n*0\r\n", "*2\r\n$1\r\n0\r\n$1\r\nk\r\n",
    "*2\r\n$1\r\n0\r\n*1\r\n$-1\r\n", "*2\r\n$1\r\n0\r\n*1\r\n*0\r\n",
    "*2\r\n$24\r\n123456789012345678901234\r\n*0\r\n", "$1\r\n0\r\n"
  };
  data_page page;

  for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
    resp_reply *r = reply_of(odd[i]);

    assert_false(data_page_answer(r, &page));
    resp_reply_free(r);
  }
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

RUN_TESTS(NULL, NULL)
