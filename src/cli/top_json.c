/* SPDX-License-Identifier: MIT */
/* cli/top_json.c - a reading of dibs top as JSON. */
#include "cli/top_json.h"

#include <string.h>

#include "cli/show.h"

static void set_integer(json_t *object, const char *key, int64_t value)
{
  json_object_set_new(object, key, json_integer(value));
}

/* null below zero: not known. */
static void set_known(json_t *object, const char *key, int64_t value)
{
  json_object_set_new(object, key, value < 0 ? json_null() : json_integer(value));
}

/* In hundredths: more digits say nothing. */
static void set_rate(json_t *object, const char *key, double value)
{
  double rounded = (double)(int64_t)(value * 100 + 0.5) / 100;

  json_object_set_new(object, key, value < 0 ? json_null() : json_real(rounded));
}

static json_t *row_json(const top_reading *r, const watch_row *row)
{
  json_t *object = json_object(), *holder = json_object();
  char class_name[WATCH_CLASS_SIZE];

  json_set_name(object, row->name, row->size);
  (void)r->class_of(r->patterns, row->name, row->size, class_name);
  json_object_set_new(object, "class", json_text(class_name));
  json_object_set_new(object, "kind", json_string(show_kind(row->kind)));
  json_object_set_new(object, "state", json_string(row->is_held ? "held" : "free"));
  json_object_set_new(holder, "host", json_text(row->host));
  json_object_set_new(holder, "pid", json_pid(row->pid));
  json_set_renamed(holder, "program", "cmd", json_text(row->program));
  json_object_set_new(holder, "mode", json_string(mode_word(row->kind, row->mode)));
  json_object_set_new(object, "holder", row->holders > 0 ? holder : json_null());
  if (row->holders == 0)
    json_decref(holder);
  set_integer(object, "holder_count", (int64_t)row->holders);
  if (row->kind == DIBS_KIND_SEMAPHORE) {
    set_integer(object, "limit", row->limit);
    set_integer(object, "used", row->used);
  }
  set_integer(object, "held_ms", watch_held_ms(row, r->at_ms));
  json_set_renamed(object, "remaining_ms", "lease_ms",
                   json_integer(watch_left_ms(row, r->at_ms)));
  set_integer(object, "ttl_ms", row->ttl_ms);
  json_set_fence(object, row->fence);
  json_set_renamed(object, "waiter_count", "waiting", json_integer((json_int_t)row->waiters));
  set_integer(object, "oldest_wait_ms", watch_oldest_ms(row, r->at_ms));
  return object;
}

static json_t *class_json(const watch_class *c)
{
  json_t *object = json_object();

  json_object_set_new(object, "class", json_text(c->name));
  json_object_set_new(object, "kind", json_string(show_kind(c->kind)));
  set_integer(object, "holding", (int64_t)c->holding);
  set_integer(object, "waiting", (int64_t)c->waiting);
  set_rate(object, "granted_per_s", c->has_rates ? c->granted : -1);
  set_rate(object, "failed_per_s", c->has_rates ? c->failed : -1);
  set_rate(object, "lost_per_min", c->has_rates ? c->lost : -1);
  set_known(object, "wait_p50_us", c->wait_p50_us);
  set_known(object, "wait_p99_us", c->wait_p99_us);
  set_known(object, "hold_p99_us", c->hold_p99_us);
  return object;
}

json_t *top_json(const top_reading *r, const watch_row *const *rows, size_t count)
{
  json_t *object = json_object(), *locks = json_array(), *classes = json_array();

  json_object_set_new(object, "v", json_integer(1));
  json_object_set_new(object, "url", json_text(r->url));
  json_object_set_new(object, "up", json_boolean(r->is_up));
  json_object_set_new(object, "error", r->error[0] == '\0' ? json_null() : json_text(r->error));
  set_integer(object, "round_trip_us", (int64_t)r->round_trip_us);
  set_integer(object, "servers", r->servers);
  set_integer(object, "servers_down", r->servers_down);
  json_object_set_new(object, "server_down", r->server_down[0] == '\0' ? json_null() :
                                             json_text(r->server_down));
  set_integer(object, "names", (int64_t)r->sums.names);
  set_integer(object, "held", (int64_t)r->sums.held);
  set_integer(object, "waiting", (int64_t)r->sums.waiting);
  set_integer(object, "oldest_wait_ms", r->sums.oldest_ms);
  set_integer(object, "not_inspected", (int64_t)r->sums.not_seen);
  json_object_set_new(object, "clients", r->has_fleet ? json_integer((json_int_t)r->clients)
                                                      : json_null());
  if (r->patterns != NULL)
    json_object_set_new(object, "class_patterns", json_text(r->patterns));
  for (size_t i = 0; i < count; i++)
    json_array_append_new(locks, row_json(r, rows[i]));
  for (size_t i = 0; i < r->class_count; i++)
    json_array_append_new(classes, class_json(&r->classes[i]));
  json_object_set_new(object, "locks", locks);
  json_object_set_new(object, "classes", classes);
  return object;
}
