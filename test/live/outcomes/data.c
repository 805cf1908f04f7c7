/* SPDX-License-Identifier: MIT */
/* test/live/outcomes/data.c - maps, lists and sets: what all of their functions list (data.h). */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include "outcomes.h"

enum { CHANGES = 1, READS = 2, TYPED = 4 /* a map, list or set only */ };

static const dibs_bytes one = { "1", 1 };
static dibs_value *value;
static bool is_so;
static int64_t number;
static uint64_t size;

static bool on_entry(dibs_bytes key, dibs_bytes entry, void *data)
{
  (void)key;
  (void)entry;
  return data == NULL;
}

static bool on_element(uint64_t index, dibs_bytes element, void *data)
{
  (void)index;
  (void)element;
  return data == NULL;
}

static bool on_member(dibs_bytes member, void *data)
{
  (void)member;
  return data == NULL;
}

/* WAY(function, traits, what it takes after client and name) */
#define WAYS(WAY) \
  WAY(dibs_data_expire, CHANGES, 1000, NULL) \
  WAY(dibs_data_persist, CHANGES, NULL) \
  WAY(dibs_data_ttl, READS, &number) \
  WAY(dibs_data_delete, CHANGES, NULL) \
  WAY(dibs_map_put, CHANGES | TYPED, one, one, NULL) \
  WAY(dibs_map_put_if_absent, CHANGES | TYPED, one, one, &is_so) \
  WAY(dibs_map_replace, CHANGES | TYPED, one, one, &is_so) \
  WAY(dibs_map_replace_if, CHANGES | TYPED, one, one, one, &is_so) \
  WAY(dibs_map_get, READS | TYPED, one, &value) \
  WAY(dibs_map_contains, READS | TYPED, one, &is_so) \
  WAY(dibs_map_size, READS | TYPED, &size) \
  WAY(dibs_map_remove, CHANGES | TYPED, one, NULL) \
  WAY(dibs_map_remove_if, CHANGES | TYPED, one, one, &is_so) \
  WAY(dibs_map_each, READS | TYPED, on_entry, NULL) \
  WAY(dibs_list_add, CHANGES | TYPED, one, NULL) \
  WAY(dibs_list_add_first, CHANGES | TYPED, one, NULL) \
  WAY(dibs_list_get, READS | TYPED, 0, &value) \
  WAY(dibs_list_set, CHANGES | TYPED, 0, one, &is_so) \
  WAY(dibs_list_insert, CHANGES | TYPED, 0, one, &is_so) \
  WAY(dibs_list_remove, CHANGES | TYPED, one, 0, NULL) \
  WAY(dibs_list_remove_at, CHANGES | TYPED, 0, &is_so) \
  WAY(dibs_list_size, READS | TYPED, &size) \
  WAY(dibs_list_range, READS | TYPED, 0, 0, on_element, NULL) \
  WAY(dibs_list_pop_first, CHANGES | TYPED, &value) \
  WAY(dibs_list_pop_last, CHANGES | TYPED, &value) \
  WAY(dibs_set_add, CHANGES | TYPED, one, NULL) \
  WAY(dibs_set_remove, CHANGES | TYPED, one, NULL) \
  WAY(dibs_set_contains, READS | TYPED, one, &is_so) \
  WAY(dibs_set_size, READS | TYPED, &size) \
  WAY(dibs_set_pop, CHANGES | TYPED, &value) \
  WAY(dibs_set_each, READS | TYPED, on_member, NULL)

#define A_CALL(function, traits, ...) \
  static dibs_status call_##function(void) \
  { \
    dibs_status status = function(other, name, __VA_ARGS__); \
\
    value = dibs_value_free(value); \
    return status; \
  }

WAYS(A_CALL)

#define A_WAY(function, traits, ...) { #function, traits, call_##function },

static const struct way {
  const char *function;
  unsigned traits;
  situation *run;
} ways[] = { WAYS(A_WAY) };

static const struct way *way;

/* ---- situations ---- */

static void empty(void)
{
  (void)test_server_command(live_server, "DEL %s", name);
}

static dibs_status of_nothing(void)
{
  dibs_status status = way->run();

  empty();
  return status;
}

