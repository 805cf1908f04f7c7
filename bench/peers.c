/* SPDX-License-Identifier: MIT */
/* bench/peers.c - lock libraries of several languages, and ours in each dialect, side by side
 * on one server in one run.
 *
 *   bench_peers [ENTRANT]...      by the names of test/peers/roster.c
 *
 * Who is not there is left out, and said so; DIBS_PEERS names the folder that
 * test/peers/build.sh has filled. --smoke: only ours. In each round all take turns, so that
 * what slows the machine down slows all down; virtual machines of Java compile as they like
 * (PEERS_JAVA), and all have had a warm-up. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "raw.h"

enum {
  ENTRANTS_MAX = 18,
  ROUNDS = 5,
  LOOK_HOLD_MS = 1200,
  FIRST_HOLD_MS = 300,
  COUNT_HOLD_MS = 2000,
  WARM_PAIRS = 20000,
};

struct test_server *peers_server;

static entrant entrants[ENTRANTS_MAX];
static int entrant_count;
static baseline bare;

/* ---- who ---- */

/* Two more are in the roster: older versions. */
static const char *const usual[] = {
  "dibs", "dibs-redisson", "redisson4", "dibs-spring", "spring7-pubsub", "spring7-spin",
  "dibs-plain", "redis-py", "redsync", "redislock", "node-redlock", "redis-semaphore",
  "rueidislock", "etcd",
};

static const struct peer *peer_of(const char *name)
{
  for (int i = 0; i < stage_peer_count; i++)
    if (strcmp(stage_peers[i].name, name) == 0)
      return &stage_peers[i];
  bench_die("no peer '%s' in test/peers/roster.c", name);
}

static void enter(const char *name)
{
  if (entrant_count == ENTRANTS_MAX)
    bench_die("more than %d entrants", ENTRANTS_MAX);
  entrant_open(&entrants[entrant_count++], peer_of(name));
}

static void enter_all(int count, char **names)
{
  for (int i = 1; i < count; i++)
    enter(names[i]);
  if (count > 1)
    return;
  for (size_t i = 0; i < sizeof(usual) / sizeof(usual[0]); i++)
    if (!bench.is_smoke || strncmp(usual[i], "dibs", 4) == 0)
      enter(usual[i]);
}

/* ---- what ---- */

static int threads_of_many(void)
{
  return bench.is_smoke ? 4 : PEERS_THREADS;
}

/* Until it is as quick as it gets: a virtual machine compiles what is used often. */
static void warm_up(entrant *e)
{
  double end = bench_now() + bench_seconds(4), done = 0;

  e->one.guess = 200;
  e->many.guess = 1000;
  while (e->failure == NULL && done < WARM_PAIRS && bench_now() < end) {
    pairs_measure(e, &e->one, 1, bench_seconds(0.3), -1);
    pairs_measure(e, &e->many, threads_of_many(), bench_seconds(0.5), -1);
    done += e->one.guess * 0.3 + e->many.guess * 0.5;
  }
}

/* Twice: what a process says at its first contact is not of the lock. */
static void count_commands(entrant *e, crowd where)
{
  train t = { .waiters = peers_waiters(where), .is_counted = true };

  t.hold_ms = bench.is_smoke ? 50 : FIRST_HOLD_MS;
  (void)train_run(e, &t, where);
  t.hold_ms = bench.is_smoke ? 100 : COUNT_HOLD_MS;
  if (entrant_waits(e))
    (void)train_run(e, &t, where);
}

/* Measures what does not vary: memory, threads, counts; and warms up. */
static void introduce(entrant *e)
{
  const train looked_at = { .waiters = peers_waiters(MANY_WAIT),
                            .hold_ms = bench.is_smoke ? 100 : LOOK_HOLD_MS,
                            .is_one_process = true, .is_looked_at = true };

  if (e->failure != NULL)
    return;
  e->ready = entrant_look(e, 0);
  (void)train_run(e, &looked_at, MANY_WAIT);
  warm_up(e);
  for (crowd c = TWO_WAIT; c < CROWDS && entrant_waits(e) && e->server == NULL; c++)
    count_commands(e, c);
}

static void measure(entrant *e, int round)
{
  pairs_measure(e, &e->one, 1, bench_seconds(0.4), round);
  pairs_measure(e, &e->many, threads_of_many(), bench_seconds(0.8), round);
  trains_measure(e, TWO_WAIT, bench_seconds(1.5));
  trains_measure(e, MANY_WAIT, bench_seconds(1.5));
}

/* Two PINGs, and two script calls, on a blocking socket: no lock can be faster. */
static void measure_bare(int round)
{
  raw *r = raw_open(peers_server, false);
  double began = bench_now(), length = bench_seconds(0.2), count = 0;

  for (; bench_now() - began < length; count++) {
    raw_ping(r);
    raw_ping(r);
  }
  bare.pings[round] = count / (bench_now() - began);
  began = bench_now();
  for (count = 0; bench_now() - began < length; count++)
    raw_pair(r, "bare");
  bare.scripts[round] = count / (bench_now() - began);
  (void)raw_close(r);
}

int main(int argc, char **argv)
{
  int kept = bench_begin(argc, argv), rounds = bench_rounds(ROUNDS);

  if (rounds > PEERS_ROUNDS_MAX)
    bench_die("at most %d rounds", PEERS_ROUNDS_MAX);
  (void)setenv("PEERS_JAVA", "", 0);
  peers_server = test_server_start();
  peers_counter_reset();
  enter_all(kept, argv);
  for (int i = 0; i < entrant_count; i++)
    introduce(&entrants[i]);
  for (int round = 0; round < rounds; round++) {
    (void)fprintf(stderr, "bench: round %d of %d\n", round + 1, rounds);
    measure_bare(round);
    for (int i = 0; i < entrant_count; i++)
      if (entrants[i].failure == NULL)
        measure(&entrants[i], round);
  }
  for (int i = 0; i < entrant_count; i++)
    if (entrants[i].failure == NULL)
      entrants[i].after = entrant_look(&entrants[i], 0);
  peers_report(entrants, entrant_count, &bare, rounds);
  for (int i = 0; i < entrant_count; i++)
    entrant_close(&entrants[i]);
  (void)test_server_stop(peers_server);
  return 0;
}
