/* SPDX-License-Identifier: MIT */
/* cli/graph_show.c - dibs status --graph and --dot. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/durations.h"
#include "cli/graph.h"
#include "cli/message.h"
#include "cli/show.h"

/* Longer cycles are shown up to here. */
#define CYCLE_MAX 64

static const char *node_text(const graph *g, size_t node, char text[220])
{
  show_party_short(&g->nodes[node].party, text, 220);
  return text;
}

static const char *name_text(const graph *g, size_t name, char text[600])
{
  if (name == GRAPH_COMMAND)
    return "its command";
  return printable(g->names[name].name, text, 600);
}

/* Whether it is the first node of a cycle. */
static bool begins_cycle(const graph *g, size_t node)
{
  return g->nodes[node].has_cycle && g->nodes[node].component == node;
}

/* ---- text ---- */

static void print_edge(const graph *g, const graph_edge *e)
{
  char from[220], to[220], name[600], waited[DURATION_SIZE];

  node_text(g, e->from, from);
  node_text(g, e->to, to);
  name_text(g, e->name, name);
  duration_as_clock(e->waited_ms, waited);
  if (e->name == GRAPH_COMMAND)
    printf("%s  waits for its command, %s%s\n", from, to, e->has_cycle ? "  (cycle)" : "");
  else
    printf("%s  waits %s for %s, held by %s%s\n", from, waited, name, to,
           e->has_cycle ? "  (cycle)" : "");
}

static void print_cycle(const graph *g, const size_t *edges, size_t count)
{
  char text[600], node[220];

  fputs(graph_is_certain(g, edges, count) ? "deadlock: " : "possible deadlock: ", stdout);
  for (size_t i = 0; i < count; i++) {
    const graph_edge *e = &g->edges[edges[i]];

    printf("%s -> %s -> ", node_text(g, e->from, node),
           e->name == GRAPH_COMMAND ? "its command" : name_text(g, e->name, text));
  }
  puts(node_text(g, g->edges[edges[count - 1]].to, node));
}

static void print_text(const graph *g)
{
  size_t edges[CYCLE_MAX];

  for (size_t i = 0; i < g->edge_count; i++)
    print_edge(g, &g->edges[i]);
  for (size_t n = 0; n < g->node_count; n++) {
    size_t count = begins_cycle(g, n) ? graph_cycle(g, n, edges, CYCLE_MAX) : 0;

    if (count > 0)
      print_cycle(g, edges, count);
  }
}

/* ---- dot(1) ---- */

static void dot_text(const char *text)
{
  char shown[700];

  putchar('"');
  for (const char *at = printable(text, shown, sizeof(shown)); *at != '\0'; at++) {
    if (*at == '"' || *at == '\\')
      putchar('\\');
    putchar(*at);
  }
  putchar('"');
}

static bool is_in_cycle(const graph *g, size_t name)
{
  for (size_t i = 0; i < g->edge_count; i++) {
    if (g->edges[i].name == name && g->edges[i].has_cycle)
      return true;
  }
  return false;
}

static void dot_nodes(const graph *g)
{
  char text[220];

  for (size_t n = 0; n < g->node_count; n++) {
    printf("  c%zu [label=", n);
    dot_text(node_text(g, n, text));
    printf("%s];\n", g->nodes[n].has_cycle ? ", color=red" : "");
  }
  for (size_t n = 0; n < g->name_count; n++) {
    printf("  n%zu [shape=ellipse, label=", n);
    dot_text(g->names[n].name);
    printf("%s];\n", is_in_cycle(g, n) ? ", color=red" : "");
  }
}

/* Whether an edge before `i` has drawn the same half already. */
static bool was_drawn(const graph *g, size_t i, bool is_first_half)
{
  const graph_edge *e = &g->edges[i];

  for (size_t n = 0; n < i; n++) {
    const graph_edge *other = &g->edges[n];

    if (other->name == e->name && other->has_cycle == e->has_cycle &&
        (is_first_half ? other->from == e->from : other->to == e->to))
      return true;
  }
  return false;
}

