/* SPDX-License-Identifier: MIT */
/* test/peers/scene_others.c - what two participants must see of a queue, of readers and writers,
 * of several locks as one, permits, latches, rates and collections. */
#include "tests.h"
#include "stage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <unistd.h>

#include "live.h"
#include "now.h"

enum { LEASE_MS = 30000, WAKE_MAX_MS = 5000, WAITS_MS = 150 };

/* ---- first come, first served ---- */

struct queue { struct stage *st; long long length; };

static bool is_so_long(void *data)
{
  const struct queue *q = data;

  return test_server_integer(q->st->server, "LLEN redisson_lock_queue:{%s}", q->st->name) ==
         q->length;
}

void scene_fair_order(struct stage *st)
{
  struct side *const who[] = { st->a, st->b, st->b, st->a, st->b };
  const int worker[] = { 2, 1, 2, 3, 3 }, count = 5;

  side_does(st->a, 1, "ok", "lock fair %s - %d", st->name, LEASE_MS);
  for (int i = 0; i < count; i++) {
    struct queue q = { st, i + 1 };

    side_tell(who[i], worker[i], "lock fair %s - %d", st->name, LEASE_MS);
    assert_true(live_until(SIDE_SOON_MS, is_so_long, &q));
  }
  side_does(st->a, 1, "ok", "unlock fair %s", st->name);
  for (int i = 0; i < count; i++) {
    side_expect(who[i], worker[i], WAKE_MAX_MS, "ok");
    for (int j = i + 1; j < count; j++)
      side_expect_waiting(who[j], worker[j], j == i + 1 ? 50 : 0);
    side_does(who[i], worker[i], "ok", "unlock fair %s", st->name);
  }
}

/* ---- readers and writers ---- */

void scene_readers(struct stage *st)
{
  side_does(st->a, 1, "ok", "lock read %s - %d", st->name, LEASE_MS);
  side_does(st->b, 1, "ok", "lock read %s 0 %d", st->name, LEASE_MS);
  side_does(st->a, 2, "busy", "lock write %s 0 %d", st->name, LEASE_MS);
  side_tell(st->b, 2, "lock write %s - %d", st->name, LEASE_MS);
  side_expect_waiting(st->b, 2, WAITS_MS);
  side_does(st->b, 1, "ok", "unlock read %s", st->name);
  side_expect_waiting(st->b, 2, WAITS_MS);
  side_does(st->a, 1, "ok", "unlock read %s", st->name);
  side_expect(st->b, 2, WAKE_MAX_MS, "ok");
  side_does(st->a, 1, "busy", "lock read %s 0 %d", st->name, LEASE_MS);
  side_tell(st->a, 1, "lock read %s - %d", st->name, LEASE_MS);
  side_tell(st->a, 2, "lock read %s - %d", st->name, LEASE_MS);
  side_expect_waiting(st->a, 1, WAITS_MS);
  side_does(st->b, 2, "ok", "unlock write %s", st->name);
  side_expect(st->a, 1, WAKE_MAX_MS, "ok");
  side_expect(st->a, 2, WAKE_MAX_MS, "ok");
  side_does(st->a, 1, "ok", "unlock read %s", st->name);
  side_does(st->a, 2, "ok", "unlock read %s", st->name);
  side_does(st->b, 1, "lost", "unlock read %s", st->name);
}

/* ---- several locks as one ---- */

void scene_several(struct stage *st)
{
  const char *n = st->name;

  side_does(st->a, 1, "ok", "lock %s %s:x,%s:y,%s:z - %d", st->kind, n, n, n, LEASE_MS);
  side_does(st->b, 1, "busy", "lock lock %s:y 0 %d", n, LEASE_MS);
  side_does(st->b, 1, "busy", "lock %s %s:z,%s:y,%s:w 0 %d", st->kind, n, n, n, LEASE_MS);
  side_does(st->b, 2, "ok", "lock lock %s:w 0 %d", n, LEASE_MS);
  side_does(st->b, 2, "ok", "unlock lock %s:w", n);
  side_does(st->a, 1, "ok", "unlock %s %s:x,%s:y,%s:z", st->kind, n, n, n);
  side_does(st->b, 1, "ok", "lock %s %s:x,%s:y,%s:z 0 %d", st->kind, n, n, n, LEASE_MS);
  side_does(st->b, 1, "ok", "unlock %s %s:x,%s:y,%s:z", st->kind, n, n, n);
}

/* ---- permits ---- */

void scene_permits(struct stage *st)
{
  const char *k = st->kind, *n = st->name;

  side_does(st->a, 1, "ok 1", "permits set %s %s 3", k, n);
  side_does(st->b, 1, "ok 3", "permits available %s %s", k, n);
  side_does(st->a, 1, "ok", "permits acquire %s %s 1 - %d", k, n, LEASE_MS);
  side_does(st->a, 1, "ok", "permits acquire %s %s 1 - %d", k, n, LEASE_MS);
  side_does(st->b, 1, "ok", "permits acquire %s %s 1 0 %d", k, n, LEASE_MS);
  side_does(st->b, 2, "busy", "permits acquire %s %s 1 0 %d", k, n, LEASE_MS);
  side_does(st->b, 1, "ok 0", "permits available %s %s", k, n);
  side_tell(st->b, 2, "permits acquire %s %s 1 - %d", k, n, LEASE_MS);
  side_expect_waiting(st->b, 2, WAITS_MS);
  side_does(st->a, 1, "ok", "permits release %s %s 1", k, n);
  side_expect(st->b, 2, WAKE_MAX_MS, "ok");
  side_does(st->a, 1, "ok", "permits release %s %s 1", k, n);
  side_does(st->b, 1, "ok", "permits release %s %s 1", k, n);
  side_does(st->b, 2, "ok", "permits release %s %s 1", k, n);
  side_does(st->a, 1, "ok 3", "permits available %s %s", k, n);
}

