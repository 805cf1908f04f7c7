/* SPDX-License-Identifier: MIT */
/* cli/top_json_read.c - a reading of dibs top from its JSON, which may be damaged. */
#include <jansson.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/show.h"
#include "cli/top_record.h"
#include "fleet/class.h"

#define INTEGER_MAX INT64_C(100000000000000)     /* in ms or us: 3000 years or more */
#define AT_MS 1                                  /* of every reading */

typedef struct reader {
  const char *bad;           /* the first key that is not as it should be; NULL */
} reader;

/* ---- values ---- */

typedef bool check(const json_t *value);

static json_t *member(reader *r, const json_t *object, const char *key, check *is_right)
{
  json_t *value = json_object_get(object, key);

  if ((value == NULL || !is_right(value)) && r->bad == NULL)
    r->bad = key;
  return value != NULL && is_right(value) ? value : NULL;
}

static bool is_amount(const json_t *v)
{
  return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) <= INTEGER_MAX;
}

static bool is_amount_or_null(const json_t *v)
{
  return json_is_null(v) || is_amount(v);
}

static bool is_rate(const json_t *v)
{
  return json_is_null(v) ||
         (json_is_number(v) && json_number_value(v) >= 0 && json_number_value(v) < 1e12);
}

static bool is_text(const json_t *v)
{
  return json_is_string(v);
}

static bool is_text_or_null(const json_t *v)
{
  return json_is_null(v) || json_is_string(v);
}

static bool is_truth(const json_t *v)
{
  return json_is_boolean(v);
}

static bool is_list(const json_t *v)
{
  return json_is_array(v);
}

static bool is_object_or_null(const json_t *v)
{
  return json_is_null(v) || json_is_object(v);
}

static int64_t amount(reader *r, const json_t *object, const char *key)
{
  return json_integer_value(member(r, object, key, is_amount));
}

static uint32_t small_amount(reader *r, const json_t *object, const char *key)
{
  int64_t value = amount(r, object, key);

  if (value > UINT32_MAX && r->bad == NULL)
    r->bad = key;
  return (uint32_t)value;
}

static int64_t amount_or_none(reader *r, const json_t *object, const char *key)
{
  json_t *value = member(r, object, key, is_amount_or_null);

  return json_is_integer(value) ? json_integer_value(value) : -1;
}

static void set_text(reader *r, const json_t *object, const char *key, char *ret_text, size_t size)
{
  const char *text = json_string_value(member(r, object, key, is_text_or_null));

  snprintf(ret_text, size, "%s", text == NULL ? "" : text);
}

static dibs_kind kind_of(reader *r, const json_t *object)
{
  const char *text = json_string_value(member(r, object, "kind", is_text));

  for (dibs_kind kind = DIBS_KIND_MUTEX; text != NULL && kind <= DIBS_KIND_SEMAPHORE; kind++) {
    if (strcmp(text, show_kind(kind)) == 0)
      return kind;
  }
  r->bad = r->bad == NULL ? "kind" : r->bad;
  return DIBS_KIND_MUTEX;
}

/* ---- names ---- */

/* Returns the size of the name; 0: it is none. */
static size_t name_of(const json_t *object, char ret_name[DIBS_NAME_MAX + 1])
{
  const json_t *hex = json_object_get(object, "name_hex"), *name = json_object_get(object, "name");
  const char *digits = json_string_value(hex);
  size_t size = json_string_length(hex != NULL ? hex : name);

  if (hex == NULL && size <= DIBS_NAME_MAX && json_is_string(name)) {
    memcpy(ret_name, json_string_value(name), size);
    return size;
  }
  return digits == NULL ? 0 : name_of_hex(digits, ret_name);
}

/* The key, or the one that recordings of 0.5 have. */
static const char *either(const json_t *object, const char *key, const char *key_of_0_5)
{
  return json_object_get(object, key) != NULL ? key : key_of_0_5;
}

static void read_holder(reader *r, const json_t *object, watch_row *row)
{
  const json_t *holder = member(r, object, "holder", is_object_or_null);
  const char *mode;

  if (!json_is_object(holder))
    return;
  set_text(r, holder, "host", row->host, sizeof(row->host));
  set_text(r, holder, either(holder, "program", "cmd"), row->program, sizeof(row->program));
  row->pid = json_integer_value(member(r, holder, "pid", is_amount_or_null));
  mode = json_string_value(member(r, holder, "mode", is_text));
  row->mode = mode != NULL && strcmp(mode, "read") == 0 ? DIBS_MODE_READ : DIBS_MODE_EXCLUSIVE;
}

static void read_row(reader *r, const json_t *object, watch_table *t)
{
  char name[DIBS_NAME_MAX + 1] = "";
  size_t size = name_of(object, name);
  watch_row *row;
  const char *state;

  if (size == 0 || !watch_walk_name(t, name, size)) {
    r->bad = r->bad == NULL ? "name" : r->bad;
    return;
  }
  row = &t->rows[t->count - 1];
  row->is_seen = true;
  row->seen_ms = AT_MS;
  row->kind = kind_of(r, object);
  state = json_string_value(member(r, object, "state", is_text));
  row->is_held = state != NULL && strcmp(state, "held") == 0;
  read_holder(r, object, row);
  row->holders = (size_t)amount(r, object, "holder_count");
  if (row->kind == DIBS_KIND_SEMAPHORE) {
    row->limit = small_amount(r, object, "limit");
    row->used = small_amount(r, object, "used");
  }
  row->held_ms = amount(r, object, "held_ms");
  row->left_ms = amount(r, object, either(object, "remaining_ms", "lease_ms"));
  row->ttl_ms = amount(r, object, "ttl_ms");
  row->waiters = (size_t)amount(r, object, either(object, "waiter_count", "waiting"));
  row->oldest_ms = amount(r, object, "oldest_wait_ms");
  row->fence = (uint64_t)json_integer_value(json_object_get(object, "fence"));
}

