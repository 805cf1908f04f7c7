/* SPDX-License-Identifier: MIT */
/* The limit of a request, in every script that takes one: after it the script is refused and
 * changes nothing; before it, and without one, the same request is executed. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "dialect/data.h"
#include "dialect/dialect.h"
#include "dialect/native/barrier.h"
#include "dialect/native/election.h"
#include "dialect/native/guard.h"
#include "dialect/native/latch.h"
#include "dialect/redisson/rate.h"
#include "server.h"
#include "stage.h"

#define NAME { "x", 1 }
#define NAMED .name = "x", .name_size = 1

enum { TTL_MS = 20000 };

static const uint8_t id[RATE_ID_SIZE] = { 7 };
static protocol by;                  /* who asks, in which dialect */
static lease_id lease;

/* ---- the requests ---- */

static const guard_call guarded = { .key = "k", .key_size = 1, .fence = 9, .number = 1 };
static const latch_call latch = { NAMED, .number = 1, .count = 2, .id = "job", .id_size = 3 };
static const rate_call rate = { NAMED, .permits = 1, .id = id, .number = 1, .rate = 5,
                                .interval_ms = TTL_MS, .how = 's' };
static const resp_argument words[] = { { "f", 1 }, { "1", 1 }, { "g", 1 }, { "2", 1 } };

static bool g_set(request *r) { return native_guarded_set(&by, r, &guarded, words[1], 0); }
static bool g_incr(request *r) { return native_guarded_incr(&by, r, &guarded, 1); }
static bool g_del(request *r) { return native_guarded_del(&by, r, &guarded); }
static bool g_hset(request *r) { return native_guarded_hset(&by, r, &guarded, words, 4); }
static bool g_hdel(request *r) { return native_guarded_hdel(&by, r, &guarded, words, 1); }
static bool l_set(request *r) { return native_latch_set(&by, r, &latch); }
static bool l_down(request *r) { return native_latch_down(&by, r, &latch); }
static bool l_delete(request *r) { return native_latch_delete(&by, r, &latch); }
static bool b_reset(request *r) { return native_barrier_reset(&by, r, "x", 1, 1); }
static bool r_set(request *r) { return rate_set(&by, r, &rate); }
static bool r_acquire(request *r) { return rate_acquire(&by, r, &rate); }
static bool r_release(request *r) { return rate_release(&by, r, &rate); }
static bool r_delete(request *r) { return rate_delete(&by, r, &rate); }

static bool b_arrive(request *r)
{
  const barrier_call c = { NAMED, .party = 1, .parties = 2, .generation = 1,
                           .silence_ms = 9000 };

  return native_barrier_arrive(&by, r, &c);
}

static bool e_publish(request *r)
{
  const publish_call c = { NAMED, .lease = &lease, .fence = 9, .publication = 1,
                           .ttl_ms = TTL_MS, .value = "v", .value_size = 1 };

  return native_elect_publish(&by, r, &c);
}

static bool p_set(request *r)
{
  return by.dialect->share_set(&by, r, "x", 1, SHARE_SET, 3, 0);
}

static bool d_release(request *r)
{
  return by.dialect->release(&by, r, "x", 1, &lease, 0, 0);
}

static bool d_break(request *r)
{
  return by.dialect->break_lease(&by, r, "x", 1, &lease, 0);
}

static bool d_renew(request *r)
{
  const renew_item one = { NAMED, .lease = &lease, .ttl_ms = 2 * TTL_MS };

  return by.dialect->renew(&by, r, &one, 1, 0);
}

static bool s_release(request *r)
{
  const share_ending e = { NAMED, .lease = lease };

  return by.dialect->share_release(&by, r, &e);
}

static bool s_renew(request *r)
{
  const share_renew_item one = { NAMED, .lease = &lease, .ttl_ms = TTL_MS, .mode = 'w' };

  return by.dialect->share_renew(&by, r, &one, 1, 0);
}

static bool m_release(request *r)
{
  const many_name names[] = { NAME, { "y", 1 } };

  return native_many_release(&by, r, names, 2, &lease, 0);
}

static bool data(request *r, data_verb verb)
{
  const data_call c = { .verb = verb, .name = NAME, .key = { "f", 1 }, .value = { "v", 1 },
                        .expected = { "v", 1 }, .number = verb == DATA_EXPIRE ? TTL_MS : 0,
                        .count = 1 };

  return data_encode(&by, r, &c);
}

/* ---- each of them ---- */

typedef enum sending { LATE, IN_TIME, WITHOUT } sending;

static int64_t now_us(void)
{
  return test_server_integer(world_server(w), "EVAL %s 0", "return redis.call('TIME')[1]+0") *
         1000000;
}

