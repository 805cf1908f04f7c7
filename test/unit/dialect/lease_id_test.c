/* SPDX-License-Identifier: MIT */
/* Lease strings: read strictly, written as they were read. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"

TEST(what_is_read_is_written_again)
{
  static const char *const good[] = {
    ANNA ":1:2", "abcdefghijklmnopqrst-_:0:0",
    ANNA ":18446744073709551615:18446744073709551615",
    "......................:0:1700000000000000",
    ANNA ".1:1:2", ANNA ".4294967295:1:2", ".......................7:0:9",
  };
  lease_id l;

  for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
    char out[LEASE_TEXT_SIZE];
    text t = text_over(out, sizeof(out));
    assert_true(lease_id_read(good[i], strlen(good[i]), &l));
    lease_id_write(&l, &t);
    assert_false(t.is_cut);
    assert_string_equal(out, good[i]);
  }
}

TEST(what_could_not_be_written_again_is_refused)
{
  static const char *const bad[] = {
    "", ":", "::", ANNA, ANNA ":", ANNA ":1", ANNA ":1:", ANNA ":1:2:", ANNA ":1:2 ",
    ANNA ":01:2", ANNA ":1:02", ANNA ":+1:2", ANNA ":1:-2", ANNA ":1:18446744073709551616",
    "AAAAAAAAAAAAAAAAAAAAA:1:2", ANNA "A:1:2", "AAAAAAAAAAAAAAAAAAAAA :1:2",
    "AAAAAAAAAAAAAAAAAAAAA=:1:2", ANNA "::2", ANNA ":1:2.0", ANNA ":1:2e3",
    ANNA ".:1:2", ANNA ".0:1:2", ANNA ".01:1:2", ANNA ".4294967296:1:2", ANNA ".+1:1:2",
    ANNA ".1.2:1:2", ANNA "_1:1:2", ANNA ". 1:1:2", ANNA ".18446744073709551616:1:2",
  };
  lease_id l = { .ask = 7 };

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (lease_id_read(bad[i], strlen(bad[i]), &l))
      fail_msg("taken: %s", bad[i]);
    assert_int_equal(l.ask, 7);
  }
}

TEST(no_byte_behind_the_size_is_read)
{
  static const char longer[] = ANNA ":1:23";
  lease_id l;

  assert_true(lease_id_read(longer, sizeof(longer) - 2, &l));
  assert_int_equal(l.token, 2);
}

TEST(leases_are_equal_in_all_parts_only)
{
  lease_id a, b;

  assert_true(lease_id_read(ANNA ":1:2", 26, &a));
  b = a;
  assert_true(lease_id_equal(&a, &b));
  b.ask++;
  assert_false(lease_id_equal(&a, &b));
  b = a;
  b.token++;
  assert_false(lease_id_equal(&a, &b));
  b = a;
  b.set++;
  assert_false(lease_id_equal(&a, &b));
  b = a;
  b.client[21] = 'B';
  assert_false(lease_id_equal(&a, &b));
}

RUN_TESTS(NULL, NULL)
