/* SPDX-License-Identifier: MIT */
/* Owners, channels, names, ids of permits and inspections of the dialect redisson. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include <dibs/client.h>

#include "answer_reader.h"
#include "dialect/dialect.h"
#include "dialect/redisson/redisson.h"

/* Bytes 00 11 22 .. ff. */
#define CLIENT "ABEiM0RVZneImaq7zN3u_w"
#define UUID "00112233-4455-6677-8899-aabbccddeeff"
#define OTHER "BBBBBBBBBBBBBBBBBBBBBB"
#define NOBODY "......................"

static const protocol here = { .dialect = &redisson_dialect, .prefix = "dibs", .client = CLIENT };

TEST(a_client_id_is_a_uuid_in_other_letters)
{
  static const char short_one[CLIENT_ID_SIZE] = "short";
  char uuid[UUID_SIZE];

  assert_true(redisson_uuid(CLIENT, uuid));
  assert_string_equal(uuid, UUID);
  assert_false(redisson_uuid(NOBODY, uuid));
  assert_false(redisson_uuid(short_one, uuid));
}

static const char *channel_of(const char *name, lock_kind kind)
{
  static char bytes[1000];
  text out = text_over(bytes, sizeof(bytes));

  redisson_channel(&here, name, strlen(name), 0, kind, 7, &out);
  return bytes;
}

TEST(braces_are_added_where_there_is_no_opening_one)
{
  assert_string_equal(channel_of("n", LOCK_MUTEX), "redisson_lock__channel:{n}");
  assert_string_equal(channel_of("a{b}", LOCK_SPIN), "redisson_lock__channel:a{b}");
  assert_string_equal(channel_of("a{b", LOCK_FENCED), "redisson_lock__channel:a{b");
  assert_string_equal(channel_of("a}b", LOCK_MUTEX), "redisson_lock__channel:{a}b}");
  assert_string_equal(channel_of("n", LOCK_FAIR), "redisson_lock__channel:{n}:" UUID ":7");
}

static bool may_be_in_cluster(const char *name)
{
  return redisson_name_fault(name, strlen(name)) == NULL;
}

