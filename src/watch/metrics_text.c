/* SPDX-License-Identifier: MIT */
/* watch/metrics_text.c - the fleet and its live names in the text format of Prometheus. */
#include <stdlib.h>
#include <string.h>

#include "fleet/metrics_text.h"
#include "watch/watch.h"

static void add(const char *bytes, size_t size, void *out)
{
  watch_add_bytes(out, bytes, size);
}

static void head(watch_text *out, enum metric m)
{
  metrics_head(&(metrics_out){ .is_classic = true, .add = add, .data = out }, m);
}

static void gauge(watch_text *out, enum metric m, double value)
{
  head(out, m);
  watch_add(out, "%s %.9g\n", metric_name(m), value);
}

/* A label's value: printable, with what the format wants escaped. */
static void add_label(watch_text *out, const char *name, size_t size)
{
  watch_text safe = { 0 };

  watch_add_safe(&safe, name, size);
  out->has_no_memory = out->has_no_memory || safe.has_no_memory;
  for (size_t i = 0; i < safe.used; i++) {
    if (safe.bytes[i] == '\\' || safe.bytes[i] == '"')
      watch_add_bytes(out, "\\", 1);
    watch_add_bytes(out, safe.bytes + i, 1);
  }
  watch_text_free(&safe);
}

/* ---- live names ---- */

static double row_value(enum metric m, const watch_row *r, int64_t now_ms)
{
  switch (m) {
  case METRIC_dibs_lock_waiters:
    return (double)r->waiters;
  case METRIC_dibs_lock_oldest_wait_seconds:
    return (double)watch_oldest_ms(r, now_ms) / 1000;
  case METRIC_dibs_lock_held_seconds:
    return (double)watch_held_ms(r, now_ms) / 1000;
  default:
    return (double)watch_left_ms(r, now_ms) / 1000;
  }
}

/* Whether two names have the same printable text: "a\x01" and its spelling. */
static bool is_same_label(const watch_row *a, const watch_row *b)
{
  watch_text one = { 0 }, other = { 0 };
  bool is_same;

  watch_add_safe(&one, a->name, a->size);
  watch_add_safe(&other, b->name, b->size);
  is_same = one.used == other.used && one.used > 0 && memcmp(one.bytes, other.bytes, one.used) == 0;
  watch_text_free(&one);
  watch_text_free(&other);
  return is_same;
}

/* Two series with the same labels would spoil the whole scrape. */
static size_t drop_twins(const watch_row **rows, size_t count, size_t most)
{
  size_t kept = 0;

  for (size_t i = 0; i < count && kept < most; i++) {
    bool is_new = true;

    for (size_t k = 0; k < kept && is_new; k++)
      is_new = !is_same_label(rows[i], rows[k]);
    if (is_new)
      rows[kept++] = rows[i];
  }
  return kept;
}

static void write_names(const watch_metrics *m, watch_text *out)
{
  static const enum metric each[] = {
    METRIC_dibs_lock_waiters, METRIC_dibs_lock_oldest_wait_seconds,
    METRIC_dibs_lock_held_seconds, METRIC_dibs_lock_lease_left_seconds };
  const watch_row **rows = malloc((m->table->count + 1) * sizeof(const watch_row *));
  size_t count, shown;

  if (rows == NULL) {
    out->has_no_memory = true;
    return;
  }
  count = watch_select(m->table, WATCH_BY_WAIT, "", false, m->now_ms, rows);
  shown = drop_twins(rows, count, m->names_max);
  gauge(out, METRIC_dibs_names_not_shown, (double)(count - shown));
  for (size_t k = 0; k < sizeof(each) / sizeof(each[0]) && shown > 0; k++) {
    head(out, each[k]);
    for (size_t i = 0; i < shown; i++) {
      watch_add(out, "%s{name=\"", metric_name(each[k]));
      add_label(out, rows[i]->name, rows[i]->size);
      watch_add(out, "\"} %.9g\n", row_value(each[k], rows[i], m->now_ms));
    }
  }
  free(rows);
}