static dibs_status of_a_string(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "SET %s x", name);
  status = way->run();
  empty();
  return status;
}

static dibs_status without_a_name(void)
{
  name = "";
  return way->run();
}

static dibs_status unanswered(void)
{
  dibs_status status = without_a_reply(way->run);

  empty();
  return status;
}

static dibs_status without_a_server(void)
{
  return at_no_server(way->run);
}

#define SITUATIONS(AS_LOCK) \
  AS_LOCK(DIBS_OK, of_nothing, 0) \
  AS_LOCK(DIBS_ERR_WRONG_TYPE, of_a_string, TYPED) \
  AS_LOCK(DIBS_ERR_ARGUMENT, without_a_name, 0) \
  AS_LOCK(DIBS_UNKNOWN, unanswered, CHANGES) \
  AS_LOCK(DIBS_ERR_UNREACHABLE, unanswered, READS) \
  AS_LOCK(DIBS_ERR_UNREACHABLE, without_a_server, 0)

#define A_SITUATION(outcome, situation, traits) { #situation, outcome, situation, traits },

static const struct way_row situations[] = { SITUATIONS(A_SITUATION) };

void outcomes_walk_data(void)
{
  for (way = ways; way < ways + sizeof(ways) / sizeof(ways[0]); way++)
    outcomes_walk_way(way->function, way->traits, situations,
                      sizeof(situations) / sizeof(situations[0]));
}

/* ---- dibs_list_take(), dibs_key_lock_name() ---- */

static dibs_status take_with(int32_t wait_ms, dibs_canceller *cancel)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  dibs_status status;

  o.wait_ms = wait_ms;
  o.cancel = cancel;
  status = dibs_list_take(other, name, &o, &value);
  value = dibs_value_free(value);
  return status;
}

static dibs_status take(void) { return take_with(SOON_MS, NULL); }

static dibs_status take_of_an_element(void)
{
  live_expect_ok(dibs_list_add(other, name, one, NULL));
  return take_with(LIVE_LONG_MS, NULL);
}

static dibs_status take_of_nothing(void) { return take_with(ANSWER_MS, NULL); }

static dibs_status take_cancelled(void)
{
  dibs_canceller *c = NULL;
  dibs_status status;

  live_expect_ok(dibs_canceller_new(&c));
  dibs_cancel(c);
  status = take_with(DIBS_FOREVER, c);
  c = dibs_canceller_free(c);
  return status;
}

static dibs_status take_of_a_string(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "SET %s x", name);
  status = take();
  empty();
  return status;
}

static dibs_status take_unanswered(void)
{
  dibs_status status;

  live_expect_ok(dibs_list_add(other, name, one, NULL));
  status = without_a_reply(take);
  empty();
  return status;
}

static dibs_status take_without_a_server(void) { return at_no_server(take); }

static dibs_status take_by(dibs_client *c)
{
  return dibs_list_take(c, name, NULL, &value);
}

static dibs_status take_while_closing(void) { return while_closing(take_by); }

static dibs_status key_lock(void)
{
  char bytes[DIBS_NAME_MAX + 1];

  return dibs_key_lock_name("map", one, DIBS_KEY_LOCK, bytes, sizeof(bytes));
}

static dibs_status key_lock_without_room(void)
{
  char bytes[3];

  return dibs_key_lock_name("map", one, DIBS_KEY_LOCK, bytes, sizeof(bytes));
}

#define ROWS(X, NOT_HERE) \
  X(dibs_list_take, DIBS_OK, take_of_an_element) \
  X(dibs_list_take, DIBS_TIMED_OUT, take_of_nothing) \
  X(dibs_list_take, DIBS_CANCELLED, take_cancelled) \
  X(dibs_list_take, DIBS_UNKNOWN, take_unanswered) \
  X(dibs_list_take, DIBS_ERR_WRONG_TYPE, take_of_a_string) \
  X(dibs_list_take, DIBS_ERR_UNREACHABLE, take_without_a_server) \
  X(dibs_list_take, DIBS_ERR_CLOSED, take_while_closing) \
  X(dibs_key_lock_name, DIBS_OK, key_lock) \
  X(dibs_key_lock_name, DIBS_ERR_ARGUMENT, key_lock_without_room)

OUTCOMES(outcomes_of_data);
