/* SPDX-License-Identifier: MIT */
/* Unit: base/hash.c - published values, and those of servers. */
#include "tests.h"
#include "base/hash.h"

#include <string.h>

TEST(fnv1a_has_its_published_values)
{
  assert_true(fnv1a(FNV1A_START, NULL, 0) == UINT64_C(0xcbf29ce484222325));
  assert_true(fnv1a(FNV1A_START, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
  assert_true(fnv1a(FNV1A_START, "foobar", 6) == UINT64_C(0x85944171f73967e8));
  assert_true(fnv1a(FNV1A_START, "\0\xff", 2) == UINT64_C(0x0831c907b4ea2b60));
}

TEST(fnv1a_goes_on_where_it_stopped)
{
  assert_true(fnv1a(fnv1a(FNV1A_START, "foo", 3), "bar", 3) == fnv1a(FNV1A_START, "foobar", 6));
}

/* Of its authors: a key of the bytes 0 to 15, and so many bytes 0, 1, 2, ... */
TEST(siphash_has_its_published_values)
{
  static const uint64_t key[2] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908 };
  static const uint64_t words[7] = { 0x0706050403020100, 0x0f0e0d0c0b0a0908, 0x1716151413121110,
                                     0x1f1e1d1c1b1a1918, 0x2726252423222120, 0x2f2e2d2c2b2a2928,
                                     0x3736353433323130 };

  assert_true(siphash(key, words, 0) == 0x726fdb47dd0e0e31);
  assert_true(siphash(key, words, 1) == 0x93f5f5799a932462);
  assert_true(siphash(key, words, 2) == 0x3f2acc7f57c29bdb);
  assert_true(siphash(key, words, 7) == 0xb78dbfaf3a8d83bd);
}

static uint16_t slot_of(const char *words) { return slot_of_bytes(words, strlen(words)); }

TEST(slots_are_those_of_cluster_keyslot)
{
  assert_int_equal(slot_of(""), 0);
  assert_int_equal(slot_of("a"), 15495);
  assert_int_equal(slot_of("foo"), 12182);
  assert_int_equal(slot_of("123456789"), 0x31c3);
  assert_int_equal(slot_of_bytes("\0\xff\x80{", 4), 6919);
}

RUN_TESTS(NULL, NULL)
