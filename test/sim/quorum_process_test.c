/* SPDX-License-Identifier: MIT */
/* Quorum, step by step, over real lock tables and scripts: claims of one process, owners, readers,
 * refusals, the end, and refused memory. */
#include "tests.h"
#include "quorum/claimant.h"

#include <string.h>

TEST(an_owner_enters_again_and_others_of_the_process_queue)
{
  site *s = site_of(3, 1);
  told outer, inner, other, refused, tried;
  lock_spec w = wish_for(&outer);

  w.owner = "me";
  w.owner_size = 2;
  claim_as(s, 0, &outer, &w);
  (void)await(s, &outer.granted, SPAN_MS(100));
  w.context = &inner;
  claim_as(s, 0, &inner, &w);
  assert_int_equal(inner.granted, 1);
  assert_int_equal(inner.last.depth, 2);
  assert_true(inner.fence == outer.fence);
  w.context = &refused;
  w.no_reentry = true;
  claim_as(s, 0, &refused, &w);
  assert_int_equal(refused.last.status, DIBS_WOULD_DEADLOCK);
  claim_by(s, 0, &other, false);
  claim_by(s, 0, &tried, true);
  assert_int_equal(tried.last.status, DIBS_BUSY);

  release_by(s, 0, &inner);
  site_run_for(s, SPAN_MS(200));
  assert_int_equal(other.granted, 0);
  assert_int_equal(held_at(s), 3);
  release_by(s, 0, &outer);
  (void)await(s, &other.granted, SPAN_MS(200));
  assert_true(other.fence > outer.fence);
  over(s);
}

/* A waiter of the process proves nothing: two of three servers are silent. */
TEST(behind_a_waiter_without_a_majority_a_try_and_a_limit_end_by_a_fault)
{
  site *s = site_of(3, 1);
  told first, limited, tried;
  lock_spec w = wish_for(&limited);

  s->is_mute[0] = s->is_mute[2] = true;
  claim_by(s, 0, &first, false);
  w.give_up_at = instant_add(s->now, SPAN_MS(600));
  claim_as(s, 0, &limited, &w);
  claim_by(s, 0, &tried, true);
  site_run_for(s, SPAN_MS(500));
  assert_int_equal(limited.failed + tried.failed, 0);
  (void)await(s, &limited.failed, SPAN_MS(200));
  assert_int_equal(limited.last.status, DIBS_ERR_UNREACHABLE);
  (void)await(s, &tried.failed, (span){ SITE_CONNECT.ns + SITE_COMMAND.ns });
  assert_int_equal(tried.last.status, DIBS_ERR_UNREACHABLE);
  over(s);
}

TEST(a_try_behind_a_waiter_is_busy_when_others_have_a_majority)
{
  site *s = site_of(3, 2);
  told holder, first, limited, tried, late;
  lock_spec w = wish_for(&limited);

  hold(s, 1, &holder);
  claim_by(s, 0, &first, false);
  claim_by(s, 0, &tried, true);
  assert_int_equal(tried.failed, 0);
  assert_true(await(s, &tried.failed, SPAN_MS(200)).ns < SPAN_MS(50).ns);
  assert_int_equal(tried.last.status, DIBS_BUSY);
  claim_by(s, 0, &late, true);
  assert_int_equal(late.last.status, DIBS_BUSY);
  w.give_up_at = instant_add(s->now, SPAN_MS(100));
  claim_as(s, 0, &limited, &w);
  (void)await(s, &limited.failed, SPAN_MS(200));
  assert_int_equal(limited.last.status, DIBS_TIMED_OUT);
  over(s);
}

TEST(a_try_behind_a_waiter_that_is_granted_is_busy_or_enters_again)
{
  site *s = site_of(3, 1);
  told first, tried, again;
  lock_spec w = wish_for(&first);

  w.owner = "me";
  w.owner_size = 2;
  claim_as(s, 0, &first, &w);
  claim_by(s, 0, &tried, true);
  w.context = &again;
  w.is_try = true;
  claim_as(s, 0, &again, &w);
  assert_int_equal(tried.failed + again.granted, 0);
  (void)await(s, &first.granted, SPAN_MS(200));
  assert_int_equal(tried.last.status, DIBS_BUSY);
  assert_int_equal(again.granted, 1);
  assert_int_equal(again.last.depth, 2);
  over(s);
}

