/* SPDX-License-Identifier: MIT */
/* test/peers/scene_views.c - what one participant sees of that which the other holds; and the
 * names under which both meet. */
#include "tests.h"
#include "stage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "live.h"
#include "now.h"

enum {
  LEASE_MS = 30000, WAITS_MS = 150, LOOK_EVERY_MS = 50,
  TRIES = 5,
  HEARD_MS = 900,                  /* ours would look again after a second, without a message */
};

/* ---- leases and holds ---- */

static long long number(struct side *s, const char *verb, const char *kind, const char *name)
{
  const char *got;

  side_tell(s, 1, "%s %s %s", verb, kind, name);
  got = side_answer(s, 1, SIDE_SOON_MS);
  if (got == NULL || strncmp(got, "ok ", 3) != 0)
    fail_msg("%s says '%s' to %s", side_library(s), got == NULL ? "nothing" : got, verb);
  return strtoll(got + 3, NULL, 10);
}

static void expect_left(struct stage *st, int64_t asked_ms)
{
  struct side *const both[] = { st->a, st->b };

  for (int i = 0; i < 2; i++) {
    long long left = number(both[i], "ttl", st->kind, st->name);

    assert_in_range(left, LEASE_MS - (test_now_ms() - asked_ms) - 2, LEASE_MS);
  }
}

void scene_seen(struct stage *st)
{
  int64_t asked_ms = test_now_ms();

  side_does(st->b, 1, "ok 0", "locked %s %s", st->kind, st->name);
  side_does(st->a, 1, "ok", "lock %s %s - %d", st->kind, st->name, LEASE_MS);
  expect_left(st, asked_ms);
  side_does(st->b, 1, "ok 1", "locked %s %s", st->kind, st->name);
  side_does(st->a, 1, "ok 1", "locked %s %s", st->kind, st->name);
  if ((st->peers[1]->traits & COUNTS) != 0) {
    side_does(st->b, 1, "ok 0", "held %s %s", st->kind, st->name);
    side_does(st->b, 1, "ok 0", "count %s %s", st->kind, st->name);
  }
  side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
  side_does(st->b, 1, "ok 0", "locked %s %s", st->kind, st->name);
  assert_true(number(st->b, "ttl", st->kind, st->name) <= 0);
}

/* Over a lease and a half of looking the end is always ahead, and is put off. */
void scene_seen_renewed(struct stage *st)
{
  int64_t end_ms;
  long long before = 0, least = STAGE_WATCHDOG_MS;
  int renewals = 0;

  side_does(st->a, 1, "ok", "lock %s %s - -", st->kind, st->name);
  end_ms = test_now_ms() + 3 * STAGE_WATCHDOG_MS / 2;
  for (before = STAGE_WATCHDOG_MS; test_now_ms() < end_ms;) {
    long long left = number(st->b, "ttl", st->kind, st->name);

    assert_in_range(left, 1, STAGE_WATCHDOG_MS);
    renewals += left > before;
    least = left < least ? left : least;
    before = left;
    side_expect_waiting(st->b, 2, LOOK_EVERY_MS);     /* who was asked nothing */
  }
  side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
  (void)snprintf(st->note, sizeof(st->note), "a lease of %d ms, put off %d times in %d ms, never "
                 "less than %lld ms", STAGE_WATCHDOG_MS, renewals, 3 * STAGE_WATCHDOG_MS / 2,
                 least);
  assert_in_range(renewals, 2, 10);
}

/* The holder's count is on the server, and ours can read it there. */
void scene_seen_count(struct stage *st)
{
  for (int i = 1; i <= 3; i++) {
    side_does(st->a, 1, "ok", "lock %s %s 0 %d", st->kind, st->name, LEASE_MS);
    assert_int_equal(number(st->b, "total", st->kind, st->name), i);
  }
  for (int i = 2; i >= 0; i--) {
    side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
    assert_int_equal(number(st->b, "total", st->kind, st->name), i);
  }
}

/* ---- names ---- */

/* As they are said in a line: blanks and per cent by their numbers. */
static const char *const odd_names[] = {
  "a%20name%20with%20blanks", "{tag}rest", "front{tag}", "mit-%C3%A4-%E9%94%81-%F0%9F%94%92",
  "*[a-z]?", "quo%22te'%5C%25s%25n", "a:b:c", "0", "%09tab",
};

/* With these a key beside the lock is in another slot. */
static const char *const odder_names[] = { "a{b", "a}b", "{}x", "}{", "{{a}}" };

/* One holds, one waits; how long he does when it is given back. */
static int64_t pass_ms(const struct stage *st, struct side *holds, struct side *waits,
                       const char *name)
{
  int64_t since_ms;

  side_does(holds, 1, "ok", "lock %s %s 0 %d", st->kind, name, LEASE_MS);
  side_does(waits, 2, "busy", "lock %s %s 0 %d", st->kind, name, LEASE_MS);
  side_tell(waits, 1, "lock %s %s - %d", st->kind, name, LEASE_MS);
  side_expect_waiting(waits, 1, WAITS_MS);
  since_ms = test_now_ms();
  side_does(holds, 1, "ok", "unlock %s %s", st->kind, name);
  side_expect(waits, 1, SIDE_SOON_MS, "ok");
  since_ms = test_now_ms() - since_ms;
  side_does(waits, 1, "ok", "unlock %s %s", st->kind, name);
  return since_ms;
}

/* Each waits for the other: so who waits is told, under a channel of that name. Where that was
 * slow the machine may be busy; once it is not. */
static void meet(struct stage *st, const char *name)
{
  struct side *const sides[] = { st->a, st->b };

  for (int i = 0; i < 2; i++) {
    int64_t took_ms = HEARD_MS + 1;

    for (int k = 0; k < TRIES && took_ms > HEARD_MS; k++)
      took_ms = pass_ms(st, sides[i], sides[1 - i], name);
    assert_in_range(took_ms, 0, HEARD_MS);
  }
}

static int meet_all(struct stage *st, const char *const *names, size_t count)
{
  char name[200];

  for (size_t i = 0; i < count; i++) {
    (void)snprintf(name, sizeof(name), "%s:%s", st->name, names[i]);
    meet(st, name);
  }
  return (int)count;
}

void scene_names(struct stage *st)
{
  char name[500];
  int count = meet_all(st, odd_names, sizeof(odd_names) / sizeof(odd_names[0]));

  if (live_place() != LIVE_CLUSTER)
    count += meet_all(st, odder_names, sizeof(odder_names) / sizeof(odder_names[0]));
  (void)snprintf(name, sizeof(name), "%s:%0400d", st->name, 7);
  meet(st, name);
  (void)snprintf(st->note, sizeof(st->note), "%d names", count + 1);
}
