/* SPDX-License-Identifier: MIT */
/* cli/graph.h - which client waits for which: what is needed to see a deadlock.
 *
 * A node is a client, or an owner in a client that reports its owners. An edge leads from
 * one that waits for a name to one that holds it. A `dibs run` inside the command of
 * another one reports that, and adds an edge from that one, which waits for its command. A
 * cycle of owners is a deadlock; one through a client that does not report them, through a
 * command, or through permits that others hold too, is a possible one. */
#ifndef CLI_GRAPH_H
#define CLI_GRAPH_H

#include <dibs/lock.h>

#include "cli/session.h"

typedef struct graph_node {
  dibs_party party;
  bool has_cycle;
  size_t component;          /* nodes that reach each other have the same one */
} graph_node;

typedef struct graph_edge {
  size_t from, to;           /* nodes */
  size_t name;               /* GRAPH_COMMAND: waits for its command */
  dibs_mode mode;            /* how it is wanted */
  uint32_t units;
  int64_t waited_ms;
  uint64_t fence;            /* of the holder */
  bool is_sole;              /* the only holder of the name */
  bool has_cycle;            /* both ends are in one cycle */
} graph_edge;

#define GRAPH_COMMAND ((size_t)-1)

typedef struct graph_name {
  char *name;
  size_t size;
  dibs_kind kind;
} graph_name;

typedef struct graph {
  graph_node *nodes;
  graph_edge *edges;
  graph_name *names;
  size_t node_count, edge_count, name_count;
  bool has_no_memory;
} graph;

/* ---- graph.c ---- */

/* Adds the edges of one name; false when memory is refused. */
bool graph_add(graph *g, const dibs_inspection *i);

/* After the last name: commands, components, cycles. */
void graph_finish(graph *g);
void graph_free(graph *g);

/* The edges of one cycle through `component`, in order, at most `size`. Returns how many. */
size_t graph_cycle(const graph *g, size_t component, size_t *ret_edges, size_t size);

/* Whether these edges are a deadlock beyond doubt. */
bool graph_is_certain(const graph *g, const size_t *edges, size_t count);

/* The note of a client: `reason` (NULL: none), and under the command of another `dibs run`
 * where that is: "in HOST:PID", or "reason (in HOST:PID)" as long as it fits. */
void graph_note(const char *reason, char ret_text[DIBS_NOTE_MAX + 1]);

/* ---- graph_show.c: dibs status --graph and --dot ---- */
int graph_show(session *s, const char *pattern, bool wants_dot);

#endif
