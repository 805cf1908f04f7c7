/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/ways.c - every function that takes a lock or permits, in the situations that
 * dibs_lock() lists: all others list what it does. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

enum {
  WAITS = 1,      /* for other holders; the others are tries */
  TRIES = 2,
  REENTERS = 4,   /* an owner takes it twice; not permits */
  MUTEX = 8,      /* dibs_lock() and its like: min_replicas */
  NATIVE = 16     /* the dialect plain has none */
};

typedef dibs_status take(dibs_client *c, const char *what, const dibs_lock_options *o,
                         dibs_hold **ret_hold);

struct way {
  const char *what;
  unsigned traits;
  take *run;
  take *by_others;                 /* excludes it */
  take *of_another_kind;
};

static const struct way *way;

/* ---- the ways ---- */

static dibs_status one_permit(dibs_client *c, const char *what, const dibs_lock_options *o,
                              dibs_hold **ret_hold)
{
  dibs_status status = dibs_semaphore_set(c, dibs_text(what), 1, 0, NULL);

  return status == DIBS_OK ? dibs_acquire(c, DIBS_PERMITS(what, 1), o, ret_hold) : status;
}

/* Of a target, waiting for others or not. */
#define TAKES(run, try_run, target) \
  static dibs_status run(dibs_client *c, const char *what, const dibs_lock_options *o, \
                         dibs_hold **ret_hold) \
  { \
    return dibs_acquire(c, target, o, ret_hold); \
  } \
  static dibs_status try_run(dibs_client *c, const char *what, const dibs_lock_options *o, \
                             dibs_hold **ret_hold) \
  { \
    return acquire_now(c, target, o, ret_hold); \
  }

#define BOTH_NAMES ((const dibs_bytes[]){ dibs_text(what), dibs_text("beside it") })

TAKES(acquire, try_acquire, DIBS_LOCK(what))
TAKES(reader, try_reader, DIBS_READ(what))
TAKES(writer, try_writer, DIBS_WRITE(what))
TAKES(permit, try_permit, DIBS_PERMITS(what, 1))
TAKES(limit, try_limit, DIBS_PERMIT_OF(what, 1))
TAKES(all_free, try_all_free, DIBS_PERMITS(what, DIBS_UNITS_ALL_FREE))
TAKES(many, try_many, DIBS_LOCKS(BOTH_NAMES, 2))
TAKES(lead, try_lead, DIBS_LEAD(what, "value"))

/* The function, and which way of it. */
#define WAYS(WAY) \
  WAY(dibs_lock, WAITS | REENTERS | MUTEX, dibs_lock, dibs_lock, writer) \
  WAY(dibs_try_lock, TRIES | REENTERS | MUTEX, dibs_try_lock, dibs_lock, writer) \
  WAY(dibs_acquire, WAITS | REENTERS | MUTEX, acquire, dibs_lock, writer) \
  WAY(dibs_acquire, TRIES | REENTERS | MUTEX, try_acquire, dibs_lock, writer) \
  WAY(dibs_acquire, WAITS | REENTERS | NATIVE, reader, writer, dibs_lock) \
  WAY(dibs_acquire, TRIES | REENTERS | NATIVE, try_reader, writer, dibs_lock) \
  WAY(dibs_acquire, WAITS | REENTERS | NATIVE, writer, reader, dibs_lock) \
  WAY(dibs_acquire, TRIES | REENTERS | NATIVE, try_writer, reader, dibs_lock) \
  WAY(dibs_acquire, WAITS | NATIVE, permit, one_permit, dibs_lock) \
  WAY(dibs_acquire, TRIES | NATIVE, try_permit, one_permit, dibs_lock) \
  WAY(dibs_acquire, WAITS | NATIVE, limit, one_permit, dibs_lock) \
  WAY(dibs_acquire, TRIES | NATIVE, try_limit, one_permit, dibs_lock) \
  WAY(dibs_acquire, TRIES | NATIVE, all_free, one_permit, dibs_lock) \
  WAY(dibs_acquire, TRIES | NATIVE, try_all_free, one_permit, dibs_lock) \
  WAY(dibs_acquire, WAITS | REENTERS, many, dibs_lock, writer) \
  WAY(dibs_acquire, TRIES | REENTERS, try_many, dibs_lock, writer) \
  WAY(dibs_acquire, WAITS | REENTERS | NATIVE, lead, dibs_lock, writer) \
  WAY(dibs_acquire, TRIES | REENTERS | NATIVE, try_lead, dibs_lock, writer)

#define A_WAY(function, traits, run, by_others, of_another_kind) \
  { #run, traits, run, by_others, of_another_kind },

static const struct way ways[] = { WAYS(A_WAY) };

/* ---- situations ---- */

static bool takes_permits(void)
{
  return way->by_others == one_permit;
}

static void prepare(void)
{
  if (takes_permits())
    live_expect_ok(dibs_semaphore_set(other, dibs_text(name), 1, 0, NULL));
}

static dibs_status taken_with(dibs_client *c, const dibs_lock_options *o)
{
  dibs_status status = way->run(c, name, o, &hold);

  if (status == DIBS_OK)
    live_expect(c, dibs_release(hold), DIBS_OK);
  return status;
}

static dibs_status taken(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, ANSWER_MS);

  return taken_with(client, &o);
}

static dibs_status free_name(void)
{
  prepare();
  return taken();
}