void scene_permits_expire(struct stage *st)
{
  const char *k = st->kind, *n = st->name;
  int64_t asked_ms = test_now_ms(), took_ms;

  side_does(st->a, 1, "ok 1", "permits set %s %s 1", k, n);
  side_does(st->a, 1, "ok", "permits acquire %s %s 1 - 1000", k, n);
  side_does(st->b, 1, "ok", "permits acquire %s %s 1 - %d", k, n, LEASE_MS);
  took_ms = side_answered_ns(st->b) / 1000000 - asked_ms;
  assert_in_range(took_ms, 950, 2500);    /* ours gives back before the server does */
  side_does(st->a, 1, "lost", "permits release %s %s 1", k, n);
  side_does(st->b, 1, "ok", "permits release %s %s 1", k, n);
}

/* ---- latch ---- */

void scene_latch(struct stage *st)
{
  side_does(st->a, 1, "ok 1", "latch set %s 2", st->name);
  side_does(st->b, 1, "ok 0", "latch set %s 7", st->name);
  side_does(st->b, 1, "ok 2", "latch get %s", st->name);
  side_does(st->b, 1, "timeout", "latch await %s 200", st->name);
  side_tell(st->a, 2, "latch await %s -", st->name);
  side_tell(st->b, 2, "latch await %s -", st->name);
  side_does(st->a, 1, "ok", "latch down %s", st->name);
  side_does(st->b, 1, "ok 1", "latch get %s", st->name);
  side_expect_waiting(st->a, 2, WAITS_MS);
  side_expect_waiting(st->b, 2, WAITS_MS);
  side_does(st->b, 1, "ok", "latch down %s", st->name);
  side_expect(st->a, 2, WAKE_MAX_MS, "ok");
  side_expect(st->b, 2, WAKE_MAX_MS, "ok");
  side_does(st->a, 1, "ok 0", "latch get %s", st->name);
  side_does(st->b, 1, "ok", "latch await %s 200", st->name);
  side_does(st->b, 1, "ok 1", "latch set %s 1", st->name);
  side_tell(st->b, 2, "latch await %s -", st->name);
  side_expect_waiting(st->b, 2, WAITS_MS);
  side_does(st->a, 1, "ok", "latch down %s", st->name);
  side_expect(st->b, 2, WAKE_MAX_MS, "ok");
}

/* ---- rate ---- */

void scene_rate(struct stage *st)
{
  int64_t began_ms, took_ms;

  side_does(st->a, 1, "ok 1", "rate set %s 5 2000", st->name);
  side_does(st->b, 1, "ok 0", "rate set %s 9 2000", st->name);
  side_does(st->b, 1, "ok 5", "rate available %s", st->name);
  began_ms = test_now_ms();
  side_does(st->a, 1, "ok", "rate acquire %s 3 0", st->name);
  side_does(st->b, 1, "ok", "rate acquire %s 2 0", st->name);
  side_does(st->b, 1, "busy", "rate acquire %s 1 0", st->name);
  side_does(st->a, 1, "busy", "rate acquire %s 1 0", st->name);
  side_does(st->b, 1, "ok", "rate acquire %s 1 4000", st->name);
  took_ms = side_answered_ns(st->b) / 1000000 - began_ms;
  (void)snprintf(st->note, sizeof(st->note), "the sixth of 5 in 2 s came after %lld ms",
                 (long long)took_ms);
  assert_in_range(took_ms, 2000, 3500);
}

/* ---- collections ---- */

void scene_collections(struct stage *st)
{
  const char *n = st->name;

  side_does(st->a, 1, "ok", "map put %s:m key one", n);
  side_does(st->b, 1, "ok one", "map get %s:m key", n);
  side_does(st->b, 1, "ok one", "map put %s:m key two", n);
  side_does(st->a, 1, "ok two", "map remove %s:m key", n);
  side_does(st->b, 1, "ok 0", "map size %s:m", n);
  side_does(st->a, 1, "ok 1", "list add %s:l first", n);
  side_does(st->b, 1, "ok 1", "list add %s:l second", n);
  side_does(st->a, 1, "ok second", "list get %s:l 1", n);
  side_does(st->b, 1, "ok 2", "list size %s:l", n);
  side_does(st->a, 1, "ok 1", "set add %s:s x", n);
  side_does(st->b, 1, "ok 0", "set add %s:s x", n);
  side_does(st->b, 1, "ok 1", "set has %s:s x", n);
  side_does(st->b, 1, "ok 1", "set remove %s:s x", n);
  side_does(st->a, 1, "ok 0", "set size %s:s", n);
}
