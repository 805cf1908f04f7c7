/* SPDX-License-Identifier: MIT */
/* api/wait_graph.h - who waits for whom, as far as it was asked for, and the way from one
 * wait back to its own owner; protocol.md 14.
 *
 * Pure: whoever uses it fills in what it lacks, and searches again. Borrows all that it is
 * told; what is found is borrowed likewise. */
#ifndef API_WAIT_GRAPH_H
#define API_WAIT_GRAPH_H

#include "dialect/native.h"
#include "dialect/native_owners.h"

#define GRAPH_NAMES 64
#define GRAPH_CLIENTS 64
#define GRAPH_STEPS 16

typedef struct graph_name {
  const void *name; size_t size;
  bool is_asked;
  const inspect_answer *seen;        /* NULL: not known */
} graph_name;

typedef struct graph_client {
  char id[CLIENT_ID_SIZE];
  bool is_asked;
  const char *owners; size_t owners_size;     /* NULL: it tells none */
} graph_client;

typedef struct wait_graph {
  size_t name_count, client_count;
  graph_name names[GRAPH_NAMES];
  graph_client clients[GRAPH_CLIENTS];
} wait_graph;

/* One owner waits for a name, and another one has it. */
typedef struct graph_step {
  char waiter[CLIENT_ID_SIZE];
  uint64_t wait, ask;
  const void *name; size_t name_size;
  lease_id lease;                    /* of the holder */
  uint64_t hold;
} graph_step;

typedef struct graph_path { size_t count; graph_step steps[GRAPH_STEPS]; } graph_path;

/* The way from the wait `id` of `client` back to its owner, by waits that are older only: a
 * cycle of which that wait is the youngest. `nonce`, unless NULL: clients that do not tell
 * it are not believed. false: none, or something is lacking: then there are names or
 * clients in the graph with is_asked false. */
bool graph_find(wait_graph *g, const char *client, uint64_t id, const char *nonce,
                graph_path *ret);

/* The same waits, holds and leases. */
bool graph_path_equal(const graph_path *a, const graph_path *b);

#endif
