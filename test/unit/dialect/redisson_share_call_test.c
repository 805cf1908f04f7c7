/* SPDX-License-Identifier: MIT */
/* Redisson's read/write locks and permits: ids of permits, and the calls word for word. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "answer_reader.h"
#include "call_reader.h"
#include "dialect/dialect.h"
#include "dialect/redisson/redisson.h"
#include "rendered.h"

/* 16 bytes 0x00, 0x11, ... 0xff, and as a UUID. */
#define ANNA "ABEiM0RVZneImaq7zN3u_w"
#define UUID "00112233-4455-6677-8899-aabbccddeeff"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"

static const protocol here = { .dialect = &redisson_dialect, .prefix = "dibs", .client = ANNA };
/* His ids of permits have no zero among their bytes, and so can be compared as texts. */
static const lease_id lease = { .client = BERT, .ask = 7, .token = 1 };

/* ---- ids of permits ---- */

TEST(the_first_id_is_the_client_s_with_the_ask_in_it)
{
  static const uint8_t of_7[] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                  0x88, 0x99, 0xaa, 0xbb ^ 7, 0xcc, 0xdd, 0xee, 0xff };
  static const uint8_t of_many[] = { 0x00, 0x11, 0x22, 0x33, 0x44 ^ 1, 0x55 ^ 2, 0x66 ^ 3,
                                     0x77 ^ 4, 0x88 ^ 5, 0x99 ^ 6, 0xaa ^ 7, 0xbb ^ 8,
                                     0xcc, 0xdd, 0xee, 0xff };
  uint8_t id[PERMIT_ID_SIZE];

  redisson_permit_id(ANNA, 7, id);
  assert_memory_equal(id, of_7, sizeof(id));
  redisson_permit_id(ANNA, 0x0102030405060708, id);
  assert_memory_equal(id, of_many, sizeof(id));
}

TEST(the_same_ask_has_the_same_ids_and_others_have_others)
{
  uint8_t first[PERMIT_ID_SIZE], id[PERMIT_ID_SIZE];

  redisson_permit_id(ANNA, 1, first);
  redisson_permit_id(ANNA, 1, id);
  assert_memory_equal(id, first, sizeof(id));
  for (uint64_t bit = 2; bit != 0; bit <<= 1) {
    redisson_permit_id(ANNA, bit | 1, id);
    assert_memory_not_equal(id, first, 12);       /* so that counting up never meets */
  }
  redisson_permit_id(BERT, 1, id);
  assert_memory_not_equal(id, first, 12);
}

/* ---- calls ---- */

