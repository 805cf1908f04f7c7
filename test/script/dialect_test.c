/* SPDX-License-Identifier: MIT */
/* Locks of other dialects, script by script on a real server: what is left behind, what comes
 * twice or late, and how many heard a release. doc/design/redisson.md, dialects.md. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialect/dialect.h"
#include "ear.h"
#include "mode.h"
#include "server.h"
#include "stage.h"
#include "rendered.h"

#define NAME "x"
#define JAVA "b983c153-7421-469a-addb-44fb92259a1b:42"
#define QUEUE "redisson_lock_queue:{x}"
#define DEADLINES "redisson_lock_timeout:{x}"
#define TOKEN "dibs:token:{x}"

enum { TTL_MS = 9000, COPIES_US = 3000000 };

#define run(...) test_server_command(world_server(w), __VA_ARGS__)
#define number(...) test_server_integer(world_server(w), __VA_ARGS__)

/* One who speaks a dialect. */
static protocol speaker(int who, const dialect_ops *dialect)
{
  protocol n = *world_native(w, who);

  n.dialect = dialect;
  (void)snprintf(n.registry, sizeof(n.registry), "locks");
  return n;
}

static protocol redisson(int who) { return speaker(who, &redisson_dialect); }
static protocol spring(int who) { return speaker(who, &spring_dialect); }
static protocol plain(int who) { return speaker(who, &plain_dialect); }

static lease_id lease_of(const protocol *n, uint64_t ask)
{
  lease_id l = { .ask = ask, .token = 1 };

  memcpy(l.client, n->client, sizeof(l.client));
  return l;
}

/* ---- calls ---- */

static acquire_outcome asks(protocol n, uint64_t ask, lock_kind kind, bool waits)
{
  acquire_call c = { .name = NAME, .name_size = strlen(NAME), .ask = ask, .ttl_ms = TTL_MS,
                     .waits = waits, .kind = kind };
  acquire_answer a;

  assert_true(RENDERED(n.dialect->acquire, &n, world_buffer(w), true, &c));
  assert_true(native_acquire_answer(&n, ask, TTL_MS, stage_send(), &a));
  return a.outcome;
}

static release_answer lets_go(protocol n, uint64_t ask)
{
  lease_id l = lease_of(&n, ask);
  release_answer a;

  assert_true(RENDERED(n.dialect->release, &n, world_buffer(w), true, NAME, strlen(NAME), &l,
                       0, 0));
  assert_true(native_release_answer(stage_send(), &a));
  return a;
}

static void cancels(protocol n, uint64_t ask)
{
  assert_true(RENDERED(n.dialect->cancel, &n, world_buffer(w), true, NAME, strlen(NAME), ask,
                       COPIES_US, 0, NULL));
  assert_true(native_cancel_answer(stage_send()));
}

static release_answer breaks(protocol n, uint64_t ask)
{
  lease_id l = lease_of(&n, ask);
  release_answer a;

  assert_true(RENDERED(n.dialect->break_lease, &n, world_buffer(w), true, NAME, strlen(NAME), &l,
                       0));
  assert_true(native_release_answer(stage_send(), &a));
  return a;
}

static renew_answer renews(protocol n, uint64_t ask, int64_t ttl_ms)
{
  lease_id l = lease_of(&n, ask);
  renew_item one = { NAME, strlen(NAME), &l, ttl_ms };
  renew_answer a;

  assert_true(RENDERED(n.dialect->renew, &n, world_buffer(w), true, &one, 1, 0));
  assert_true(native_renew_answer(stage_send(), 0, &a));
  return a;
}

static acquire_answer shares(protocol n, uint64_t ask, char mode, uint64_t units, bool waits)
{
  share_call c = { .name = NAME, .name_size = strlen(NAME), .ask = ask, .mode = mode,
                   .units = units, .ttl_ms = TTL_MS, .waits = waits,
                   .kind = mode == 'u' ? LOCK_COUNTER : LOCK_MUTEX };
  acquire_answer a;

  c.mode = mode == 'u' ? 'p' : mode;
  assert_true(RENDERED(n.dialect->share_acquire, &n, world_buffer(w), true, &c));
  assert_true(native_share_answer(&n, ask, stage_send(), &a));
  return a;
}

static release_answer ends(protocol n, uint64_t ask, char mode, uint64_t units)
{
  share_ending e = { .name = NAME, .name_size = strlen(NAME), .lease = lease_of(&n, ask),
                     .kind = mode == 'u' ? LOCK_COUNTER : LOCK_MUTEX,
                     .units = units, .ttl_ms = TTL_MS };
  release_answer a;

  assert_true(RENDERED(n.dialect->share_release, &n, world_buffer(w), true, &e));
  assert_true(native_release_answer(stage_send(), &a));
  return a;
}

static void share_cancels(protocol n, uint64_t ask)
{
  share_ending e = { .name = NAME, .name_size = strlen(NAME), .lease = lease_of(&n, ask),
                     .copies_us = COPIES_US };

  assert_true(RENDERED(n.dialect->share_cancel, &n, world_buffer(w), true, &e));
  assert_true(native_cancel_answer(stage_send()));
}

