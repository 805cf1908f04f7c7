/* SPDX-License-Identifier: MIT */
/* Tokens: a lease and its name as one printable word. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "dialect/native.h"

#include <dibs/lock.h>

#define LEASE_ID "AAAAAAAAAAAAAAAAAAAAAA:7:1700000000000000"
#define LEASE "lease:" LEASE_ID

static lease_id lease_read(void)
{
  lease_id l;

  assert_true(lease_id_read(LEASE_ID, strlen(LEASE_ID), &l));
  return l;
}

static void a_token_carries_lease_and_name_in_printable_characters(void **state)
{
  char out[DIBS_TOKEN_SIZE];
  text t = text_over(out, sizeof(out));
  lease_id l = lease_read();

  (void)state;
  assert_true(token_write(&l, "two words:\xff%", 12, &t));
  assert_string_equal(out, LEASE ":two%20words:%FF%25");
}

static void every_name_comes_back(void **state)
{
  char name[NAME_MAX_BYTES], back[NAME_MAX_BYTES], out[DIBS_TOKEN_SIZE];
  text t = text_over(out, sizeof(out));
  lease_id l = lease_read(), m;
  size_t size;

  (void)state;
  for (size_t i = 0; i < sizeof(name); i++)
    name[i] = (char)i;
  assert_true(token_write(&l, name, sizeof(name), &t));
  for (size_t i = 0; i < t.used; i++)
    assert_in_range(out[i], '!', '~');
  assert_true(token_read(out, &m, back, &size));
  assert_true(lease_id_equal(&l, &m));
  assert_int_equal(size, sizeof(name));
  assert_memory_equal(back, name, size);
}

static void the_longest_token_fits_and_a_short_buffer_is_noticed(void **state)
{
  char name[NAME_MAX_BYTES], out[DIBS_TOKEN_SIZE], small[64];
  text t = text_over(out, sizeof(out)), u = text_over(small, sizeof(small));
  lease_id l = lease_read();

  (void)state;
  l.ask = l.token = UINT64_MAX;
  memset(name, ' ', sizeof(name));
  assert_true(token_write(&l, name, sizeof(name), &t));
  assert_false(token_write(&l, name, sizeof(name), &u));
}

static void anything_else_is_no_token(void **state)
{
  static const char *const bad[] = {
    "", LEASE, LEASE ":", LEASE ":%", LEASE ":%4", LEASE ":a%4", LEASE ":%4g", LEASE ":a b",
    LEASE ":a\xc3\xa9", LEASE ":%7Dx", "lease:AAAAAAAAAAAAAAAAAAAAAA:7:x", "lease:x:7:8:y",
    "lease:AAAAAAAAAAAAAAAAAAAAAA:07:8:y", LEASE_ID ":y", "Lease:" LEASE_ID ":y", LEASE ":a\n",
  };
  char name[NAME_MAX_BYTES], longest[DIBS_TOKEN_SIZE];
  lease_id l = { .ask = 5 };
  size_t size = 3;

  (void)state;
  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (token_read(bad[i], &l, name, &size))
      fail_msg("taken: %s", bad[i]);
    assert_int_equal(l.ask, 5);
    assert_int_equal(size, 3);
  }
  strcpy(longest, LEASE ":");
  memset(longest + strlen(LEASE) + 1, 'n', NAME_MAX_BYTES + 1);
  longest[strlen(LEASE) + 1 + NAME_MAX_BYTES + 1] = 0;
  assert_false(token_read(longest, &l, name, &size));
  longest[strlen(LEASE) + 1 + NAME_MAX_BYTES] = 0;
  assert_true(token_read(longest, &l, name, &size));
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_token_carries_lease_and_name_in_printable_characters),
    cmocka_unit_test(every_name_comes_back),
    cmocka_unit_test(the_longest_token_fits_and_a_short_buffer_is_noticed),
    cmocka_unit_test(anything_else_is_no_token),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
