/* SPDX-License-Identifier: MIT */
/* Inbox messages: what counts as one. F4, F22. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "dialect/native.h"

#define LEASE "AAAAAAAAAAAAAAAAAAAAAA:7:1700000000000000"

static bool read_text(const char *words, inbox_message *m)
{
  return inbox_message_read(words, strlen(words), m);
}

TEST(a_grant_names_lease_span_waiters_and_lock)
{
  inbox_message m;

  assert_true(read_text("grant " LEASE " 30000 2 orders", &m));
  assert_int_equal(m.word, INBOX_GRANT);
  assert_int_equal(m.lease.ask, 7);
  assert_int_equal(m.lease.token, 1700000000000000);
  assert_int_equal(m.ttl_ms, 30000);
  assert_int_equal(m.waiters, 2);
  assert_int_equal(m.name_size, 6);
  assert_memory_equal(m.name, "orders", 6);
}

/* Digits of one length, so that a nonce has one form. */
TEST(a_grant_repeats_the_nonce_of_its_ask)
{
  inbox_message m;

  assert_true(read_text("grant:00000000000000000042 " LEASE " 30000 2 orders", &m));
  assert_int_equal(m.word, INBOX_GRANT);
  assert_true(m.has_nonce);
  assert_int_equal(m.nonce, 42);
  assert_int_equal(m.lease.ask, 7);
  assert_memory_equal(m.name, "orders", 6);
  assert_true(read_text("share:18446744073709551615 " LEASE " 30000 2 5 orders", &m));
  assert_true(m.has_nonce);
  assert_true(m.nonce == UINT64_MAX);
  assert_int_equal(m.units, 5);
}

/* From scripts of protocol version 1: a reason to ask. */
TEST(a_grant_without_a_nonce_is_told_apart)
{
  inbox_message m;

  assert_true(read_text("grant " LEASE " 30000 2 orders", &m));
  assert_false(m.has_nonce);
  assert_true(read_text("share " LEASE " 30000 2 5 orders", &m));
  assert_false(m.has_nonce);
  assert_true(read_text("grant " LEASE " 30000 2 00000000000000000042 orders", &m));
  assert_false(m.has_nonce);
  assert_int_equal(m.name_size, 27);
}

TEST(a_share_also_says_how_many_units)
{
  inbox_message m;

  assert_true(read_text("share " LEASE " 30000 2 5 orders", &m));
  assert_int_equal(m.word, INBOX_SHARE);
  assert_int_equal(m.lease.ask, 7);
  assert_int_equal(m.ttl_ms, 30000);
  assert_int_equal(m.waiters, 2);
  assert_int_equal(m.units, 5);
  assert_memory_equal(m.name, "orders", m.name_size);
}

/* The release of a share names no set: it would end the share of the same ask. */
TEST(a_share_belongs_to_no_set)
{
  inbox_message m;

  assert_true(read_text("grant AAAAAAAAAAAAAAAAAAAAAA.9:7:1700000000000000 30000 2 orders", &m));
  assert_int_equal(m.lease.set, 9);
  assert_false(read_text("share AAAAAAAAAAAAAAAAAAAAAA.9:7:1700000000000000 30000 2 5 orders", &m));
}

/* A waiter that wants more than there is leaves the queue without a lease: token 0. */
TEST(a_loss_may_be_that_of_a_place_in_the_queue)
{
  inbox_message m;

  assert_true(read_text("lost AAAAAAAAAAAAAAAAAAAAAA:7:0 orders", &m));
  assert_int_equal(m.word, INBOX_LOST);
  assert_int_equal(m.lease.ask, 7);
  assert_int_equal(m.lease.token, 0);
}

TEST(wants_and_losses_name_lease_and_lock)
{
  inbox_message m;

  assert_true(read_text("want " LEASE " orders", &m));
  assert_int_equal(m.word, INBOX_WANT);
  assert_int_equal(m.lease.ask, 7);
  assert_true(read_text("lost " LEASE " orders", &m));
  assert_int_equal(m.word, INBOX_LOST);
  assert_true(read_text("released " LEASE " orders", &m));
  assert_int_equal(m.word, INBOX_RELEASED);
  assert_false(read_text("release " LEASE " orders", &m));
}

TEST(a_set_of_the_client_is_named_beside_it)
{
  inbox_message m;

  assert_true(read_text("grant AAAAAAAAAAAAAAAAAAAAAA.12:7:99 30000 2 orders", &m));
  assert_string_equal(m.lease.client, "AAAAAAAAAAAAAAAAAAAAAA");
  assert_int_equal(m.lease.set, 12);
  assert_int_equal(m.lease.ask, 7);
  assert_true(read_text("want " LEASE " orders", &m));
  assert_int_equal(m.lease.set, 0);
  assert_false(read_text("want AAAAAAAAAAAAAAAAAAAAAA.0:7:99 orders", &m));
}

TEST(the_name_may_hold_any_byte)
{
  static const char bytes[] = "want " LEASE " two words\0\n\xff";
  inbox_message m;

  assert_true(inbox_message_read(bytes, sizeof(bytes) - 1, &m));
  assert_int_equal(m.name_size, 12);
  assert_memory_equal(m.name, "two words\0\n\xff", 12);
  assert_true(read_text("want " LEASE "  x", &m));
  assert_int_equal(m.name_size, 2);
}

TEST(anything_else_is_no_message)
{
  static const char *const bad[] = {
    "", " ", "grant", "want", "latch x", "WANT " LEASE " x", "wants " LEASE " x",
    "want  " LEASE " x", "want " LEASE, "want " LEASE " ", "want " LEASE " }x",
    "want AAAAAAAAAAAAAAAAAAAAAA:7 x", "grant " LEASE " x", "grant " LEASE " 30000 x",
    "grant " LEASE " 0 2 x", "grant " LEASE " 030 2 x", "grant " LEASE " -1 2 x",
    "grant " LEASE " 2073600001 2 x", "grant " LEASE " 30000 2", "grant " LEASE " 30000 2 ",
    "grant " LEASE " 30000 -2 x", "grant " LEASE " 99999999999999999999999 2 x",
    "share " LEASE " 30000 2 x", "share " LEASE " 30000 2 0 x", "share " LEASE " 0 2 5 x",
    "grant: " LEASE " 30000 2 x", "grant:42 " LEASE " 30000 2 x",
    "grant:18446744073709551616 " LEASE " 30000 2 x",
    "grant:000000000000000000042 " LEASE " 30000 2 x",
    "grant:0000000000000000004x " LEASE " 30000 2 x",
    "want:00000000000000000042 " LEASE " x", "lost:00000000000000000042 " LEASE " x",
    "share " LEASE " 30000 2 -5 x", "share " LEASE " 30000 2 5", "shares " LEASE " 30000 2 5 x",
  };
  inbox_message m = { .waiters = 5 };

  for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
    if (read_text(bad[i], &m))
      fail_msg("taken: %s", bad[i]);
    assert_int_equal(m.waiters, 5);
  }
}

TEST(a_name_longer_than_any_is_refused)
{
  char bytes[1024] = "want " LEASE " ";
  size_t head = strlen(bytes);
  inbox_message m;

  memset(bytes + head, 'n', NAME_MAX_BYTES + 1);
  assert_true(inbox_message_read(bytes, head + NAME_MAX_BYTES, &m));
  assert_false(inbox_message_read(bytes, head + NAME_MAX_BYTES + 1, &m));
}

RUN_TESTS(NULL, NULL)
