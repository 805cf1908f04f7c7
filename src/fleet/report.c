/* SPDX-License-Identifier: MIT */
/* fleet/report.c - the requests of one report, calls of lua/native/report.lua. What is in a
 * report is kept until the server has answered, so that it can be sent again: the server
 * executes each report once. */
#include "fleet/parts.h"

#include <inttypes.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/children.h"

#define REFRESH SPAN_MS(600000)        /* what is held for long stays visible */
#define PACKED_SIZE ((size_t)FLEET_KINDS * FLEET_SERIES * (DIBS_FLEET_BUCKETS + 1) * 15)
#define GAUGES_SIZE ((size_t)FLEET_KINDS * (FLEET_CLASSES_MAX + 1) * (FLEET_CLASS_SIZE + 46))

/* ---- keys ---- */

void fleet_key_totals(const protocol *n, const char *class_name, text *out)
{
  text_format(out, "%s:t:{%s}", n->prefix, class_name);
}

/* All of one slot. */
static void key_common(const protocol *n, const char *what, text *out)
{
  text_format(out, "%s:{fleet}:%s", n->prefix, what);
}

void fleet_key_classes(const protocol *n, text *out)
{
  key_common(n, "classes", out);
}

void fleet_key_clients(const protocol *n, text *out)
{
  key_common(n, "clients", out);
}

void fleet_key_history(const protocol *n, text *out)
{
  key_common(n, "history", out);
}

/* ---- when ---- */

instant fleet_due(const fleet *f)
{
  instant due = INSTANT_NEVER;

  if (f->settings.every.ns == 0)
    return due;
  if (f->is_changed || f->gauges_changed)
    due = instant_add(f->has_reported ? f->ended_at : f->noted_at, f->settings.every);
  if (f->live > 0 && f->has_reported)
    due = instant_min(due, instant_add(f->ended_at, REFRESH));
  return due;
}

/* ---- from notes to a report, and back ---- */

static void series_move(series *to, series *from)
{
  to->sum_us += from->sum_us;
  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++)
    to->buckets[i] += from->buckets[i];
  *from = (series){ 0 };
}

static void class_send(fleet_class *c)
{
  c->is_sent = c->is_changed;
  c->is_changed = false;
  for (size_t k = 0; k < FLEET_KINDS; k++)
    for (size_t i = 0; c->rows[k] != NULL && i < FLEET_SERIES; i++)
      series_move(&c->rows[k]->sent[i], &c->rows[k]->noted[i]);
}

/* Ends what is sent of this class; not recorded: it is as it was before. */
static void class_end(fleet_class *c, bool is_recorded)
{
  for (size_t k = 0; k < FLEET_KINDS; k++)
    for (size_t i = 0; c->rows[k] != NULL && i < FLEET_SERIES; i++)
      series_move(is_recorded ? &c->rows[k]->past[i] : &c->rows[k]->noted[i],
                  &c->rows[k]->sent[i]);
  c->is_changed = c->is_changed || (c->is_sent && !is_recorded);
  c->is_sent = false;
}

static void entries_move(entry_list *to, entry_list *from)
{
  if (from->first == NULL)
    return;
  *from->end = to->first;
  if (to->first == NULL)
    to->end = from->end;
  to->first = from->first;
  to->count += from->count;
  *from = (entry_list){ .end = &from->first };
}

bool fleet_report_begin(fleet *f, bool is_last, instant now)
{
  (void)now;
  if (f->settings.every.ns == 0)
    return false;
  if (!f->is_changed && !f->gauges_changed && f->live == 0 && !(is_last && f->has_reported))
    return false;
  f->number++;
  f->is_last = is_last;
  f->is_changed = f->gauges_changed = false;
  for (size_t i = 0; i < f->class_count; i++)
    class_send(f->classes[i]);
  entries_move(&f->sent, &f->noted);
  return true;
}

/* ---- parts ---- */

static size_t sent_classes(const fleet *f)
{
  size_t count = 0;

  for (size_t i = 0; i < f->class_count; i++)
    count += f->classes[i]->is_sent;
  return count;
}

/* Cluster: the classes that were changed, then what is common, then the registration. */
size_t fleet_report_parts(const fleet *f)
{
  return f->settings.names->has_tags ? sent_classes(f) + 2 : 1;
}

