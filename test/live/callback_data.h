/* SPDX-License-Identifier: MIT */
/* test/live/callback_data.h - what the tests of the data of callbacks share: each gives new data to
 * each call, whose on_..._free frees it. The sanitizers see a use after that, and the counts a
 * second or a missing one. */
#ifndef TEST_CALLBACK_DATA_H
#define TEST_CALLBACK_DATA_H

#include <stdlib.h>

#include "live.h"

enum { TTL_MS = 20000, SHORT_MS = 100, ALIVE = 0x600d, FREED = 0xdead };

typedef struct watched {
  _Atomic int state;
  int calls;                       /* of its callback */
} watched;

static _Atomic int given, freed, losses;

static inline watched *watched_new(void)
{
  watched *w = calloc(1, sizeof(*w));

  assert_non_null(w);
  w->state = ALIVE;
  given++;
  return w;
}

static inline void on_free(void *data)
{
  watched *w = data;

  if (atomic_exchange(&w->state, FREED) != ALIVE)
    live_fault("data was freed twice");
  freed++;
  free(w);
}

static inline void use(void *data)
{
  watched *w = data;

  if (w->state != ALIVE)
    live_fault("a callback got data that was freed");
  w->calls++;
}

static inline void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold;
  (void)loss;
  use(data);
  losses++;
}

/* New data for each call. */
static inline dibs_lock_options *options_of(dibs_lock_options *o, int ttl_ms, int wait_ms)
{
  *o = live_lock_options(ttl_ms, wait_ms);
  o->wait_ms = wait_ms;
  o->on_lost = on_lost;
  o->on_lost_data = watched_new();
  o->on_lost_free = on_free;
  return o;
}

static inline void expect_all_freed(void)
{
  assert_int_equal(live_faults(), 0);
  assert_int_equal(freed, given);
}

static inline bool all_are_freed(void *data)
{
  (void)data;
  return freed == given;
}

/* One hold of each kind, a second one of the same owner, and one that will linger. */
static inline void take_one_of_each(dibs_client *client, dibs_hold *ret_holds[8])
{
  static const char *const both[] = { "{set}one", "{set}two" };
  dibs_lock_options o;

  live_expect_ok(dibs_lock(client, "mutex", options_of(&o, TTL_MS, 0), &ret_holds[0]));
  live_expect_ok(dibs_lock(client, "mutex", options_of(&o, TTL_MS, 0), &ret_holds[1]));
  live_expect_ok(dibs_acquire(client, DIBS_READ("rw"), options_of(&o, TTL_MS, 0),
                              &ret_holds[2]));
  live_expect_ok(acquire_now(client, DIBS_READ("rw"), options_of(&o, TTL_MS, 0),
                             &ret_holds[3]));
  live_expect_ok(dibs_acquire(client, DIBS_PERMITS("permits", 2), options_of(&o, TTL_MS, 0),
                              &ret_holds[4]));
  live_expect_ok(acquire_names(client, both, 2, options_of(&o, TTL_MS, 0), &ret_holds[5]));
  live_expect_ok(dibs_acquire(client, DIBS_LEAD("job", "me"), options_of(&o, TTL_MS, 0),
                              &ret_holds[6]));
  (void)options_of(&o, TTL_MS, 0);
  o.linger_ms = 1000;
  live_expect_ok(dibs_lock(client, "lingers", &o, &ret_holds[7]));
}

/* ---- one server for each case ---- */

static inline int callback_data_setup(void **state)
{
  given = freed = losses = 0;
  return live_server_setup(state);
}

#define CASE(name) \
  cmocka_unit_test_setup_teardown(name, callback_data_setup, live_server_teardown)

#endif
