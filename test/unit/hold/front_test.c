/* SPDX-License-Identifier: MIT */
/* hold/: a front with a backend that has one lease for all its claims. */
#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "hold/claim.h"

static size_t allowed;            /* allocations until one is refused */

static void *allocate(size_t bytes, void *data)
{
  (void)data;
  return allowed-- > 0 ? malloc(bytes) : NULL;
}

static void *reallocate(void *p, size_t bytes, void *data)
{
  (void)data;
  return allowed-- > 0 ? realloc(p, bytes) : NULL;
}

static void give_back(void *p, void *data) { (void)data; free(p); }
static const memory heap = { allocate, reallocate, give_back, NULL };

static const instant start = { 1000000000 };

/* A backend that waits until the test grants. */
typedef struct one {
  hold_backend backend;
  timers timers;
  acquisition claims;
  hold_front *front;
  size_t forgotten, downgrades;
} one;

static dibs_status place(hold_backend *b, claim *c, const lock_spec *spec, instant now)
{
  one *o = (one *)b;

  (void)now;
  if (spec->name_size == 0)
    return DIBS_ERR_LIMIT;
  claim_wait(&o->claims, c);
  (void)claim_reenters(&o->claims, c, &(held_terms){ .limit = INSTANT_NEVER });
  return DIBS_OK;
}

static void end_waiting(claim *c, dibs_status status, const char *words, instant now)
{
  (void)now;
  claim_fail(c, status, words);
}

static void release(claim *c, instant now)
{
  (void)now;
  claim_end(c, LOCK_RELEASED, DIBS_OK);
}

static void forget(acquisition *a) { RECORD_OF(one, claims, a)->forgotten++; }

static void downgrade(acquisition *a, instant now)
{
  (void)now;
  RECORD_OF(one, claims, a)->downgrades++;
}

static void describe(const claim *c, lock_event *event)
{
  event->token = c->state == CLAIM_HELD ? 60 : 0;
}

static const hold_ops ops = { .name = "one", .place = place, .fail = end_waiting,
                              .release = release, .forget = forget, .downgrade = downgrade,
                              .describe = describe };

static void set_up(one *o)
{
  allowed = SIZE_MAX;
  memset(o, 0, sizeof(*o));
  timers_init(&o->timers, &heap);
  o->backend = (hold_backend){ .ops = &ops, .timers = &o->timers };
  o->front = hold_front_new(&heap);
  hold_front_add(o->front, &o->backend);
}

static void tear_down(one *o)
{
  o->front = hold_front_free(o->front);
  timers_deinit(&o->timers);
}

static uint64_t ask(one *o, const char *owner)
{
  lock_spec spec = { .context = o, .name = "n", .name_size = 1, .owner = owner,
                     .owner_size = strlen(owner), .note = "why" };
  uint64_t id = 0;

  assert_int_equal(hold_claim(o->front, &spec, start, &id), DIBS_OK);
  return id;
}

static lock_event next(one *o)
{
  lock_event event = { .id = 0 };

  assert_true(hold_next_event(o->front, &event));
  return event;
}

static void an_event(one *o, uint64_t id, lock_event_kind kind, dibs_status status)
{
  lock_event event = next(o);

  assert_int_equal(event.id, id);
  assert_int_equal(event.kind, kind);
  assert_int_equal(event.status, status);
  assert_ptr_equal(event.context, o);
}

static void no_event(one *o)
{
  lock_event event;

  assert_false(hold_next_event(o->front, &event));
}

TEST(an_owner_holds_again_with_the_same_fence)
{
  one o;
  uint64_t outer, inner;
  lock_event event;

  set_up(&o);
  outer = ask(&o, "me");
  no_event(&o);
  waiter_holds(&o.claims, 61440, 1, false);
  an_event(&o, outer, LOCK_GRANTED, DIBS_OK);
  inner = ask(&o, "me");
  event = next(&o);
  assert_int_equal(event.id, inner);
  assert_int_equal(event.fence, 61440);
  assert_int_equal(event.depth, 2);
  assert_int_equal(event.token, 60);
  (void)ask(&o, "another");
  no_event(&o);
  assert_int_equal(o.backend.counts.holds, 2);
  assert_int_equal(o.backend.counts.granted_local, 1);
  assert_int_equal(o.backend.counts.waiting, 1);
  tear_down(&o);
}

TEST(a_claim_without_an_owner_never_holds_again)
{
  one o;

  set_up(&o);
  (void)ask(&o, "");
  waiter_holds(&o.claims, 61440, 1, false);
  (void)next(&o);
  (void)ask(&o, "");
  no_event(&o);
  tear_down(&o);
}

