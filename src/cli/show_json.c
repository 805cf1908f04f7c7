/* SPDX-License-Identifier: MIT */
/* cli/show_json.c - what the server knows of a name, as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/message.h"
#include "cli/show.h"

/* ---- parts ---- */

void json_set_fence(json_t *object, uint64_t fence)
{
  char text[24];

  snprintf(text, sizeof(text), "%" PRIu64, fence);
  json_object_set_new(object, "fence", json_integer((json_int_t)fence));
  json_object_set_new(object, "fence_text", json_string(text));
}

json_t *party_json(const dibs_party *party)
{
  json_t *object = json_object();

  json_object_set_new(object, "id", json_text(party->client));
  json_object_set_new(object, "host", json_text(party->host));
  json_object_set_new(object, "pid", json_pid(party->pid));
  json_set_renamed(object, "program", "cmd", json_text(party->program));
  json_set_renamed(object, "note", "reason", json_text(party->note));
  return object;
}

static json_t *time_json(int64_t unix_us)
{
  time_t seconds = (time_t)(unix_us / 1000000);
  struct tm utc;
  char text[32];

  if (unix_us == 0 || gmtime_r(&seconds, &utc) == NULL)
    return json_null();
  strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return json_string(text);
}

void json_set_name(json_t *object, const char *name, size_t size)
{
  json_t *exact = json_stringn(name, size);
  char hex[2 * DIBS_NAME_MAX + 1] = "";

  if (exact != NULL) {
    json_object_set_new(object, "name", exact);
    return;
  }
  json_object_set_new(object, "name", json_text(name));
  if (size > DIBS_NAME_MAX)            /* several names */
    return;
  name_to_hex(name, size, hex);
  json_object_set_new(object, "name_hex", json_string(hex));
}

const char *mode_word(dibs_kind kind, dibs_mode mode)
{
  if (kind == DIBS_KIND_SEMAPHORE)
    return "permits";
  if (kind == DIBS_KIND_RWLOCK)
    return mode == DIBS_MODE_READ ? "read" : "write";
  return "exclusive";
}

/* ---- an inspection ---- */

/* The mode, and how many permits. */
static void set_mode(json_t *object, dibs_kind kind, const dibs_party *party)
{
  json_object_set_new(object, "mode", json_string(mode_word(kind, party->mode)));
  json_object_set_new(object, "units", json_integer(party->units));
}

/* A lease that ran out counts for a little while more. */
static int64_t left_ms(const dibs_holder *h)
{
  return h->remaining_ms > 0 ? h->remaining_ms : 0;
}

static json_t *holder_json(dibs_kind kind, const dibs_holder *h)
{
  json_t *object = party_json(h->party);

  set_mode(object, kind, h->party);
  json_object_set_new(object, "since", time_json(h->since_unix_us));
  json_object_set_new(object, "held_ms", json_integer(h->party->waited_ms));
  json_set_renamed(object, "remaining_ms", "lease_ms", json_integer(left_ms(h)));
  json_object_set_new(object, "ttl_ms", json_integer(h->ttl_ms));
  json_object_set_new(object, "renewals", json_integer((json_int_t)h->renewals));
  json_set_fence(object, h->fence);
  return object;
}

static json_t *waiter_json(dibs_kind kind, const dibs_party *party, size_t place)
{
  json_t *object = party_json(party);

  json_object_set_new(object, "pos", json_integer((json_int_t)place));
  json_object_set_new(object, "waited_ms", json_integer(party->waited_ms));
  set_mode(object, kind, party);
  return object;
}

/* What there was before a name could have several holders: the first of them. */
static void set_first_holder(json_t *object, const dibs_inspection *i)
{
  const dibs_holder *h = show_holder_at(i, 0);

  json_object_set_new(object, "holder", h == NULL ? json_null() : party_json(h->party));
  json_object_set_new(object, "since", time_json(h == NULL ? 0 : h->since_unix_us));
  json_object_set_new(object, "held_ms", json_integer(h == NULL ? 0 : h->party->waited_ms));
  json_set_renamed(object, "remaining_ms", "lease_ms", json_integer(h == NULL ? 0 : left_ms(h)));
  json_object_set_new(object, "ttl_ms", json_integer(h == NULL ? 0 : h->ttl_ms));
  json_object_set_new(object, "renewals",
                      json_integer(h == NULL ? 0 : (json_int_t)h->renewals));
  json_set_fence(object, h == NULL ? i->fence : h->fence);
}

static void set_lists(json_t *object, const dibs_inspection *i)
{
  json_t *holders = json_array(), *queue = json_array();
  size_t count = show_holder_count(i);

  for (size_t n = 0; n < count; n++)
    json_array_append_new(holders, holder_json(i->kind, show_holder_at(i, n)));
  for (size_t n = 0; n < i->party_count; n++)
    json_array_append_new(queue, waiter_json(i->kind, i->waiters[n], n + 1));
  json_object_set_new(object, "holders", holders);
  json_set_renamed(object, "waiter_count", "waiting", json_integer((json_int_t)i->waiter_count));
  json_object_set_new(object, "queue", queue);
}

json_t *show_json(const dibs_inspection *i, bool is_private)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_set_name(object, i->name, i->name_size);
  json_object_set_new(object, "kind", json_string(show_kind(i->kind)));
  json_object_set_new(object, "state", json_string(show_is_held(i) ? "held" : "free"));
  set_first_holder(object, i);
  if (i->kind == DIBS_KIND_SEMAPHORE) {
    json_object_set_new(object, "limit", json_integer(i->limit));
    json_object_set_new(object, "used", json_integer(i->used));
    json_object_set_new(object, "generation", json_integer((json_int_t)i->generation));
  }
  set_lists(object, i);
  if (i->quarantine_ms > 0)
    json_object_set_new(object, "quarantine_ms", json_integer(i->quarantine_ms));
  if (is_private)
    json_object_set_new(object, "scope", json_string("private"));
  return object;
}

/* ---- others ---- */

json_t *object_json(const char *name, const char *kind, bool is_private, json_t *facts)
{
  json_t *object = json_object();

  json_object_set_new(object, "v", json_integer(1));
  json_set_name(object, name, strlen(name));
  json_object_set_new(object, "kind", json_string(kind));
  json_object_update(object, facts);
  json_decref(facts);
  if (is_private)
    json_object_set_new(object, "scope", json_string("private"));
  return object;
}
