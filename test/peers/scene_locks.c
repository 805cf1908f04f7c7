/* SPDX-License-Identifier: MIT */
/* test/peers/scene_locks.c - what two participants must see of one lock, of whatever kind. */
#include "tests.h"
#include "stage.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <fcntl.h>
#include <unistd.h>

#include "live.h"
#include "now.h"
#include "overlap.h"

enum {
  LONG_LEASE_MS = 30000,
  WAKE_MS = 250,                   /* half of all wake-ups take no longer */
  WAKE_MAX_MS = 5000,              /* none takes as long as the lease would */
  WAKE_ROUNDS = 5,
  WAITS_MS = 150,                  /* who has not answered by then waits */
};

/* ---- never two inside ---- */

struct shift { struct side *side; int who, worker; const char *kind; int cycles; };

static void file_of(const struct stage *st, const char *what, int number, char *path, size_t size)
{
  (void)snprintf(path, size, "%s/%s-%s-%d", test_server_directory(st->server), what,
                 strrchr(st->name, ':') + 1, number);
}

static void begin_counter(const struct stage *st, char *path, size_t size)
{
  uint64_t zero = 0;
  int fd;

  file_of(st, "counter", 0, path, size);
  fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  assert_int_equal(write(fd, &zero, sizeof(zero)), sizeof(zero));
  assert_int_equal(close(fd), 0);
}

static uint64_t counted(const char *path)
{
  uint64_t number = 0;
  int fd = open(path, O_RDONLY | O_CLOEXEC);

  assert_int_equal(read(fd, &number, sizeof(number)), sizeof(number));
  assert_int_equal(close(fd), 0);
  return number;
}

/* Lets them all work at once and merges what they wrote down. */
static struct overlaps work(struct stage *st, const struct shift *shifts, int count,
                            size_t permits, uint64_t *ret_counted, struct shares *ret_shares)
{
  struct intervals all = { 0 };
  char counter[200], records[200], wanted[60];
  struct overlaps o;

  begin_counter(st, counter, sizeof(counter));
  for (int i = 0; i < count; i++) {
    file_of(st, "records", i, records, sizeof(records));
    side_tell(shifts[i].side, shifts[i].worker, "cycles %s %s %d 10000 %s %s", shifts[i].kind,
              st->name, shifts[i].cycles, counter, records);
  }
  for (int i = 0; i < count; i++) {
    (void)snprintf(wanted, sizeof(wanted), "ok %d 0", shifts[i].cycles);
    side_expect(shifts[i].side, shifts[i].worker, 60000 + 30 * st->cycles, wanted);
    file_of(st, "records", i, records, sizeof(records));
    assert_true(intervals_read(&all, records, shifts[i].who,
                               strcmp(shifts[i].kind, "read") == 0));
    (void)unlink(records);
  }
  o = intervals_check(&all, permits);
  if (ret_shares != NULL)
    *ret_shares = intervals_shares(&all);
  *ret_counted = counted(counter);
  (void)unlink(counter);
  intervals_deinit(&all);
  (void)snprintf(st->note, sizeof(st->note), "%d cycles, passed from side to side %zu times, "
                 "at most %zu inside", st->cycles, o.handovers, o.inside_max);
  return o;
}

static void expect_none(const struct overlaps *o)
{
  promise_kept(o->count == 0,
               "%zu of them came too early, the first %lld ns before side %d left, to side %d",
               o->count, (long long)(o->first[0].exit_ns - o->first[1].enter_ns),
               o->first[0].who, o->first[1].who);
}

static void expect_counted(uint64_t number, int wanted)
{
  promise_kept(number == (uint64_t)wanted, "lost updates: counted %llu of %d",
               (unsigned long long)number, wanted);
}

void scene_exclusion(struct stage *st)
{
  const bool has_permits = strcmp(st->kind, "semaphore") == 0 || strcmp(st->kind, "expirable") == 0;
  const int each = (st->cycles + 3) / 4;
  struct shift shifts[] = { { st->a, 0, 1, st->kind, each }, { st->b, 1, 1, st->kind, each },
                            { st->a, 0, 2, st->kind, each }, { st->b, 1, 2, st->kind, each } };
  struct overlaps o;
  uint64_t number;

  if (has_permits)
    side_does(st->a, 1, "ok 1", "permits set %s %s 3", st->kind, st->name);
  o = work(st, shifts, 4, has_permits ? 3 : 1, &number, NULL);
  expect_none(&o);
  expect_counted(number, has_permits ? 0 : 4 * each);
  assert_in_range(o.inside_max, has_permits ? 2 : 1, has_permits ? 3 : 1);
}

/* Who asks all servers at once is mostly quicker than who asks one after the other, and would be
 * through before they meet often: so they begin together many times. */
