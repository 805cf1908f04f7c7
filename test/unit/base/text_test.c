/* SPDX-License-Identifier: MIT */
/* Unit: base/text.c - bounded writing, strict reading of numbers and durations. */
#include "tests.h"
#include "base/base.h"

#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

TEST(numbers_are_written_in_full)
{
  char out[128];
  text t = text_over(out, sizeof(out));

  text_add_int(&t, INT64_MIN);
  text_add(&t, " ");
  text_add_int(&t, INT64_MAX);
  text_add(&t, " ");
  text_add_uint(&t, UINT64_MAX);
  text_add(&t, " ");
  text_add_int(&t, 0);
  assert_string_equal(out,
    "-9223372036854775808 9223372036854775807 18446744073709551615 0");
  assert_false(t.is_cut);
  assert_int_equal(t.used, strlen(out));
}

/* Beside each power of 2 and of 10, where the number of digits changes; into texts of any size. */
static void check_number(uint64_t value)
{
  char of_libc[32], out[34];
  int digits = snprintf(of_libc, sizeof(of_libc), "%" PRIu64, value);

  assert_int_equal(uint_digits(out, value), digits);
  assert_memory_equal(out, of_libc, (size_t)digits);
  for (size_t size = 1; size < sizeof(out); size++) {
    text t = text_over(out, size);
    int shown = digits < (int)size - 1 ? digits : (int)size - 1;

    memset(out + 1, 'x', sizeof(out) - 1);
    text_add_uint(&t, value);
    assert_int_equal(t.used, shown);
    assert_int_equal(t.is_cut, shown < digits);
    assert_memory_equal(out, of_libc, (size_t)shown);
    assert_int_equal(out[shown], 0);
    assert_int_equal(out[size], 'x');
  }
}

TEST(each_number_of_digits_is_written)
{
  uint64_t ten = 1;

  check_number(0);
  for (int bit = 0; bit < 64; bit++)
    for (int beside = -1; beside <= 1; beside++)
      check_number(((uint64_t)1 << bit) + (uint64_t)beside);
  for (int i = 0; i < 20; i++, ten *= 10)
    for (int beside = -1; beside <= 1; beside++)
      check_number(ten + (uint64_t)beside);
}

TEST(a_format_writes_as_printf_does)
{
  char out[256], of_libc[256];
  text t = text_over(out, sizeof(out));

#define SAID "%s: %d of %u, %ld %lu %lld %llu %zu%s.", "name", INT_MIN, UINT_MAX, LONG_MIN, \
             ULONG_MAX, LLONG_MIN, ULLONG_MAX, SIZE_MAX, ""
  text_format(&t, SAID);
  snprintf(of_libc, sizeof(of_libc), SAID);
  assert_string_equal(out, of_libc);
  text_format(&t, " plain");
  assert_string_equal(out + strlen(of_libc), " plain");
  assert_false(t.is_cut);
}

TEST(a_full_text_is_cut_and_says_so)
{
  char out[6] = "xxxxx";
  text t = text_over(out, 5);

  text_add(&t, "abcd");
  assert_false(t.is_cut);
  text_add(&t, "e");
  assert_true(t.is_cut);
  text_add(&t, "");
  assert_memory_equal(out, "abcd\0", 6);
}

TEST(a_text_of_one_byte_holds_only_the_zero)
{
  char out[1] = { 'x' };
  text t = text_over(out, 1);

  assert_int_equal(out[0], 0);
  text_add(&t, "a");
  assert_int_equal(out[0], 0);
  assert_true(t.is_cut);
}

TEST(quoted_bytes_cannot_end_their_quotes)
{
  char out[200];
  text t = text_over(out, sizeof(out));

  text_add_quoted(&t, "a\"b\\c\r\n\0\x7f\xff", 10);
  assert_string_equal(out, "\"a\\\"b\\\\c\\x0d\\x0a\\x00\\x7f\\xff\"");
}