static void print_dot(const graph *g)
{
  puts("digraph dibs {\n  rankdir=LR;\n  node [shape=box];");
  dot_nodes(g);
  for (size_t i = 0; i < g->edge_count; i++) {
    const graph_edge *e = &g->edges[i];
    const char *color = e->has_cycle ? "color=red, " : "";
    char waited[DURATION_SIZE];

    duration_as_clock(e->waited_ms, waited);
    if (e->name == GRAPH_COMMAND) {
      printf("  c%zu -> c%zu [%slabel=\"its command\"];\n", e->from, e->to, color);
      continue;
    }
    if (!was_drawn(g, i, true))
      printf("  c%zu -> n%zu [%slabel=\"%s\"];\n", e->from, e->name, color, waited);
    if (!was_drawn(g, i, false))
      printf("  n%zu -> c%zu [%slabel=\"held by\"];\n", e->name, e->to, color);
  }
  puts("}");
}

/* ---- JSON ---- */

static json_t *node_json(const graph *g, size_t node)
{
  const dibs_party *party = &g->nodes[node].party;
  json_t *object = party_json(party);

  json_object_set_new(object, "owner",
                      party->owner[0] == '\0' ? json_null() : json_text(party->owner));
  return object;
}

static json_t *begin(const char *type)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "type", json_string(type));
  return object;
}

static void print_edge_json(const graph *g, const graph_edge *e)
{
  json_t *object = begin(e->name == GRAPH_COMMAND ? "command" : "wait");

  json_object_set_new(object, "waiter", node_json(g, e->from));
  json_object_set_new(object, "holder", node_json(g, e->to));
  if (e->name != GRAPH_COMMAND) {
    const graph_name *name = &g->names[e->name];

    json_set_name(object, name->name, name->size);
    json_object_set_new(object, "kind", json_string(show_kind(name->kind)));
    json_object_set_new(object, "mode", json_string(mode_word(name->kind, e->mode)));
    json_object_set_new(object, "units", json_integer(e->units));
    json_object_set_new(object, "waited_ms", json_integer(e->waited_ms));
    json_set_fence(object, e->fence);
  }
  json_object_set_new(object, "cycle", json_boolean(e->has_cycle));
  json_print(object);
}

static void print_cycle_json(const graph *g, const size_t *edges, size_t count)
{
  json_t *object = begin("cycle"), *parties = json_array(), *names = json_array();

  json_object_set_new(object, "certain", json_boolean(graph_is_certain(g, edges, count)));
  for (size_t i = 0; i < count; i++) {
    const graph_edge *e = &g->edges[edges[i]];

    json_array_append_new(parties, node_json(g, e->from));
    json_array_append_new(names, e->name == GRAPH_COMMAND
                                     ? json_null()
                                     : json_text(g->names[e->name].name));
  }
  json_object_set_new(object, "parties", parties);
  json_object_set_new(object, "names", names);
  json_print(object);
}

static void print_json(const graph *g)
{
  size_t edges[CYCLE_MAX];

  for (size_t i = 0; i < g->edge_count; i++)
    print_edge_json(g, &g->edges[i]);
  for (size_t n = 0; n < g->node_count; n++) {
    size_t count = begins_cycle(g, n) ? graph_cycle(g, n, edges, CYCLE_MAX) : 0;

    if (count > 0)
      print_cycle_json(g, edges, count);
  }
}

/* ---- all ---- */

/* Thread: in dibs_list(). */
static bool add_name(const dibs_inspection *i, void *data)
{
  return graph_add(data, i);
}

int graph_show(session *s, const char *pattern, bool wants_dot)
{
  graph g = { .nodes = NULL };
  dibs_status status = dibs_list(s->client, pattern, add_name, &g);
  int code;

  if (status == DIBS_OK)
    graph_finish(&g);
  if (status == DIBS_OK && g.has_no_memory)
    status = DIBS_ERR_NO_MEMORY;
  code = status != DIBS_OK ? session_verb_fault(s, status, "status")
         : g.edge_count > 0 ? CODE_OK
                            : CODE_NO;
  if (status == DIBS_OK && wants_dot)
    print_dot(&g);
  else if (status == DIBS_OK && s->line->wants_json)
    print_json(&g);
  else if (status == DIBS_OK)
    print_text(&g);
  graph_free(&g);
  return code;
}
