/* SPDX-License-Identifier: MIT */
/* Keys, owners, calls and inspections of the dialect redisson. */

#include "tests.h"

#include <dibs/client.h>

#include "answer_reader.h"
#include "call_reader.h"
#include "dialect/dialect.h"
#include "dialect/redisson/redisson.h"
#include "rendered.h"

/* Bytes 00 11 22 .. ff. */
#define CLIENT "ABEiM0RVZneImaq7zN3u_w"
#define UUID "00112233-4455-6677-8899-aabbccddeeff"
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

TEST(an_ask_names_what_its_kind_needs)
{
  acquire_call c = { .name = "n", .name_size = 1, .ask = 7, .ttl_ms = 30000, .waits = true,
                     .until_us = 99, .min_token = 5 };

  assert_true(RENDERED(here.dialect->acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_acquire, "2", "n", "dibs:over:{n}:" UUID ":7", UUID ":7",
              "30000", "99", "w lock", "5");
  c.kind = LOCK_FAIR;
  c.waits = false;
  assert_true(RENDERED(here.dialect->acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_acquire, "4", "n", "dibs:over:{n}:" UUID ":7",
              "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}", UUID ":7", "30000", "99",
              "t fair", "5");
  c.kind = LOCK_FENCED;
  assert_true(RENDERED(here.dialect->acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_acquire, "3", "n", "dibs:over:{n}:" UUID ":7",
              "redisson_lock_token:{n}", UUID ":7", "30000", "99", "t fenced", "5");
}

/* The last token is kept beside the lock, for who comes next. */
TEST(on_a_quorum_an_ask_names_the_last_token)
{
  acquire_call c = { .name = "n", .name_size = 1, .ask = 7, .ttl_ms = 30000, .min_token = 5 };
  lease_id lease = { .client = CLIENT, .ask = 7, .token = 900 };
  protocol voter = here;

  voter.is_voter = true;
  assert_true(RENDERED(voter.dialect->acquire, &voter, &sent, false, &c));
  CHECK_WORDS(&sent, &script_redisson_acquire, "3", "n", "dibs:over:{n}:" UUID ":7",
              "dibs:token:{n}", UUID ":7", "30000", "0", "t lock", "5");
  assert_true(RENDERED(voter.dialect->raise, &voter, &sent, false, "n", 1, &lease, 1000));
  CHECK_WORDS(&sent, &script_redisson_raise, "2", "n", "dibs:token:{n}", UUID ":7", "1000");
  assert_true(RENDERED(voter.dialect->share_raise, &voter, &sent, false, "a{b}", 4, &lease,
                       1001));
  CHECK_WORDS(&sent, &script_redisson_raise, "2", "a{b}", "dibs:token:a{b}", UUID ":7", "1001");
}

TEST(a_release_says_how_it_is_told)
{
  protocol cluster = here;
  lease_id lease = { .client = CLIENT, .ask = 7, .token = 1 };

  cluster.has_tags = cluster.has_sharded_channels = true;
  assert_true(RENDERED(here.dialect->release, &here, &sent, false, "n", 1, &lease, 0, 1000000));
  CHECK_WORDS(&sent, &script_redisson_release, "4", "n", "dibs:over:{n}:" UUID ":7",
              "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}", UUID ":7", "0", "PUBLISH",
              "redisson_lock__channel:{n}");
  assert_true(RENDERED(cluster.dialect->release, &cluster, &sent, false, "n", 1, &lease, 3000000,
                       1000000));
  CHECK_WORDS(&sent, &script_redisson_release, "4", "n", "dibs:over:{n}:" UUID ":7",
              "redisson_lock_queue:{n}", "redisson_lock_timeout:{n}", UUID ":7", "2001",
              "SPUBLISH", "redisson_lock__channel:{n}");
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

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)
