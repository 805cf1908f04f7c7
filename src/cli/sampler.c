/* SPDX-License-Identifier: MIT */
/* cli/sampler.c - reads the servers for the screens and the exporter, at a bounded cost. */
#include "cli/sampler.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Over few names a walk is cheap, and new ones should show soon. */
#define WALK_EVERY_MS 5000
#define FEW_NAMES 2000
#define WALK_FEW_EVERY_MS 1000
#define EXAMINE_EVERY_MS 30000
#define ANSWER_MS 2000

int64_t sampler_now_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 + 1;
}

/* ---- names ---- */

/* Thread: in dibs_list_names(). */
static bool name_found(dibs_family family, const char *name, size_t size, void *data)
{
  (void)family;
  return watch_walk_name(data, name, size);
}

static dibs_status walk(sampler *s)
{
  int64_t every_ms = s->table.count <= FEW_NAMES ? WALK_FEW_EVERY_MS : WALK_EVERY_MS;
  dibs_status status;

  if (s->walked_ms != 0 && sampler_now_ms() - s->walked_ms < every_ms)
    return DIBS_OK;
  watch_walk_begin(&s->table);
  status = dibs_list_names(s->client, DIBS_FAMILY_LOCK, s->pattern, name_found, &s->table);
  if (status != DIBS_OK) {
    for (size_t i = 0; i < s->table.count; i++)
      s->table.rows[i].walk = s->table.walk;    /* what an unfinished walk missed stays */
  }
  watch_walk_end(&s->table);
  if (status == DIBS_OK)
    s->walked_ms = sampler_now_ms();
  return status;
}

static dibs_status inspect(sampler *s)
{
  size_t most = s->budget == 0 || s->budget > s->table.count ? s->table.count : s->budget;
  size_t *chosen = malloc((most + 1) * sizeof(*chosen));
  dibs_status status = chosen == NULL ? DIBS_ERR_NO_MEMORY : DIBS_OK;
  size_t count = chosen == NULL ? 0 : watch_plan(&s->table, most, chosen);

  for (size_t i = 0; i < count && status == DIBS_OK; i++) {
    watch_row *r = &s->table.rows[chosen[i]];
    dibs_inspection *found = NULL;

    status = dibs_inspect(s->client, (dibs_bytes){ r->name, r->size }, &found);
    if (status == DIBS_OK || status == DIBS_ERR_WRONG_TYPE) {
      watch_inspected(r, status == DIBS_OK ? found : NULL, sampler_now_ms());
      status = DIBS_OK;
    }
    (void)dibs_inspection_free(found);
  }
  free(chosen);
  return status;
}

/* ---- servers ---- */

static void take_numbers(sampler *s, const dibs_finding *f)
{
  watch_server *server = &s->servers[s->server_count];

  if (f->numbers == NULL || s->server_count == SAMPLER_SERVERS)
    return;
  snprintf(server->node, sizeof(server->node), "%s", f->node);
  server->numbers = *f->numbers;
  s->server_count++;
}

/* Thread: in dibs_examine(). */
static bool finding_found(const dibs_finding *f, void *data)
{
  sampler *s = data;
  watch_finding *new = &s->findings[s->finding_count];

  take_numbers(s, f);
  for (size_t i = 0; i < s->finding_count; i++) {
    watch_finding *old = &s->findings[i];

    /* Several findings of one check of a server: the worst counts. */
    if (strcmp(old->check, f->check) == 0 && strcmp(old->node, f->node) == 0) {
      if ((int)f->grade > old->grade)
        old->grade = (int)f->grade;
      return true;
    }
  }
  snprintf(new->check, sizeof(new->check), "%s", f->check);
  snprintf(new->node, sizeof(new->node), "%s", f->node);
  new->grade = (int)f->grade;
  return ++s->finding_count < SAMPLER_FINDINGS;
}

static void examine(sampler *s)
{
  if (!s->wants_findings ||
      (s->examined_ms != 0 && sampler_now_ms() - s->examined_ms < EXAMINE_EVERY_MS))
    return;
  s->finding_count = s->server_count = 0;
  if (dibs_examine(s->client, finding_found, s) != DIBS_OK)
    s->finding_count = s->server_count = 0;      /* tried again in half a minute */
  s->examined_ms = sampler_now_ms();
}

dibs_status sampler_read(sampler *s)
{
  int64_t begin_ms = sampler_now_ms();
  dibs_fleet *fleet = NULL;

  s->status = dibs_ping(s->client, ANSWER_MS, &s->round_trip_us);
  if (s->status == DIBS_OK)
    s->status = walk(s);
  if (s->status == DIBS_OK)
    s->status = inspect(s);
  s->error = (dibs_error)DIBS_ERROR_INIT;
  if (s->status != DIBS_OK)
    (void)dibs_client_error(s->client, 0, &s->error);
  if (s->status == DIBS_OK) {
    if (dibs_fleet_read(s->client, &fleet) == DIBS_OK) {
      (void)dibs_fleet_free(s->fleet);
      s->fleet = fleet;
    }
    examine(s);
  }
  s->sampled_ms = sampler_now_ms();
  s->seconds = (double)(s->sampled_ms - begin_ms) / 1000;
  return s->status;
}

void sampler_write_metrics(const sampler *s, size_t names_max, watch_text *out)
{
  const watch_metrics m = {
    .table = &s->table, .fleet = s->fleet, .findings = s->findings,
    .finding_count = s->finding_count, .servers = s->servers, .server_count = s->server_count,
    .now_ms = sampler_now_ms(), .names_max = names_max,
    .is_up = s->status == DIBS_OK, .round_trip_us = s->round_trip_us, .seconds = s->seconds };

  watch_metrics_write(&m, out);
}

void sampler_free(sampler *s)
{
  watch_free(&s->table);
  s->fleet = dibs_fleet_free(s->fleet);
}
