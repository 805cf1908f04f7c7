/* SPDX-License-Identifier: MIT */
/* Words in and out of the command: durations.c, url.c, held.c, nearest.c, and what may go
 * to a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/durations.h"
#include "cli/held.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/url.h"

static int32_t read_ms(const char *words)
{
  int32_t ms = -1;

  return duration_read(words, &ms) ? ms : -1;
}

static void durations_are_read(void **state)
{
  (void)state;
  assert_int_equal(read_ms("500ms"), 500);
  assert_int_equal(read_ms("10s"), 10000);
  assert_int_equal(read_ms("5m"), 300000);
  assert_int_equal(read_ms("1h30m"), 5400000);
  assert_int_equal(read_ms("1h30m5s20ms"), 5405020);
  assert_int_equal(read_ms("10"), 10000);
  assert_int_equal(read_ms("0"), 0);
  assert_int_equal(read_ms("0.25"), 250);
  assert_int_equal(read_ms("1.5h"), 5400000);
  assert_int_equal(read_ms("24d"), 2073600000);
}

static void what_is_no_duration_is_refused(void **state)
{
  static const char *const bad[] = { "",     "s",    "-1",  "+1", "1x",       "1 s",  ".",
                                     "1h30", "24d1ms", "25d", "99999999999", "1e3", "10ss",
                                     "0x10", "1..5",  "nan", "9999999999999999999999d" };

  (void)state;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_int_equal(read_ms(bad[i]), -1);
}

static void spans_and_clocks_are_written(void **state)
{
  char words[DURATION_SIZE];

  (void)state;
  duration_as_clock(161000, words);
  assert_string_equal(words, "2:41");
  duration_as_clock(3723000, words);
  assert_string_equal(words, "1:02:03");
  duration_as_clock(INT64_C(90000000), words);
  assert_string_equal(words, "1d 1:00:00");
  duration_as_span(24199, words);
  assert_string_equal(words, "24.1s");
  duration_as_span(850, words);
  assert_string_equal(words, "850ms");
  duration_as_span(125000, words);
  assert_string_equal(words, "2m05s");
  duration_as_span(INT64_MAX, words);
  assert_true(strlen(words) < DURATION_SIZE);
}

static void check_and_free(char *got, const char *wanted)
{
  assert_non_null(got);
  assert_string_equal(got, wanted);
  free(got);
}

static void urls_lose_their_password(void **state)
{
  (void)state;
  check_and_free(url_without_password("redis://h:1/2"), "redis://h:1/2");
  check_and_free(url_without_password("redis://u:p@h"), "redis://u@h");
  check_and_free(url_without_password("redis://:p@h/1"), "redis://h/1");
  check_and_free(url_without_password("redis://u:a:b@c@h"), "redis://u@h");
  check_and_free(url_without_password("unix://:p@/run/s?password=x&db=2"),
                 "unix:///run/s?db=2");
  check_and_free(url_without_password("redis://h?db=2&password=x"), "redis://h?db=2");
  check_and_free(url_without_password("redis://h?password=x"), "redis://h");
}

static void urls_take_a_database_and_options(void **state)
{
  (void)state;
  check_and_free(url_with_database("redis://h", 3), "redis://h/3");
  check_and_free(url_with_database("redis://u:p@h:7/1?db=2&a=b", 3), "redis://u:p@h:7/3?a=b");
  check_and_free(url_with_database("unix:///s?db=1", 3), "unix:///s?db=3");
  check_and_free(url_with_query("redis://h", "prefix", "a b"), "redis://h?prefix=a%20b");
  check_and_free(url_with_query("redis://h?prefix=x&db=1", "prefix", "y"),
                 "redis://h?db=1&prefix=y");
}

static void urls_of_several_servers_change_each(void **state)
{
  (void)state;
  assert_int_equal(url_count("redis://h1,h2"), 1);
  assert_int_equal(url_count("redis://a,redis://b unix:///c\n,  redis://d"), 4);
  check_and_free(url_without_password("redis://:p@a,rediss://u:q@b,c?x=1 unix:///d?password=z"),
                 "redis://a rediss://u@b,c?x=1 unix:///d");
  check_and_free(url_without_password("redis+sentinel://u:p@h/s?sentinel_user=a"
                                      "&sentinel_password=b&password=c&db=1"),
                 "redis+sentinel://u@h/s?sentinel_user=a&db=1");
  check_and_free(url_with_database("redis://a,b/1 redis://c unix:///d", 3),
                 "redis://a,b/3 redis://c/3 unix:///d?db=3");
  check_and_free(url_with_database("redis+sentinel://h1,h2/s/1?note=a", 3),
                 "redis+sentinel://h1,h2/s/3?note=a");
  check_and_free(url_with_database("redis+sentinel://h/s", 3), "redis+sentinel://h/s/3");
  check_and_free(url_with_query("redis://a?note=n,redis://b", "prefix", "p"),
                 "redis://a?note=n&prefix=p,redis://b");
}

static void a_password_is_found_in_a_url(void **state)
{
  (void)state;
  check_and_free(url_password("redis://u:p%40x@h"), "p@x");
  assert_null(url_password("redis://u@h"));
  assert_null(url_password("redis://h:6379/0"));
}

static void held_locks_are_listed_by_name_and_fence(void **state)
{
  char *one = held_add(NULL, "a b", 5000), *two = held_add(one, "c=d", 9000);

  (void)state;
  assert_string_equal(one, "a%20b=5000");
  assert_true(held_has_name(two, "a b"));
  assert_true(held_has_fence(two, "c=d", 9001));
  assert_false(held_has_fence(two, "c=d", 90000));
  assert_false(held_has_name(two, "a"));
  assert_false(held_has_name(two, "b"));
  assert_false(held_has_name(NULL, "a b"));
  free(one);
  free(two);
}

static void an_outer_and_an_inner_hold_of_one_name_are_both_known(void **state)
{
  char *one = held_add("", "x", 5000), *two = held_add(one, "x", 9000);

  (void)state;
  assert_true(held_has_fence(two, "x", 5000));
  assert_true(held_has_fence(two, "x", 9000));
  free(one);
  free(two);
}

static void only_harmless_bytes_go_to_a_terminal(void **state)
{
  char shown[64];

  (void)state;
  assert_string_equal(printable("plain \xc3\xa9 \xe2\x82\xac", shown, sizeof(shown)),
                      "plain \xc3\xa9 \xe2\x82\xac");
  assert_string_equal(printable("\x1b[2J\x07\n\x7f", shown, sizeof(shown)), "?[2J???");
  assert_string_equal(printable("\xc2\x9b" "2J", shown, sizeof(shown)), "??2J");
  assert_string_equal(printable("\xe2\x80\xae" "x", shown, sizeof(shown)), "???x");
  assert_string_equal(printable("\xff\xc3", shown, sizeof(shown)), "??");
  assert_string_equal(printable("\xed\xa0\x80", shown, sizeof(shown)), "???");
}

static void shown_text_is_cut_between_characters(void **state)
{
  char shown[4];

  (void)state;
  assert_string_equal(printable("ab\xc3\xa9", shown, sizeof(shown)), "ab");
  assert_int_equal(printable_cut("ab\xc3\xa9z", 3), 4);
  assert_int_equal(printable_cut("ab", 3), 2);
}

static void the_nearest_word_is_suggested_and_no_far_one(void **state)
{
  static const char *const words[] = { "run", "release", "status" };

  (void)state;
  assert_string_equal(nearest_word("relaese", words, 3), "release");
  assert_string_equal(nearest_word("rn", words, 3), "run");
  assert_null(nearest_word("elect", words, 3));
  assert_null(nearest_word("xyzzy", words, 3));
}

int main(void)
{
  const struct CMUnitTest all[] = {
    cmocka_unit_test(durations_are_read),
    cmocka_unit_test(what_is_no_duration_is_refused),
    cmocka_unit_test(spans_and_clocks_are_written),
    cmocka_unit_test(urls_lose_their_password),
    cmocka_unit_test(urls_take_a_database_and_options),
    cmocka_unit_test(urls_of_several_servers_change_each),
    cmocka_unit_test(a_password_is_found_in_a_url),
    cmocka_unit_test(held_locks_are_listed_by_name_and_fence),
    cmocka_unit_test(an_outer_and_an_inner_hold_of_one_name_are_both_known),
    cmocka_unit_test(only_harmless_bytes_go_to_a_terminal),
    cmocka_unit_test(shown_text_is_cut_between_characters),
    cmocka_unit_test(the_nearest_word_is_suggested_and_no_far_one),
  };

  return cmocka_run_group_tests(all, NULL, NULL);
}
