/* SPDX-License-Identifier: MIT */
/* bench/peers_train.c - one holds, the others wait; it unlocks, and each gets it once: how
 * long from each exit to the next enter.
 *
 * Nobody asks again after its turn: a library that polls would else hand the lock to whoever
 * has just had it, and count that as quick. */
#include "peers.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "now.h"
#include "overlap.h"

enum { LIMIT_MS = 30000, LOOK_US = 1000, HELD_MS = 2000, STANDING_MS = 500, FAILURES_MAX = 5 };

typedef struct place { int side, worker; } place;

static int train_number;

int peers_waiters(crowd where)
{
  return where == TWO_WAIT ? 2 : bench.is_smoke ? 10 : PEERS_CROWD;
}

/* 0 is the holder. */
static place place_of(const train *t, int number)
{
  if (t->is_one_process)
    return (place){ number == 0, number };
  return (place){ t->waiters == 2 ? number : number % 2, number };
}

/* ---- the counter ---- */

/* Looked at now and then, so that no answer wakes us while there is something to measure. */
static bool counter_reaches(uint64_t wanted, int limit_ms)
{
  int fd = open(peers_counter(), O_RDONLY | O_CLOEXEC);
  int64_t end_ms = test_now_ms() + limit_ms;
  uint64_t n = 0;

  while (pread(fd, &n, sizeof(n), 0) == (ssize_t)sizeof(n) && n < wanted &&
         test_now_ms() < end_ms)
    (void)usleep(LOOK_US);
  (void)close(fd);
  return n >= wanted;
}

/* ---- a train ---- */

static void tell(entrant *e, const train *t, int number, int inside_ms)
{
  place p = place_of(t, number);

  side_tell(e->sides[p.side], p.worker, "cycles lock mutex:t%d 1 %d %s - %d", train_number,
            PEERS_LEASE_MS, peers_counter(), inside_ms);
}

/* The holder is in as soon as it has counted. The others do not come all at once:
 * else those that look every 100 ms would all look at the same time. */
static void begin(entrant *e, const train *t)
{
  useconds_t apart_us = t->waiters == 2 ? 1000 * (10 + (useconds_t)train_number * 53 % 100)
                                        : 1000;

  train_number++;
  peers_counter_reset();
  tell(e, t, 0, t->hold_ms);
  (void)counter_reaches(1, HELD_MS);
  for (int i = 1; i <= t->waiters; i++) {
    tell(e, t, i, 0);
    (void)usleep(bench.is_smoke ? 100 : apart_us);
  }
}

/* All intervals, the holder's first; false: the entrant has failed. */
static bool collect(entrant *e, const train *t, struct intervals *got)
{
  for (int i = 0; i <= t->waiters; i++) {
    place p = place_of(t, i);
    const char *answer = side_answer(e->sides[p.side], p.worker, LIMIT_MS);
    struct interval one = { .who = p.side };

    if (answer == NULL) {
      entrant_hang(e, "hangs: waiter %d of %d had no answer in %d s", i, t->waiters,
                   LIMIT_MS / 1000);
      return false;
    }
    if (sscanf(answer, "ok 1 0 %" SCNd64 " %" SCNd64, &one.enter_ns,
                                 &one.exit_ns) != 2) {
      entrant_fail(e, "waiter %d of %d: %s", i, t->waiters, answer);
      return false;
    }
    intervals_add(got, one);
  }
  return true;
}

static void note_latencies(entrant *e, const struct intervals *got, crowd where)
{
  size_t last = got->count - 1;

  for (size_t i = 1; i <= last; i++) {
    const struct interval *before = &got->all[i - 1], *now = &got->all[i];

    samples_add(before->who != now->who ? &e->between[where] : &e->within[where],
                (double)(now->enter_ns - before->exit_ns) / 1e3);
  }
  samples_add(&e->served_ms[where],
              (double)(got->all[last].exit_ns - got->all[0].exit_ns) / 1e6);
}

/* Whether the holder was the first of all, and nobody met another inside. Sorts. */
static bool is_in_order(entrant *e, struct intervals *got)
{
  int64_t holder_ns = got->all[0].enter_ns;

  if (intervals_check(got, 1).count != 0) {
    entrant_fail(e, "two were inside at a time");
    return false;
  }
  return got->all[0].enter_ns == holder_ns;
}

bool train_run(entrant *e, const train *t, crowd where)
{
  watched when = { .participants = t->waiters + 1 };
  watch *w = t->is_counted ? watch_begin() : NULL;
  struct intervals got = { 0 };
  bool is_well;

  when.stood_ns = (int64_t)(bench_now() * 1e9) + STANDING_MS * 1000000;
  begin(e, t);
  if (t->is_looked_at) {
    (void)usleep((useconds_t)t->hold_ms * 700);
    e->crowded = entrant_look(e, 0);
  }
  (void)counter_reaches((uint64_t)t->waiters + 1, LIMIT_MS);
  is_well = collect(e, t, &got);
  if (is_well) {
    when.released_ns = got.all[0].exit_ns;
    if (when.stood_ns > when.released_ns)
      when.stood_ns = when.released_ns;
    is_well = is_in_order(e, &got);
  }
  if (w != NULL) {
    counts seen = watch_end(w, &when);

    if (is_well)
      e->counts[where] = seen;
  } else if (is_well && !t->is_looked_at) {
    note_latencies(e, &got, where);
  }
  intervals_deinit(&got);
  return is_well;
}

/* The holder's time differs, so that those who look now and then are met at any time between
 * two looks. */
void trains_measure(entrant *e, crowd where, double seconds)
{
  double end = bench_now() + seconds;
  int failed = 0;

  while (entrant_waits(e) && failed < FAILURES_MAX) {
    const train t = { .waiters = peers_waiters(where),
                      .hold_ms = bench.is_smoke ? 40 : 300 + train_number * 37 % 200 };

    failed += !train_run(e, &t, where);
    if (bench_now() >= end)
      return;
  }
  if (entrant_waits(e))
    entrant_fail(e, "the holder came late %d times", failed);
}
