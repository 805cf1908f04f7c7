/* SPDX-License-Identifier: MIT */
/* Words in and out of the command: durations.c, url.c, held.c, nearest.c, and what may go
 * to a terminal. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

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

TEST(durations_are_read)
{
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

TEST(what_is_no_duration_is_refused)
{
  static const char *const bad[] = { "",     "s",    "-1",  "+1", "1x",       "1 s",  ".",
                                     "1h30", "24d1ms", "25d", "99999999999", "1e3", "10ss",
                                     "0x10", "1..5",  "nan", "9999999999999999999999d" };

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    assert_int_equal(read_ms(bad[i]), -1);
}

TEST(spans_and_clocks_are_written)
{
  char words[DURATION_SIZE];

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

TEST(a_password_is_found_in_a_url)
{
  static const char *const with[] = {
    "redis://u:p@h", "redis://:p@h/1", "redis://u:a:b@c@h", "unix://:p@/run/s",
    "redis://u:p/w@h", "redis://h?db=2&password=x", "redis://h?password=", "redis://a redis://:p@b",
    "redis://a,rediss://u:q@b,c?x=1", "redis+sentinel://h/s?sentinel_password=b",
    "redis://u:p,w@h", "redis://a:1,redis://u:p@h:2",
  };
  static const char *const without[] = {
    "redis://h", "redis://u@h:6379/0", "local:", "unix:///run/s?db=2", "redis://[::1]:7",
    "redis://h:6379?note=me@home", "redis://h:1 redis://u@g:2", "redis://h:1,redis://u@g",
    "redis://h?prefix=password", "",
  };

  for (size_t i = 0; i < sizeof(with) / sizeof(with[0]); i++)
    if (!url_has_password(with[i]))
      fail_msg("no password found in %s", with[i]);
  for (size_t i = 0; i < sizeof(without) / sizeof(without[0]); i++)
    if (url_has_password(without[i]))
      fail_msg("a password was found in %s", without[i]);
}

/* The command inside may have another locale; tools/tidy.py bans what depends on it. */
TEST(a_held_name_is_listed_in_ascii)
{
  char *list = held_add(NULL, "f\xc3\xbcr/a.b-c_d:e@f", 1000, "A");

  assert_string_equal(list, "f%C3%BCr/a.b-c_d:e@f=1000:A");
  assert_true(held_has_name(list, "f\xc3\xbcr/a.b-c_d:e@f"));
  free(list);
}

TEST(held_locks_are_listed_by_name_and_fence)
{
  char *one = held_add(NULL, "a b", 5000, "-A_"), *two = held_add(one, "c=d", 9000, "B");

  assert_string_equal(one, "a%20b=5000:-A_");
  assert_true(held_has_name(two, "a b"));
  assert_true(held_has_client(two, "a b", "-A_"));
  assert_true(held_has_client(two, "c=d", "B"));
  assert_false(held_has_client(two, "a b", "B"));
  assert_false(held_has_client(two, "a b", "-A"));
  assert_false(held_has_client(NULL, "a b", "B"));
  assert_true(held_has_fence(two, "c=d", 9001));
  assert_false(held_has_fence(two, "c=d", 90000));
  assert_false(held_has_name(two, "a"));
  assert_false(held_has_name(two, "b"));
  assert_false(held_has_name(NULL, "a b"));
  free(one);
  free(two);
}

TEST(an_outer_and_an_inner_hold_of_one_name_are_both_known)
{
  char *one = held_add("", "x", 5000, "A"), *two = held_add(one, "x", 9000, "B");

  assert_true(held_has_fence(two, "x", 5000));
  assert_true(held_has_fence(two, "x", 9000));
  assert_true(held_has_client(two, "x", "B"));
  free(one);
  free(two);
}