/* What `run` returns beside a hold of another client. */
static dibs_status beside_another(situation *run)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *theirs;
  dibs_status status;

  live_expect(other, way->by_others(other, name, &o, &theirs), DIBS_OK);
  status = run();
  live_expect(other, dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status name_of_another(void)
{
  return beside_another(taken);
}

static dibs_status cancelled(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_status status;

  live_expect_ok(dibs_canceller_new(&o.cancel));
  dibs_cancel(o.cancel);
  status = taken_with(client, &o);
  o.cancel = dibs_canceller_free(o.cancel);
  return status;
}

static dibs_status name_that_is_cancelled(void)
{
  return beside_another(cancelled);
}

static dibs_status name_of_its_owner(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *outer;
  dibs_status status;

  live_expect(client, way->run(client, name, &o, &outer), DIBS_OK);
  o.flags = DIBS_LOCK_NO_REENTRY;
  status = taken_with(client, &o);
  live_expect(client, dibs_release(outer), DIBS_OK);
  return status;
}

static dibs_status name_of_another_kind(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *theirs;
  dibs_status status;

  live_expect(other, way->of_another_kind(other, name, &o, &theirs), DIBS_OK);
  status = taken();
  live_expect(other, dibs_release(theirs), DIBS_OK);
  return status;
}

/* It may be granted: it is deleted here. */
static dibs_status no_reply(void)
{
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_lock_options o = live_lock_options(TTL_MS, SOON_MS);
  dibs_client *by_proxy = live_open(live_url_by(proxy));
  dibs_status status;

  prepare();
  live_expect_ok(dibs_client_set_call_timeout(by_proxy, SOON_MS));
  live_expect(by_proxy, dibs_ping(by_proxy, LIVE_LONG_MS, NULL), DIBS_OK);
  test_proxy_black_hole(proxy, TEST_TO_CLIENT);
  status = taken_with(by_proxy, &o);
  by_proxy = dibs_close(by_proxy);
  proxy = test_proxy_stop(proxy);
  deleted();
  return status;
}

static dibs_status no_server(void)
{
  dibs_client *none = nowhere();
  dibs_status status = taken_with(none, NULL);

  none = dibs_close(none);
  return status;
}

static dibs_status no_name(void)
{
  name = "";
  return taken();
}

static dibs_status with_options(dibs_options o)
{
  dibs_client *c = live_open_with(live_url(), &o);
  dibs_lock_options l = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *first = NULL;
  dibs_status status;

  prepare();
  if (o.names_max == 1)
    live_expect(c, dibs_lock(c, "the only one", &l, &first), DIBS_OK);
  status = taken_with(c, &l);
  if (first != NULL)
    live_expect(c, dibs_release(first), DIBS_OK);
  c = dibs_close(c);
  return status;
}

static dibs_status no_room_in_memory(void)
{
  dibs_options o = patient_options();

  o.names_max = 1;
  return with_options(o);
}

/* Native locks do not spin; the dialect plain has exclusive locks only. */
static dibs_status kind_that_is_not_there(void)
{
  dibs_lock_options l = live_lock_options(TTL_MS, SOON_MS);
  dibs_options o = patient_options();

  l.flags = DIBS_LOCK_SPIN;
  if ((way->traits & MUTEX) != 0)
    return taken_with(client, &l);
  o.dialect = DIBS_DIALECT_PLAIN;
  return with_options(o);
}

static dibs_status no_replica(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);

  o.min_replicas = 1;
  o.replicas_wait_ms = SOON_MS;
  return taken_with(client, &o);
}

static dibs_status in_the_child(void) { return in_a_child(taken); }
static dibs_status in_the_callback(void) { return in_a_callback(taken); }

static dibs_status taken_by(dibs_client *c)
{
  return taken_with(c, NULL);
}

static dibs_status closing(void) { return while_closing(taken_by); }

/* AS_LOCK(outcome, situation, traits of the ways that have it; 0: all) */
#define SITUATIONS(AS_LOCK) \
  AS_LOCK(DIBS_OK, free_name, 0) \
  AS_LOCK(DIBS_TIMED_OUT, name_of_another, WAITS) \
  AS_LOCK(DIBS_BUSY, name_of_another, TRIES) \
  AS_LOCK(DIBS_CANCELLED, name_that_is_cancelled, 0) \
  AS_LOCK(DIBS_WOULD_DEADLOCK, name_of_its_owner, REENTERS) \
  AS_LOCK(DIBS_UNKNOWN, no_reply, 0) \
  AS_LOCK(DIBS_ERR_UNREACHABLE, no_server, 0) \
  AS_LOCK(DIBS_ERR_WRONG_TYPE, name_of_another_kind, 0) \
  AS_LOCK(DIBS_ERR_LIMIT, no_room_in_memory, 0) \
  AS_LOCK(DIBS_ERR_UNSUPPORTED, kind_that_is_not_there, MUTEX | NATIVE) \
  AS_LOCK(DIBS_ERR_NOT_REPLICATED, no_replica, MUTEX) \
  AS_LOCK(DIBS_ERR_ARGUMENT, no_name, 0) \
  AS_LOCK(DIBS_ERR_FORKED, in_the_child, 0) \
  AS_LOCK(DIBS_ERR_CLOSED, closing, 0) \
  AS_LOCK(DIBS_ERR_WOULD_BLOCK, in_the_callback, 0)

#define A_SITUATION(outcome, situation, traits) { #situation, outcome, situation, traits },

static const struct way_row situations[] = { SITUATIONS(A_SITUATION) };

void outcomes_walk_ways(void)
{
  for (way = ways; way < ways + sizeof(ways) / sizeof(ways[0]); way++)
    outcomes_walk_way(way->what, way->traits, situations,
                      sizeof(situations) / sizeof(situations[0]));
}
