/* SPDX-License-Identifier: MIT */
/* Tokens: what is written is read again; anything else is no token. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>

#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define LEASE_ID ANNA ":7:1700000000000000"
#define SET_ID ANNA ".3:7:1700000000000000"
#define LEASE "lease:" LEASE_ID
#define MANY "many:" SET_ID

static lease_id lease_read(const char *words)
{
  lease_id l;

  assert_true(lease_id_read(words, strlen(words), &l));
  return l;
}

static void check_name(const token_parts *p, size_t i, const char *name)
{
  assert_int_equal(p->names[i].size, strlen(name));
  assert_memory_equal(p->names[i].name, name, strlen(name));
}

TEST(a_token_carries_lease_and_name_in_printable_characters)
{
  char out[DIBS_TOKEN_SIZE];
  text t = text_over(out, sizeof(out));
  lease_id l = lease_read(LEASE_ID);
  many_name name = { "two words:\xff%", 12 };

  assert_true(token_write(TOKEN_LEASE, &l, &name, 1, &t));
  assert_string_equal(out, LEASE ":two%20words%3A%FF%25");
  t = text_over(out, sizeof(out));
  assert_true(token_write(TOKEN_SHARE, &l, &name, 1, &t));
  assert_string_equal(out, "share:" LEASE_ID ":two%20words%3A%FF%25");
}

TEST(a_set_is_written_with_all_of_its_names)
{
  char out[DIBS_TOKEN_SIZE];
  text t = text_over(out, sizeof(out));
  lease_id l = lease_read(SET_ID);
  many_name names[] = { { "a", 1 }, { "b:c", 3 }, { "d", 1 } };
  token_parts p;

  assert_true(token_write(TOKEN_MANY, &l, names, 3, &t));
  assert_string_equal(out, MANY ":a:b%3Ac:d");
  assert_true(token_read(out, &p));
  assert_int_equal(p.kind, TOKEN_MANY);
  assert_true(lease_id_equal(&p.lease, &l));
  assert_int_equal(p.count, 3);
  check_name(&p, 0, "a");
  check_name(&p, 1, "b:c");
  check_name(&p, 2, "d");
}

/* Version 0.1 left the colon as it is. */
TEST(a_lease_of_the_first_version_is_read_as_before)
{
  token_parts p;

  assert_true(token_read(LEASE ":jobs:nightly", &p));
  assert_int_equal(p.kind, TOKEN_LEASE);
  assert_int_equal(p.count, 1);
  check_name(&p, 0, "jobs:nightly");
  assert_true(token_read(LEASE "::", &p));
  check_name(&p, 0, ":");
}

TEST(every_name_comes_back)
{
  char name[NAME_MAX_BYTES], out[DIBS_TOKEN_SIZE];
  lease_id l = lease_read(LEASE_ID);
  many_name one = { name, sizeof(name) };
  token_parts p;

  for (size_t i = 0; i < sizeof(name); i++)
    name[i] = (char)i;
  for (token_kind kind = TOKEN_LEASE; kind <= TOKEN_SHARE; kind++) {
    text t = text_over(out, sizeof(out));
    assert_true(token_write(kind, &l, &one, 1, &t));
    for (size_t i = 0; i < t.used; i++)
      assert_in_range(out[i], '!', '~');
    assert_true(token_read(out, &p));
    assert_int_equal(p.kind, kind);
    assert_true(lease_id_equal(&p.lease, &l));
    assert_int_equal(p.count, 1);
    assert_int_equal(p.names[0].size, sizeof(name));
    assert_memory_equal(p.names[0].name, name, sizeof(name));
  }
}

TEST(the_longest_token_fits_and_a_short_buffer_is_noticed)
{
  char name[NAME_MAX_BYTES], out[DIBS_TOKEN_SIZE], small[64];
  text t = text_over(out, sizeof(out)), u = text_over(small, sizeof(small));
  lease_id l = lease_read(LEASE_ID);
  many_name one = { name, sizeof(name) };

  l.ask = l.token = UINT64_MAX;
  memset(name, ' ', sizeof(name));
  assert_true(token_write(TOKEN_LEASE, &l, &one, 1, &t));
  assert_false(token_write(TOKEN_LEASE, &l, &one, 1, &u));
}

TEST(a_set_too_long_for_a_token_is_neither_written_nor_read)
{
  char name[NAME_MAX_BYTES], out[3 * TOKEN_MAX_BYTES];
  text t = text_over(out, sizeof(out));
  lease_id l = lease_read(SET_ID);
  many_name names[5];
  token_parts p;

  memset(name, 'n', sizeof(name));
  for (size_t i = 0; i < 5; i++)
    names[i] = (many_name){ name, sizeof(name) - i };
  assert_false(token_write(TOKEN_MANY, &l, names, 5, &t));
  assert_false(t.is_cut);
  assert_false(token_read(out, &p));
  t = text_over(out, sizeof(out));
  assert_true(token_write(TOKEN_MANY, &l, names, 3, &t));
  assert_true(token_read(out, &p));
  assert_int_equal(p.count, 3);
}

TEST(a_set_of_a_hundred_names_is_read_and_one_more_is_not)
{
  char out[TOKEN_MAX_BYTES] = MANY;
  token_parts p;

  for (size_t i = 0; i < MANY_NAMES_MAX; i++)
    strcat(out, ":x");
  assert_true(token_read(out, &p));
  assert_int_equal(p.count, MANY_NAMES_MAX);
  strcat(out, ":x");
  assert_false(token_read(out, &p));
}

TEST(anything_else_is_no_token)
{
  static const char *const bad[] = {
    "", LEASE, LEASE ":", LEASE ":%", LEASE ":%4", LEASE ":a%4", LEASE ":%4g", LEASE ":a b",
    LEASE ":a\xc3\xa9", LEASE ":%7Dx", "lease:" ANNA ":7:x", "lease:x:7:8:y",
    "lease:" ANNA ":07:8:y", LEASE_ID ":y", "Lease:" LEASE_ID ":y", LEASE ":a\n",
    "share:" LEASE_ID ":a:b", "share:" SET_ID ":a", "lease:" SET_ID ":a", "many:" LEASE_ID ":a",
    MANY, MANY ":", MANY ":a:", MANY "::a", MANY ":a::b", "many:" ANNA ".0:7:8:a",
    "many:" ANNA ".07:7:8:a", "share:", "many", "manu:" SET_ID ":a",
  };
  char longest[DIBS_TOKEN_SIZE];
  token_parts p;

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
    if (token_read(bad[i], &p))
      fail_msg("taken: %s", bad[i]);
  strcpy(longest, LEASE ":");
  memset(longest + strlen(LEASE) + 1, 'n', NAME_MAX_BYTES + 1);
  longest[strlen(LEASE) + 1 + NAME_MAX_BYTES + 1] = 0;
  assert_false(token_read(longest, &p));
  longest[strlen(LEASE) + 1 + NAME_MAX_BYTES] = 0;
  assert_true(token_read(longest, &p));
}

RUN_TESTS(NULL, NULL)
