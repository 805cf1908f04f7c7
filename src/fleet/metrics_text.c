/* SPDX-License-Identifier: MIT */
/* fleet/metrics_text.c - metrics as text: OpenMetrics 1.0, or Prometheus' older format, in which a
 * counter has its suffix in the head too, and there are no units. */
#include "fleet/metrics_text.h"

#include <string.h>

#include <dibs/version.h>

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
  text_format(&t, "# %s ", what);
  text_add_bytes(&t, name, size);
  text_format(&t, " %s\n", words);
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

/* Without stdio: six decimals are all that there are. */
static void add_millionths(text *t, uint64_t us)
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
  const dibs_fleet_row *row;  /* its class and kind are labels; NULL: not of a class */
  const char *key, *word;     /* one more label; NULL: none */
  char line[LINE_SIZE];
  text text;
  bool has_label;
} sample;

static void label_begin(sample *s, const char *key)
{
  text_format(&s->text, "%s%s=\"", s->has_label ? "," : "{", key);
  s->has_label = true;
}

static void label(sample *s, const char *key, const char *word)
{
  label_begin(s, key);
  text_format(&s->text, "%s\"", word);
}

static void labels_of_class(sample *s)
{
  const metrics_out *out = s->out;

  label_begin(s, "class");
  if (out->add_label != NULL) {
    out->add(s->line, s->text.used, out->data);
    out->add_label(s->row->class_name, out->data);
    s->text = text_over(s->line, sizeof(s->line));
  } else {
    text_add(&s->text, s->row->class_name);
  }
  text_add(&s->text, "\"");
  label(s, "kind", kind_word(s->row->kind));
}

static void sample_begin(sample *s, const char *suffix)
{
  s->text = text_over(s->line, sizeof(s->line));
  s->has_label = false;
  text_format(&s->text, "%s%s", metric_rows[s->metric].name, suffix);
  if (s->row != NULL)
    labels_of_class(s);
  if (s->key != NULL)
    label(s, s->key, s->word);
}

static void value_begin(sample *s)
{
  text_add(&s->text, s->has_label ? "} " : " ");
}

static void sample_end(sample *s)
{
  text_add(&s->text, "\n");
  s->out->add(s->line, s->text.used, s->out->data);
}

static void sample_value(sample *s, const char *suffix, uint64_t value)
{
  sample_begin(s, suffix);
  value_begin(s);
  text_add_uint(&s->text, value);
  sample_end(s);
}

/* `millionths`: us as seconds, or parts of a whole. */
static void sample_decimal(sample *s, const char *suffix, uint64_t millionths)
{
  sample_begin(s, suffix);
  value_begin(s);
  add_millionths(&s->text, millionths);
  sample_end(s);
}

static void bucket(sample *s, size_t i, uint64_t below)
{
  sample_begin(s, "_bucket");
  label_begin(s, "le");
  if (i + 1 < DIBS_FLEET_BUCKETS)
    add_millionths(&s->text, (uint64_t)dibs_fleet_bound_us(i));
  else
    text_add(&s->text, "+Inf");
  text_add(&s->text, "\"");
  value_begin(s);
  text_add_uint(&s->text, below);
  sample_end(s);
}

static void histogram(sample *s, const dibs_fleet_times *times)
{
  uint64_t below = 0;

  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++) {
    below += times->buckets[i];
    bucket(s, i, below);
  }
  sample_decimal(s, "_sum", times->sum_us);
  sample_value(s, "_count", times->count);
}

/* ---- classes ---- */

static void waits(sample *s)
{
  s->key = "outcome";
  for (size_t i = 0; i < DIBS_FLEET_WAITS; i++) {
    s->word = fleet_wait_words[i];
    if (s->row->waits[i].count > 0)
      histogram(s, &s->row->waits[i]);
  }
}

static void holds(sample *s)
{
  s->key = "end";
  for (size_t i = 0; i < DIBS_FLEET_ENDS; i++) {
    s->word = fleet_end_words[i];
    if (s->row->holds[i].count > 0)
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

void metrics_classes(const metrics_out *out, const dibs_fleet_row *const *rows, size_t count)
{
  static const enum metric each[] = {
#define METRIC_ID(name, type, unit, labels, help) METRIC_##name,
    METRICS_OF_CLASSES(METRIC_ID)
#undef METRIC_ID
  };

  for (size_t m = 0; m < sizeof(each) / sizeof(each[0]) && count > 0; m++) {
    metrics_head(out, each[m]);
    for (size_t i = 0; i < count; i++) {
      sample s = { .out = out, .metric = each[m], .row = rows[i] };

      row_write(&s);
    }
  }
}

/* ---- one client ---- */

static sample counter(const metrics_out *out, enum metric m)
{
  metrics_head(out, m);
  return (sample){ .out = out, .metric = m };
}

static void labelled(sample *s, const char *key, const char *word, uint64_t value)
{
  s->key = key;
  s->word = word;
  sample_value(s, "", value);
}

static void write_handovers(const metrics_out *out, const dibs_metrics *m)
{
  static const char *const paths[DIBS_HANDOVERS] = { "message", "poll", "local", "linger" };
  sample s = counter(out, METRIC_dibs_handovers_total);

  for (size_t i = 0; i < DIBS_HANDOVERS; i++)
    labelled(&s, "path", paths[i], m->handovers[i]);
}

static void write_client(const metrics_out *out, const dibs_metrics *m)
{
  sample s = counter(out, METRIC_dibs_renewals_total);

  labelled(&s, "result", "ok", m->renewed);
  labelled(&s, "result", "failed", m->renew_failed);
  if (m->lease_slack_ppm >= 0) {
    s = counter(out, METRIC_dibs_lease_slack_ratio);
    sample_decimal(&s, "", (uint64_t)m->lease_slack_ppm);
  }
  write_handovers(out, m);
  s = counter(out, METRIC_dibs_round_trip_seconds);
  histogram(&s, &m->round_trips);
  s = counter(out, METRIC_dibs_commands_total);
  sample_value(&s, "", m->commands);
  s = counter(out, METRIC_dibs_reconnects_total);
  sample_value(&s, "", m->reconnects);
}

void metrics_client(const metrics_out *out, const dibs_metrics *m, bool has_end)
{
  sample s = counter(out, METRIC_dibs_build_info);

  labelled(&s, "version", DIBS_VERSION, 1);
  metrics_classes(out, m->rows, m->count);
  write_client(out, m);
  if (has_end)
    out->add("# EOF\n", 6, out->data);
}
