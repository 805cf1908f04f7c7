/* SPDX-License-Identifier: MIT */
/* cli/web_json.c - what dibs web answers, as JSON. */
#include "cli/web_json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/session.h"
#include "cli/show.h"

#define WAITS_MAX 100
#define HISTORY_MAX 100

/* ---- names ---- */

static json_t *safe_json(const char *name, size_t size)
{
  watch_text safe = { 0 };
  json_t *text;

  watch_add_safe(&safe, name, size);
  text = json_stringn(safe.used > 0 ? safe.bytes : "", safe.used);
  watch_text_free(&safe);
  return text;
}

/* The name for people, and as an id for the next question. */
static void set_name(json_t *object, const char *name, size_t size)
{
  char id[2 * DIBS_NAME_MAX + 1] = "";

  name_to_hex(name, size < DIBS_NAME_MAX ? size : DIBS_NAME_MAX, id);
  json_object_set_new(object, "name", safe_json(name, size));
  json_object_set_new(object, "id", json_string(id));
}

static void set_ms(json_t *object, const char *key, int64_t ms)
{
  json_object_set_new(object, key, json_integer(ms));
}

static json_t *row_json(const watch_row *r, int64_t now_ms)
{
  json_t *object = json_object();
  char by[200] = "";

  if (r->is_held && r->pid != 0)
    snprintf(by, sizeof(by), "%s:%lld %s", r->host, (long long)r->pid, r->program);
  set_name(object, r->name, r->size);
  json_object_set_new(object, "kind", json_string(show_kind(r->kind)));
  json_object_set_new(object, "held", json_boolean(r->is_held));
  json_object_set_new(object, "by", safe_json(by, strlen(by)));
  json_object_set_new(object, "used", json_integer(r->used));
  json_object_set_new(object, "limit", json_integer(r->limit));
  json_object_set_new(object, "waiters", json_integer((json_int_t)r->waiters));
  set_ms(object, "held_ms", watch_held_ms(r, now_ms));
  set_ms(object, "left_ms", watch_left_ms(r, now_ms));
  set_ms(object, "ttl_ms", r->ttl_ms);
  set_ms(object, "oldest_ms", watch_oldest_ms(r, now_ms));
  return object;
}

json_t *web_names(const sampler *s, enum watch_order order, const char *filter, bool all,
                  size_t page)
{
  const watch_row **rows = malloc((s->table.count + 1) * sizeof(const watch_row *));
  int64_t now_ms = sampler_now_ms();
  json_t *object = json_object(), *list = json_array();
  size_t count = rows == NULL ? 0 : watch_select(&s->table, order, filter, all, now_ms, rows);

  for (size_t i = page * WEB_PAGE; i < count && i < (page + 1) * WEB_PAGE; i++)
    json_array_append_new(list, row_json(rows[i], now_ms));
  free(rows);
  json_object_set_new(object, "count", json_integer((json_int_t)count));
  json_object_set_new(object, "pages",
                      json_integer((json_int_t)((count + WEB_PAGE - 1) / WEB_PAGE)));
  json_object_set_new(object, "page", json_integer((json_int_t)page));
  json_object_set_new(object, "rows", list);
  return object;
}

/* ---- overview ---- */

/* 0: there are none. */
static int64_t quantile_us(const dibs_fleet_times *t, double share)
{
  int64_t us = watch_quantile_us(t, share);

  return us < 0 ? 0 : us;
}

static json_t *class_json(const dibs_fleet_row *r)
{
  json_t *object = json_object();
  uint64_t failed = 0, lost = 0;

  for (size_t k = DIBS_FLEET_BUSY; k < DIBS_FLEET_WAITS; k++)
    failed += r->waits[k].count;
  for (size_t k = DIBS_FLEET_LOST; k < DIBS_FLEET_ENDS; k++)
    lost += r->holds[k].count;
  json_object_set_new(object, "class", safe_json(r->class_name, strlen(r->class_name)));
  json_object_set_new(object, "kind", json_string(show_kind(r->kind)));
  json_object_set_new(object, "holding", json_integer((json_int_t)r->holding));
  json_object_set_new(object, "waiting", json_integer((json_int_t)r->waiting));
  json_object_set_new(object, "granted",
                      json_integer((json_int_t)r->waits[DIBS_FLEET_OK].count));
  json_object_set_new(object, "failed", json_integer((json_int_t)failed));
  json_object_set_new(object, "lost", json_integer((json_int_t)lost));
  set_ms(object, "wait_p50_us", quantile_us(&r->waits[DIBS_FLEET_OK], 0.5));
  set_ms(object, "wait_p99_us", quantile_us(&r->waits[DIBS_FLEET_OK], 0.99));
  set_ms(object, "hold_p99_us", quantile_us(&r->holds[DIBS_FLEET_RELEASED], 0.99));
  return object;
}

