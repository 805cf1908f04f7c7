/* SPDX-License-Identifier: MIT */
/* test/peers/dibs_peer_data.c - rates, maps, lists and sets: the verbs of PROTOCOL.md that hold
 * nothing. */
#include "dibs_peer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *word, const char *what)
{
  return strcmp(word, what) == 0;
}

static dibs_bytes bytes_of(const char *word)
{
  return (dibs_bytes){ word, strlen(word) };
}

static void say_number(struct peer_worker *w, dibs_status status, int64_t number, char *answer)
{
  if (status == DIBS_OK)
    (void)snprintf(answer, PEER_ANSWER_BYTES, "ok %lld", (long long)number);
  else
    peer_status(w, status, answer);
}

/* A value that is not there is no word at all. */
static void say_value(struct peer_worker *w, dibs_status status, dibs_value *value, char *answer)
{
  if (status == DIBS_OK && value != NULL)
    (void)snprintf(answer, PEER_ANSWER_BYTES, "ok %.*s", (int)value->size,
                   (const char *)value->bytes);
  else
    peer_status(w, status, answer);
  (void)dibs_value_free(value);
}

void peer_rate(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->word[1], *name = words->word[2];
  const int64_t number = words->count > 3 ? strtoll(words->word[3], NULL, 10) : 0;
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_rate rate = DIBS_RATE_INIT;
  int64_t left = 0;
  dibs_status status;

  if (is(verb, "set") && words->count > 4) {
    rate.permits = number;
    rate.interval_ms = strtoll(words->word[4], NULL, 10);
    status = dibs_rate_limiter_set(w->client, name, &rate, DIBS_RATE_IF_ABSENT);
    say_number(w, status == DIBS_BUSY ? DIBS_OK : status, status == DIBS_OK, answer);
  } else if (is(verb, "available")) {
    status = dibs_rate_limiter_get(w->client, name, NULL, &left);
    say_number(w, status, left, answer);
  } else if (words->count > 4) {
    o.wait_ms = is(words->word[4], "-") ? DIBS_FOREVER : (int32_t)strtol(words->word[4], NULL, 10);
    peer_status(w, dibs_rate_limiter_acquire(w->client, name, (uint32_t)number, &o, NULL),
                answer);
  }
}

void peer_map(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->word[1], *name = words->word[2];
  dibs_value *value = NULL;
  uint64_t size = 0;
  dibs_status status;

  if (is(verb, "put") && words->count > 4) {
    status = dibs_map_put(w->client, name, bytes_of(words->word[3]), bytes_of(words->word[4]),
                          &value);
    say_value(w, status, value, answer);
  } else if (is(verb, "size")) {
    status = dibs_map_size(w->client, name, &size);
    say_number(w, status, (int64_t)size, answer);
  } else if (words->count > 3) {
    status = is(verb, "get") ? dibs_map_get(w->client, name, bytes_of(words->word[3]), &value)
                             : dibs_map_remove(w->client, name, bytes_of(words->word[3]), &value);
    say_value(w, status, value, answer);
  }
}

void peer_list(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->word[1], *name = words->word[2];
  dibs_value *value = NULL;
  uint64_t size = 0;
  dibs_status status;

  if (is(verb, "add") && words->count > 3) {
    status = dibs_list_add(w->client, name, bytes_of(words->word[3]), NULL);
    say_number(w, status, 1, answer);
  } else if (is(verb, "size")) {
    status = dibs_list_size(w->client, name, &size);
    say_number(w, status, (int64_t)size, answer);
  } else if (words->count > 3) {
    status = dibs_list_get(w->client, name, strtoll(words->word[3], NULL, 10), &value);
    say_value(w, status, value, answer);
  }
}

void peer_set(struct peer_worker *w, const struct peer_words *words, char *answer)
{
  const char *verb = words->word[1], *name = words->word[2];
  dibs_bytes member = bytes_of(words->count > 3 ? words->word[3] : "");
  uint64_t size = 0;
  bool is_done = false;
  dibs_status status;

  if (is(verb, "size")) {
    status = dibs_set_size(w->client, name, &size);
    say_number(w, status, (int64_t)size, answer);
    return;
  }
  status = is(verb, "add")   ? dibs_set_add(w->client, name, member, &is_done)
           : is(verb, "has") ? dibs_set_contains(w->client, name, member, &is_done)
                             : dibs_set_remove(w->client, name, member, &is_done);
  say_number(w, status, is_done, answer);
}