TEST(no_escape_is_cut_in_two)
{
  char bytes[8];
  text t = text_over(bytes, sizeof(bytes));

  text_add_escaped(&t, "abcde\n", 6);
  assert_string_equal(bytes, "abcde");
  assert_true(t.is_cut);
}

TEST(of_many_bytes_64_are_quoted)
{
  char in[65];
  char out[200];
  text t = text_over(out, sizeof(out));

  memset(in, 'a', sizeof(in));
  text_add_quoted(&t, in, 64);
  assert_int_equal(t.used, 66);
  t = text_over(out, sizeof(out));
  text_add_quoted(&t, in, 65);
  assert_int_equal(t.used, 66 + 3);
  assert_string_equal(out + 65, "\"...");
}

static bool reads_uint(const char *words, uint64_t *ret)
{
  return text_to_uint(words, strlen(words), ret);
}

TEST(only_digits_are_a_number)
{
  static const char *const wrong[] = {
    "", " 1", "1 ", "+1", "-1", "0x1", "1.0", "18446744073709551616",
    "99999999999999999999", "1a"
  };
  uint64_t value = 7;

  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    assert_false(reads_uint(wrong[i], &value));
    assert_int_equal(value, 7);
  }
  assert_true(reads_uint("18446744073709551615", &value));
  assert_true(value == UINT64_MAX);
  assert_true(reads_uint("007", &value));
  assert_int_equal(value, 7);
  assert_true(text_to_uint("12x", 2, &value));
  assert_int_equal(value, 12);
}

TEST(durations_are_read_with_their_units)
{
  static const struct { const char *words; int32_t ms; } right[] = {
    { "0", 0 }, { "10", 10000 }, { "1.5", 1500 }, { "500ms", 500 }, { "10s", 10000 },
    { "1.5s", 1500 }, { "0.001s", 1 }, { "5m", 300000 }, { "1h30m", 5400000 },
    { "1h1ms", 3600001 }, { "2d", 172800000 }, { "1d2h3m4s5ms", 93784005 },
    { "0.5m", 30000 }, { "2147483647ms", INT32_MAX }, { "2147483.647", INT32_MAX },
    { "1.000000000s", 1000 },
  };

  for (size_t i = 0; i < sizeof(right) / sizeof(right[0]); i++) {
    int32_t ms = -1;
    if (!text_to_ms(right[i].words, &ms))
      fail_msg("%s is refused", right[i].words);
    assert_int_equal(ms, right[i].ms);
  }
}

TEST(what_is_no_duration_is_refused)
{
  static const char *const wrong[] = {
    "", " ", "s", "-1s", "+1s", "1 s", "1S", "1sec", "1x", "1.s", ".5s", "1..5s", "1.5.5",
    "1h30", "30m1h", "1s1s", "1ms1s", "2147483648ms", "2147483.648", "25d", "0.5ms",
    "0.0001s", "1.0000000001s", "99999999999999999999s", "1s ", "1e3", "ms", "inf",
  };

  for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
    int32_t ms = -1;
    if (text_to_ms(wrong[i], &ms))
      fail_msg("\"%s\" is read as %d ms", wrong[i], (int)ms);
    assert_int_equal(ms, -1);
  }
}

TEST(sixteen_bytes_become_22_characters)
{
  static const uint8_t zeros[16] = { 0 };
  uint8_t ones[16], read[16];
  static const uint8_t count[16] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  char out[23];

  memset(ones, 0xff, sizeof(ones));
  text_base64url_16(zeros, out);
  assert_string_equal(out, "AAAAAAAAAAAAAAAAAAAAAA");
  text_base64url_16(ones, out);
  assert_string_equal(out, "_____________________w");
  text_base64url_16(count, out);
  assert_string_equal(out, "AAECAwQFBgcICQoLDA0ODw");
  assert_true(text_base64url_16_read(out, read));
  assert_memory_equal(read, count, 16);
  assert_true(text_base64url_16_read("_____________________w", read));
  assert_memory_equal(read, ones, 16);
  assert_false(text_base64url_16_read("AAECAwQFBgcICQoLDA0OD.", read));
}

RUN_TESTS(NULL, NULL)
