/* SPDX-License-Identifier: MIT */
/* test/peers/scene_deaths.c - one participant is killed, or the server forgets everything: the
 * other goes on, in the time that the format has for it. */
#include "tests.h"
#include "stage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "now.h"

enum { WAITS_MS = 150, LATE_MS = 1500, SHORT_MS = 1000 };

/* Some renew nothing: their locks have a lease at once, which is as long. */
static const char *lease(const struct stage *st, int who)
{
  static char fixed[20];

  (void)snprintf(fixed, sizeof(fixed), "%d", STAGE_WATCHDOG_MS);
  return (st->peers[who]->traits & RENEWS) != 0 ? "-" : fixed;
}

/* ---- who holds ---- */

static void die(struct stage *st)
{
  st->a = side_kill(st->a);
}

/* Fails unless the worker has it `from` to `to` after that instant. */
static void expect_within(struct stage *st, int worker, int64_t since_ms, int from, int to)
{
  int64_t took_ms;

  side_expect(st->b, worker, to + SIDE_SOON_MS, "ok");
  took_ms = side_answered_ns(st->b) / 1000000 - since_ms;
  (void)snprintf(st->note, sizeof(st->note), "had after %lld ms, at most %d ms",
                 (long long)took_ms, to);
  assert_in_range(took_ms, from, to);
}

static int lease_over_ms(const struct stage *st)
{
  return STAGE_WATCHDOG_MS + LATE_MS +
         ((st->peers[1]->traits & LOOKS_ONCE_A_LEASE) != 0 ? STAGE_WATCHDOG_MS : 0);
}

/* Who holds it, or reads, is killed; the other waits for it, or to write. */
void scene_crash(struct stage *st)
{
  const char *other = strcmp(st->kind, "read") == 0 ? "write" : st->kind;
  int64_t died_ms;

  side_does(st->a, 1, "ok", "lock %s %s - %s", st->kind, st->name, lease(st, 0));
  side_tell(st->b, 1, "lock %s %s - %s", other, st->name, lease(st, 1));
  side_expect_waiting(st->b, 1, WAITS_MS);
  died_ms = test_now_ms();
  die(st);
  expect_within(st, 1, died_ms, 0, lease_over_ms(st));
  side_does(st->b, 1, "ok", "unlock %s %s", other, st->name);
}

/* Of two permits one is the killed one's, for as long as it was lent to him. */
void scene_permits_crash(struct stage *st)
{
  const char *k = st->kind, *n = st->name;
  int64_t asked_ms;

  side_does(st->b, 1, "ok 1", "permits set %s %s 2", k, n);
  asked_ms = test_now_ms();
  side_does(st->a, 1, "ok", "permits acquire %s %s 1 - %d", k, n, STAGE_WATCHDOG_MS);
  side_does(st->b, 1, "ok", "permits acquire %s %s 1 - -", k, n);
  side_tell(st->b, 2, "permits acquire %s %s 1 - -", k, n);
  side_expect_waiting(st->b, 2, WAITS_MS);
  die(st);
  expect_within(st, 2, asked_ms, STAGE_WATCHDOG_MS, lease_over_ms(st));
  side_does(st->b, 1, "ok", "permits release %s %s 1", k, n);
  side_does(st->b, 2, "ok", "permits release %s %s 1", k, n);
  side_does(st->b, 1, "ok 2", "permits available %s %s", k, n);
}

/* Those without a lease are gone with him, until somebody adds them: that is the format. */
void scene_permits_gone(struct stage *st)
{
  const char *k = st->kind, *n = st->name;

  side_does(st->b, 1, "ok 1", "permits set %s %s 2", k, n);
  side_does(st->a, 1, "ok", "permits acquire %s %s 1 - -", k, n);
  die(st);
  side_does(st->b, 1, "ok 1", "permits available %s %s", k, n);
  side_does(st->b, 1, "busy", "permits acquire %s %s 2 0 -", k, n);
  side_does(st->b, 1, "ok", "permits acquire %s %s 1 0 -", k, n);
  side_does(st->b, 1, "ok", "permits release %s %s 1", k, n);
}

