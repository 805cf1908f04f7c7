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
  bool is_lost;                    /* on_change has said so */
} watched;

static _Atomic int given, freed, losses;
static _Atomic int change_given, change_freed;     /* of on_change, beside on_lost */

static inline watched *watched_new(void)
{
  watched *w = calloc(1, sizeof(*w));

  assert_non_null(w);
  w->state = ALIVE;
  given++;
  return w;
}

static inline void end_data(watched *w)
{
  if (atomic_exchange(&w->state, FREED) != ALIVE)
    live_fault("data was freed twice");
  free(w);
}

static inline void on_free(void *data)
{
  end_data(data);
  freed++;
}

static inline void on_change_free(void *data)
{
  end_data(data);
  change_freed++;
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

/* Of one hold LOST is the last one, and comes once. */
static inline void on_change(dibs_hold *hold, const dibs_hold_info *info, dibs_change why,
                             void *data)
{
  watched *w = data;

  (void)hold;
  use(data);
  if (w->is_lost || (why == DIBS_CHANGE_LOST && info->valid_ms > 0))
    live_fault("on_change after a loss, or before it");
  w->is_lost = why == DIBS_CHANGE_LOST;
}

/* New data for each call. */
static inline dibs_lock_options *options_of(dibs_lock_options *o, int ttl_ms, int wait_ms)
{
  *o = live_lock_options(ttl_ms, wait_ms);
  o->wait_ms = wait_ms;
  o->on_lost = on_lost;
  o->on_lost_data = watched_new();
  o->on_lost_free = on_free;
  o->on_change = on_change;
  o->on_change_data = watched_new();
  o->on_change_free = on_change_free;
  given--;
  change_given++;
  return o;
}

static inline void expect_all_freed(void)
{
  assert_int_equal(live_faults(), 0);
  assert_int_equal(freed, given);
  assert_int_equal(change_freed, change_given);
}

static inline bool all_are_freed(void *data)
{
  (void)data;
  return freed == given && change_freed == change_given;
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
  given = freed = losses = change_given = change_freed = 0;
  return live_server_setup(state);
}

#endif
