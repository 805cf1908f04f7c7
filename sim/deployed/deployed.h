/* SPDX-License-Identifier: MIT */
/* sim/deployed - runs seeds in worlds of several servers, and judges them by what programs
 * believe, written as a history: that no two of them believe to have the same name (S1), and
 * that fences grow (S2). test/oracle holds both checks.
 *
 * draw.c what a world is and what happens in it; trial.c its programs and its oracle; peer.c a
 * program in Java that shares its locks; main.c which seeds, and what is told of them. May
 * include the public headers, base/, resp/, test/oracle and world/world.h. Everything that is
 * decided comes from the seed. */
#ifndef DEPLOYED_H
#define DEPLOYED_H

#include <dibs/sim.h>

#include "base/base.h"
#include "oracle/log.h"
#include "oracle/oracle.h"

enum { PROGRAMS = 4, PEERS = 2, NAMES = 3, GRIPS = 64, FAULTS_MAX = 64, URL_MAX = 400 };

/* What a world promises. */
enum {
  PROMISE_S1 = 1,               /* no two believe to have the same name */
  PROMISE_S2 = 2,               /* whoever asks after somebody was granted gets a higher fence */
  PROMISE_L6 = 4                /* when all is well again everybody gets what he waits for */
};

typedef struct kind {
  const char *name;
  const char *what;             /* for people */
  int servers, replicas, sentinels, nodes;
  int min_replicas;
  bool is_guarded;              /* quarantine as the guide says */
  bool is_planned;              /* administrators promote, too */
  bool keeps_data;              /* no server comes back empty */
  unsigned promises;
  const char *dialect;          /* NULL: native */
  bool has_peers;               /* Java programs that take a RedLock of the same names */
} kind;

typedef struct plan {
  const kind *kind;
  uint64_t seed;
  char url[URL_MAX];
  dibs_sim_options options;
  int64_t run_ms, ttl_ms, quarantine_ms;
  int32_t think_ms, hold_ms, command_timeout_ms;
  int names;
  size_t fault_count;
  dibs_sim_fault faults[FAULTS_MAX];
} plan;

/* ---- peer.c: a Java program with a RedLock ---- */

typedef struct peer {
  dibs_sim *sim;
  int number, names;
  int64_t ttl_ms;
  int32_t think_ms, hold_ms;
  bool ends;                    /* asked for: it begins nothing more */
  random_source random;
  int name;
  uint64_t thread, grants;
  struct history_log *log;
} peer;

/* Of the world, for its history. */
int64_t history_now(const dibs_sim *sim);

extern const char *const name_texts[NAMES];
void peer_main(void *data);     /* of a peer */

extern const kind kinds[];      /* a name of NULL ends them */

void plan_draw(plan *p, const kind *k, uint64_t seed);

typedef struct verdict {
  char flaw[400];               /* the first of what is promised; "": none */
  uint64_t grants, of_peers, losses, overlaps, steps_back, promotions, refused;
  int64_t overlap_us;           /* the longest */
  bool is_stuck;
} verdict;

void trial_run(const plan *p, void (*on_trace)(const char *, void *), void *data,
               verdict *ret_verdict);

#endif
