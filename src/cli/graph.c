/* SPDX-License-Identifier: MIT */
/* cli/graph.c - which client waits for which: nodes, edges, cycles. */
#include "cli/graph.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/show.h"

#define PLACE_PREFIX "in "

/* Room for one more; `list` is NULL or has room for a power of two. */
static void *grow(graph *g, void *list, size_t count, size_t size)
{
  void *more;

  if (count != 0 && (count & (count - 1)) != 0)
    return list;
  more = reallocarray(list, count == 0 ? 1 : 2 * count, size);
  g->has_no_memory = g->has_no_memory || more == NULL;
  return more == NULL ? list : more;
}

/* ---- nodes ---- */

static bool is_same(const dibs_party *a, const dibs_party *b)
{
  return strcmp(a->client, b->client) == 0 && strcmp(a->owner, b->owner) == 0;
}

/* The node of that party; it may be a new one. */
static size_t node_of(graph *g, const dibs_party *party)
{
  for (size_t n = 0; n < g->node_count; n++) {
    if (is_same(&g->nodes[n].party, party))
      return n;
  }
  g->nodes = grow(g, g->nodes, g->node_count, sizeof(*g->nodes));
  if (g->has_no_memory)
    return 0;
  g->nodes[g->node_count] = (graph_node) { .party = *party };
  return g->node_count++;
}

/* ---- edges ---- */

static void edge_add(graph *g, const graph_edge *e)
{
  if (g->has_no_memory)
    return;
  g->edges = grow(g, g->edges, g->edge_count, sizeof(*g->edges));
  if (!g->has_no_memory)
    g->edges[g->edge_count++] = *e;
}

static bool name_add(graph *g, const dibs_inspection *i)
{
  char *copy = malloc(i->name_size + 1);

  g->names = grow(g, g->names, g->name_count, sizeof(*g->names));
  if (copy == NULL || g->has_no_memory) {
    free(copy);
    g->has_no_memory = true;
    return false;
  }
  memcpy(copy, i->name, i->name_size);
  copy[i->name_size] = '\0';
  g->names[g->name_count++] =
      (graph_name) { .name = copy, .size = i->name_size, .kind = i->kind };
  return true;
}

/* SCAN may return a name twice. */
static bool is_known(const graph *g, const dibs_inspection *i)
{
  for (size_t n = 0; n < g->name_count; n++) {
    if (g->names[n].size == i->name_size &&
        memcmp(g->names[n].name, i->name, i->name_size) == 0)
      return true;
  }
  return false;
}

/* Threads of a client wait for each other all the time; only one that reports its owners
 * can wait for itself. */
static bool is_edge(const dibs_party *waiter, const dibs_party *holder)
{
  return !is_same(waiter, holder) || waiter->owner[0] != '\0';
}

bool graph_add(graph *g, const dibs_inspection *i)
{
  size_t holders = show_holder_count(i);

  if (i->party_count == 0 || holders == 0 || is_known(g, i))
    return true;
  if (!name_add(g, i))
    return false;
  for (size_t w = 0; w < i->party_count; w++) {
    const dibs_party *waiter = i->waiters[w];

    for (size_t h = 0; h < holders; h++) {
      const dibs_holder *holder = show_holder_at(i, h);
      graph_edge e = { .name = g->name_count - 1, .mode = waiter->mode,
                       .units = waiter->units, .waited_ms = waiter->waited_ms,
                       .fence = holder->fence, .is_sole = i->holder_count == 1 };

      if (!is_edge(waiter, holder->party))
        continue;
      e.from = node_of(g, waiter);
      e.to = node_of(g, holder->party);
      edge_add(g, &e);
    }
  }
  return !g->has_no_memory;
}

/* ---- commands inside commands ---- */

void graph_note(const char *reason, char ret_text[DIBS_NOTE_MAX + 1])
{
  const char *held = getenv("DIBS_HELD"), *holder = getenv("DIBS_HOLDER");
  bool is_inside = held != NULL && *held != '\0' && holder != NULL && *holder != '\0';
  const size_t size = DIBS_NOTE_MAX + 1;
  int used;

  if (reason == NULL) {
    snprintf(ret_text, size, "%s%.200s", is_inside ? PLACE_PREFIX : "",
             is_inside ? holder : "");
    return;
  }
  used = is_inside ? snprintf(ret_text, size, "%s (" PLACE_PREFIX "%s)", reason, holder) : 0;
  if (used <= 0 || (size_t)used >= size)
    snprintf(ret_text, size, "%s", reason);
}

