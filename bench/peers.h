/* SPDX-License-Identifier: MIT */
/* bench/peers.h - lock libraries side by side: what the parts of bench_peers share.
 *
 * An entrant is one library of test/peers in three processes, which stay for the whole run.
 * All entrants share one server, and take turns in each round. What is told to them is
 * test/peers/PROTOCOL.md; nearly all of it is the verb `cycles`. */
#ifndef BENCH_PEERS_H
#define BENCH_PEERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"
#include "stage.h"

enum {
  PEERS_ROUNDS_MAX = 99,
  PEERS_SIDES = 3,
  PEERS_THREADS = 64,
  PEERS_CROWD = 100,
  PEERS_LEASE_MS = 30000,
  PEERS_LOOKS_MIN = 4,             /* who sends more in a second while waiting polls */
};

/* Numbers that grow; quantiles are of all of them. */
typedef struct samples {
  double *all;
  size_t count, room;
} samples;

void samples_add(samples *s, double value);

/* A process as /proc has it. */
typedef struct look {
  double rss_bytes;
  int threads, sockets;
} look;

/* What the server got while some waited and were served, divided by those who took part. */
typedef struct counts {
  double asking;                   /* commands of clients until all stand; of no meaning where
                                      they poll: the first look is like all others */
  double handing_over;             /* from the first exit on */
  double inside;                   /* commands within scripts, both together */
  double messages;
  double waiting_per_second;       /* of all who wait, while nothing happens */
} counts;

/* One thread, or PEERS_THREADS. */
typedef struct pairs {
  double rate[PEERS_ROUNDS_MAX];   /* lock + unlock, 1/s */
  double server_us[PEERS_ROUNDS_MAX], client_us[PEERS_ROUNDS_MAX];  /* CPU for one */
  double guess;                    /* the rate, for how many to ask for */
} pairs;

/* Who waits: two in processes of their own, and the holder in another; many in two. */
typedef enum crowd { TWO_WAIT, MANY_WAIT, CROWDS } crowd;

typedef struct entrant {
  const struct peer *peer;
  struct side *sides[PEERS_SIDES];
  struct side *server;             /* NULL: the Redis of all; nothing is counted at another */
  const char *failure;             /* NULL: none; else nothing more is asked of it */
  const char *hang;                /* NULL: none; else no more trains run with it */
  look ready, crowded, after;      /* with the crowd waiting; when all was done */
  pairs one, many;
  samples between[CROWDS];         /* from an exit to the next enter, another process; us */
  samples within[CROWDS];          /* the same process */
  samples served_ms[CROWDS];       /* from the first exit until all had it */
  counts counts[CROWDS];
} entrant;

/* Whether trains can run with it. */
static inline bool entrant_waits(const entrant *e)
{
  return e->failure == NULL && e->hang == NULL;
}

extern struct test_server *peers_server;

/* peers_entrant.c */
void entrant_open(entrant *e, const struct peer *peer);
void entrant_close(entrant *e);
/* Ends it: it had its chance. */
void entrant_fail(entrant *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A waiter of it has no answer: it starts again, without trains from now on. */
void entrant_hang(entrant *e, const char *format, ...) __attribute__((format(printf, 2, 3)));
double entrant_server_cpu(const entrant *e);
look entrant_look(const entrant *e, int side);
const char *peers_counter(void);   /* the file of all cycles: a number of 8 bytes */
void peers_counter_reset(void);
const char *peers_records(int worker);

/* peers_pairs.c: `threads` of its first process, a name each, for `seconds`; `round` -1: only
 * the guess and a warm-up. */
void pairs_measure(entrant *e, pairs *p, int threads, double seconds, int round);

/* peers_train.c: one holds, the others wait until they stand; then it unlocks, and each gets
 * it once. */
typedef struct train {
  int waiters, hold_ms;
  bool is_one_process;             /* all waiters in the first, the holder in another */
  bool is_counted;                 /* the server is watched, which slows it: no times */
  bool is_looked_at;               /* the first process, while they wait */
} train;

int peers_waiters(crowd where);
/* False: it did not come about, for instance because a waiter was before the holder. */
bool train_run(entrant *e, const train *t, crowd where);
/* As often as `seconds` are enough for, once at least. */
void trains_measure(entrant *e, crowd where, double seconds);

/* peers_watch.c: what the server is sent, by MONITOR. Instants are of CLOCK_MONOTONIC. */
typedef struct watch watch;
typedef struct watched {
  int64_t stood_ns, released_ns;
  int participants;
} watched;

watch *watch_begin(void);
/* Stops, and counts. */
counts watch_end(watch *w, const watched *when);

/* peers_report.c */
typedef struct baseline {
  double pings[PEERS_ROUNDS_MAX], scripts[PEERS_ROUNDS_MAX];  /* pairs, 1/s */
} baseline;

void peers_report(const entrant *entrants, int count, const baseline *b, int rounds);

#endif