/* As in the library: names of one key are one lock. */
TEST(held_names_of_one_lock_are_found_under_each)
{
  static const struct {
    const char *held, *asked;
    bool is_one;
  } names[] = {
    { "x", "{x}", true },         { "{x}", "x", true },        { "a{b", "{a{b}", true },
    { "{a{b}", "a{b", true },     { "a}b", "{a}b}", true },    { "{a}b", "{{a}b}", false },
    { "{{a}b}", "{a}b", false },  { "{a}{b}", "a}{b", true }, { "{}", "", false },
  };

  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
    char *list = held_add(NULL, names[i].held, 5000, "A");

    assert_true(held_has_name(list, names[i].held));
    assert_int_equal(held_has_client(list, names[i].asked, "A"), names[i].is_one);
    free(list);
  }
}

TEST(only_harmless_bytes_go_to_a_terminal)
{
  char shown[64];

  assert_string_equal(printable("plain \xc3\xa9 \xe2\x82\xac", shown, sizeof(shown)),
                      "plain \xc3\xa9 \xe2\x82\xac");
  assert_string_equal(printable("\x1b[2J\x07\n\x7f", shown, sizeof(shown)),
                      "\\x1b[2J\\x07\\x0a\\x7f");
  assert_string_equal(printable("\xc2\x9b" "2J", shown, sizeof(shown)), "\\xc2\\x9b2J");
  assert_string_equal(printable("\xe2\x80\xae" "x", shown, sizeof(shown)), "\\xe2\\x80\\xaex");
  assert_string_equal(printable("\xff\xc3", shown, sizeof(shown)), "\\xff\\xc3");
  assert_string_equal(printable("\xed\xa0\x80", shown, sizeof(shown)), "\\xed\\xa0\\x80");
  /* No width: the name would look like another one. */
  assert_string_equal(printable("a\xe2\x80\x8b" "b", shown, sizeof(shown)), "a\\xe2\\x80\\x8bb");
  assert_string_equal(printable_bytes("a\0b", 3, shown, sizeof(shown)), "a\\x00b");
}

TEST(shown_text_is_cut_between_characters)
{
  char shown[4];

  assert_string_equal(printable("ab\xc3\xa9", shown, sizeof(shown)), "ab");
  assert_string_equal(printable("ab\n", shown, sizeof(shown)), "ab");
  assert_int_equal(printable_cut("ab\xc3\xa9z", 3), 4);
  assert_int_equal(printable_cut("ab", 3), 2);
}

TEST(text_is_measured_in_cells_of_a_terminal)
{
  static const char *const wide[] = { "\xe6\x94\xaf\xe6\x89\x95", "\xed\x95\x9c\xea\xb8\x80",
                                      "\xf0\x9f\x94\x92\xef\xbc\x81" };

  for (size_t i = 0; i < 3; i++) {
    size_t first = i == 2 ? 4 : 3;

    assert_int_equal(printable_width(wide[i]), 4);
    assert_int_equal(printable_cut(wide[i], 4), strlen(wide[i]));
    assert_int_equal(printable_cut(wide[i], 3), first);
    assert_int_equal(printable_cut(wide[i], 2), first);
    assert_int_equal(printable_cut(wide[i], 1), 0);
  }
  assert_int_equal(printable_width("\xe2\x82\xac\xef\xbd\xb6\xe1\x82\xa0"), 3);  /* narrow ones */
  assert_int_equal(printable_width("\xe2\x9d\xa4\xef\xb8\x8f"), 2);              /* a red heart */
  assert_int_equal(printable_width("\xf3\xa0\xbf\xbf"), 2);                        /* none yet */
  assert_int_equal(MB_CUR_MAX, 1);                 /* the locale is as it was */
}

TEST(the_nearest_word_is_suggested_and_no_far_one)
{
  static const char *const words[] = { "run", "release", "status" };

  assert_string_equal(nearest_word("relaese", words, 3), "release");
  assert_string_equal(nearest_word("rn", words, 3), "run");
  assert_null(nearest_word("elect", words, 3));
  assert_null(nearest_word("xyzzy", words, 3));
}

RUN_TESTS(NULL, NULL)
