/* SPDX-License-Identifier: MIT */
/* sim/server/cluster.h - a cluster as one of its nodes sees it. */
#ifndef SIM_SERVER_CLUSTER_H
#define SIM_SERVER_CLUSTER_H

#include "server/parts.h"

#define SLOTS 16384
#define NODE_NONE UINT16_MAX

typedef struct node {
  char id[41];
  char *host;
  int port;
  int primary;                  /* index of whose replica it is; -1: a primary */
} node;

struct cluster {
  node *nodes;
  size_t count, self;
  bool is_down;
  uint16_t owner[SLOTS], migrating[SLOTS], importing[SLOTS];     /* nodes; NODE_NONE */
};

/* The node with this id; NODE_NONE: there is none. */
uint16_t cluster_node(const cluster *k, slice id);
void cluster_set_owner(sim_server *s, uint16_t hash_slot, uint16_t node);
/* The first key of the slot at or behind `after`; NULL: none. */
key *cluster_key(const sim_server *s, uint16_t hash_slot, const key *after);

#endif
