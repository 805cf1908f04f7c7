/* SPDX-License-Identifier: MIT */
/* cli/show.c - what the server knows of a name, as words and as JSON. */
#include "cli/show.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/durations.h"
#include "cli/message.h"

bool show_is_held(const dibs_inspection *i)
{
  return i->is_held && i->remaining_ms > 0;
}

/* ---- words ---- */

void show_party(const dibs_party *party, char *ret_words, size_t size)
{
  char host[80], program[80];

  printable(party->host, host, sizeof(host));
  printable(party->program, program, sizeof(program));
  if (host[0] == '\0')
    snprintf(ret_words, size, "a client that has not told its name (%s)", party->client);
  else if (program[0] == '\0')
    snprintf(ret_words, size, "%s (pid %" PRId64 ")", host, party->pid);
  else
    snprintf(ret_words, size, "%s (pid %" PRId64 " \"%s\")", host, party->pid, program);
}

static void lease_words(const dibs_inspection *i, char *words, size_t size)
{
  char held[DURATION_SIZE], left[DURATION_SIZE], renewed[DURATION_SIZE];
  int64_t since_renewal = i->lease_ms - i->remaining_ms;

  duration_as_clock(i->holder.waited_ms, held);
  duration_as_span(i->remaining_ms, left);
  duration_as_span(since_renewal < 0 ? 0 : since_renewal, renewed);
  if (i->renewals == 0)
    snprintf(words, size, "for %s, lease %s", held, left);
  else
    snprintf(words, size, "for %s, lease %s, renewed %s ago", held, left, renewed);
}

void show_lease(const dibs_inspection *i, char *ret_words, size_t size)
{
  char lease[120];

  lease_words(i, lease, sizeof(lease));
  if (show_is_held(i))
    snprintf(ret_words, size, "held %s", lease);
  else
    snprintf(ret_words, size,
             i->is_held ? "its lease ran out, to be taken over" : "free, to be handed over");
}

void show_holder(const dibs_inspection *i, char *ret_words, size_t size)
{
  char party[220], lease[120];

  if (!show_is_held(i)) {
    show_lease(i, ret_words, size);
    return;
  }
  show_party(&i->holder, party, sizeof(party));
  lease_words(i, lease, sizeof(lease));
  snprintf(ret_words, size, "held by %s %s", party, lease);
}

size_t show_own_place(const dibs_inspection *i)
{
  char host[65] = "";

  gethostname(host, sizeof(host) - 1);
  for (size_t n = 0; n < i->party_count; n++) {
    if (i->waiters[n].pid == getpid() &&
        strncmp(i->waiters[n].host, host, sizeof(host) - 1) == 0)
      return n + 1;
  }
  return 0;
}

void show_ordinal(size_t n, char *ret_words, size_t size)
{
  const char *ending = "th";

  if (n % 100 < 11 || n % 100 > 13) {
    if (n % 10 == 1)
      ending = "st";
    else if (n % 10 == 2)
      ending = "nd";
    else if (n % 10 == 3)
      ending = "rd";
  }
  snprintf(ret_words, size, "%zu%s", n, ending);
}

/* ---- JSON ---- */

json_t *json_words(const char *text)
{
  json_t *words = json_string(text);
  char shown[2 * DIBS_NAME_MAX];

  /* Not UTF-8: JSON has no way to say it. */
  if (words == NULL)
    words = json_string(printable(text, shown, sizeof(shown)));
  return words;
}

void json_set_fence(json_t *object, uint64_t fence)
{
  char text[24];

  snprintf(text, sizeof(text), "%" PRIu64, fence);
  json_object_set_new(object, "fence", json_integer((json_int_t)fence));
  json_object_set_new(object, "fence_text", json_string(text));
}

static json_t *party_json(const dibs_party *party)
{
  json_t *object = json_object();

  json_object_set_new(object, "id", json_words(party->client));
  json_object_set_new(object, "host", json_words(party->host));
  json_object_set_new(object, "pid", json_integer(party->pid));
  json_object_set_new(object, "cmd", json_words(party->program));
  json_object_set_new(object, "reason", json_words(party->note));
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

/* Names are bytes. Where JSON cannot say them, "name_hex" does. */
static void set_name(json_t *object, const dibs_inspection *i)
{
  json_t *exact = json_stringn(i->name, i->name_size);
  char hex[2 * DIBS_NAME_MAX + 1] = "";

  if (exact != NULL) {
    json_object_set_new(object, "name", exact);
    return;
  }
  for (size_t n = 0; n < i->name_size && n < DIBS_NAME_MAX; n++)
    snprintf(hex + 2 * n, 3, "%02x", (unsigned)(unsigned char)i->name[n]);
  json_object_set_new(object, "name", json_words(i->name));
  json_object_set_new(object, "name_hex", json_string(hex));
}

json_t *show_json(const dibs_inspection *i, bool is_private)
{
  json_t *object = json_object(), *queue = json_array();
  bool is_held = show_is_held(i);

  json_object_set_new(object, "v", json_integer(1));
  set_name(object, i);
  json_object_set_new(object, "kind", json_string("lock"));
  json_object_set_new(object, "state", json_string(is_held ? "held" : "free"));
  json_object_set_new(object, "holder", is_held ? party_json(&i->holder) : json_null());
  json_object_set_new(object, "since", time_json(is_held ? i->since_unix_us : 0));
  json_object_set_new(object, "held_ms", json_integer(is_held ? i->holder.waited_ms : 0));
  json_object_set_new(object, "lease_ms", json_integer(is_held ? i->remaining_ms : 0));
  json_object_set_new(object, "ttl_ms", json_integer(is_held ? i->lease_ms : 0));
  json_object_set_new(object, "renewals", json_integer((json_int_t)i->renewals));
  json_set_fence(object, i->fence);
  json_object_set_new(object, "waiting", json_integer((json_int_t)i->waiter_count));
  for (size_t n = 0; n < i->party_count; n++) {
    json_t *waiter = party_json(&i->waiters[n]);

    json_object_set_new(waiter, "pos", json_integer((json_int_t)n + 1));
    json_object_set_new(waiter, "waited_ms", json_integer(i->waiters[n].waited_ms));
    json_array_append_new(queue, waiter);
  }
  json_object_set_new(object, "queue", queue);
  if (is_private)
    json_object_set_new(object, "scope", json_string("private"));
  return object;
}

void json_print(json_t *object)
{
  char *line = json_dumps(object, JSON_COMPACT);

  if (line != NULL)
    puts(line);
  free(line);
  json_decref(object);
}

void json_say(json_t *object)
{
  char *line = json_dumps(object, JSON_COMPACT);

  if (line != NULL)
    say_raw(line);
  free(line);
  json_decref(object);
}
