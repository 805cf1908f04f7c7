/* SPDX-License-Identifier: MIT */
/* Unit: base/highway_hash.c - the values that Redisson's own class computes, and those that
 * are nobody's but ours: that each byte counts, wherever it stands. */
#include "tests.h"
#include "base/base.h"

#include <stdint.h>
#include <string.h>

static const uint64_t key[4] = { 0x9e3779b97f4a7c15, 0xf39cc0605cedc834, 0x1082276bf3a27251,
                                 0xf86c6a11d0c18e95 };

#define SIXTEEN "0123456789abcdef"

TEST(what_java_computes_is_computed)
{
  static const struct row { const char *input; uint64_t words[2]; const char *shown; } rows[] = {
    { "", { 0xb7aad9c226c6a36b, 0xb2d4e4a63557bca6 }, "t6rZwibGo2uy1OSmNVe8pg" },
    { "a", { 0xab0bc04b5da94740, 0xa0462b5aca912353 }, "qwvAS12pR0CgRitaypEjUw" },
    { "key1", { 0xb5def478f21f65e5, 0xb26181f941e2b431 }, "td70ePIfZeWyYYH5QeK0MQ" },
    { "user:42", { 0xfdd69e6dc4a41539, 0x58c742f7f9e8a58a }, "/daebcSkFTlYx0L3+eilig" },
    { SIXTEEN, { 0xe6a523e1da510ac6, 0xbe2d2a30d97f30ef }, "5qUj4dpRCsa+LSow2X8w7w" },
    { SIXTEEN SIXTEEN, { 0xd3c86bd01f2269fd, 0xcfa12b16012f2c58 },
      "08hr0B8iaf3PoSsWAS8sWA" },
    { SIXTEEN SIXTEEN "X", { 0x56396040344f48af, 0x3cf6e9b477d42f4a },
      "VjlgQDRPSK889um0d9QvSg" },
    { "\xd0\xbf\xd1\x80\xd0\xb8\xd0\xb2\xd0\xb5\xd1\x82",
      { 0xebaa902552d6b892, 0xa0f3c0b6372a1134 }, "66qQJVLWuJKg88C2NyoRNA" }
  };
  uint64_t words[2];
  uint8_t bytes[16];
  char shown[23];

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    highway_hash_128(key, rows[i].input, strlen(rows[i].input), words);
    assert_true(words[0] == rows[i].words[0] && words[1] == rows[i].words[1]);
    for (int b = 0; b < 16; b++)
      bytes[b] = (uint8_t)(words[b / 8] >> (56 - b % 8 * 8));
    text_base64_16(bytes, shown);
    assert_string_equal(shown, rows[i].shown);
  }
}

/* The rest behind the last whole packet has three ways of being packed. */
TEST(each_bit_of_each_size_counts)
{
  uint8_t bytes[70];
  uint64_t words[2], other[2], shorter[2];

  for (size_t i = 0; i < sizeof(bytes); i++)
    bytes[i] = (uint8_t)(i * 7);
  for (size_t size = 1; size <= sizeof(bytes); size++) {
    highway_hash_128(key, bytes, size, words);
    highway_hash_128(key, bytes, size - 1, shorter);
    assert_true(words[0] != shorter[0] && words[1] != shorter[1]);
    for (size_t bit = 0; bit < 8 * size; bit++) {
      bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      highway_hash_128(key, bytes, size, other);
      bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
      assert_true(words[0] != other[0] && words[1] != other[1]);
    }
  }
}

TEST(nothing_needs_no_bytes)
{
  uint64_t words[2];

  highway_hash_128(key, NULL, 0, words);
  assert_true(words[0] == 0xb7aad9c226c6a36b && words[1] == 0xb2d4e4a63557bca6);
}

TEST(the_key_counts)
{
  static const uint64_t another[4] = { 1, 2, 3, 4 };
  uint64_t words[2];

  highway_hash_128(another, "a", 1, words);
  assert_true(words[0] != 0xab0bc04b5da94740 && words[1] != 0xa0462b5aca912353);
}

RUN_TESTS(NULL, NULL)
