/* SPDX-License-Identifier: MIT */
/* Unit: api/stripe.c - the stripe of a key is the same everywhere and for ever, and keys of
 * the kinds that programs use are spread evenly. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/many.h>

/* Made by a program of its own in Python, whose FNV-1a gave the published values of
 * "", "a" and "foobar". */
static const struct vector {
  const char *key;
  size_t size;
  uint32_t of_2, of_16, of_64, of_1000, of_million;
} vectors[] = {
  { "", 0, 1, 1, 1, 641, 80641 },
  { "a", 1, 0, 0, 0, 864, 300864 },
  { "foobar", 6, 1, 9, 25, 233, 950233 },
  { "user:1", 6, 1, 1, 1, 769, 128769 },
  { "user:2", 6, 0, 4, 52, 500, 128500 },
  { "\0\xff", 2, 1, 7, 39, 951, 526951 },
  { "stock/4711", 10, 0, 10, 42, 322, 633322 },
};

static void expect_stripe(const struct vector *v, uint32_t stripes, uint32_t wanted)
{
  char name[32], shown[32];

  assert_int_equal(dibs_stripe("n", v->key, v->size, stripes, name, sizeof(name)), DIBS_OK);
  snprintf(shown, sizeof(shown), "n#%u", wanted);
  assert_string_equal(name, shown);
}

TEST(a_key_has_its_stripe_for_ever)
{
  for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
    expect_stripe(&vectors[i], 1, 0);
    expect_stripe(&vectors[i], 2, vectors[i].of_2);
    expect_stripe(&vectors[i], 16, vectors[i].of_16);
    expect_stripe(&vectors[i], 64, vectors[i].of_64);
    expect_stripe(&vectors[i], 1000, vectors[i].of_1000);
    expect_stripe(&vectors[i], 1000000, vectors[i].of_million);
  }
}

enum { KEYS = 100000, STRIPES_MOST = 1024 };

static uint32_t stripe_of(const char *key, uint32_t stripes)
{
  char name[32];

  assert_int_equal(dibs_stripe("n", key, strlen(key), stripes, name, sizeof(name)), DIBS_OK);
  return (uint32_t)strtoul(name + 2, NULL, 10);
}

/* Chi-square of KEYS such keys. With k degrees of freedom it has mean k and variance 2k;
 * 5 standard deviations and a little more for small k. Too even is even. */
static void expect_even(const char *format, uint32_t stripes)
{
  static unsigned counts[STRIPES_MOST];
  double wanted = (double)KEYS / stripes, sum = 0, k = stripes - 1;
  char key[64];

  memset(counts, 0, sizeof(counts));
  for (unsigned i = 0; i < KEYS; i++) {
    snprintf(key, sizeof(key), format, i);
    counts[stripe_of(key, stripes)]++;
  }
  for (uint32_t i = 0; i < stripes; i++)
    sum += (counts[i] - wanted) * (counts[i] - wanted) / wanted;
  /* (sum - k)^2 <= 25 * 2k, without a root. */
  if (sum > k + 10 && (sum - k) * (sum - k) > 50 * k)
    fail_msg("%s over %u stripes: chi-square %.1f, wanted about %.0f", format, stripes, sum, k);
}

TEST(a_hundred_thousand_keys_are_spread_evenly)
{
  static const char *const formats[] = { "%u", "user:%u", "%08u", "order-%x-line", "{%u}" };
  static const uint32_t stripes[] = { 2, 3, 7, 10, 16, 64, 100, 256, 1000, 1024 };

  for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
    for (size_t j = 0; j < sizeof(stripes) / sizeof(stripes[0]); j++)
      expect_even(formats[i], stripes[j]);
}

TEST(the_name_needs_no_more_than_nine_bytes_behind_it)
{
  char name[6 + 9];

  assert_int_equal(dibs_stripe("shards", "foobar", 6, 1000000, name, sizeof(name)), DIBS_OK);
  assert_string_equal(name, "shards#950233");
}

TEST(too_little_room_is_refused_and_left_alone)
{
  char name[16];

  for (size_t size = 0; size < 10; size++) {
    memset(name, '!', sizeof(name));
    assert_int_equal(dibs_stripe("ab", "foobar", 6, 1000000, name, size),
                     DIBS_ERR_ARGUMENT);                       /* "ab#950233" needs 10 */
    assert_int_equal(name[0], '!');
  }
  assert_int_equal(dibs_stripe("ab", "foobar", 6, 1000000, name, 10), DIBS_OK);
}

TEST(bad_arguments_are_refused)
{
  char name[32];

  assert_int_equal(dibs_stripe(NULL, "k", 1, 2, name, 32), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_stripe("", "k", 1, 2, name, 32), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_stripe("n", NULL, 1, 2, name, 32), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_stripe("n", NULL, 0, 2, name, 32), DIBS_OK);
  assert_int_equal(dibs_stripe("n", "k", 1, 0, name, 32), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_stripe("n", "k", 1, 1000001, name, 32), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_stripe("n", "k", 1, 2, NULL, 32), DIBS_ERR_ARGUMENT);
}

RUN_TESTS(NULL, NULL)
