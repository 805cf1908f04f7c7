/* SPDX-License-Identifier: MIT */
/* test/fault/fleet.h - a deployment of several servers whose clients live on hosts of their
 * own, in a network that can be cut anywhere (partition.h), and what scenarios measure of it.
 *
 *   struct fleet *f = fleet_sentinels(w, &set_options, &sentinel_options, "?quarantine=3s");
 *   (void)fleet_hire(f, FLEET_NEAR, &plan, 2);
 *   fleet_cut(f, side, other);
 *   promoted = fleet_wait_promoted(f, old, 15000);
 *   fleet_heal(f);
 *   fleet_calm(f);
 *
 * One in a world; it ends with the world. Faults are begun by fleet_cut() or fleet_fault(),
 * and are over for the checkers with fleet_calm(): what they leave behind, as a quarantine or
 * an old primary that nobody demoted yet, belongs to them. */
#ifndef FLEET_H
#define FLEET_H

#include "lib/deployment.h"
#include "lib/partition.h"
#include "world.h"

/* Hosts of a set: its three members, three sentinels, and clients here and there. */
enum { FLEET_SENTINELS = 3, FLEET_NEAR = 6, FLEET_FAR = 7, FLEET_HOSTS = 8 };

struct fleet {
  struct world *world;
  struct test_network *net;
  struct test_set *set;
  struct test_sentinels *watch;
  struct test_cluster *cluster;
  struct test_quorum *quorum;
  char url[256];               /* for fleet_hire(), unless the plan has one */
  int fault;                   /* 0: none */
};

struct fleet *fleet_sentinels(struct world *w, const struct test_set_options *set,
                              const struct test_sentinels_options *sentinels,
                              const char *options);
/* A set on loopback, without sentinels: redis://a,b,c. */
struct fleet *fleet_set(struct world *w, const char *options);
/* Members and servers on the first of so many hosts, clients behind them. */
struct fleet *fleet_cluster(struct world *w, const struct test_cluster_options *cluster,
                            int hosts, const char *options);
struct fleet *fleet_quorum(struct world *w, int servers,
                           const struct test_server_options *server, int hosts,
                           const char *options);

/* On that host; -1: on no host, for servers on loopback. As world_hire(). */
int fleet_hire(struct fleet *f, int host, const struct plan *plan, int count);

/* Begins a fault if none is on. The first two cut, bit i for host i. */
void fleet_cut(struct fleet *f, unsigned side, unsigned other);
void fleet_cut_one_way(struct fleet *f, unsigned from, unsigned to);
void fleet_fault(struct fleet *f, enum fault kind);
void fleet_heal(struct fleet *f);          /* packets pass again; the fault is not over yet */
void fleet_calm(struct fleet *f);          /* it is */

/* A member of the set, other than `old`, that is a primary; -1: none within `limit_ms`. */
int fleet_wait_promoted(struct fleet *f, int old, int limit_ms);
/* Waits for a grant of any of these workers, and tells how long it took: "# value what ms". */
bool fleet_time_grant(struct fleet *f, int first, int count, const char *what, int limit_ms);
/* A figure of one fault, for the tables of doc/reliability.md. */
void fleet_value(struct fleet *f, const char *what, int64_t value);

#endif