static fleet_class *class_of_part(const fleet *f, size_t part)
{
  for (size_t i = 0; i < f->class_count; i++)
    if (f->classes[i]->is_sent && part-- == 0)
      return f->classes[i];
  return NULL;
}

static void series_write(text *out, const series *s, char kind, char what, size_t which)
{
  bool has_any = false;

  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++) {
    if (s->buckets[i] == 0)
      continue;
    if (!has_any) {
      text_add_bytes(out, &kind, 1);
      text_add_bytes(out, &what, 1);
      text_add_uint(out, which);
      text_add(out, "=s:");
      text_add_uint(out, s->sum_us);
    }
    has_any = true;
    text_add(out, " ");
    text_add_uint(out, i);
    text_add(out, ":");
    text_add_uint(out, s->buckets[i]);
  }
  text_add(out, has_any ? ";" : "");
}

static void class_write(const fleet_class *c, text *out)
{
  for (size_t k = 0; k < FLEET_KINDS; k++)
    for (size_t i = 0; c->rows[k] != NULL && i < FLEET_SERIES; i++) {
      bool waits = i < DIBS_FLEET_WAITS;

      series_write(out, &c->rows[k]->sent[i], fleet_kind_letters[k], waits ? 'w' : 'h',
                   waits ? i : i - DIBS_FLEET_WAITS);
    }
}

/* One line for each class and kind: kind, holding, waiting, class. */
static void gauges_write(const fleet *f, text *out)
{
  for (size_t i = 0; i < f->class_count; i++)
    for (size_t k = 0; k < FLEET_KINDS; k++) {
      const fleet_row *row = f->classes[i]->rows[k];

      if (row == NULL || (row->holding == 0 && row->waiting == 0))
        continue;
      text_add_bytes(out, &fleet_kind_letters[k], 1);
      text_format(out, " %" PRIu64 " %" PRIu64 " %s\n", row->holding, row->waiting,
                  f->classes[i]->name);
    }
}

/* The series of a class; without one, the gauges. */
static void put_written(const fleet *f, const fleet_class *c, request *out)
{
  size_t size = c != NULL ? PACKED_SIZE : GAUGES_SIZE;
  char *bytes = mem_alloc(&f->settings.memory, size);     /* not on the stack */
  text written;

  if (bytes == NULL) {
    out->is_incomplete = true;
    return;
  }
  written = text_over(bytes, size);
  if (c != NULL)
    class_write(c, &written);
  else
    gauges_write(f, &written);
  put_of(out, &written);
  mem_free(&f->settings.memory, bytes);
}

static void put_entry(const fleet_entry *e, instant now, request *out)
{
  static const char *const modes[] = { "exclusive", "read", "permits" };
  char kind[2] = { fleet_kind_letters[e->kind], 0 };

  put_uint(out, e->number);
  put_uint(out, (uint64_t)span_to_us(instant_since(now, e->at)));
  put_text(out, e->end);
  request_put(out, e->name, e->size);
  put_text(out, e->of->name);
  put_text(out, kind);
  put_text(out, modes[e->mode]);
  put_uint(out, (uint64_t)e->ttl_ms);
  put_uint(out, e->fence);
  put_uint(out, (uint64_t)e->waited_us);
  put_uint(out, (uint64_t)e->held_us);
}

/* The names of the classes, the client, and the history. */
static void put_common(const fleet *f, instant now, request *out)
{
  const fleet_settings *s = &f->settings;

  put_text(out, s->names->client);
  put_uint(out, s->history_max);
  put_uint(out, f->is_last);
  put_text(out, s->host);
  put_text(out, f->pid);
  put_text(out, s->program);
  put_text(out, s->note);
  put_uint(out, sent_classes(f));
  for (size_t i = 0; i < f->class_count; i++)
    if (f->classes[i]->is_sent)
      put_text(out, f->classes[i]->name);
  for (const fleet_entry *e = f->sent.first; e != NULL; e = e->next)
    put_entry(e, now, out);
}

static void put_common_keys(const protocol *n, request *out)
{
  void (*const keys[])(const protocol *n, text *out) = { fleet_key_classes, fleet_key_clients,
                                                         fleet_key_history };
  char bytes[KEY_TEXT_SIZE];

  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
    text key = text_over(bytes, sizeof(bytes));

    keys[i](n, &key);
    put_of(out, &key);
  }
}