/* One round is the answer for all that began before it. */
TEST(tries_of_a_process_share_a_round)
{
  site *s = site_of(3, 2);
  told holder, tries[20];
  uint64_t before;

  hold(s, 1, &holder);
  claim_by(s, 0, &tries[0], true);
  (void)await(s, &tries[0].failed, SPAN_MS(200));    /* it is connected now */
  before = s->commands;
  for (size_t i = 0; i < 20; i++)
    claim_by(s, 0, &tries[i], true);
  (void)await(s, &tries[0].failed, SPAN_MS(200));
  for (size_t i = 0; i < 20; i++)
    assert_int_equal(tries[i].last.status, DIBS_BUSY);
  assert_true(s->commands - before <= 3);
  over(s);
}

TEST(readers_share_and_a_writer_may_go_on_as_one)
{
  site *s = site_of(3, 2);
  told writer, reader, another;
  lock_spec w = wish_for(&writer);

  w.kind = LOCK_RWLOCK;
  claim_as(s, 0, &writer, &w);
  (void)await(s, &writer.granted, SPAN_MS(100));
  w.reads = true;
  w.context = &reader;
  claim_as(s, 1, &reader, &w);
  site_run_for(s, SPAN_MS(1000));
  assert_int_equal(reader.granted, 0);
  assert_int_equal(hold_downgrade(s->clients[0].front, writer.id, s->now), DIBS_OK);
  site_settle(s);
  (void)await(s, &reader.granted, SPAN_MS(2000));
  w.context = &another;
  claim_as(s, 0, &another, &w);
  (void)await(s, &another.granted, SPAN_MS(2000));
  assert_int_equal(writer.lost, 0);
  over(s);
}

TEST(what_a_quorum_cannot_do_is_refused)
{
  site *s = site_of(3, 1);
  told t;
  lock_spec w = wish_for(&t);
  uint64_t id;

  w.kind = LOCK_SEMAPHORE;
  assert_int_equal(hold_claim(s->clients[0].front, &w, s->now, &id), DIBS_ERR_UNSUPPORTED);
  w.kind = LOCK_MUTEX;
  w.linger = SPAN_MS(5);
  assert_int_equal(hold_claim(s->clients[0].front, &w, s->now, &id), DIBS_ERR_UNSUPPORTED);
  hold(s, 0, &t);
  assert_int_equal(hold_detach(s->clients[0].front, t.id, s->now), DIBS_ERR_UNSUPPORTED);
  assert_int_equal(hold_release(s->clients[0].front, t.id + 99, s->now), DIBS_ERR_STALE);
  over(s);
}

TEST(a_close_gives_all_back_and_waits_for_no_silent_server)
{
  site *s = site_of(3, 2);
  told held, waiting;
  hold_front *f = s->clients[0].front;

  hold(s, 0, &held);
  s->is_mute[1] = true;
  claim_by(s, 0, &waiting, false);
  hold_close(f, s->now);
  site_settle(s);
  assert_int_equal(waiting.last.status, DIBS_ERR_CLOSED);
  site_run_for(s, SPAN_MS(100));
  assert_int_equal(held.released, 1);
  assert_int_equal(held.last.status, DIBS_OK);
  assert_false(site_is_held(s, 0, "x"));
  assert_false(site_is_held(s, 2, "x"));
  site_run_for(s, SITE_COMMAND);
  assert_true(hold_is_quiet(f));
  assert_int_equal(hold_claim(f, &(lock_spec){ .kind = LOCK_MUTEX }, s->now, &held.id),
                   DIBS_ERR_CLOSED);
  over(s);
}

/* ---- memory ---- */

TEST(refused_memory_fails_the_claim_and_nothing_else)
{
  for (size_t n = 1; n < 40; n++) {
    site *s = site_of(3, 1);
    told t, later;
    dibs_status status;
    lock_spec w = wish_for(&t);

    memset(&t, 0, sizeof(t));
    w.note = "a note";
    s->heap.fail_at = s->heap.asked + n;
    status = hold_claim(s->clients[0].front, &w, s->now, &t.id);
    site_settle(s);
    site_run_for(s, SPAN_MS(1000));
    assert_true(status == DIBS_ERR_NO_MEMORY || t.granted + t.failed == 1);
    if (t.granted == 1)
      release_by(s, 0, &t);
    site_run_for(s, SPAN_MS(1000));
    hold(s, 0, &later);
    over(s);
  }
}

RUN_TESTS(NULL, NULL)