/* ---- who waits ---- */

/* Who stands first is killed, and the lock is given back: the next waits for him no longer than
 * his place lasts. Only a fair lock has places. */
void scene_waiter_crash(struct stage *st)
{
  const bool is_fair = strcmp(st->kind, "fair") == 0;
  const bool is_ours = strcmp(st->peers[0]->program, "dibs") == 0;
  int64_t freed_ms;

  side_does(st->b, 1, "ok", "lock %s %s - %s", st->kind, st->name, lease(st, 1));
  side_tell(st->a, 1, "lock %s %s - %s", st->kind, st->name, lease(st, 0));
  side_expect_waiting(st->a, 1, WAITS_MS);
  side_tell(st->b, 2, "lock %s %s - %s", st->kind, st->name, lease(st, 1));
  side_expect_waiting(st->b, 2, WAITS_MS);
  die(st);
  freed_ms = test_now_ms();
  side_does(st->b, 1, "ok", "unlock %s %s", st->kind, st->name);
  expect_within(st, 2, freed_ms, 0, lease_over_ms(st) + (!is_fair ? 0 :
                is_ours ? STAGE_OUR_FAIR_MS : STAGE_FAIR_MS));
  side_does(st->b, 2, "ok", "unlock %s %s", st->kind, st->name);
}

/* ---- the server ---- */

/* One holds, one of each waits. */
static void line_up(struct stage *st, int lease_ms)
{
  side_does(st->a, 1, "ok", "lock %s %s - %d", st->kind, st->name, lease_ms);
  side_tell(st->a, 2, "lock %s %s - %d", st->kind, st->name, SHORT_MS);
  side_expect_waiting(st->a, 2, WAITS_MS);
  side_tell(st->b, 1, "lock %s %s - %d", st->kind, st->name, SHORT_MS);
  side_expect_waiting(st->b, 1, WAITS_MS);
}

/* Whoever is first, the other follows when that lease is over. */
static void expect_both(struct stage *st, int lease_ms)
{
  int64_t since_ms = test_now_ms();

  side_expect(st->a, 2, lease_ms + SIDE_SOON_MS, "ok");
  side_expect(st->b, 1, lease_ms + SIDE_SOON_MS, "ok");
  (void)snprintf(st->note, sizeof(st->note), "both had it within %lld ms",
                 (long long)(test_now_ms() - since_ms));
}

/* FLUSHALL and SCRIPT FLUSH: nobody is told. */
void scene_flushed(struct stage *st)
{
  enum { LEASE_MS = 3000 };

  line_up(st, LEASE_MS);
  live_tell_all("SCRIPT FLUSH");
  live_tell_all("FLUSHALL");
  expect_both(st, LEASE_MS);
  side_does(st->a, 1, "lost", "unlock %s %s", st->kind, st->name);
}

static void restarted(struct stage *st, bool keeps_data)
{
  enum { LEASE_MS = 6000 };

  line_up(st, LEASE_MS);
  test_server_restart(st->server, keeps_data);
  expect_both(st, LEASE_MS);
  side_does(st->a, 1, "lost", "unlock %s %s", st->kind, st->name);
}

void scene_restarted_empty(struct stage *st)
{
  restarted(st, false);
}

/* The watchdog goes on with what the server kept. */
void scene_restarted(struct stage *st)
{
  side_does(st->a, 1, "ok", "lock %s %s - -", st->kind, st->name);
  side_tell(st->b, 1, "lock %s %s - -", st->kind, st->name);
  side_expect_waiting(st->b, 1, WAITS_MS);
  test_server_restart(st->server, true);
  side_expect_waiting(st->b, 1, 3 * STAGE_WATCHDOG_MS / 2);
  side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
  side_expect(st->b, 1, SIDE_SOON_MS, "ok");
  side_does(st->b, 1, "ok", "unlock %s %s", st->kind, st->name);
}