/* ---- the fleet ---- */

static void add_class(const char *name, void *out)
{
  add_label(out, name, strlen(name));
}

static void write_fleet(const dibs_fleet *f, watch_text *out)
{
  gauge(out, METRIC_dibs_clients, (double)f->clients);
  metrics_classes(&(metrics_out){ .is_classic = true, .add = add, .add_label = add_class,
                                  .data = out }, f->rows, f->count);
}

/* ---- the servers ---- */

static double number_of(enum metric m, const dibs_server_numbers *n)
{
  switch (m) {
  case METRIC_dibs_server_memory_bytes:
    return (double)n->memory_bytes;
  case METRIC_dibs_server_memory_max_bytes:
    return (double)n->memory_max_bytes;
  case METRIC_dibs_server_expired_keys_total:
    return (double)n->expired_keys;
  case METRIC_dibs_server_evicted_keys_total:
    return (double)n->evicted_keys;
  case METRIC_dibs_server_scripts_total:
    return (double)n->script_calls;
  case METRIC_dibs_server_script_seconds_total:
    return n->script_us < 0 ? -1 : (double)n->script_us / 1e6;
  case METRIC_dibs_server_replicas:
    return (double)n->replicas;
  default:
    return (double)n->replica_lag_bytes;
  }
}

static void write_servers(const watch_metrics *m, watch_text *out)
{
  static const enum metric each[] = {
    METRIC_dibs_server_memory_bytes, METRIC_dibs_server_memory_max_bytes,
    METRIC_dibs_server_expired_keys_total, METRIC_dibs_server_evicted_keys_total,
    METRIC_dibs_server_scripts_total, METRIC_dibs_server_script_seconds_total,
    METRIC_dibs_server_replicas, METRIC_dibs_server_replica_lag_bytes };

  for (size_t k = 0; k < sizeof(each) / sizeof(each[0]); k++) {
    bool has_head = false;

    for (size_t i = 0; i < m->server_count; i++) {
      double value = number_of(each[k], &m->servers[i].numbers);

      if (value < 0)                             /* not known */
        continue;
      if (!has_head)
        head(out, each[k]);
      has_head = true;
      watch_add(out, "%s{node=\"", metric_name(each[k]));
      add_label(out, m->servers[i].node, strlen(m->servers[i].node));
      watch_add(out, "\"} %.17g\n", value);
    }
  }
}

void watch_metrics_write(const watch_metrics *m, watch_text *out)
{
  watch_sums s = watch_sum(m->table, m->now_ms);

  gauge(out, METRIC_dibs_up, m->is_up);
  if (m->is_up && m->round_trip_us > 0)          /* else it is of an earlier reading */
    gauge(out, METRIC_dibs_server_round_trip_seconds, (double)m->round_trip_us / 1e6);
  gauge(out, METRIC_dibs_sample_duration_seconds, m->seconds);
  if (!m->is_up)
    return;
  gauge(out, METRIC_dibs_names, (double)s.names);
  gauge(out, METRIC_dibs_names_held, (double)s.held);
  gauge(out, METRIC_dibs_names_waiters, (double)s.waiting);
  gauge(out, METRIC_dibs_names_oldest_wait_seconds, (double)s.oldest_ms / 1000);
  gauge(out, METRIC_dibs_names_not_inspected, (double)s.not_seen);
  write_names(m, out);
  if (m->fleet != NULL)
    write_fleet(m->fleet, out);
  write_servers(m, out);
  if (m->finding_count > 0)
    head(out, METRIC_dibs_doctor_grade);
  for (size_t i = 0; i < m->finding_count; i++) {
    watch_add(out, "dibs_doctor_grade{check=\"");
    add_label(out, m->findings[i].check, strlen(m->findings[i].check));
    watch_add(out, "\",node=\"");
    add_label(out, m->findings[i].node, strlen(m->findings[i].node));
    watch_add(out, "\"} %d\n", m->findings[i].grade);
  }
}
