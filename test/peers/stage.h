/* SPDX-License-Identifier: MIT */
/* test/peers/stage.h - who can take part, and what a scenario gets: two participants, a server,
 * a name that nobody used before. */
#ifndef TEST_PEERS_STAGE_H
#define TEST_PEERS_STAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "server.h"
#include "side.h"

enum {
  STAGE_WATCHDOG_MS = 2000,        /* the lease of locks that are renewed, in all peers */
  STAGE_FAIR_MS = 5000,            /* how long a fair place of Redisson's lasts in all of them, */
  STAGE_OUR_FAIR_MS = 30000,       /* and one of ours, which is fixed */
};

/* Peers of one family share a layout of keys, and so can exclude each other. Each of OTHER has a
 * layout of its own: bench/peers_run measures it. */
enum family {
  FAMILY_NATIVE, FAMILY_REDISSON, FAMILY_SPRING, FAMILY_PLAIN, FAMILY_OTHER, FAMILY_COUNT
};

/* What a peer can do with locks. Which messages it sends and hears matters only to who waits:
 * those that need none poll. */
enum trait {
  RENEWS = 0x1,                    /* a lock without a lease is kept while the process lives */
  REENTERS = 0x2,
  COUNTS = 0x4,                    /* `count` and `held` */
  FORCES = 0x8,
  POLLS = 0x10,
  TELLS = 0x20, HEARS = 0x40,      /* of the family's channels */
  TELLS_OLD = 0x80, HEARS_OLD = 0x100,  /* Spring's before 6.4.8 */
  LOOKS_ONCE_A_LEASE = 0x200,      /* where no message comes: so a dead holder's lease may be
                                      over for as long again before it is seen */
  LETS_IN = 0x800,                 /* who heard its release may be first, before it asks again */
  SEES_COUNTS = 0x1000,            /* `total` */
  MEETS_ITSELF = 0x400,            /* two processes of it, too: no other sends what it hears */
  OWN_SERVER = 0x4000,             /* not Redis: `run server directory=PATH` starts it */
  FORGIVES = 0x2000,               /* a RedLock that was lost is unlocked without a word */
};

struct peer {
  const char *name;
  const char *program;             /* its folder, which has a program `run`; "dibs": ours */
  enum family family;
  unsigned traits;
  const char *options[SIDE_OPTIONS_MAX];
};

extern const struct peer stage_peers[];
extern const int stage_peer_count;
const char *stage_family(enum family family);
/* The program of a peer, which may be missing: in the folder that DIBS_PEERS names, else in that
 * of the build. Valid until the next call. */
const char *stage_program(const struct peer *p);

struct stage {
  struct test_server *server;
  const struct peer *peers[2];
  struct side *a, *b;
  const char *kind;
  int cycles;                      /* of `exclusion`, all workers together */
  char name[80];                   /* of what is locked: new in each scenario */
  char note[200];                  /* what a scenario found, for people */
};

struct scenario {
  const char *object, *kind;       /* a column of the table; what both must have */
  const char *title;
  void (*run)(struct stage *st);
  bool (*applies)(const struct peer *a, const struct peer *b);  /* NULL: always */
  bool is_symmetric;               /* playing it once for two is enough */
  int cycles;
};

extern const struct scenario stage_scenarios[];
extern const int stage_scenario_count;

/* scene_locks.c */
void scene_exclusion(struct stage *st);
void scene_exclusion_in_rounds(struct stage *st);
void scene_shared_exclusion(struct stage *st);
void scene_shares(struct stage *st);
void scene_canary(struct stage *st);
void scene_wakes(struct stage *st);
void scene_reenters(struct stage *st);
void scene_tokens(struct stage *st);
void scene_expires(struct stage *st);
void scene_renews(struct stage *st);
void scene_forced(struct stage *st);
/* scene_views.c */
void scene_seen(struct stage *st);
void scene_seen_renewed(struct stage *st);
void scene_seen_count(struct stage *st);
void scene_names(struct stage *st);
/* scene_deaths.c */
void scene_crash(struct stage *st);
void scene_permits_crash(struct stage *st);
void scene_permits_gone(struct stage *st);
void scene_waiter_crash(struct stage *st);
void scene_flushed(struct stage *st);
void scene_restarted_empty(struct stage *st);
void scene_restarted(struct stage *st);
/* scene_others.c */
void scene_fair_order(struct stage *st);
void scene_readers(struct stage *st);
void scene_several(struct stage *st);
void scene_permits(struct stage *st);
void scene_permits_expire(struct stage *st);
void scene_latch(struct stage *st);
void scene_rate(struct stage *st);
void scene_collections(struct stage *st);

#endif