static const char *digest(void)
{
  return test_server_command(world_server(w), "DEBUG DIGEST");
}

/* Whether it was refused as late. */
static bool send(const request *made, sending how)
{
  const resp_node *said;
  request r;

  request_init(&r, &world_buffer(w)->memory);
  assert_true(request_copy(&r, made));
  r.has_limit = how != WITHOUT;
  r.limit_us = how == LATE ? now_us() - 1 : now_us() + 60000000;
  r.carries_text = true;
  assert_true(request_render(&r, by.uses_functions, world_buffer(w)));
  request_deinit(&r);
  said = resp_root(stage_send());
  return said->kind == RESP_ERROR && resp_fault_of(said->bytes, said->size) == RESP_FAULT_LATE;
}

/* `may_lack`: the locks of this client send it without a limit. */
static void check(const char *what, const request *r, bool may_lack)
{
  char before[64];

  (void)snprintf(before, sizeof(before), "%s", digest());
  if (!send(r, LATE))
    fail_msg("%s is executed after its limit", what);
  assert_string_equal(digest(), before);
  if (may_lack ? send(r, WITHOUT) : send(r, IN_TIME))
    fail_msg("%s is late before its limit", what);
  if (may_lack && send(r, IN_TIME))
    fail_msg("%s is late before its limit", what);
}

typedef struct late_case { const char *name; bool (*make)(request *r); bool may_lack; } late_case;

static void check_all(const late_case *cases, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    request r;

    request_init(&r, &world_buffer(w)->memory);
    assert_true(cases[i].make(&r));
    assert_true(r.has_limit || cases[i].may_lack);
    check(cases[i].name, &r, cases[i].may_lack);
    request_deinit(&r);
  }
}

#define CHECK_ALL(cases) check_all((cases), sizeof(cases) / sizeof((cases)[0]))

static int begin(void **state)
{
  (void)stage_clear(state);
  by = *world_native(w, ANNA);
  by.dialect = &native_dialect;
  lease = (lease_id){ .ask = 1, .token = 5 };
  memcpy(lease.client, by.client, sizeof(lease.client));
  return 0;
}

TEST(a_late_request_of_the_native_protocol_is_refused)
{
  static const late_case cases[] = {
    { "guarded_set", g_set, false }, { "guarded_incr", g_incr, false },
    { "guarded_del", g_del, false }, { "guarded_hset", g_hset, false },
    { "guarded_hdel", g_hdel, false }, { "latch_set", l_set, false },
    { "latch_down", l_down, false }, { "latch_delete", l_delete, false },
    { "barrier_arrive", b_arrive, false }, { "barrier_reset", b_reset, false },
    { "elect_publish", e_publish, false }, { "share_set", p_set, false },
    { "share_release", s_release, true }, { "share_renew", s_renew, true },
    { "release", d_release, true }, { "break", d_break, false }, { "renew", d_renew, true },
    { "many_release", m_release, false },
  };

  CHECK_ALL(cases);
}

TEST(a_late_request_to_a_rate_limiter_is_refused)
{
  static const late_case cases[] = {
    { "rate_set", r_set, false }, { "rate_acquire", r_acquire, false },
    { "rate_release", r_release, false }, { "rate_delete", r_delete, false },
  };

  CHECK_ALL(cases);
}

TEST(a_late_request_of_another_dialect_is_refused)
{
  static const dialect_ops *const dialects[] = { &redisson_dialect, &spring_dialect,
                                                 &plain_dialect };
  static const late_case locks[] = {
    { "release", d_release, true }, { "break", d_break, false }, { "renew", d_renew, true },
  };
  static const late_case shares[] = {
    { "share_set", p_set, false }, { "share_release", s_release, true },
    { "share_renew", s_renew, true },
  };

  (void)snprintf(by.registry, sizeof(by.registry), "locks");
  for (size_t i = 0; i < sizeof(dialects) / sizeof(dialects[0]); i++) {
    by.dialect = dialects[i];
    CHECK_ALL(locks);
  }
  by.dialect = &redisson_dialect;
  CHECK_ALL(shares);
}

TEST(a_late_change_of_data_is_refused)
{
  for (int verb = DATA_MAP_SET; verb <= DATA_DELETE; verb++) {
    char what[32];
    request r;

    if (data_is_read((data_verb)verb))
      continue;
    (void)snprintf(what, sizeof(what), "data verb %d", verb);
    request_init(&r, &world_buffer(w)->memory);
    assert_true(data(&r, (data_verb)verb));
    assert_true(r.has_limit);
    check(what, &r, false);
    request_deinit(&r);
  }
}

RUN_STAGE(stage_start_with_debug, stage_stop, begin, NULL)
