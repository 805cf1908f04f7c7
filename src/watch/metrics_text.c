/* SPDX-License-Identifier: MIT */
/* watch/metrics_text.c - the fleet and its live names in the text format of Prometheus. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "watch/watch.h"

enum metric {
#define METRIC_ID(name, type, help) METRIC_##name,
  WATCH_METRICS(METRIC_ID)
#undef METRIC_ID
};

static const struct metric_row { const char *name, *type, *help; } metric_rows[] = {
#define METRIC_ROW(name, type, help) { #name, type, help },
  WATCH_METRICS(METRIC_ROW)
#undef METRIC_ROW
};

static void head(watch_text *out, enum metric m)
{
  watch_add(out, "# HELP %s %s\n# TYPE %s %s\n", metric_rows[m].name, metric_rows[m].help,
            metric_rows[m].name, metric_rows[m].type);
}

static void gauge(watch_text *out, enum metric m, double value)
{
  head(out, m);
  watch_add(out, "%s %.9g\n", metric_rows[m].name, value);
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
      watch_add(out, "%s{name=\"", metric_rows[each[k]].name);
      add_label(out, rows[i]->name, rows[i]->size);
      watch_add(out, "\"} %.9g\n", row_value(each[k], rows[i], m->now_ms));
    }
  }
  free(rows);
}

/* ---- the fleet ---- */

static const char *const wait_words[DIBS_FLEET_WAITS] = { "ok", "busy", "timeout", "cancelled",
                                                          "unknown", "error" };
static const char *const end_words[DIBS_FLEET_ENDS] = { "released", "lost", "expired", "taken" };

static const char *kind_word(dibs_kind kind)
{
  return kind == DIBS_KIND_RWLOCK ? "rw" : kind == DIBS_KIND_SEMAPHORE ? "semaphore" : "lock";
}

static void series(watch_text *out, const char *name, const char *suffix,
                   const dibs_fleet_row *r, const char *key, const char *word)
{
  watch_add(out, "%s%s{class=\"", name, suffix);
  add_label(out, r->class_name, strlen(r->class_name));
  watch_add(out, "\",kind=\"%s\"", kind_word(r->kind));
  if (key != NULL)
    watch_add(out, ",%s=\"%s\"", key, word);
}

static void histogram(watch_text *out, enum metric m, const dibs_fleet_row *r, const char *key,
                      const char *word, const dibs_fleet_times *t)
{
  const char *name = metric_rows[m].name;
  uint64_t below = 0;

  if (t->count == 0)
    return;
  for (size_t i = 0; i + 1 < DIBS_FLEET_BUCKETS; i++) {
    below += t->buckets[i];
    series(out, name, "_bucket", r, key, word);
    watch_add(out, ",le=\"%.9g\"} %" PRIu64 "\n", (double)dibs_fleet_bound_us(i) / 1e6, below);
  }
  series(out, name, "_bucket", r, key, word);
  watch_add(out, ",le=\"+Inf\"} %" PRIu64 "\n", t->count);
  series(out, name, "_sum", r, key, word);
  watch_add(out, "} %.9g\n", (double)t->sum_us / 1e6);
  series(out, name, "_count", r, key, word);
  watch_add(out, "} %" PRIu64 "\n", t->count);
}

static void fleet_gauge(const dibs_fleet *f, enum metric m, watch_text *out)
{
  head(out, m);
  for (size_t i = 0; i < f->count; i++) {
    series(out, metric_rows[m].name, "", &f->rows[i], NULL, NULL);
    watch_add(out, "} %" PRIu64 "\n",
              m == METRIC_dibs_holds ? f->rows[i].holding : f->rows[i].waiting);
  }
}

static void write_fleet(const dibs_fleet *f, watch_text *out)
{
  gauge(out, METRIC_dibs_clients, (double)f->clients);
  if (f->count == 0)
    return;
  fleet_gauge(f, METRIC_dibs_holds, out);
  fleet_gauge(f, METRIC_dibs_waiting, out);
  head(out, METRIC_dibs_acquire_wait_seconds);
  for (size_t i = 0; i < f->count; i++) {
    for (size_t k = 0; k < DIBS_FLEET_WAITS; k++)
      histogram(out, METRIC_dibs_acquire_wait_seconds, &f->rows[i], "outcome", wait_words[k],
                &f->rows[i].waits[k]);
  }
  head(out, METRIC_dibs_hold_seconds);
  for (size_t i = 0; i < f->count; i++) {
    for (size_t k = 0; k < DIBS_FLEET_ENDS; k++)
      histogram(out, METRIC_dibs_hold_seconds, &f->rows[i], "end", end_words[k],
                &f->rows[i].holds[k]);
  }
  head(out, METRIC_dibs_lost_total);
  for (size_t i = 0; i < f->count; i++) {
    for (size_t k = DIBS_FLEET_LOST; k < DIBS_FLEET_ENDS; k++) {
      series(out, metric_rows[METRIC_dibs_lost_total].name, "", &f->rows[i], "cause",
             end_words[k]);
      watch_add(out, "} %" PRIu64 "\n", f->rows[i].holds[k].count);
    }
  }
}

void watch_metrics_write(const watch_metrics *m, watch_text *out)
{
  watch_sums s = watch_sum(m->table, m->now_ms);

  gauge(out, METRIC_dibs_up, m->is_up);
  if (m->round_trip_us > 0)
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