TEST(without_reentry_an_owner_does_not_wait_for_itself)
{
  lock_spec spec = { .name = "n", .name_size = 1, .owner = "me", .owner_size = 2,
                     .no_reentry = true };
  uint64_t id = 0;
  one o;

  set_up(&o);
  (void)ask(&o, "me");
  waiter_holds(&o.claims, 61440, 1, false);
  (void)next(&o);
  assert_int_equal(hold_claim(o.front, &spec, start, &id), DIBS_OK);
  assert_int_equal(next(&o).status, DIBS_WOULD_DEADLOCK);
  assert_null(claim_of(o.front, id));
  tear_down(&o);
}

/* A renewal before the program has seen the suspicion: it never sees it. */
TEST(a_renewal_drops_an_unreported_suspicion)
{
  one o;
  uint64_t id;

  set_up(&o);
  id = ask(&o, "me");
  waiter_holds(&o.claims, 61440, 1, false);
  holders_report(&o.claims, LOCK_SUSPECT);
  holders_report(&o.claims, LOCK_RENEWED);
  an_event(&o, id, LOCK_GRANTED, DIBS_OK);
  an_event(&o, id, LOCK_RENEWED, DIBS_OK);
  no_event(&o);
  tear_down(&o);
}

TEST(a_loss_is_reported_once_and_stays_until_its_release)
{
  one o;
  uint64_t id;

  set_up(&o);
  id = ask(&o, "me");
  waiter_holds(&o.claims, 61440, 1, true);
  holders_lose(&o.claims, DIBS_LOST, "not renewed in time");
  holders_lose(&o.claims, DIBS_LOST, "again");
  an_event(&o, id, LOCK_GRANTED, DIBS_LOST);
  an_event(&o, id, LOCK_SUSPECT, DIBS_LOST);
  an_event(&o, id, LOCK_LOST, DIBS_LOST);
  no_event(&o);
  assert_int_equal(hold_release(o.front, id, start), DIBS_OK);
  assert_int_equal(o.forgotten, 1);
  an_event(&o, id, LOCK_RELEASED, DIBS_LOST);
  assert_int_equal(hold_release(o.front, id, start), DIBS_ERR_STALE);
  assert_int_equal(o.backend.counts.holds, 0);
  assert_int_equal(o.backend.counts.bytes, 0);
  tear_down(&o);
}

TEST(what_a_claim_has_not_is_refused)
{
  one o;
  uint64_t id;

  set_up(&o);
  id = ask(&o, "me");
  assert_int_equal(hold_release(o.front, id, start), DIBS_ERR_STALE);
  assert_int_equal(hold_downgrade(o.front, id, start), DIBS_ERR_STALE);
  waiter_holds(&o.claims, 61440, 1, false);
  assert_false(hold_cancel(o.front, id, start));
  assert_int_equal(hold_downgrade(o.front, id, start), DIBS_ERR_ARGUMENT);
  assert_int_equal(hold_detach(o.front, id, start), DIBS_ERR_UNSUPPORTED);
  assert_false(hold_keep_alone(o.front, id));
  assert_false(hold_is_one_lease(o.front, id));
  tear_down(&o);
}

TEST(the_last_writer_becomes_a_reader)
{
  lock_spec spec = { .kind = LOCK_RWLOCK, .name = "n", .name_size = 1, .owner = "me",
                     .owner_size = 2 };
  uint64_t outer = 0, inner = 0;
  one o;

  set_up(&o);
  assert_int_equal(hold_claim(o.front, &spec, start, &outer), DIBS_OK);
  waiter_holds(&o.claims, 61440, 1, false);
  assert_int_equal(hold_claim(o.front, &spec, start, &inner), DIBS_OK);
  assert_int_equal(hold_downgrade(o.front, inner, start), DIBS_ERR_ARGUMENT);
  assert_int_equal(hold_release(o.front, inner, start), DIBS_OK);
  assert_int_equal(hold_downgrade(o.front, outer, start), DIBS_OK);
  assert_int_equal(hold_downgrade(o.front, outer, start), DIBS_OK);
  assert_int_equal(o.downgrades, 1);
  tear_down(&o);
}

TEST(a_claim_that_was_not_placed_leaves_nothing)
{
  lock_spec spec = { .name = "", .owner = "me", .owner_size = 2, .note = "why" };
  uint64_t id;
  one o;

  set_up(&o);
  assert_int_equal(hold_claim(o.front, &spec, start, &id), DIBS_ERR_LIMIT);
  assert_null(claim_of(o.front, id));
  no_event(&o);
  spec.name = "n";
  spec.name_size = 1;
  for (allowed = 0; hold_claim(o.front, &spec, start, &id) != DIBS_OK;) {
    static size_t most = 0;

    assert_int_equal(o.backend.counts.waiting, 0);
    assert_int_equal(o.backend.counts.bytes, 0);
    allowed = ++most;
  }
  assert_int_equal(o.backend.counts.waiting, 1);
  tear_down(&o);
}

RUN_TESTS(NULL, NULL)