void scene_exclusion_in_rounds(struct stage *st)
{
  enum { EACH = 5 };
  const int rounds = (st->cycles + 4 * EACH - 1) / (4 * EACH);
  struct shift shifts[] = { { st->a, 0, 1, st->kind, EACH }, { st->b, 1, 1, st->kind, EACH },
                            { st->a, 0, 2, st->kind, EACH }, { st->b, 1, 2, st->kind, EACH } };
  size_t passed = 0;
  uint64_t number;

  for (int i = 0; i < rounds; i++) {
    struct overlaps o = work(st, shifts, 4, 1, &number, NULL);

    expect_none(&o);
    expect_counted(number, 4 * EACH);
    passed += o.handovers;
  }
  (void)snprintf(st->note, sizeof(st->note), "%d cycles, passed from side to side %zu times",
                 rounds * 4 * EACH, passed);
  assert_true(passed >= (size_t)rounds);
}

/* Two writers, two readers, one of each in each process. */
void scene_shared_exclusion(struct stage *st)
{
  const int each = (st->cycles + 3) / 4;
  struct shift shifts[] = { { st->a, 0, 1, "write", each }, { st->b, 1, 1, "write", each },
                            { st->a, 0, 2, "read", each }, { st->b, 1, 2, "read", each } };
  struct overlaps o;
  uint64_t number;

  o = work(st, shifts, 4, 1, &number, NULL);
  expect_none(&o);
  expect_counted(number, 2 * each);
}

static bool has_share(const struct shares *s)
{
  enum { ENOUGH = 200, TURNS_IN = 10 };
  const size_t all = s->of[0] + s->of[1];

  return all >= ENOUGH && s->of[0] >= all / TURNS_IN && s->of[1] >= all / TURNS_IN;
}

/* Nobody is kept out by who is faster: one worker of each side, and a side has one turn in ten
 * at least. Each works alone first: a program that is still being compiled is through with
 * nothing. A machine that has much else to do gets another chance. */
void scene_shares(struct stage *st)
{
  enum { ATTEMPTS = 5 };
  const int each = st->cycles / 2;
  struct shift shifts[] = { { st->a, 0, 1, st->kind, each }, { st->b, 1, 1, st->kind, each } };
  struct shares s = { { 0, 0 } };
  uint64_t number;

  for (int i = 0; i < 2; i++)
    (void)work(st, &shifts[i], 1, 1, &number, NULL);
  for (int i = 0; i < ATTEMPTS && !has_share(&s); i++) {
    struct overlaps o = work(st, shifts, 2, 1, &number, &s);

    expect_none(&o);
  }
  (void)snprintf(st->note, sizeof(st->note), "while both were at it, %zu cycles of one side and "
                 "%zu of the other", s.of[0], s.of[1]);
  assert_true(has_share(&s));
}

/* What would be seen if nobody locked. On one processor the first may be through with few
 * cycles before the other begins: more of them, until the two met. */
void scene_canary(struct stage *st)
{
  enum { TIMES_MORE = 4, CYCLES_MAX = 4000000 };
  bool met = false, lost = false;

  for (; !(met && lost) && st->cycles <= CYCLES_MAX; st->cycles *= TIMES_MORE) {
    const int each = st->cycles / 2;
    struct shift shifts[] = { { st->a, 0, 1, "canary", each }, { st->b, 1, 1, "canary", each } };
    uint64_t number;

    met = work(st, shifts, 2, 1, &number, NULL).count > 0;
    lost = number < 2 * (uint64_t)each;
  }
  assert_true(met && lost);
}

/* ---- one holds, one waits ---- */

void scene_wakes(struct stage *st)
{
  int64_t took_us[WAKE_ROUNDS];

  for (int i = 0; i < WAKE_ROUNDS; i++) {
    int64_t let_go_us;

    side_does(st->a, 1, "ok", "lock %s %s - %d", st->kind, st->name, LONG_LEASE_MS);
    side_tell(st->b, 1, "lock %s %s - %d", st->kind, st->name, LONG_LEASE_MS);
    side_expect_waiting(st->b, 1, WAITS_MS);
    let_go_us = test_now_us();
    side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
    side_expect(st->b, 1, SIDE_SOON_MS, "ok");
    took_us[i] = side_answered_ns(st->b) / 1000 - let_go_us;
    side_does(st->b, 1, "ok", "unlock %s %s", st->kind, st->name);
  }
  (void)snprintf(st->note, sizeof(st->note), "woken after %.1f ms, at most %.1f ms",
                 (double)live_median(took_us, WAKE_ROUNDS) / 1000,
                 (double)live_max(took_us, WAKE_ROUNDS) / 1000);
  assert_in_range(live_median(took_us, WAKE_ROUNDS), 0, WAKE_MS * 1000);
  assert_in_range(live_max(took_us, WAKE_ROUNDS), 0, WAKE_MAX_MS * 1000);
}