static bool is_around(const dibs_party *outer, const dibs_party *inner)
{
  size_t size = strlen(inner->note), place_size;
  char place[100];

  if (outer->host[0] == '\0')
    return false;
  place_size = (size_t)snprintf(place, sizeof(place), PLACE_PREFIX "%s:%" PRId64,
                                outer->host, outer->pid);
  if (strcmp(place, inner->note) == 0)
    return true;
  return size > place_size + 2 && inner->note[size - 1] == ')' &&
         inner->note[size - place_size - 2] == '(' &&
         strncmp(inner->note + size - place_size - 1, place, place_size) == 0;
}

static void add_commands(graph *g)
{
  size_t count = g->node_count;

  for (size_t outer = 0; outer < count; outer++) {
    for (size_t inner = 0; inner < count; inner++) {
      graph_edge e = { .from = outer, .to = inner, .name = GRAPH_COMMAND };

      if (is_around(&g->nodes[outer].party, &g->nodes[inner].party))
        edge_add(g, &e);
    }
  }
}

/* ---- components ---- */

/* Marks in `seen` what can be reached from `start`, along the edges or against them. */
static void reach(const graph *g, size_t start, bool is_forward, bool *seen, size_t *stack)
{
  size_t depth = 0;

  stack[depth++] = start;
  seen[start] = true;
  while (depth > 0) {
    size_t at = stack[--depth];

    for (size_t i = 0; i < g->edge_count; i++) {
      size_t from = is_forward ? g->edges[i].from : g->edges[i].to;
      size_t to = is_forward ? g->edges[i].to : g->edges[i].from;

      if (from == at && !seen[to]) {
        seen[to] = true;
        stack[depth++] = to;
      }
    }
  }
}

/* Nodes that reach `start` and are reached by it are in cycles with it. */
static void find_component(graph *g, size_t start, bool *after, bool *before, size_t *stack)
{
  memset(after, 0, g->node_count * sizeof(*after));
  memset(before, 0, g->node_count * sizeof(*before));
  reach(g, start, true, after, stack);
  reach(g, start, false, before, stack);
  for (size_t n = 0; n < g->node_count; n++) {
    if (after[n] && before[n])
      g->nodes[n].component = start;
  }
}

static void mark_cycles(graph *g)
{
  for (size_t i = 0; i < g->edge_count; i++) {
    graph_edge *e = &g->edges[i];

    e->has_cycle = g->nodes[e->from].component == g->nodes[e->to].component;
    if (e->has_cycle)
      g->nodes[e->from].has_cycle = g->nodes[e->to].has_cycle = true;
  }
}

void graph_finish(graph *g)
{
  bool *after, *before;
  size_t *stack;

  add_commands(g);
  after = calloc(g->node_count + 1, sizeof(*after));
  before = calloc(g->node_count + 1, sizeof(*before));
  stack = calloc(g->node_count + 1, sizeof(*stack));
  if (after == NULL || before == NULL || stack == NULL)
    g->has_no_memory = true;
  for (size_t n = 0; n < g->node_count; n++)
    g->nodes[n].component = GRAPH_COMMAND;
  for (size_t n = 0; n < g->node_count && !g->has_no_memory; n++) {
    if (g->nodes[n].component == GRAPH_COMMAND)
      find_component(g, n, after, before, stack);
  }
  if (!g->has_no_memory)
    mark_cycles(g);
  free(after);
  free(before);
  free(stack);
}

/* ---- one cycle ---- */

static size_t next_edge(const graph *g, size_t from)
{
  for (size_t i = 0; i < g->edge_count; i++) {
    if (g->edges[i].has_cycle && g->edges[i].from == from)
      return i;
  }
  return g->edge_count;
}

/* Every node of a component has an edge that stays inside; walking along the first of them
 * must come to a node again. */
size_t graph_cycle(const graph *g, size_t component, size_t *ret_edges, size_t size)
{
  size_t at = component, count = 0;

  while (count < size) {
    size_t edge = next_edge(g, at);

    if (edge == g->edge_count)
      return 0;
    for (size_t i = 0; i < count; i++) {
      if (ret_edges[i] == edge) {
        memmove(ret_edges, ret_edges + i, (count - i) * sizeof(*ret_edges));
        return count - i;
      }
    }
    ret_edges[count++] = edge;
    at = g->edges[edge].to;
  }
  return count;
}

bool graph_is_certain(const graph *g, const size_t *edges, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    const graph_edge *e = &g->edges[edges[i]];

    if (e->name == GRAPH_COMMAND || g->nodes[e->from].party.owner[0] == '\0')
      return false;
    if (g->names[e->name].kind == DIBS_KIND_SEMAPHORE && !e->is_sole)
      return false;
  }
  return count > 0;
}

void graph_free(graph *g)
{
  for (size_t i = 0; i < g->name_count; i++)
    free(g->names[i].name);
  free(g->names);
  free(g->nodes);
  free(g->edges);
  memset(g, 0, sizeof(*g));
}
