/* SPDX-License-Identifier: MIT */
/* api/wait_graph.h - the graph of owners that wait for each other, as far as it is known,
 * and the search for a way from one wait back to its own owner; protocol.md 14.
 *
 * Pure: the caller fills in what is missing, and searches again. Borrows all its input;
 * results are borrowed too. */
#ifndef API_WAIT_GRAPH_H
#define API_WAIT_GRAPH_H

#include "dialect/native.h"
#include "dialect/native/wait_report.h"

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
  const char *owners; size_t owners_size;     /* NULL: it reported none */
} graph_client;

typedef struct wait_graph {
  size_t name_count, client_count;
  graph_name names[GRAPH_NAMES];
  graph_client clients[GRAPH_CLIENTS];
} wait_graph;

/* One owner waits for a name that another owner holds. */
typedef struct graph_step {
  char waiter[CLIENT_ID_SIZE];
  uint64_t wait, ask;
  const void *name; size_t name_size;
  lease_id lease;                    /* of the holder */
  uint64_t hold;
} graph_step;

typedef struct graph_path { size_t count; graph_step steps[GRAPH_STEPS]; } graph_path;

/* The way from the wait `id` of `client` back to its owner, by older waits only: a cycle
 * of which that wait is the youngest. `nonce`, unless NULL: clients that do not return it
 * are ignored. false: no cycle, or facts are missing: then the graph has names or clients
 * with is_asked false. */
bool graph_find(wait_graph *g, const char *client, uint64_t id, const char *nonce,
                graph_path *ret);

/* The same waits, holds and leases. */
bool graph_path_equal(const graph_path *a, const graph_path *b);

#endif