TEST(readers_and_writers_ask_by_one_script)
{
  share_call c = { .name = "x y", .name_size = 3, .ask = 8, .mode = 'r', .units = 1,
                   .ttl_ms = 30000, .waits = true, .until_us = 11, .min_token = 13 };
  protocol on_a_quorum = here;

  assert_true(RENDERED(here.dialect->share_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_rw_acquire, "3", "x y", "dibs:over:{x y}:" UUID ":8",
              "{x y}:" UUID ":8:rwlock_timeout:1", UUID ":8", "30000", "11", "w r", "13");
  on_a_quorum.is_voter = true;
  assert_true(RENDERED(on_a_quorum.dialect->share_acquire, &on_a_quorum, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_rw_acquire, "4", "x y", "dibs:over:{x y}:" UUID ":8",
              "{x y}:" UUID ":8:rwlock_timeout:1", "dibs:token:{x y}", UUID ":8", "30000",
              "11", "w r", "13");
  c.name = "a{b";
  c.mode = 'w';
  c.waits = false;
  assert_true(RENDERED(here.dialect->share_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_rw_acquire, "3", "a{b", "dibs:over:a{b:" UUID ":8",
              "a{b:" UUID ":8:rwlock_timeout:1", UUID ":8", "30000", "11", "t w", "13");
}

TEST(permits_name_their_semaphore_and_how_they_are_taken)
{
  share_call c = { .name = "x", .name_size = 1, .ask = 1, .mode = 'p', .units = 5,
                   .ttl_ms = 100, .waits = true };
  protocol bert = here;

  memcpy(bert.client, BERT, sizeof(bert.client));
  assert_true(RENDERED(bert.dialect->share_acquire, &bert, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_permits_acquire, "4", "x",
              "dibs:over:{x}:04104104-1041-0410-4104-104104104104:1", "{x}:timeout",
              "dibs:taken:{x}:04104104-1041-0410-4104-104104104104:1",
              "\x04\x10\x41\x04\x10\x41\x04\x10\x41\x04\x10\x40\x04\x10\x41\x04", "100", "0",
              "w p 5", "0", "PUBLISH", "redisson_sc:{x}");
  c.kind = LOCK_COUNTER;
  bert.has_tags = bert.has_sharded_channels = true;
  assert_true(RENDERED(bert.dialect->share_acquire, &bert, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_permits_acquire, "4", "x",
              "dibs:over:{x}:04104104-1041-0410-4104-104104104104:1", "{x}:timeout",
              "dibs:taken:{x}:04104104-1041-0410-4104-104104104104:1",
              "\x04\x10\x41\x04\x10\x41\x04\x10\x41\x04\x10\x40\x04\x10\x41\x04", "100", "0",
              "w u 5", "0", "SPUBLISH", "redisson_sc:{x}");
}

/* What a release says is given back, and for how many ms it is remembered. */
static void expect_ending(const char *ms, const char *what)
{
  resp_reply *r;

  assert_true(buffer_append(&sent, "", 1));
  r = reply_of(buffer_bytes(&sent));
  assert_string_equal(resp_child(r, resp_root(r), 10)->bytes, what);
  assert_string_equal(resp_child(r, resp_root(r), 11)->bytes, ms);
  resp_reply_free(r);
  buffer_clear(&sent);
}

TEST(what_is_taken_without_a_lease_is_remembered_longer)
{
  share_ending e = { .name = "x", .name_size = 1, .lease = lease, .units = 5,
                     .ttl_ms = 30001, .estimate_us = 1000000 };

  assert_true(RENDERED(here.dialect->share_release, &here, &sent, false, &e));
  expect_ending("0", "p 5");
  e.copies_us = 6000000;
  assert_true(RENDERED(here.dialect->share_cancel, &here, &sent, false, &e));
  expect_ending("5001", "p 5");
  e.kind = LOCK_COUNTER;
  assert_true(RENDERED(here.dialect->share_release, &here, &sent, false, &e));
  expect_ending("40001", "u 5");
  assert_true(RENDERED(here.dialect->share_cancel, &here, &sent, false, &e));
  expect_ending("5001", "p 5");
}

TEST(a_count_is_set_with_its_channel)
{
  assert_true(RENDERED(here.dialect->share_set, &here, &sent, false, "x", 1, SHARE_SET_IF_ABSENT,
                       4, 0));
  CHECK_WORDS(&sent, &script_redisson_share_set, "2", "x", "{x}:timeout", "absent", "4",
              "PUBLISH", "redisson_sc:{x}", NO_LIMIT);
}

TEST(channels_are_those_of_the_kind)
{
  static const struct { char mode; const char *channel; } all[] = {
    { 0, "redisson_lock__channel:{x}" }, { 'r', "redisson_rwlock:{x}" },
    { 'w', "redisson_rwlock:{x}" }, { 'p', "redisson_sc:{x}" },
  };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    char bytes[64];
    text t = text_over(bytes, sizeof(bytes));

    here.dialect->channel(&here, "x", 1, all[i].mode, LOCK_MUTEX, 1, &t);
    assert_string_equal(bytes, all[i].channel);
  }
}

TEST(the_longest_renewals_fit)
{
  static char name[NAME_MAX_BYTES];
  share_renew_item items[RENEW_BATCH_MAX];
  lease_id last = { .client = ANNA, .ask = UINT64_MAX, .token = UINT64_MAX };

  memset(name, 'n', sizeof(name));
  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (share_renew_item){ name, sizeof(name), &last, INT64_MAX, 'p', UINT64_MAX };
  assert_true(RENDERED(here.dialect->share_renew, &here, &sent, true, items, RENEW_BATCH_MAX,
                       INT64_MAX));
}

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)
