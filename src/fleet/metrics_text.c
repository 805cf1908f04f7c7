/* SPDX-License-Identifier: MIT */
/* fleet/metrics_text.c - metrics as text: OpenMetrics 1.0, or Prometheus' older format, in which a
 * counter has its suffix in the head too, and there are no units. */
#include "fleet/metrics_text.h"

#include <string.h>

#include "base/base.h"

#define LINE_SIZE 512

const char *const fleet_wait_words[DIBS_FLEET_WAITS] = {
  "ok", "busy", "timeout", "cancelled", "unknown", "error"
};
const char *const fleet_end_words[DIBS_FLEET_ENDS] = { "released", "lost", "taken" };

static const struct metric_row { const char *name, *type, *unit, *help; } metric_rows[] = {
#define METRIC_ROW(name, type, unit, labels, help) { #name, type, unit, help },
  METRICS_OF_CLASSES(METRIC_ROW)
  METRICS_OF_CLIENT(METRIC_ROW)
  METRICS_OF_FLEET(METRIC_ROW)
#undef METRIC_ROW
};

const char *metric_name(enum metric m)
{
  return metric_rows[m].name;
}

/* ---- heads ---- */

static bool ends_with(const char *words, const char *end)
{
  size_t size = strlen(words), end_size = strlen(end);

  return size > end_size && strcmp(words + size - end_size, end) == 0;
}

static void add_head(const metrics_out *out, const char *what, enum metric m, const char *words)
{
  const char *name = metric_rows[m].name;
  char line[LINE_SIZE];
  text t = text_over(line, sizeof(line));
  size_t size = strlen(name);

  if (!out->is_classic && (ends_with(name, "_total") || ends_with(name, "_info")))
    size -= ends_with(name, "_total") ? strlen("_total") : strlen("_info");
  text_add(&t, "# ");
  text_add(&t, what);
  text_add(&t, " ");
  text_add_bytes(&t, name, size);
  text_add(&t, " ");
  text_add(&t, words);
  text_add(&t, "\n");
  out->add(line, t.used, out->data);
}

void metrics_head(const metrics_out *out, enum metric m)
{
  const struct metric_row *row = &metric_rows[m];

  add_head(out, "HELP", m, row->help);
  add_head(out, "TYPE", m, out->is_classic && strcmp(row->type, "info") == 0 ? "gauge" : row->type);
  if (!out->is_classic && row->unit[0] != 0)
    add_head(out, "UNIT", m, row->unit);
}

/* ---- samples ---- */

/* Seconds without stdio: at most six decimals, which are all that there are. */
static void add_seconds(text *t, uint64_t us)
{
  char digits[7] = "000000";
  uint64_t rest = us % 1000000;
  size_t size = 6;

  text_add_uint(t, us / 1000000);
  for (size_t i = 6; i-- > 0; rest /= 10)
    digits[i] = (char)('0' + rest % 10);
  while (size > 0 && digits[size - 1] == '0')
    size--;
  text_add(t, size > 0 ? "." : "");
  text_add_bytes(t, digits, size);
}

static const char *kind_word(dibs_kind kind)
{
  return kind == DIBS_KIND_RWLOCK ? "rw" : kind == DIBS_KIND_SEMAPHORE ? "semaphore" : "lock";
}

/* One line, up to its value. */
typedef struct sample {
  const metrics_out *out;
  enum metric metric;
  const dibs_fleet_row *row;
  const char *key, *word;     /* a label; NULL: none */
  char line[LINE_SIZE];
  text text;
} sample;

static text *sample_begin(sample *s, const char *suffix)
{
  text *t = &s->text;

  *t = text_over(s->line, sizeof(s->line));
  text_add(t, metric_rows[s->metric].name);
  text_add(t, suffix);
  text_add(t, "{class=\"");
  if (s->out->add_label != NULL) {
    s->out->add(s->line, t->used, s->out->data);
    s->out->add_label(s->row->class_name, s->out->data);
    *t = text_over(s->line, sizeof(s->line));
  } else {
    text_add(t, s->row->class_name);
  }
  text_add(t, "\",kind=\"");
  text_add(t, kind_word(s->row->kind));
  text_add(t, "\"");
  if (s->key != NULL) {
    text_add(t, ",");
    text_add(t, s->key);
    text_add(t, "=\"");
    text_add(t, s->word);
    text_add(t, "\"");
  }
  return t;
}

static void sample_end(sample *s)
{
  text_add(&s->text, "\n");
  s->out->add(s->line, s->text.used, s->out->data);
}

static void sample_value(sample *s, const char *suffix, uint64_t value)
{
  text *t = sample_begin(s, suffix);

  text_add(t, "} ");
  text_add_uint(t, value);
  sample_end(s);
}

static void bucket(sample *s, size_t i, uint64_t below)
{
  text *t = sample_begin(s, "_bucket");

  text_add(t, ",le=\"");
  if (i + 1 < DIBS_FLEET_BUCKETS)
    add_seconds(t, (uint64_t)100 << i);
  else
    text_add(t, "+Inf");
  text_add(t, "\"} ");
  text_add_uint(t, below);
  sample_end(s);
}

static void histogram(sample *s, const dibs_fleet_times *times)
{
  uint64_t below = 0;

  if (times->count == 0)
    return;
  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++) {
    below += times->buckets[i];
    bucket(s, i, below);
  }
  text_add(sample_begin(s, "_sum"), "} ");
  add_seconds(&s->text, times->sum_us);
  sample_end(s);
  sample_value(s, "_count", times->count);
}

/* ---- classes ---- */

static void waits(sample *s)
{
  s->key = "outcome";
  for (size_t i = 0; i < DIBS_FLEET_WAITS; i++) {
    s->word = fleet_wait_words[i];
    histogram(s, &s->row->waits[i]);
  }
}

static void holds(sample *s)
{
  s->key = "end";
  for (size_t i = 0; i < DIBS_FLEET_ENDS; i++) {
    s->word = fleet_end_words[i];
    histogram(s, &s->row->holds[i]);
  }
}

static void losses(sample *s)
{
  s->key = "cause";
  for (size_t i = DIBS_FLEET_LOST; i < DIBS_FLEET_ENDS; i++) {
    s->word = fleet_end_words[i];
    sample_value(s, "", s->row->holds[i].count);
  }
}

static void row_write(sample *s)
{
  switch (s->metric) {
  case METRIC_dibs_holds:
    sample_value(s, "", s->row->holding);
    break;
  case METRIC_dibs_waiting:
    sample_value(s, "", s->row->waiting);
    break;
  case METRIC_dibs_acquire_wait_seconds:
    waits(s);
    break;
  case METRIC_dibs_hold_seconds:
    holds(s);
    break;
  default:
    losses(s);
  }
}

void metrics_classes(const metrics_out *out, const dibs_fleet_row *rows, size_t count)
{
  static const enum metric each[] = {
#define METRIC_ID(name, type, unit, labels, help) METRIC_##name,
    METRICS_OF_CLASSES(METRIC_ID)
#undef METRIC_ID
  };

  for (size_t m = 0; m < sizeof(each) / sizeof(each[0]) && count > 0; m++) {
    metrics_head(out, each[m]);
    for (size_t i = 0; i < count; i++) {
      sample s = { .out = out, .metric = each[m], .row = &rows[i] };

      row_write(&s);
    }
  }
}
