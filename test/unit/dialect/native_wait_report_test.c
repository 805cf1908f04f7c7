/* SPDX-License-Identifier: MIT */
/* What a client tells of its owners: written and read again, and broken texts refused. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/native/wait_report.h"

#define CLIENT "AAAAAAAAAAAAAAAAAAAAAA"
#define OWNER "0123456789abcdef"
#define NONCE "fedcba9876543210"

static owner_entry waits_for(const char *name)
{
  return (owner_entry){ .kind = 'w', .owner = OWNER, .id = 7, .since_us = 1700000000000000,
                        .set = 3, .ask = 12, .name = name, .name_size = strlen(name) };
}

static owner_entry holds(const char *name)
{
  return (owner_entry){ .kind = 'h', .owner = OWNER, .id = 8, .ask = 9, .token = 77,
                        .name = name, .name_size = strlen(name) };
}

static void expect_equal(const owner_entry *got, const owner_entry *wanted)
{
  assert_int_equal(got->kind, wanted->kind);
  assert_string_equal(got->owner, wanted->owner);
  assert_int_equal(got->id, wanted->id);
  assert_int_equal(got->since_us, wanted->since_us);
  assert_int_equal(got->set, wanted->set);
  assert_int_equal(got->ask, wanted->ask);
  assert_int_equal(got->token, wanted->token);
  assert_int_equal(got->name_size, wanted->name_size);
  assert_memory_equal(got->name, wanted->name, wanted->name_size);
}

static text written(char *bytes, size_t size)
{
  owner_entry w = waits_for("a name: with 5:blanks "), h = holds("b");
  text out = text_over(bytes, size);

  wait_report_begin(&out);
  wait_report_add_nonce(&out, NONCE);
  assert_true(wait_report_add(&out, &w));
  assert_true(wait_report_add(&out, &h));
  return out;
}

TEST(what_is_written_is_read_again)
{
  char bytes[512];
  text out = written(bytes, sizeof(bytes));
  wait_report_reader r = wait_report_read(bytes, out.used);
  owner_entry w = waits_for("a name: with 5:blanks "), h = holds("b"), e;

  assert_true(wait_report_next(&r, &e));
  expect_equal(&e, &w);
  assert_true(wait_report_next(&r, &e));
  expect_equal(&e, &h);
  assert_false(wait_report_next(&r, &e));
  assert_int_equal(r.size, 0);
}

TEST(only_a_nonce_that_is_told_along_is_found)
{
  char bytes[512];
  text out = written(bytes, sizeof(bytes));

  assert_true(wait_report_has_nonce(bytes, out.used, NONCE));
  assert_false(wait_report_has_nonce(bytes, out.used, OWNER));  /* it is there as an owner */
  assert_false(wait_report_has_nonce("1 ", 2, NONCE));
}

/* Cut short anywhere, it is whole entries or none, and nothing behind its end is read. */
TEST(a_text_cut_short_ends_at_the_cut)
{
  char bytes[512];
  text out = written(bytes, sizeof(bytes));

  for (size_t size = 0; size < out.used; size++) {
    char *copy = malloc(size > 0 ? size : 1);
    wait_report_reader r;
    owner_entry e;
    int count = 0;

    assert_non_null(copy);
    memcpy(copy, bytes, size);
    r = wait_report_read(copy, size);
    while (wait_report_next(&r, &e))
      count++;
    assert_in_range(count, 0, 1);
    (void)wait_report_has_nonce(copy, size, NONCE);
    free(copy);
  }
}

static int entries_of(const char *words)
{
  wait_report_reader r = wait_report_read(words, strlen(words));
  owner_entry e;
  int count = 0;

  while (wait_report_next(&r, &e))
    count++;
  return count;
}

TEST(broken_texts_are_not_read)
{
  assert_int_equal(entries_of("1 w " OWNER " 7 1 0 1 1:a "), 1);
  assert_int_equal(entries_of("2 w " OWNER " 7 1 0 1 1:a "), 0);   /* from the future */
  assert_int_equal(entries_of("1 x " OWNER " 7 1 0 1 1:a "), 0);
  assert_int_equal(entries_of("1 w 0123456789ABCDEF 7 1 0 1 1:a "), 0);
  assert_int_equal(entries_of("1 w " OWNER " -7 1 0 1 1:a "), 0);
  assert_int_equal(entries_of("1 w " OWNER " 7 1 0 1 2:a "), 0);
  assert_int_equal(entries_of("1 w " OWNER " 7 1 0 1 1:ab "), 0);
  assert_int_equal(entries_of("1 w " OWNER " 7 1 0 1 0: "), 0);
  assert_int_equal(entries_of("1 w " OWNER " 7 1 4294967296 1 1:a "), 0);
  assert_int_equal(entries_of("1 h " OWNER " 7 0 1 1:a "), 0);     /* no token */
  assert_int_equal(entries_of("1 w " OWNER " 7 1 0 1 18446744073709551615:a "), 0);
}

TEST(an_entry_without_room_is_not_begun)
{
  char bytes[64];
  text out = text_over(bytes, sizeof(bytes));
  owner_entry e = waits_for("a");
  size_t used;

  wait_report_begin(&out);
  assert_true(wait_report_add(&out, &e));
  used = out.used;
  assert_false(wait_report_add(&out, &e));
  assert_int_equal(out.used, used);
  assert_int_equal(strlen(bytes), used);
  assert_int_equal(entries_of(bytes), 1);
}

TEST(owners_of_a_client_have_ids_of_their_own)
{
  uint64_t one = owner_hash(CLIENT, "t\1", 2);

  assert_true(one != owner_hash(CLIENT, "t\2", 2));
  assert_true(one != owner_hash("AAAAAAAAAAAAAAAAAAAAAB", "t\1", 2));
  assert_true(one == owner_hash(CLIENT, "t\1", 2));
}

/* Computed by another program: clients of all versions compare these ids. */
TEST(an_owner_has_its_hash_for_ever)
{
  assert_true(owner_hash("", "", 0) == UINT64_C(0x153d52d3457d13c3));
  assert_true(owner_hash("", "t\1", 2) == UINT64_C(0x9533fded4d343bb2));
  assert_true(owner_hash("t", "\2", 1) == UINT64_C(0x749b4608f7185396));
  assert_true(owner_hash("thread", " 4711", 5) == UINT64_C(0xcf09cb4243750026));
}

TEST(a_message_to_tell_is_read_and_no_other)
{
  char bytes[32], nonce[OWNER_ID_SIZE];
  text out = text_over(bytes, sizeof(bytes));

  wait_report_request_write(NONCE, &out);
  assert_string_equal(bytes, "tell " NONCE);
  assert_true(wait_report_request_read(bytes, out.used, nonce));
  assert_string_equal(nonce, NONCE);
  assert_false(wait_report_request_read(bytes, out.used - 1, nonce));
  assert_false(wait_report_request_read("want " NONCE, 21, nonce));
  assert_false(wait_report_request_read("tell ", 5, nonce));
}

RUN_TESTS(NULL, NULL)