TEST(half_a_tag_is_no_name_in_a_cluster)
{
  protocol cluster = here;

  assert_true(may_be_in_cluster("plain"));
  assert_true(may_be_in_cluster("a{tag}b"));
  assert_false(may_be_in_cluster("a{b"));
  assert_false(may_be_in_cluster("a}b"));
  assert_false(may_be_in_cluster("a}b{c"));
  assert_false(may_be_in_cluster("a{}b"));
  assert_null(dialect_name_fault(&here, "a{b", 3));
  cluster.has_tags = true;
  assert_non_null(dialect_name_fault(&cluster, "a{b", 3));
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

/* ---- ids of permits ---- */

TEST(the_first_id_is_the_client_s_with_the_ask_in_it)
{
  static const uint8_t of_7[] = { 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                  0x88, 0x99, 0xaa, 0xbb ^ 7, 0xcc, 0xdd, 0xee, 0xff };
  static const uint8_t of_many[] = { 0x00, 0x11, 0x22, 0x33, 0x44 ^ 1, 0x55 ^ 2, 0x66 ^ 3,
                                     0x77 ^ 4, 0x88 ^ 5, 0x99 ^ 6, 0xaa ^ 7, 0xbb ^ 8,
                                     0xcc, 0xdd, 0xee, 0xff };
  uint8_t id[PERMIT_ID_SIZE];

  redisson_permit_id(CLIENT, 7, id);
  assert_memory_equal(id, of_7, sizeof(id));
  redisson_permit_id(CLIENT, 0x0102030405060708, id);
  assert_memory_equal(id, of_many, sizeof(id));
}

TEST(the_same_ask_has_the_same_ids_and_others_have_others)
{
  uint8_t first[PERMIT_ID_SIZE], id[PERMIT_ID_SIZE];

  redisson_permit_id(CLIENT, 1, first);
  redisson_permit_id(CLIENT, 1, id);
  assert_memory_equal(id, first, sizeof(id));
  for (uint64_t bit = 2; bit != 0; bit <<= 1) {
    redisson_permit_id(CLIENT, bit | 1, id);
    assert_memory_not_equal(id, first, 12);       /* so that counting up never meets */
  }
  redisson_permit_id(OTHER, 1, id);
  assert_memory_not_equal(id, first, 12);
}

/* ---- inspections ---- */

static bool inspect_of(const char *bytes, inspect_answer *a)
{
  resp_reply *r = reply_of(bytes);
  bool is_good = here.dialect->inspect_answer(r, a);

  resp_reply_free(r);
  return is_good;
}

/* One holder, shown, of a lock. */
#define ONE ":1\r\n:1\r\n:0\r\n:0\r\n"
#define OWNER "$39\r\n" UUID ":42\r\n"

TEST(an_inspection_knows_owners_by_their_uuid)
{
  static inspect_answer a;
  char words[64];
  text shown = text_over(words, sizeof(words));

  assert_true(inspect_of("*11\r\n:100\r\n:5\r\n:2000\r\n:9\r\n:1\r\n:1\r\n:0\r\n:0\r\n" OWNER
                         "$1\r\n3\r\n" OWNER,
                         &a));
  assert_int_equal(a.last_token, 5);
  assert_int_equal(a.holder_count, 1);
  assert_string_equal(a.holders[0].lease.client, CLIENT);
  assert_int_equal(a.holders[0].lease.ask, 42);
  assert_int_equal(a.holders[0].units, 3);
  assert_int_equal(a.holders[0].remaining_ms, 2000);
  assert_int_equal(a.waiter_count, 9);
  assert_int_equal(a.shown, 1);
  redisson_dialect.owner_show(a.holders[0].lease.client, 42, &shown);
  assert_string_equal(words, UUID ":42");
}

/* lockAsync(threadId) takes any long. */
TEST(a_thread_id_may_be_negative)
{
  static const char *const ids[] = { "-1", "-8123456789012345678", "-9223372036854775808" };
  static inspect_answer a;

  for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
    char reply[160], owner[64], words[64];
    text shown = text_over(words, sizeof(words));

    snprintf(owner, sizeof(owner), UUID ":%s", ids[i]);
    snprintf(reply, sizeof(reply), "*10\r\n:100\r\n:0\r\n:2000\r\n:0\r\n" ONE
             "$%zu\r\n%s\r\n$1\r\n1\r\n", strlen(owner), owner);
    assert_true(inspect_of(reply, &a));
    assert_string_equal(a.holders[0].lease.client, CLIENT);
    redisson_dialect.owner_show(CLIENT, a.holders[0].lease.ask, &shown);
    assert_string_equal(words, owner);
  }
  assert_true(inspect_of("*10\r\n:100\r\n:0\r\n:1\r\n:0\r\n" ONE
                         "$57\r\n" UUID ":-9223372036854775809\r\n$1\r\n1\r\n", &a));
  assert_string_equal(a.holders[0].lease.client, NOBODY);
}

TEST(an_owner_of_another_form_is_somebody_unknown)
{
  static inspect_answer a;

  assert_true(inspect_of("*10\r\n:100\r\n:0\r\n:-1\r\n:0\r\n" ONE
                         "$5\r\nhello\r\n$1\r\n1\r\n", &a));
  assert_string_equal(a.holders[0].lease.client, NOBODY);
  assert_int_equal(a.holders[0].remaining_ms, DIBS_MS_MAX);     /* it has no end */
  assert_true(inspect_of("*10\r\n:100\r\n:0\r\n:1\r\n:0\r\n" ONE
                         "$40\r\n00112233-4455-6677-8899-aabbccddeegg:42x\r\n$1\r\n1\r\n", &a));
  assert_string_equal(a.holders[0].lease.client, NOBODY);
}

TEST(what_is_no_inspection_is_refused)
{
  static inspect_answer a;

  assert_false(inspect_of(":1\r\n", &a));
  assert_false(inspect_of("*4\r\n:100\r\n:0\r\n:1\r\n:0\r\n", &a));
  assert_false(inspect_of("*9\r\n:100\r\n:0\r\n:1\r\n:0\r\n" ONE OWNER, &a));
  assert_false(inspect_of("*10\r\n:100\r\n:0\r\n:1\r\n:0\r\n" ONE OWNER "$1\r\nx\r\n", &a));
  assert_false(inspect_of("*5\r\n:100\r\n:0\r\n:1\r\n:0\r\n:99999\r\n", &a));
}

RUN_TESTS(NULL, NULL)
