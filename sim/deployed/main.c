/* SPDX-License-Identifier: MIT */
/* dibs-explore-deployments: seeds in worlds of several servers.
 *
 *   dibs-explore-deployments                       the kinds of worlds there are
 *   dibs-explore-deployments --kind K --seeds A..B each seed of A to B; the totals
 *   dibs-explore-deployments --kind K --seed N [--trace | --minimise]
 *   --ifeq: the same worlds with servers that know SET with IFEQ
 *
 * Exits 1 when something happened that the kind promises will not. */
#include "deployed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_line(const char *line, void *data)
{
  (void)data;
  (void)puts(line);
}

static const kind *kind_find(const char *name)
{
  for (const kind *k = kinds; k->name != NULL; k++)
    if (strcmp(k->name, name) == 0)
      return k;
  return NULL;
}

static void plan_print(const plan *p)
{
  char words[200];

  (void)printf("# %s, ttl %" PRId64 " ms, quarantine %" PRId64 " ms, %s\n", p->kind->name,
               p->ttl_ms, p->quarantine_ms, p->url);
  for (size_t i = 0; i < p->fault_count; i++) {
    (void)dibs_sim_fault_text(&p->faults[i], words, sizeof(words));
    (void)printf("#   %s\n", words);
  }
}

/* Takes faults away as long as the seed goes on to fail. */
static void minimise(plan *p)
{
  for (size_t i = p->fault_count; i-- > 0;) {
    plan fewer = *p;
    verdict v;

    memmove(fewer.faults + i, fewer.faults + i + 1,
            (fewer.fault_count - i - 1) * sizeof(fewer.faults[0]));
    fewer.fault_count--;
    trial_run(&fewer, NULL, NULL, &v);
    if (v.flaw[0] != 0 || (p->kind->promises & PROMISE_S1) == 0)
      if (v.flaw[0] != 0 || v.overlaps > 0)
        *p = fewer;
  }
}

typedef struct totals {
  uint64_t seeds, findings, grants, of_peers, losses, overlaps, seeds_with, steps_back;
  uint64_t promotions, refused;
  int64_t overlap_us;
} totals;

static void add(totals *t, const verdict *v)
{
  t->seeds++;
  t->findings += v->flaw[0] != 0;
  t->grants += v->grants;
  t->of_peers += v->of_peers;
  t->losses += v->losses;
  t->overlaps += v->overlaps;
  t->seeds_with += v->overlaps > 0;
  t->steps_back += v->steps_back;
  t->promotions += v->promotions;
  t->refused += v->refused;
  if (v->overlap_us > t->overlap_us)
    t->overlap_us = v->overlap_us;
}

static bool has_ifeq;

static void run(const kind *k, uint64_t seed, bool traces, bool minimises, totals *t)
{
  plan p;
  verdict v;

  plan_draw(&p, k, seed);
  p.options.flags = has_ifeq ? DIBS_SIM_IFEQ : 0;
  trial_run(&p, NULL, NULL, &v);
  add(t, &v);
  if (v.flaw[0] != 0)
    (void)printf("seed %" PRIu64 " fails %s\n", seed, v.flaw);
  if (minimises && (v.flaw[0] != 0 || v.overlaps > 0))
    minimise(&p);
  if (traces || minimises) {
    trial_run(&p, traces ? print_line : NULL, NULL, &v);
    plan_print(&p);
    (void)printf("# %s\n", v.flaw);
  }
  (void)fflush(stdout);
}

static int usage(void)
{
  (void)puts("dibs-explore-deployments --kind KIND (--seeds FROM..TO | --seed N [--trace] "
             "[--minimise]) [--ifeq]");
  for (const kind *k = kinds; k->name != NULL; k++)
    (void)printf("  %-22s %s%s\n", k->name, k->what,
                 (k->promises & PROMISE_S1) != 0 ? "" : " (overlaps are counted)");
  return 2;
}

int main(int count, char **words)
{
  uint64_t first = 1, last = 100;
  bool traces = false, minimises = false;
  const kind *k = NULL;
  totals t = { 0 };

  /* Clients register it: one seed is one world, whatever this file is called. */
  program_invocation_short_name = "dibs-explore-deployments";
  for (int i = 1; i < count; i++) {
    const char *next = i + 1 < count ? words[i + 1] : "";

    if (strcmp(words[i], "--trace") == 0) {
      traces = true;
    } else if (strcmp(words[i], "--ifeq") == 0) {
      has_ifeq = true;
    } else if (strcmp(words[i], "--minimise") == 0) {
      minimises = true;
    } else if (strcmp(words[i], "--kind") == 0) {
      k = kind_find(next);
      i++;
    } else if (strcmp(words[i], "--seed") == 0) {
      first = last = strtoull(next, NULL, 10);
      i++;
    } else if (strcmp(words[i], "--seeds") == 0 &&
               sscanf(next, "%" SCNu64 "..%" SCNu64, &first, &last) == 2) {
      i++;
    } else if (strcmp(words[i], "--jobs") == 0) {
      i++;                               /* as dibs-explore; this one does one at a time */
    } else {
      return usage();
    }
  }
  if (k == NULL)
    return usage();
  for (uint64_t seed = first; seed <= last; seed++)
    run(k, seed, traces, minimises, &t);
  if (k->has_peers)
    (void)printf("%s: %" PRIu64 " grants to peers\n", k->name, t.of_peers);
  (void)printf("%s: %" PRIu64 " seeds, %" PRIu64 " grants, %" PRIu64 " promotions, %" PRIu64
               " losses told, %" PRIu64 " refused; %" PRIu64 " overlaps in %" PRIu64
               " seeds (longest %" PRId64 " ms), %" PRIu64 " fences not above\n%" PRIu64
               " findings\n", k->name, t.seeds, t.grants, t.promotions, t.losses, t.refused,
               t.overlaps, t.seeds_with, t.overlap_us / 1000, t.steps_back, t.findings);
  return t.findings > 0;
}