json_t *web_state(const sampler *s)
{
  watch_sums sums = watch_sum(&s->table, sampler_now_ms());
  dibs_client_info info = session_info(s->client);
  json_t *object = json_object(), *classes = json_array();
  json_t *names = web_names(s, WATCH_BY_WAIT, "", false, 0);

  json_object_set_new(object, "up", json_boolean(s->status == DIBS_OK));
  json_object_set_new(object, "error", s->status == DIBS_OK ? json_null() :
                      safe_json(s->error.text, strlen(s->error.text)));
  json_object_set_new(object, "url", json_string(info.url));
  json_object_set_new(object, "servers", json_integer(info.servers));
  json_object_set_new(object, "servers_down", json_integer(info.servers_down));
  json_object_set_new(object, "server_down", json_string(info.server_down));
  json_object_set_new(object, "names", json_integer((json_int_t)sums.names));
  json_object_set_new(object, "held", json_integer((json_int_t)sums.held));
  json_object_set_new(object, "waiting", json_integer((json_int_t)sums.waiting));
  json_object_set_new(object, "not_seen", json_integer((json_int_t)sums.not_seen));
  set_ms(object, "oldest_ms", sums.oldest_ms);
  set_ms(object, "round_trip_us", (int64_t)s->round_trip_us);
  for (size_t i = 0; s->fleet != NULL && i < s->fleet->count; i++)
    json_array_append_new(classes, class_json(s->fleet->rows[i]));
  json_object_set_new(object, "clients", s->fleet == NULL ? json_null() :
                      json_integer((json_int_t)s->fleet->clients));
  json_object_set_new(object, "classes", classes);
  json_object_set(object, "top", json_object_get(names, "rows"));
  json_decref(names);
  return object;
}

/* ---- one name ---- */

static json_t *history_json(const dibs_history *h)
{
  json_t *list = json_array();

  for (size_t i = 0; i < h->count; i++) {
    const dibs_history_entry *e = h->entries[i];
    json_t *object = json_object();

    json_object_set_new(object, "end", safe_json(e->end, strlen(e->end)));
    set_ms(object, "ago_us", e->ago_us);
    set_ms(object, "end_us", e->end_us);
    set_ms(object, "waited_us", e->waited_us);
    set_ms(object, "held_us", e->held_us);
    json_object_set_new(object, "host", safe_json(e->host, strlen(e->host)));
    json_object_set_new(object, "pid", json_pid(e->pid));
    json_object_set_new(object, "program", safe_json(e->program, strlen(e->program)));
    json_array_append_new(list, object);
  }
  return list;
}

json_t *web_name(dibs_client *client, const char *name, size_t size, dibs_error *ret_error)
{
  watch_text pattern = { 0 };
  dibs_history_options o = DIBS_HISTORY_OPTIONS_INIT;
  dibs_inspection *found = NULL;
  dibs_history *history = NULL;
  json_t *object;

  if (dibs_inspect(client, (dibs_bytes){ name, size }, &found) != DIBS_OK) {
    (void)dibs_client_error(client, 0, ret_error);
    return NULL;
  }
  object = show_json(found, session_info(client).is_private != 0);
  set_name(object, name, size);
  json_object_del(object, "name_hex");
  (void)dibs_inspection_free(found);
  watch_add_pattern(&pattern, name, size);
  o.pattern = pattern.bytes;
  o.limit = HISTORY_MAX;
  if (!pattern.has_no_memory && dibs_history_read(client, &o, &history) == DIBS_OK)
    json_object_set_new(object, "history", history_json(history));
  watch_text_free(&pattern);
  (void)dibs_history_free(history);
  return object;
}

json_t *web_waits(sampler *s)
{
  json_t *list = json_array();

  for (size_t i = 0; i < s->table.count && json_array_size(list) < WAITS_MAX; i++) {
    const watch_row *r = &s->table.rows[i];
    dibs_inspection *found = NULL;

    if (r->waiters == 0 ||
        dibs_inspect(s->client, (dibs_bytes){ r->name, r->size }, &found) != DIBS_OK)
      continue;
    if (found->waiter_count > 0) {
      json_t *object = show_json(found, false);

      set_name(object, r->name, r->size);
      json_object_del(object, "name_hex");
      json_array_append_new(list, object);
    }
    (void)dibs_inspection_free(found);
  }
  return list;
}

/* ---- servers ---- */

/* Thread: in dibs_examine(). */
static bool finding_add(const dibs_finding *f, void *data)
{
  static const char *const grades[] = { "?", "pass", "unknown", "warn", "fail" };
  json_t *object = json_object();
  size_t grade = (size_t)f->grade;

  json_object_set_new(object, "grade", json_string(grades[grade < 5 ? grade : 0]));
  json_object_set_new(object, "check", safe_json(f->check, strlen(f->check)));
  json_object_set_new(object, "node", safe_json(f->node, strlen(f->node)));
  json_object_set_new(object, "text", safe_json(f->text, strlen(f->text)));
  json_object_set_new(object, "advice", safe_json(f->advice, strlen(f->advice)));
  json_array_append_new(data, object);
  return true;
}

json_t *web_findings(dibs_client *client)
{
  json_t *list = json_array();

  if (dibs_examine(client, finding_add, list) != DIBS_OK) {
    json_decref(list);
    return NULL;
  }
  return list;
}