void scene_reenters(struct stage *st)
{
  for (int i = 1; i <= 3; i++)
    side_does(st->a, 1, "ok", "lock %s %s 0 %d", st->kind, st->name, LONG_LEASE_MS);
  if ((st->peers[0]->traits & COUNTS) != 0) {
    side_does(st->a, 1, "ok 3", "count %s %s", st->kind, st->name);
    side_does(st->a, 1, "ok 1", "held %s %s", st->kind, st->name);
    side_does(st->a, 2, "ok 0", "held %s %s", st->kind, st->name);
  }
  for (int i = 1; i <= 3; i++) {
    side_does(st->b, 1, "busy", "lock %s %s 0 %d", st->kind, st->name, LONG_LEASE_MS);
    side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
  }
  side_does(st->b, 1, "ok", "lock %s %s 0 %d", st->kind, st->name, LONG_LEASE_MS);
  side_does(st->a, 1, "lost", "unlock %s %s", st->kind, st->name);
  side_does(st->b, 1, "ok", "unlock %s %s", st->kind, st->name);
}

static long long token_of(struct side *s, const struct stage *st)
{
  const char *got;

  side_tell(s, 1, "lock %s %s - %d", st->kind, st->name, LONG_LEASE_MS);
  got = side_answer(s, 1, SIDE_SOON_MS);
  if (got == NULL || strncmp(got, "ok ", 3) != 0)
    fail_msg("'%s' instead of a token", got == NULL ? "nothing" : got);
  return strtoll(got + 3, NULL, 10);
}

/* One counter, whoever locks. */
void scene_tokens(struct stage *st)
{
  for (int i = 0; i < 3; i++) {
    assert_int_equal(token_of(st->a, st), 2 * i + 1);
    side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
    assert_int_equal(token_of(st->b, st), 2 * i + 2);
    side_does(st->b, 1, "ok", "unlock %s %s", st->kind, st->name);
  }
}

/* A cautious holder gives back what it may not believe any more, a little before the end. */
void scene_expires(struct stage *st)
{
  enum { LEASE_MS = 1000, CAUTION_MS = 50 };
  const bool forgives = strcmp(st->kind, "redlock") == 0 &&
                        (st->peers[0]->traits & FORGIVES) != 0;
  int64_t asked_ms = test_now_ms(), took_ms;

  side_does(st->a, 1, "ok", "lock %s %s - %d", st->kind, st->name, LEASE_MS);
  side_tell(st->b, 1, "lock %s %s - %d", st->kind, st->name, LEASE_MS);
  side_expect(st->b, 1, SIDE_SOON_MS, "ok");
  took_ms = side_answered_ns(st->b) / 1000000 - asked_ms;
  (void)snprintf(st->note, sizeof(st->note), "a lease of %d ms, had by the other after %lld ms",
                 LEASE_MS, (long long)took_ms);
  assert_in_range(took_ms, LEASE_MS - CAUTION_MS, 2 * LEASE_MS + 1500);
  side_does(st->a, 1, forgives ? "ok" : "lost", "unlock %s %s", st->kind, st->name);
  side_does(st->b, 1, "ok", "unlock %s %s", st->kind, st->name);
}

/* The name has just been released. If it is busy, the message says what is on the server. */
static void expect_free(struct stage *st, const char *kind)
{
  const char *got;

  side_tell(st->b, 1, "lock %s %s 0 %d", kind, st->name, LONG_LEASE_MS);
  got = side_answer(st->b, 1, SIDE_SOON_MS);
  if (got == NULL || strncmp(got, "ok", 2) != 0)
    fail_msg("'%s' instead of 'ok'; PTTL %s, owners %s, queue of a fair lock %s",
             got == NULL ? "" : got, test_server_command(st->server, "PTTL %s", st->name),
             test_server_command(st->server, "HGETALL %s", st->name),
             test_server_command(st->server, "LRANGE redisson_lock_queue:{%s} 0 -1", st->name));
}

void scene_renews(struct stage *st)
{
  const char *other = strcmp(st->kind, "read") == 0 ? "write" : st->kind;

  side_does(st->a, 1, "ok", "lock %s %s - -", st->kind, st->name);
  side_tell(st->b, 1, "lock %s %s %d %d", other, st->name, 3 * STAGE_WATCHDOG_MS / 2,
            LONG_LEASE_MS);
  side_expect(st->b, 1, 3 * STAGE_WATCHDOG_MS + SIDE_SOON_MS, "timeout");
  side_does(st->a, 1, "ok", "unlock %s %s", st->kind, st->name);
  expect_free(st, other);
  side_does(st->b, 1, "ok", "unlock %s %s", other, st->name);
}

void scene_forced(struct stage *st)
{
  const char *other = strcmp(st->kind, "read") == 0 ? "write" : st->kind;

  side_does(st->a, 1, "ok", "lock %s %s - %d", st->kind, st->name, LONG_LEASE_MS);
  side_tell(st->b, 1, "lock %s %s - %d", other, st->name, LONG_LEASE_MS);
  side_expect_waiting(st->b, 1, WAITS_MS);
  side_does(st->b, 2, "ok 1", "force %s %s", st->kind, st->name);
  side_expect(st->b, 1, WAKE_MAX_MS, "ok");
  side_does(st->a, 1, "lost", "unlock %s %s", st->kind, st->name);
  side_does(st->b, 1, "ok", "unlock %s %s", other, st->name);
  side_does(st->b, 2, "ok 0", "force %s %s", st->kind, st->name);
}
