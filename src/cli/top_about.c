/* SPDX-License-Identifier: MIT */
/* cli/top_about.c - what is known of one name, as lines for the screen of dibs top. */
#include "cli/top_about.h"

#include <inttypes.h>
#include <string.h>

#include "base/plural.h"
#include "cli/graph.h"
#include "cli/message.h"
#include "cli/show.h"

#define HISTORY_SHOWN 20
#define NAMES_ASKED 100      /* with waiters, for what holders wait for */
#define CHAIN_MAX 20

static void add_holders(watch_text *out, const dibs_inspection *i)
{
  for (size_t n = 0; n < show_holder_count(i); n++) {
    const dibs_holder *h = show_holder_at(i, n);
    char party[220], mode[40], note[DIBS_NOTE_MAX + 1];

    show_party(h->party, party, sizeof(party));
    show_mode(i->kind, h->party, mode, sizeof(mode));
    watch_add(out, "held by     %s%s%s for ", party, mode[0] == '\0' ? "" : ", ", mode);
    watch_add_time(out, 1000 * h->party->waited_ms);
    watch_add(out, "\n            ");
    watch_add_time(out, h->remaining_ms > 0 ? 1000 * h->remaining_ms : 0);
    watch_add(out, " left of ");
    watch_add_time(out, 1000 * h->ttl_ms);
    watch_add(out, ", renewed %" PRIu64 " time%s", h->renewals, plural_s(h->renewals));
    if (h->fence != 0)
      watch_add(out, ", fence %" PRIu64, h->fence);
    watch_add(out, "\n");
    if (h->party->note[0] != '\0')
      watch_add(out, "            %s\n", printable(h->party->note, note, sizeof(note)));
  }
  if (i->holder_count > i->shown_holders)
    watch_add(out, "            and %zu more\n", i->holder_count - i->shown_holders);
  if (show_holder_count(i) == 0 && i->fence != 0)
    watch_add(out, "free        fence %" PRIu64 " was the last\n", i->fence);
  else if (show_holder_count(i) == 0)
    watch_add(out, "free\n");
}

static void add_queue(watch_text *out, const dibs_inspection *i)
{
  for (size_t n = 0; n < i->party_count; n++) {
    char party[220], mode[40];

    show_party(i->waiters[n], party, sizeof(party));
    show_mode(i->kind, i->waiters[n], mode, sizeof(mode));
    watch_add(out, "%s %zu. %s%s%s for ", n == 0 ? "queue    " : "         ", n + 1, party,
              mode[0] == '\0' ? "" : ", ", mode);
    watch_add_time(out, 1000 * i->waiters[n]->waited_ms);
    watch_add(out, "\n");
  }
  if (i->waiter_count > i->party_count)
    watch_add(out, "            and %zu more\n", i->waiter_count - i->party_count);
}

/* ---- what the holders wait for ---- */

static void graph_read(graph *g, sampler *s)
{
  size_t asked = 0;

  for (size_t n = 0; n < s->table.count && asked < NAMES_ASKED; n++) {
    const watch_row *r = &s->table.rows[n];
    dibs_inspection *found = NULL;

    if (r->waiters == 0)
      continue;
    asked++;
    if (dibs_inspect(s->client, (dibs_bytes){ r->name, r->size }, &found) == DIBS_OK)
      (void)graph_add(g, found);
    (void)dibs_inspection_free(found);
  }
  graph_finish(g);
}

static bool edge_from(const graph *g, size_t node, size_t *ret_edge)
{
  for (size_t e = 0; e < g->edge_count; e++) {
    if (g->edges[e].from == node) {
      *ret_edge = e;
      return true;
    }
  }
  return false;
}

/* From the holder along the first edge of each. */
static void add_chain(watch_text *out, const graph *g, const char *client)
{
  size_t node = 0, edge = 0;

  while (node < g->node_count && strcmp(g->nodes[node].party.client, client) != 0)
    node++;
  for (size_t n = 0; n < CHAIN_MAX && node < g->node_count && edge_from(g, node, &edge); n++) {
    const graph_edge *e = &g->edges[edge];
    char from[220], to[220], name[600] = "its command";
    const char *by = "";

    show_party_short(&g->nodes[e->from].party, from, sizeof(from));
    show_party_short(&g->nodes[e->to].party, to, sizeof(to));
    if (e->name != GRAPH_COMMAND) {
      printable(g->names[e->name].name, name, sizeof(name));
      by = "held by ";
    }
    watch_add(out, "%s %s waits for %s, %s%s%s\n", n == 0 ? "holder     " : "           ", from,
              name, by, to, e->has_cycle ? " (a cycle)" : "");
    node = e->to;
  }
}

static void add_waits(watch_text *out, sampler *s, const dibs_inspection *i)
{
  graph g = { .nodes = NULL };

  if (i->waiter_count == 0 || show_holder_count(i) == 0)
    return;
  graph_read(&g, s);
  if (!g.has_no_memory)
    add_chain(out, &g, show_holder_at(i, 0)->party->client);
  graph_free(&g);
}

/* ---- history ---- */

static void add_history(watch_text *out, dibs_client *client, const char *name, size_t size)
{
  watch_text pattern = { 0 };
  dibs_history_options o = DIBS_HISTORY_OPTIONS_INIT;
  dibs_history *h = NULL;

  watch_add_pattern(&pattern, name, size);
  o.pattern = pattern.bytes;
  o.limit = HISTORY_SHOWN;
  if (pattern.has_no_memory || dibs_history_read(client, &o, &h) != DIBS_OK)
    h = NULL;
  watch_text_free(&pattern);
  for (size_t n = 0; h != NULL && n < h->count; n++) {
    const dibs_history_entry *e = h->entries[n];
    char end[64], host[80], program[80];

    watch_add(out, "%s %s ", n == 0 ? "before     " : "           ",
              printable(e->end, end, sizeof(end)));
    watch_add_time(out, e->ago_us);
    watch_add(out, " ago: %s (pid %" PRId64 " \"%s\") waited ",
              printable(e->host, host, sizeof(host)), e->pid,
              printable(e->program, program, sizeof(program)));
    watch_add_time(out, e->waited_us);
    if (e->fence != 0) {
      watch_add(out, ", held it ");
      watch_add_time(out, e->held_us);
    }
    watch_add(out, "\n");
  }
  (void)dibs_history_free(h);
}

char *top_about(sampler *s, const char *name, size_t size)
{
  watch_text out = { 0 };
  dibs_inspection *i = NULL;
  dibs_status status = dibs_inspect(s->client, (dibs_bytes){ name, size }, &i);

  watch_add_safe(&out, name, size);
  watch_add(&out, "\n\n");
  if (status != DIBS_OK) {
    watch_add(&out, "%s\n", dibs_status_text(status));
  } else {
    add_holders(&out, i);
    add_waits(&out, s, i);
    add_queue(&out, i);
    add_history(&out, s->client, name, size);
  }
  (void)dibs_inspection_free(i);
  if (out.has_no_memory)
    watch_text_free(&out);
  return out.bytes;
}