/* Cluster: remembers the number of the report in the slot of `beside`. */
static void key_mark(const protocol *n, const fleet_class *c, text *out)
{
  if (c != NULL)
    fleet_key_totals(n, c->name, out);
  else
    key_common(n, "report", out);
  text_format(out, ":%s", n->client);
}

/* The last report leaves no mark. */
static void put_head(const fleet *f, bool has_gauges, size_t classes, request *out)
{
  request_keys_end(out);
  put_uint(out, f->number);
  put_uint(out, f->is_last ? 0 : FLEET_KEEP_MS);
  if (has_gauges)
    put_written(f, NULL, out);
  else
    put_text(out, "");
  put_uint(out, classes);
}

static void put_totals_key(const fleet *f, const fleet_class *c, request *out)
{
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));

  fleet_key_totals(f->settings.names, c->name, &key);
  put_of(out, &key);
}

static void begin(const fleet *f, size_t part, request *out)
{
  const protocol *n = f->settings.names;
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));

  if (!n->has_tags || part == sent_classes(f) + 1)
    native_client_key(n, n->client, &key);
  else
    key_mark(n, class_of_part(f, part), &key);
  request_begin(out, &script_native_report);
  put_of(out, &key);
}

static void write_part(const fleet *f, size_t part, instant now, request *out)
{
  fleet_class *c = class_of_part(f, part);

  if (part == sent_classes(f) + 1) {
    put_head(f, true, 0, out);
  } else if (c == NULL) {
    put_common_keys(f->settings.names, out);
    put_head(f, false, 0, out);
    put_common(f, now, out);
  } else {
    put_totals_key(f, c, out);
    put_head(f, false, 1, out);
    put_written(f, c, out);
  }
}

static void write_all(const fleet *f, instant now, request *out)
{
  for (size_t i = 0; i < f->class_count; i++)
    if (f->classes[i]->is_sent)
      put_totals_key(f, f->classes[i], out);
  put_common_keys(f->settings.names, out);
  put_head(f, true, sent_classes(f), out);
  for (size_t i = 0; i < f->class_count; i++)
    if (f->classes[i]->is_sent)
      put_written(f, f->classes[i], out);
  put_common(f, now, out);
}

bool fleet_report_write(const fleet *f, size_t part, instant now, request *out)
{
  begin(f, part, out);
  if (f->settings.names->has_tags)
    write_part(f, part, now, out);
  else
    write_all(f, now, out);
  return !out->is_incomplete;
}

/* ---- afterwards ---- */

/* The parts keep their numbers until the report ends. */
void fleet_report_done(fleet *f, size_t part, bool is_recorded)
{
  bool is_one = !f->settings.names->has_tags;
  size_t number = 0;

  for (size_t i = 0; i < f->class_count; i++) {
    fleet_class *c = f->classes[i];

    if (!c->is_sent)
      continue;
    if (is_one || number == part)
      for (size_t k = 0; k < FLEET_KINDS; k++)
        for (size_t s = 0; c->rows[k] != NULL && is_recorded && s < FLEET_SERIES; s++)
          series_move(&c->rows[k]->past[s], &c->rows[k]->sent[s]);
    number++;
  }
  if (is_recorded && (is_one || part == number))
    entries_free(&f->settings.memory, &f->sent);
}

/* What is still marked as sent was not recorded. */
void fleet_report_end(fleet *f, instant now)
{
  for (size_t i = 0; i < f->class_count; i++) {
    bool is_left = false;
    fleet_class *c = f->classes[i];

    for (size_t k = 0; k < FLEET_KINDS; k++)
      for (size_t s = 0; c->rows[k] != NULL && s < FLEET_SERIES; s++)
        for (size_t b = 0; b < DIBS_FLEET_BUCKETS; b++)
          is_left = is_left || c->rows[k]->sent[s].buckets[b] > 0;
    class_end(c, !is_left);
    f->is_changed = f->is_changed || is_left;
  }
  entries_move(&f->noted, &f->sent);
  f->ended_at = now;
  f->has_reported = true;
  if (f->is_changed)
    f->noted_at = now;
}

bool fleet_report_answer(const resp_reply *r, const char **ret_fault)
{
  const resp_node *fault = child_string(r, 1);
  int64_t applied;

  if (!child_int(r, 0, &applied) || fault == NULL)
    return false;
  *ret_fault = fault->bytes;
  return true;
}