/* ---- the reading ---- */

static double rate(reader *r, const json_t *object, const char *key)
{
  return json_number_value(member(r, object, key, is_rate));
}

static void read_class(reader *r, const json_t *object, watch_class *c)
{
  set_text(r, object, "class", c->name, sizeof(c->name));
  c->kind = kind_of(r, object);
  c->holding = (uint64_t)amount(r, object, "holding");
  c->waiting = (uint64_t)amount(r, object, "waiting");
  c->has_rates = json_is_number(json_object_get(object, "granted_per_s"));
  c->granted = rate(r, object, "granted_per_s");
  c->failed = rate(r, object, "failed_per_s");
  c->lost = rate(r, object, "lost_per_min");
  c->wait_p50_us = amount_or_none(r, object, "wait_p50_us");
  c->wait_p99_us = amount_or_none(r, object, "wait_p99_us");
  c->hold_p99_us = amount_or_none(r, object, "hold_p99_us");
}

static void read_lists(reader *r, const json_t *object, top_reading *to)
{
  const json_t *locks = member(r, object, "locks", is_list);
  const json_t *classes = member(r, object, "classes", is_list);
  size_t count = json_array_size(classes);

  watch_walk_begin(&to->table);
  for (size_t i = 0; i < json_array_size(locks) && r->bad == NULL; i++)
    read_row(r, json_array_get(locks, i), &to->table);
  watch_walk_end(&to->table);
  to->classes = count == 0 ? NULL : calloc(count, sizeof(*to->classes));
  to->class_count = to->classes == NULL ? 0 : count;
  for (size_t i = 0; i < to->class_count; i++)
    read_class(r, json_array_get(classes, i), &to->classes[i]);
}

/* UTC, as json_set_time() writes it, in the time zone of this process. */
static void read_time(reader *r, const json_t *object, char ret_when[32])
{
  const char *text = json_string_value(member(r, object, "time", is_text));
  struct tm utc = { 0 }, local;
  time_t seconds;

  if (text == NULL)
    return;
  if (strptime(text, "%Y-%m-%dT%H:%M:%S", &utc) == NULL) {
    r->bad = r->bad == NULL ? "time" : r->bad;
    return;
  }
  seconds = timegm(&utc);
  if (localtime_r(&seconds, &local) == NULL ||
      strftime(ret_when, 32, "%Y-%m-%d %H:%M:%S", &local) == 0)
    r->bad = r->bad == NULL ? "time" : r->bad;
}

/* Before 0.6 there were no such keys. */
static void read_servers(reader *r, const json_t *object, top_reading *to)
{
  if (json_object_get(object, "servers") == NULL)
    return;
  to->servers = small_amount(r, object, "servers");
  to->servers_down = small_amount(r, object, "servers_down");
  set_text(r, object, "server_down", to->server_down, sizeof(to->server_down));
  if (to->servers_down > to->servers && r->bad == NULL)
    r->bad = "servers_down";
}

/* Without any, and before 0.6, there is no such key. */
static void read_patterns(reader *r, const json_t *object, top_reading *to)
{
  const char *text;

  if (json_object_get(object, "class_patterns") == NULL)
    return;
  text = json_string_value(member(r, object, "class_patterns", is_text));
  to->patterns = text == NULL ? NULL : strdup(text);
}

static void read_all(reader *r, const json_t *object, top_reading *to)
{
  int64_t clients;

  to->at_ms = AT_MS;
  to->class_of = fleet_class_name;
  read_patterns(r, object, to);
  read_servers(r, object, to);
  read_time(r, object, to->when);
  set_text(r, object, "url", to->url, sizeof(to->url));
  set_text(r, object, "error", to->error, sizeof(to->error));
  to->is_up = json_is_true(member(r, object, "up", is_truth));
  to->round_trip_us = (uint64_t)amount(r, object, "round_trip_us");
  to->sums = (watch_sums) { .names = (size_t)amount(r, object, "names"),
                            .held = (size_t)amount(r, object, "held"),
                            .waiting = (size_t)amount(r, object, "waiting"),
                            .not_seen = (size_t)amount(r, object, "not_inspected"),
                            .oldest_ms = amount(r, object, "oldest_wait_ms") };
  clients = amount_or_none(r, object, "clients");
  to->has_fleet = clients >= 0;
  to->clients = clients < 0 ? 0 : (uint64_t)clients;
  read_lists(r, object, to);
}

bool top_json_read(const char *line, size_t size, top_reading *ret_reading, char ret_why[200])
{
  json_error_t error = { .text = "" };
  json_t *object = json_loadb(line, size, JSON_ALLOW_NUL, &error);
  top_reading reading = { 0 };
  reader r = { .bad = NULL };

  if (!json_is_object(object)) {
    snprintf(ret_why, 200, "%.150s", object == NULL ? error.text : "no JSON object");
    json_decref(object);
    return false;
  }
  read_all(&r, object, &reading);
  json_decref(object);
  if (r.bad == NULL) {
    *ret_reading = reading;
    return true;
  }
  top_reading_free(&reading);
  snprintf(ret_why, 200, "\"%s\" is missing or wrong", r.bad);
  return false;
}
