/* SPDX-License-Identifier: MIT */
/* bench/peers_report.c - the figures of all entrants as a table for people, or as JSON, from
 * which bench/peers_draw makes the picture and the tables of doc/design/figures.md. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>

static double middle(const double *values, int rounds)
{
  return bench_median(values, (size_t)rounds);
}

static double quantile(const samples *s, double share)
{
  return bench_quantile(s->all, s->count, share);
}

/* ---- JSON ---- */

static void json_pairs(const char *name, const pairs *p, int rounds)
{
  double sorted[PEERS_ROUNDS_MAX];

  for (int i = 0; i < rounds; i++)
    sorted[i] = p->rate[i];
  (void)bench_quantile(sorted, (size_t)rounds, 0.5);
  printf("   \"%s\": {\"rate\": %.0f, \"lowest\": %.0f, \"highest\": %.0f,"
         " \"server_us\": %.1f, \"client_us\": %.1f},\n", name, middle(p->rate, rounds),
         sorted[0], sorted[rounds - 1], middle(p->server_us, rounds),
         middle(p->client_us, rounds));
}

static void json_samples(const char *name, const samples *s)
{
  printf("\"%s\": {\"count\": %zu", name, s->count);
  if (s->count > 0)
    printf(", \"p50\": %.1f, \"p90\": %.1f, \"p99\": %.1f", quantile(s, 0.5), quantile(s, 0.9),
           quantile(s, 0.99));
  printf("}");
}

static void json_crowd(const entrant *e, crowd where)
{
  const counts *c = &e->counts[where];

  printf("   \"%s\": {", where == TWO_WAIT ? "two_wait" : "many_wait");
  json_samples("between_us", &e->between[where]);
  printf(",\n    ");
  json_samples("within_us", &e->within[where]);
  printf(",\n    ");
  json_samples("served_ms", &e->served_ms[where]);
  if (e->server != NULL) {
    printf(",\n    \"asking\": null, \"handing_over\": null, \"messages\": null,"
           " \"waiting_per_second\": null},\n");
    return;
  }
  if (c->waiting_per_second > PEERS_LOOKS_MIN)
    printf(",\n    \"asking\": null");
  else
    printf(",\n    \"asking\": %.2f", c->asking);
  printf(", \"handing_over\": %.2f, \"inside\": %.2f, \"messages\": %.2f,"
         " \"waiting_per_second\": %.1f},\n", c->handing_over, c->inside, c->messages,
         c->waiting_per_second);
}

static void json_look(const char *name, const look *l, const char *end)
{
  printf("   \"%s\": {\"rss_bytes\": %.0f, \"threads\": %d, \"sockets\": %d}%s\n", name,
         l->rss_bytes, l->threads, l->sockets, end);
}

static void json_entrant(const entrant *e, int rounds)
{
  printf("  {\"name\": \"%s\", \"family\": \"%s\",", e->peer->name,
         stage_family(e->peer->family));
  if (e->failure != NULL) {
    printf(" \"failure\": \"");
    for (const char *at = e->failure; *at != 0; at++)
      (void)putchar(*at < ' ' || *at == '"' || *at == '\\' ? ' ' : *at);
    printf("\"}");
    return;
  }
  if (e->hang != NULL)
    printf(" \"hang\": \"%s\",", e->hang);
  printf(" \"library\": \"%s\",\n", side_library(e->sides[0]));
  json_pairs("pairs_one", &e->one, rounds);
  json_pairs("pairs_many", &e->many, rounds);
  json_crowd(e, TWO_WAIT);
  json_crowd(e, MANY_WAIT);
  json_look("ready", &e->ready, ",");
  json_look("crowded", &e->crowded, ",");
  json_look("after", &e->after, "}");
}

static void print_json(const entrant *entrants, int count, const baseline *b, int rounds)
{
  printf("{\"program\": \"peers\", \"rounds\": %d, \"threads\": %d, \"crowd\": %d,\n"
         " \"two_pings\": %.0f, \"two_scripts\": %.0f,\n \"entrants\": [\n", rounds,
         PEERS_THREADS, peers_waiters(MANY_WAIT), middle(b->pings, rounds),
         middle(b->scripts, rounds));
  for (int i = 0; i < count; i++) {
    json_entrant(&entrants[i], rounds);
    printf("%s\n", i + 1 < count ? "," : "");
  }
  printf("]}\n");
}

/* ---- a table ---- */

static void print_row(const entrant *e, const baseline *b, int rounds)
{
  const counts *c = &e->counts[MANY_WAIT];

  if (e->failure != NULL) {
    printf("  %-16s %s\n", e->peer->name, e->failure);
    return;
  }
  printf("  %-16s %8.0f %7.2f %8.0f", e->peer->name, middle(e->one.rate, rounds),
         middle(e->one.rate, rounds) / middle(b->scripts, rounds), middle(e->many.rate, rounds));
  if (e->hang != NULL) {
    printf(" %s\n", e->hang);
    return;
  }
  printf(" %9.0f %9.0f %9.0f %8.0f", quantile(&e->between[TWO_WAIT], 0.5),
         quantile(&e->between[MANY_WAIT], 0.5), quantile(&e->between[MANY_WAIT], 0.9),
         quantile(&e->served_ms[MANY_WAIT], 0.5));
  printf(" %7.2f %7.2f %6.2f %8.0f %6.1f %6.1f %5d\n", c->asking, c->handing_over,
         c->messages, c->waiting_per_second,
         e->ready.rss_bytes / 1048576, e->crowded.rss_bytes / 1048576, e->crowded.threads);
}

static void print_table(const entrant *entrants, int count, const baseline *b, int rounds)
{
  printf("peers: lock + unlock pairs per second, and as a share of bare script calls;\n"
         "us from an exit to the next enter in another process; ms until all of the crowd of %d\n"
         "had it; commands and messages for each, and a second while they wait; MB ready, MB\n"
         "and threads with all waiting\n",
         peers_waiters(MANY_WAIT));
  printf("  %-16s %8s %7s %8s %9s %9s %9s %8s %7s %7s %6s %8s %6s %6s %5s\n", "", "1 thr",
         "floor", "64 thr", "2: p50", "crowd p50", "p90", "served", "asking", "handing",
         "mess.", "waiting",
         "MB", "crowd", "thr.");
  for (int i = 0; i < count; i++)
    print_row(&entrants[i], b, rounds);
  printf("  (bare socket: %.0f pairs of PING, %.0f of script calls a second)\n",
         middle(b->pings, rounds), middle(b->scripts, rounds));
}

void peers_report(const entrant *entrants, int count, const baseline *b, int rounds)
{
  if (bench.as_json)
    print_json(entrants, count, b, rounds);
  else
    print_table(entrants, count, b, rounds);
  (void)fflush(stdout);
}