/* No units: those of a token, which does not show them. */
static renew_answer share_renews(protocol n, uint64_t ask, char mode, uint64_t units, int64_t ms)
{
  lease_id l = lease_of(&n, ask);
  share_renew_item one = { NAME, strlen(NAME), &l, ms, mode, units, units == 0 };
  renew_answer a;

  assert_true(RENDERED(n.dialect->share_renew, &n, world_buffer(w), true, &one, 1, 0));
  assert_true(native_renew_answer(stage_send(), 0, &a));
  return a;
}

static void sets(protocol n, uint64_t permits)
{
  bool is_done;
  uint64_t limit;

  assert_true(RENDERED(n.dialect->share_set, &n, world_buffer(w), true, NAME, strlen(NAME),
                       SHARE_SET, permits, 0));
  assert_true(native_share_set_answer(stage_send(), &is_done, &limit));
  assert_true(is_done);
}

/* ---- Redisson's: exclusive ---- */

TEST(a_release_answers_how_many_heard_it)
{
  release_answer a;

  assert_int_equal(asks(redisson(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  a = lets_go(redisson(ANNA), 1);
  assert_int_equal(a.outcome, RELEASE_DONE);
  assert_int_equal(a.heard, 0);
  ear_open("redisson_lock__channel:{x}");
  assert_int_equal(asks(redisson(ANNA), 2, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  a = lets_go(redisson(ANNA), 2);
  assert_int_equal(a.outcome, RELEASE_DONE);
  assert_int_equal(a.heard, 1);
  assert_int_equal(lets_go(redisson(ANNA), 2).outcome, RELEASE_GONE);
  ear_close();
}

TEST(places_of_one_client_are_served_in_the_order_of_asking)
{
  assert_int_equal(asks(redisson(ANNA), 1, LOCK_FAIR, true), ACQUIRE_GRANTED);
  assert_int_equal(asks(redisson(ANNA), 2, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(asks(redisson(BERT), 1, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(asks(redisson(ANNA), 3, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(asks(redisson(ANNA), 2, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(number("LLEN " QUEUE), 3);
  assert_int_equal(lets_go(redisson(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(asks(redisson(ANNA), 3, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(asks(redisson(BERT), 1, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(asks(redisson(ANNA), 2, LOCK_FAIR, true), ACQUIRE_GRANTED);
  assert_int_equal(lets_go(redisson(ANNA), 2).outcome, RELEASE_DONE);
  assert_int_equal(asks(redisson(ANNA), 3, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(asks(redisson(BERT), 1, LOCK_FAIR, true), ACQUIRE_GRANTED);
}

/* An asking that was on its way behind the grant found the lease over, and queued. */
TEST(a_fair_release_leaves_no_place_behind)
{
  assert_int_equal(asks(redisson(ANNA), 1, LOCK_FAIR, true), ACQUIRE_GRANTED);
  assert_string_equal(run("DEL " NAME), "1");
  assert_int_equal(asks(redisson(BERT), 1, LOCK_FAIR, true), ACQUIRE_GRANTED);
  assert_int_equal(asks(redisson(ANNA), 1, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(number("LLEN " QUEUE), 1);
  assert_int_equal(lets_go(redisson(ANNA), 1).outcome, RELEASE_TAKEN);
  assert_int_equal(number("EXISTS " QUEUE " " DEADLINES), 0);
}

TEST(a_fair_release_tells_the_head_alone_and_calls_nobody_a_listener)
{
  assert_int_equal(asks(redisson(ANNA), 1, LOCK_FAIR, true), ACQUIRE_GRANTED);
  assert_int_equal(number("RPUSH " QUEUE " " JAVA), 1);
  assert_int_equal(number("ZADD " DEADLINES " 9999999999999 " JAVA), 1);
  ear_open("redisson_lock__channel:{x}:" JAVA);
  assert_int_equal(lets_go(redisson(ANNA), 1).heard, 0);
  assert_int_equal(ear_count(), 1);
  ear_close();
}

/* ---- Redisson's: readers and writers ---- */

TEST(a_reader_s_release_leaves_the_others_and_their_end)
{
  assert_int_equal(shares(redisson(ANNA), 1, 'r', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(shares(redisson(BERT), 1, 'r', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(shares(redisson(CARL), 1, 'r', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(shares(redisson(DORA), 1, 'w', 1, true).outcome, ACQUIRE_WAITING);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'r', 1, 3 * TTL_MS).remaining_ms, 3 * TTL_MS);
  ear_open("redisson_rwlock:{x}");
  assert_int_equal(ends(redisson(CARL), 1, 'r', 1).heard, 0);
  assert_in_range(number("PTTL " NAME), 2 * TTL_MS, 3 * TTL_MS);
  assert_int_equal(ends(redisson(ANNA), 1, 'r', 1).heard, 0);
  assert_int_equal(number("HLEN " NAME), 2);
  assert_in_range(number("PTTL " NAME), 1, TTL_MS);
  assert_int_equal(ends(redisson(BERT), 1, 'r', 1).heard, 1);
  assert_int_equal(number("DBSIZE"), 0);
  assert_int_equal(ends(redisson(BERT), 1, 'r', 1).outcome, RELEASE_GONE);
  ear_close();
}

TEST(a_writer_is_alone_and_asks_twice_without_counting_twice)
{
  assert_int_equal(shares(redisson(ANNA), 1, 'w', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(shares(redisson(ANNA), 1, 'w', 1, true).outcome, ACQUIRE_AGAIN);
  assert_int_equal(shares(redisson(ANNA), 2, 'r', 1, false).outcome, ACQUIRE_BUSY);
  assert_false(share_renews(redisson(BERT), 1, 'w', 1, TTL_MS).is_ours);
  assert_int_equal(ends(redisson(BERT), 1, 'w', 1).outcome, RELEASE_GONE);
  assert_int_equal(ends(redisson(ANNA), 1, 'w', 1).outcome, RELEASE_DONE);
  assert_int_equal(number("DBSIZE"), 0);
}

/* As also a token's renewal, which does not know that it is of a reader. */
TEST(a_reader_is_renewed_to_no_more_than_30_s)
{
  assert_int_equal(shares(redisson(ANNA), 1, 'r', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'r', 1, 60000).remaining_ms, 30000);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'w', 0, 60000).remaining_ms, 30000);
  assert_in_range(number("PTTL " NAME), 29000, 30000);
  assert_int_equal(ends(redisson(ANNA), 1, 'r', 1).outcome, RELEASE_DONE);
  assert_int_equal(shares(redisson(ANNA), 2, 'w', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_renews(redisson(ANNA), 2, 'w', 1, 60000).remaining_ms, 60000);
}

/* The copy of a request that was on its way when its writer became a reader. */
TEST(a_renewal_of_a_writer_that_has_become_a_reader_changes_nothing)
{
  renew_answer a;

  assert_int_equal(shares(redisson(ANNA), 1, 'w', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'w', 1, 2 * TTL_MS).remaining_ms, 2 * TTL_MS);
  assert_true(share_renews(redisson(ANNA), 1, 'r', 1, 0).is_ours);
  a = share_renews(redisson(ANNA), 1, 'w', 1, 3 * TTL_MS);
  assert_true(a.is_ours);
  assert_int_equal(a.remaining_ms, 0);
  assert_string_equal(run("HGET " NAME " mode"), "read");
  assert_in_range(number("PTTL " NAME), 1, 2 * TTL_MS);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'r', 1, 3 * TTL_MS).remaining_ms, 3 * TTL_MS);
}

TEST(a_renewal_finds_its_lock_gone_also_where_a_semaphore_is_now)
{
  assert_int_equal(shares(redisson(ANNA), 1, 'r', 1, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(number("DEL " NAME), 1);
  assert_false(share_renews(redisson(ANNA), 1, 'r', 1, TTL_MS).is_ours);
  sets(redisson(ANNA), 3);
  assert_false(share_renews(redisson(ANNA), 1, 'r', 1, TTL_MS).is_ours);
  assert_false(share_renews(redisson(ANNA), 1, 'w', 1, TTL_MS).is_ours);
}

/* ---- Redisson's: permits ---- */

TEST(permits_are_taken_and_given_back_once)
{
  sets(redisson(ANNA), 3);
  assert_int_equal(shares(redisson(ANNA), 1, 'p', 2, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(shares(redisson(ANNA), 1, 'p', 2, true).outcome, ACQUIRE_AGAIN);
  assert_string_equal(run("GET " NAME), "1");
  assert_int_equal(shares(redisson(BERT), 1, 'p', 2, true).outcome, ACQUIRE_WAITING);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'p', 2, 2 * TTL_MS).remaining_ms, 2 * TTL_MS);
  ear_open("redisson_sc:{x}");
  assert_int_equal(ends(redisson(ANNA), 1, 'p', 2).heard, 1);
  assert_string_equal(run("GET " NAME), "3");
  assert_int_equal(ends(redisson(ANNA), 1, 'p', 2).outcome, RELEASE_GONE);
  assert_string_equal(run("GET " NAME), "3");
  assert_int_equal(number("EXISTS {x}:timeout"), 0);
  ear_close();
}

/* One of them ended, or was taken by force; the other comes back. */
TEST(a_release_of_permits_that_are_not_all_there_is_told_expired)
{
  sets(redisson(ANNA), 3);
  assert_int_equal(shares(redisson(ANNA), 1, 'p', 2, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(number("ZREMRANGEBYRANK {x}:timeout 1 1"), 1);
  assert_false(share_renews(redisson(ANNA), 1, 'p', 2, 2 * TTL_MS).is_ours);
  assert_int_equal(ends(redisson(ANNA), 1, 'p', 2).outcome, RELEASE_GONE);
  assert_string_equal(run("GET " NAME), "2");
}

TEST(an_ask_that_comes_again_takes_what_it_has_lost_and_no_more)
{
  sets(redisson(ANNA), 5);
  assert_int_equal(shares(redisson(ANNA), 1, 'p', 3, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(number("ZREMRANGEBYRANK {x}:timeout 0 0"), 1);
  assert_int_equal(number("INCR " NAME), 3);
  assert_int_equal(shares(redisson(ANNA), 1, 'p', 3, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(number("ZCARD {x}:timeout"), 3);
  assert_string_equal(run("GET " NAME), "2");
}

/* Of 1200 permits, which are three steps of the script, one has been taken by force. */
TEST(a_token_s_renewal_and_release_go_past_a_permit_that_is_gone)
{
  sets(redisson(ANNA), 2000);
  assert_int_equal(shares(redisson(ANNA), 1, 'p', 1200, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(number("ZREMRANGEBYRANK {x}:timeout 2 2"), 1);
  assert_int_equal(share_renews(redisson(ANNA), 1, 'w', 0, 3 * TTL_MS).remaining_ms, 3 * TTL_MS);
  assert_int_equal(number("ZCOUNT {x}:timeout -inf %lld",
                          (long long)(world_time_us(w) / 1000 + 2 * TTL_MS)), 0);
  assert_int_equal(ends(redisson(ANNA), 1, 'p', 0).outcome, RELEASE_DONE);
  assert_int_equal(number("EXISTS {x}:timeout"), 0);
  assert_string_equal(run("GET " NAME), "1999");
}

/* The right to note permits is missing, and that to count them is not. */
TEST_WITH(permits_that_cannot_be_noted_are_not_taken, stage_clear, NULL)
{
  share_call c = { .name = NAME, .name_size = strlen(NAME), .ask = 1, .mode = 'p', .units = 2,
                   .ttl_ms = TTL_MS };
  protocol anna = redisson(ANNA);

  sets(anna, 3);
  assert_string_equal(run("ACL SETUSER %s -zadd -set", mode_user()), "OK");
  for (int i = 0; i < 2; i++) {
    assert_true(RENDERED(anna.dialect->share_acquire, &anna, world_buffer(w), true, &c));
    assert_int_equal(resp_root(stage_send())->kind, RESP_ERROR);
    assert_string_equal(run("GET " NAME), "3");
    c.kind = LOCK_COUNTER;
  }
  assert_string_equal(run("ACL SETUSER %s +zadd +set", mode_user()), "OK");
}

/* What was rendered, sent by a user without the right to `command`. */
static void is_refused_without(const char *command)
{
  bool is_refused;

  assert_string_equal(run("ACL SETUSER %s -%s", mode_user(), command), "OK");
  is_refused = resp_root(stage_send())->kind == RESP_ERROR;
  assert_string_equal(run("ACL SETUSER %s +%s", mode_user(), command), "OK");
  if (!is_refused)
    fail_msg("it is done without %s", command);
}

/* The right to count permits is missing, and that to remove their holder is not. */
TEST_WITH(permits_that_cannot_be_counted_stay_with_their_holder, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  share_ending e = { .name = NAME, .name_size = strlen(NAME), .lease = lease_of(&anna, 1),
                     .units = 2, .ttl_ms = TTL_MS };

  sets(anna, 3);
  assert_int_equal(shares(anna, 1, 'p', 2, false).outcome, ACQUIRE_GRANTED);
  assert_true(RENDERED(anna.dialect->share_release, &anna, world_buffer(w), true, &e));
  is_refused_without("incrby");
  assert_int_equal(ends(anna, 1, 'p', 2).outcome, RELEASE_DONE);
  assert_string_equal(run("GET " NAME), "3");
}

TEST_WITH(permits_of_the_dead_that_cannot_be_counted_stay_theirs, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  share_call c = { .name = NAME, .name_size = strlen(NAME), .ask = 1, .mode = 'p', .units = 1,
                   .ttl_ms = TTL_MS };

  sets(anna, 3);
  (void)run("DECRBY " NAME " 2");
  (void)run("ZADD {x}:timeout 1 one 2 two");
  assert_true(RENDERED(anna.dialect->share_acquire, &anna, world_buffer(w), true, &c));
  is_refused_without("incrby");
  assert_int_equal(shares(anna, 2, 'p', 3, false).outcome, ACQUIRE_GRANTED);
}

/* Those of an ask of a plain semaphore, which its client gives up without knowing what it got. */
TEST_WITH(permits_without_a_lease_that_cannot_be_counted_are_not_forgotten, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  share_ending e = { .name = NAME, .name_size = strlen(NAME), .lease = lease_of(&anna, 1),
                     .copies_us = COPIES_US };

  sets(anna, 3);
  assert_int_equal(shares(anna, 1, 'u', 2, false).outcome, ACQUIRE_GRANTED);
  assert_true(RENDERED(anna.dialect->share_cancel, &anna, world_buffer(w), true, &e));
  is_refused_without("incrby");
  share_cancels(anna, 1);
  assert_string_equal(run("GET " NAME), "3");
}

TEST_WITH(a_full_server_grants_no_permits_and_takes_them_back, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  share_call c = { .name = NAME, .name_size = strlen(NAME), .ask = 2, .mode = 'p', .units = 1,
                   .ttl_ms = TTL_MS };

  sets(anna, 3);
  assert_int_equal(shares(anna, 1, 'p', 2, false).outcome, ACQUIRE_GRANTED);
  stage_fill_memory();
  assert_true(RENDERED(anna.dialect->share_acquire, &anna, world_buffer(w), true, &c));
  assert_int_equal(resp_root(stage_send())->kind, RESP_ERROR);
  assert_string_equal(run("GET " NAME), "1");
  assert_int_equal(ends(anna, 1, 'p', 2).outcome, RELEASE_DONE);
  assert_string_equal(run("GET " NAME), "3");
}

TEST(permits_without_a_lease_come_back_once_though_asked_for_twice)
{
  sets(redisson(ANNA), 3);
  assert_int_equal(shares(redisson(ANNA), 1, 'u', 2, true).outcome, ACQUIRE_GRANTED);
  assert_int_equal(shares(redisson(ANNA), 1, 'u', 2, true).outcome, ACQUIRE_AGAIN);
  assert_string_equal(run("GET " NAME), "1");
  assert_int_equal(ends(redisson(ANNA), 1, 'u', 2).outcome, RELEASE_DONE);
  assert_int_equal(ends(redisson(ANNA), 1, 'u', 2).outcome, RELEASE_DONE);
  assert_string_equal(run("GET " NAME), "3");
}

/* ---- without one of the rights ---- */

/* It would never end. */
TEST_WITH(a_lock_that_cannot_get_an_end_is_not_taken, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  acquire_call c = { .name = NAME, .name_size = strlen(NAME), .ask = 1, .ttl_ms = TTL_MS };

  assert_true(RENDERED(anna.dialect->acquire, &anna, world_buffer(w), true, &c));
  is_refused_without("pexpire");
  assert_int_equal(number("EXISTS " NAME), 0);
  c.kind = LOCK_FENCED;
  assert_true(RENDERED(anna.dialect->acquire, &anna, world_buffer(w), true, &c));
  is_refused_without("incr");
  assert_int_equal(number("EXISTS " NAME), 0);
}

TEST_WITH(a_share_that_cannot_get_an_end_is_not_taken, stage_clear, NULL)
{
  static const char *const commands[] = { "pexpire", "set" };
  protocol anna = redisson(ANNA);
  share_call c = { .name = NAME, .name_size = strlen(NAME), .ask = 2, .units = 1,
                   .ttl_ms = TTL_MS };

  for (int is_read = 0; is_read < 2; is_read++)
    for (int i = 0; i <= is_read; i++) {
      c.mode = is_read ? 'r' : 'w';
      assert_true(RENDERED(anna.dialect->share_acquire, &anna, world_buffer(w), true, &c));
      is_refused_without(commands[i]);
      assert_int_equal(number("EXISTS " NAME), 0);
    }
  assert_int_equal(shares(redisson(BERT), 1, 'r', 1, false).outcome, ACQUIRE_GRANTED);
  for (int i = 0; i < 2; i++) {
    assert_true(RENDERED(anna.dialect->share_acquire, &anna, world_buffer(w), true, &c));
    is_refused_without(commands[i]);
    assert_int_equal(number("HLEN " NAME), 2);
  }
}

/* Else it is the head after a release, or of a queue in which it has no place. */
TEST_WITH(a_place_in_a_fair_queue_is_whole, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  acquire_call c = { .name = NAME, .name_size = strlen(NAME), .ask = 1, .ttl_ms = TTL_MS,
                     .waits = true, .kind = LOCK_FAIR };

  assert_int_equal(asks(redisson(BERT), 1, LOCK_FAIR, true), ACQUIRE_GRANTED);
  assert_true(RENDERED(anna.dialect->acquire, &anna, world_buffer(w), true, &c));
  is_refused_without("rpush");
  assert_int_equal(number("EXISTS " DEADLINES), 0);
  assert_true(RENDERED(anna.dialect->acquire, &anna, world_buffer(w), true, &c));
  is_refused_without("zadd");
  assert_int_equal(asks(redisson(CARL), 1, LOCK_FAIR, true), ACQUIRE_WAITING);
  assert_int_equal(number("LLEN " QUEUE), 1);
}

TEST_WITH(a_writer_that_cannot_become_a_reader_writes_on, stage_clear, NULL)
{
  static const char *const commands[] = { "hdel", "hset", "set" };
  protocol anna = redisson(ANNA);
  lease_id l = lease_of(&anna, 1);
  share_renew_item one = { NAME, strlen(NAME), &l, TTL_MS, 'r', 1, false };

  assert_int_equal(shares(anna, 1, 'w', 1, false).outcome, ACQUIRE_GRANTED);
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    assert_true(RENDERED(anna.dialect->share_renew, &anna, world_buffer(w), true, &one, 1, 0));
    is_refused_without(commands[i]);
    assert_int_equal(shares(redisson(BERT), 1, 'r', 1, false).outcome, ACQUIRE_BUSY);
    assert_true(share_renews(anna, 1, 'w', 1, TTL_MS).remaining_ms > 0);
  }
}

/* A writer of Java that reads, too, beside ours: no other could read after half of this. */
TEST_WITH(a_writer_whose_end_is_refused_writes_on, stage_clear, NULL)
{
  static const char *const commands[] = { "hdel", "hset", "hgetall", "pttl" };
  protocol anna = redisson(ANNA);
  share_ending e = { .name = NAME, .name_size = strlen(NAME), .lease = lease_of(&anna, 1),
                     .units = 1, .ttl_ms = TTL_MS };

  assert_int_equal(shares(anna, 1, 'w', 1, false).outcome, ACQUIRE_GRANTED);
  assert_int_equal(number("HSET " NAME " " JAVA " 1"), 1);
  assert_string_equal(run("SET {x}:" JAVA ":rwlock_timeout:1 1 PX %d", TTL_MS), "OK");
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    assert_true(RENDERED(anna.dialect->share_release, &anna, world_buffer(w), true, &e));
    is_refused_without(commands[i]);
    assert_true(share_renews(anna, 1, 'w', 1, TTL_MS).remaining_ms > 0);
  }
  assert_int_equal(ends(anna, 1, 'w', 1).outcome, RELEASE_DONE);
  assert_string_equal(run("HGET " NAME " mode"), "read");
  assert_int_equal(shares(redisson(BERT), 1, 'r', 1, false).outcome, ACQUIRE_GRANTED);
}

/* It may still believe in it, and the reply names the right that is missing for the others. */
TEST_WITH(an_owner_learns_of_a_break_whose_end_is_refused, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  lease_id l = { .client = "uYPBU3QhRpqt20T7kiWaGw", .ask = 42 };   /* JAVA */

  assert_int_equal(number("HSET " NAME " " JAVA " 1"), 1);
  ear_open("redisson_lock__channel:{x}:" JAVA);
  assert_true(RENDERED(anna.dialect->break_lease, &anna, world_buffer(w), true, NAME,
                       strlen(NAME), &l, 0));
  is_refused_without("lindex");
  assert_int_equal(number("EXISTS " NAME), 0);
  assert_int_equal(ear_count(), 1);
  ear_close();
}

TEST_WITH(a_permit_that_cannot_be_counted_is_not_broken, stage_clear, NULL)
{
  protocol anna = redisson(ANNA);
  lease_id l = { .client = "MDEyMzQ1Njc4OWFiY2RlZg", .ask = 1 };   /* by base64url */
  release_answer a;

  sets(anna, 2);
  assert_int_equal(number("ZADD {x}:timeout 9999999999999 0123456789abcdef"), 1);
  assert_true(RENDERED(anna.dialect->break_lease, &anna, world_buffer(w), true, NAME,
                       strlen(NAME), &l, 0));
  is_refused_without("incrby");
  assert_true(RENDERED(anna.dialect->break_lease, &anna, world_buffer(w), true, NAME,
                       strlen(NAME), &l, 0));
  assert_true(native_release_answer(stage_send(), &a));
  assert_int_equal(a.outcome, RELEASE_DONE);
  assert_string_equal(run("GET " NAME), "3");
}

/* Without the note of its end each copy of the release adds them once more. */
TEST_WITH(permits_without_a_lease_whose_end_cannot_be_noted_are_kept, stage_clear, NULL)
{
  static const char *const commands[] = { "set", "del", "incrby" };
  protocol anna = redisson(ANNA);
  share_ending e = { .name = NAME, .name_size = strlen(NAME), .lease = lease_of(&anna, 1),
                     .kind = LOCK_COUNTER, .units = 2, .ttl_ms = TTL_MS };

  sets(anna, 3);
  assert_int_equal(shares(anna, 1, 'u', 2, false).outcome, ACQUIRE_GRANTED);
  for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++) {
    assert_true(RENDERED(anna.dialect->share_release, &anna, world_buffer(w), true, &e));
    is_refused_without(commands[i]);
    assert_string_equal(run("GET " NAME), "1");
  }
  assert_int_equal(ends(anna, 1, 'u', 2).outcome, RELEASE_DONE);
  assert_string_equal(run("GET " NAME), "3");
}

/* ---- Spring's, plain ---- */

TEST(a_late_release_of_an_older_ask_ends_nothing_of_spring_s)
{
  assert_int_equal(asks(spring(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(asks(spring(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_AGAIN);
  assert_int_equal(lets_go(spring(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(asks(spring(ANNA), 2, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(lets_go(spring(ANNA), 1).outcome, RELEASE_TAKEN);
  assert_false(renews(spring(ANNA), 1, TTL_MS).is_ours);
  assert_int_equal(renews(spring(ANNA), 2, 2 * TTL_MS).remaining_ms, 2 * TTL_MS);
  assert_int_equal(number("EXISTS locks:x"), 1);
}

/* Its registries listen by a pattern that stands for ever: who hears may be nobody who waits. */
TEST(a_release_of_spring_s_tells_and_calls_nobody_a_listener)
{
  assert_int_equal(asks(spring(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  ear_open("locks-channel:locks:x");
  assert_int_equal(lets_go(spring(ANNA), 1).heard, 0);
  assert_int_equal(ear_count(), 1);
  ear_close();
}

TEST(a_plain_lock_is_its_owner_s_alone_and_never_shortened)
{
  assert_int_equal(asks(plain(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(asks(plain(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_AGAIN);
  assert_int_equal(asks(plain(BERT), 1, LOCK_MUTEX, true), ACQUIRE_WAITING);
  assert_int_equal(lets_go(plain(BERT), 1).outcome, RELEASE_TAKEN);
  assert_false(renews(plain(BERT), 1, TTL_MS).is_ours);
  assert_in_range(renews(plain(ANNA), 1, TTL_MS / 2).remaining_ms, TTL_MS / 2 + 1, TTL_MS);
  assert_int_equal(lets_go(plain(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(lets_go(plain(ANNA), 1).outcome, RELEASE_GONE);
}

/* By the one message that dibs.redis_py publishes, too. */
TEST(each_end_of_a_plain_lock_is_published_once)
{
  ear_open("dibs:free:" NAME);
  assert_int_equal(asks(plain(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(lets_go(plain(BERT), 1).outcome, RELEASE_TAKEN);
  assert_int_equal(breaks(plain(BERT), 1).outcome, RELEASE_TAKEN);
  cancels(plain(BERT), 1);
  assert_int_equal(ear_count(), 0);
  assert_int_equal(lets_go(plain(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(lets_go(plain(ANNA), 1).outcome, RELEASE_GONE);
  assert_int_equal(ear_count(), 1);
  assert_int_equal(asks(plain(ANNA), 2, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  cancels(plain(ANNA), 2);
  assert_int_equal(ear_count(), 1);
  assert_int_equal(asks(plain(ANNA), 3, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(breaks(plain(ANNA), 3).outcome, RELEASE_DONE);
  assert_int_equal(ear_count(), 1);
  ear_close();
}

TEST_WITH(a_plain_lock_is_released_without_the_right_to_publish, stage_clear, NULL)
{
  assert_int_equal(asks(plain(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_string_equal(run("ACL SETUSER %s -publish", mode_user()), "OK");
  assert_int_equal(lets_go(plain(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(number("EXISTS " NAME), 0);
  assert_string_equal(run("ACL SETUSER %s +publish", mode_user()), "OK");
}

TEST_WITH(a_lock_of_spring_s_ends_without_the_right_to_publish, stage_clear, NULL)
{
  assert_string_equal(run("ACL SETUSER %s -publish", mode_user()), "OK");
  assert_int_equal(asks(spring(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(lets_go(spring(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(asks(spring(ANNA), 2, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  cancels(spring(ANNA), 2);
  assert_int_equal(asks(spring(ANNA), 3, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  assert_int_equal(breaks(spring(ANNA), 3).outcome, RELEASE_DONE);
  assert_int_equal(number("EXISTS locks:x"), 0);
  assert_string_equal(run("ACL SETUSER %s +publish", mode_user()), "OK");
}

/* A user may have the right to one of its two channels only. */
TEST_WITH(spring_s_channels_are_told_one_without_the_other, stage_clear, NULL)
{
  assert_string_equal(run("ACL SETUSER %s resetchannels &locks-channel", mode_user()), "OK");
  assert_int_equal(asks(spring(ANNA), 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
  ear_open("locks-channel");
  assert_int_equal(lets_go(spring(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(ear_count(), 1);
  ear_close();
  assert_string_equal(run("ACL SETUSER %s allchannels", mode_user()), "OK");
}

/* ---- tokens ---- */

static uint64_t token_of(protocol n, uint64_t ask, uint64_t min_token, lock_kind kind)
{
  acquire_call c = { .name = NAME, .name_size = strlen(NAME), .ask = ask, .ttl_ms = TTL_MS,
                     .kind = kind, .min_token = min_token };
  acquire_answer a;

  assert_true(RENDERED(n.dialect->acquire, &n, world_buffer(w), true, &c));
  assert_true(native_acquire_answer(&n, ask, TTL_MS, stage_send(), &a));
  assert_true(a.outcome == ACQUIRE_GRANTED || a.outcome == ACQUIRE_AGAIN);
  return a.lease.token;
}

static protocol voter(protocol n)
{
  n.is_voter = true;
  return n;
}

/* A lease that is longer than the ten minutes of the key, whose grant was not heard. */
TEST(a_lease_whose_token_is_forgotten_has_none_below_earlier_ones)
{
  const protocol all[] = { plain(ANNA), voter(redisson(ANNA)) };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    uint64_t first = token_of(all[i], 1, 0, LOCK_MUTEX), again;

    assert_int_equal(token_of(all[i], 1, 0, LOCK_MUTEX), first);
    assert_int_equal(number("DEL " TOKEN), 1);
    again = token_of(all[i], 1, 0, LOCK_MUTEX);
    assert_true(again >= first);
    assert_int_equal(token_of(all[i], 1, 0, LOCK_MUTEX), again);
    assert_int_equal(lets_go(all[i], 1).outcome, RELEASE_DONE);
    assert_true(token_of(all[i], 2, 0, LOCK_MUTEX) > again);
    assert_string_equal(run("FLUSHALL"), "OK");
  }
}

TEST(a_writer_whose_token_is_forgotten_has_none_below_earlier_ones)
{
  protocol anna = voter(redisson(ANNA));
  uint64_t first = shares(anna, 1, 'w', 1, true).lease.token;

  assert_int_equal(shares(anna, 1, 'w', 1, true).lease.token, first);
  assert_int_equal(number("DEL " TOKEN), 1);
  assert_true(shares(anna, 1, 'w', 1, true).lease.token >= first);
}

TEST(a_fenced_lock_whose_counter_is_lost_has_a_fence_above_the_last_of_this_client)
{
  assert_int_equal(token_of(redisson(ANNA), 1, 41, LOCK_FENCED), 42);
  assert_int_equal(number("DEL redisson_lock_token:{x}"), 1);
  assert_int_equal(token_of(redisson(ANNA), 1, 41, LOCK_FENCED), 42);
  assert_int_equal(token_of(redisson(ANNA), 1, 41, LOCK_FENCED), 42);
  assert_int_equal(lets_go(redisson(ANNA), 1).outcome, RELEASE_DONE);
  assert_int_equal(token_of(redisson(BERT), 1, 0, LOCK_FENCED), 43);
}

/* Of another program, or a number that no clock shows before 2112. */
TEST(a_stored_token_that_no_clock_made_is_ignored)
{
  static const char *const odd[] = { "9007199254740992", "4503599627370495", "words", "nan" };
  const protocol all[] = { plain(ANNA), voter(redisson(ANNA)) };
  uint64_t ask = 0;

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    for (size_t j = 0; j < sizeof(odd) / sizeof(odd[0]); j++) {
      uint64_t token;

      assert_string_equal(run("SET " TOKEN " %s", odd[j]), "OK");
      token = token_of(all[i], ++ask, 0, LOCK_MUTEX);
      assert_in_range(token, world_time_us(w) - 60000000, world_time_us(w));
      assert_string_equal(run("SET " TOKEN " %s", odd[j]), "OK");
      assert_true(token_of(all[i], ask, 0, LOCK_MUTEX) >= token);
      assert_int_equal(lets_go(all[i], ask).outcome, RELEASE_DONE);
    }
}

/* Else the proposed token of a quorum would be no one's. */
TEST(a_token_is_raised_above_a_stored_one_that_no_clock_made)
{
  const protocol all[] = { plain(ANNA), voter(redisson(ANNA)) };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    lease_id l = lease_of(&all[i], 1);
    uint64_t high = token_of(all[i], 1, 0, LOCK_MUTEX) + 1000000000;

    assert_string_equal(run("SET " TOKEN " 9007199254740992"), "OK");
    assert_true(RENDERED(all[i].dialect->raise, &all[i], world_buffer(w), true, NAME,
                         strlen(NAME), &l, high));
    assert_int_equal(resp_root(stage_send())->integer, 1);
    assert_int_equal(strtoull(run("GET " TOKEN), NULL, 10), high);
    assert_string_equal(run("FLUSHALL"), "OK");
  }
}

TEST(a_cancelled_ask_is_over_in_each_dialect)
{
  const protocol all[] = { redisson(ANNA), spring(ANNA), plain(ANNA) };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    assert_int_equal(asks(all[i], 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
    cancels(all[i], 1);
    assert_int_equal(asks(all[i], 1, LOCK_MUTEX, true), ACQUIRE_ENDED);
    assert_int_equal(asks(all[i], 2, LOCK_MUTEX, true), ACQUIRE_GRANTED);
    assert_int_equal(lets_go(all[i], 2).outcome, RELEASE_DONE);
    assert_string_equal(run("FLUSHALL"), "OK");
  }
}

/* The end of the lease makes room for the record of it. */
TEST_WITH(a_cancelled_ask_is_over_on_a_full_server_too, stage_clear, NULL)
{
  const protocol all[] = { redisson(ANNA), spring(ANNA), plain(ANNA) };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    assert_int_equal(asks(all[i], 1, LOCK_MUTEX, true), ACQUIRE_GRANTED);
    stage_fill_memory();
    cancels(all[i], 1);
    stage_empty_memory();
    assert_int_equal(asks(all[i], 1, LOCK_MUTEX, true), ACQUIRE_ENDED);
    assert_string_equal(run("FLUSHALL"), "OK");
  }
}

TEST(a_cancelled_share_is_over_of_each_kind)
{
  for (const char *mode = "rwp"; *mode != 0; mode++) {
    if (*mode == 'p')
      sets(redisson(ANNA), 1);
    assert_int_equal(shares(redisson(ANNA), 1, *mode, 1, true).outcome, ACQUIRE_GRANTED);
    assert_int_equal(shares(redisson(ANNA), 1, *mode, 1, true).outcome, ACQUIRE_AGAIN);
    share_cancels(redisson(ANNA), 1);
    assert_int_equal(shares(redisson(ANNA), 1, *mode, 1, true).outcome, ACQUIRE_ENDED);
    assert_int_equal(shares(redisson(ANNA), 2, *mode, 1, true).outcome, ACQUIRE_GRANTED);
    assert_int_equal(ends(redisson(ANNA), 2, *mode, 1).outcome, RELEASE_DONE);
    assert_string_equal(run("FLUSHALL"), "OK");
  }
}

/* Of a share there may be nothing to remove: the ask is still on its way, and others read. */
TEST_WITH(a_cancelled_share_beside_others_is_over_on_a_full_server_too, stage_clear, NULL)
{
  assert_int_equal(shares(redisson(BERT), 1, 'r', 1, false).outcome, ACQUIRE_GRANTED);
  stage_fill_memory();
  share_cancels(redisson(ANNA), 1);
  stage_empty_memory();
  assert_int_equal(shares(redisson(ANNA), 1, 'r', 1, false).outcome, ACQUIRE_ENDED);
}

RUN_STAGE(stage_start, stage_stop, stage_clear, stage_check_errors)
