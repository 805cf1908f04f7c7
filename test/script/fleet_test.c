/* SPDX-License-Identifier: MIT */
/* Reports of what a client did: the script report, with requests that come twice or late, a full
 * server, keys of other programs, and data that was lost. protocol.md 22. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fleet/fleet.h"
#include "rendered.h"
#include "server.h"
#include "stage.h"

#define TOTALS "dibs:t:{orders}"
#define HISTORY "dibs:{fleet}:history"
#define CLIENTS "dibs:{fleet}:clients"
#define CLASSES "dibs:{fleet}:classes"

static fleet *f;
static instant now;

static void *plain(void *old, size_t bytes)
{
  return realloc(old, bytes);
}

static void *take(size_t bytes, void *data)
{
  (void)data;
  return plain(NULL, bytes);
}

static void *again(void *old, size_t bytes, void *data)
{
  (void)data;
  return plain(old, bytes);
}

static void give(void *old, void *data)
{
  (void)data;
  free(old);
}

static int begin(void **state)
{
  fleet_settings s = { .memory = { take, again, give, NULL }, .names = NULL, .host = "h\n1",
                       .program = "worker", .note = "", .pid = 77, .every = SPAN_MS(10000),
                       .history = HISTORY_NOTABLE, .history_max = 1000,
                       .history_over = SPAN_MS(1000) };

  if (stage_clear(state) != 0)
    return -1;
  s.names = world_native(w, ANNA);
  now = (instant){ 5000000000 };
  f = fleet_new(&s, now);
  return f == NULL ? -1 : 0;
}

static int end(void **state)
{
  f = fleet_free(f);
  return stage_check_errors(state);
}

static int end_refused(void **state)
{
  (void)state;
  f = fleet_free(f);
  return 0;
}

/* One hold of orders:1 that waited 3 ms and was held for `held_ms`. */
static void one_hold(int64_t held_ms)
{
  fleet_note n = { .ttl_ms = 30000 };

  fleet_began(f, &n, "orders:1", 8, now);
  now = instant_add(now, SPAN_MS(3));
  fleet_granted(f, &n, now);
  now = instant_add(now, SPAN_MS(held_ms));
  fleet_tell(f, &n, fleet_end_words[DIBS_FLEET_RELEASED], "orders:1", 8, 1024, now);
  fleet_ended(f, &n, DIBS_FLEET_RELEASED, now);
}

static bool written(const protocol *n, request *out, size_t part)
{
  (void)n;
  return fleet_report_write(f, part, now, out);
}

/* Sends the report that was begun. */
static const resp_reply *sent(void)
{
  assert_true(RENDERED(written, world_native(w, ANNA), world_buffer(w), true, 0));
  return stage_send();
}

static void send_ok(int64_t applied)
{
  const resp_reply *r = sent();
  const char *fault = NULL;

  if (resp_root(r)->kind == RESP_ERROR)
    fail_msg("%s", resp_root(r)->bytes);
  assert_true(fleet_report_answer(r, &fault));
  assert_string_equal(fault, "");
  assert_int_equal(resp_child(r, resp_root(r), 0)->integer, applied);
}

static void report_all(bool is_last)
{
  assert_true(fleet_report_begin(f, is_last, now));
  send_ok(1);
  fleet_report_done(f, 0, true);
  fleet_report_end(f, now);
}

static const char *asked(const char *command)
{
  return test_server_command(world_server(w), command);
}

/* The row of orders, read as a client reads it. */
static dibs_fleet_row row(fleet_reading *r)
{
  dibs_fleet_row found = { .size = 0 };

  *r = (fleet_reading){ .memory = { take, again, give, NULL } };
  assert_true(buffer_append(world_buffer(w), "*2\r\n$7\r\nHGETALL\r\n$15\r\n" TOTALS "\r\n", 39));
  assert_true(fleet_read_totals(r, "orders", 6, stage_send()));
  if (r->fleet.count > 0)
    found = r->rows[0];
  return found;
}

TEST(a_report_adds_to_the_totals_and_twice_counts_once)
{
  fleet_reading r;
  dibs_fleet_row seen;

  one_hold(50);
  assert_true(fleet_report_begin(f, false, now));
  send_ok(1);
  send_ok(0);
  fleet_report_done(f, 0, true);
  fleet_report_end(f, now);
  one_hold(20);
  report_all(false);
  seen = row(&r);
  assert_int_equal(seen.waits[DIBS_FLEET_OK].count, 2);
  assert_int_equal(seen.waits[DIBS_FLEET_OK].sum_us, 6000);
  assert_int_equal(seen.holds[DIBS_FLEET_RELEASED].count, 2);
  assert_int_equal(seen.holds[DIBS_FLEET_RELEASED].sum_us, 70000);
  assert_true(seen.since_us > 0);
  fleet_reading_deinit(&r);
}

TEST(a_report_that_arrives_after_the_next_one_changes_nothing)
{
  fleet_reading r;
  request late;

  one_hold(50);
  assert_true(fleet_report_begin(f, false, now));
  request_init(&late, &world_buffer(w)->memory);
  assert_true(fleet_report_write(f, 0, now, &late));
  late.carries_text = true;
  send_ok(1);
  fleet_report_done(f, 0, true);
  fleet_report_end(f, now);
  one_hold(50);
  report_all(false);
  assert_true(request_render(&late, world_native(w, ANNA)->uses_functions, world_buffer(w)));
  assert_int_equal(resp_root(stage_send())->kind, RESP_ARRAY);
  request_deinit(&late);
  assert_int_equal(row(&r).waits[DIBS_FLEET_OK].count, 2);
  fleet_reading_deinit(&r);
}

TEST(all_keys_expire)
{
  static const struct { const char *command; long least, most; } keys[] = {
    { "PTTL " TOTALS, 86000000, 86400000 }, { "PTTL " CLASSES, 86000000, 86400000 },
    { "PTTL " CLIENTS, 86000000, 86400000 }, { "PTTL " HISTORY, 604000000, 604800000 },
  };

  one_hold(1500);
  report_all(false);
  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    assert_in_range(strtol(asked(keys[i].command), NULL, 10), keys[i].least, keys[i].most);
}

TEST(the_last_report_leaves_no_trace_of_the_client)
{
  one_hold(1);
  report_all(false);
  assert_string_equal(asked("ZCARD " CLIENTS), "1");
  one_hold(1);
  report_all(true);
  assert_string_equal(asked("ZCARD " CLIENTS), "0");
}

TEST(only_what_is_notable_is_in_the_history)
{
  one_hold(20);
  report_all(false);
  assert_string_equal(asked("EXISTS " HISTORY), "0");
  one_hold(1500);
  report_all(false);
  assert_string_equal(asked("XLEN " HISTORY), "1");
}

TEST(lost_data_begin_again_and_are_no_negative_difference)
{
  fleet_reading r, later;
  dibs_fleet_row before, after, change;

  for (int i = 0; i < 3; i++)
    one_hold(20);
  report_all(false);
  before = row(&r);
  assert_string_equal(asked("FLUSHALL"), "OK");
  one_hold(20);
  report_all(false);
  after = row(&later);
  assert_true(after.since_us > before.since_us);
  assert_int_equal(dibs_fleet_change(&before, &after, &change), DIBS_OK);
  assert_int_equal(change.waits[DIBS_FLEET_OK].count, 1);
  /* A failover that lost the last reports: the same beginning, and less. */
  after.since_us = before.since_us;
  assert_int_equal(dibs_fleet_change(&before, &after, &change), DIBS_OK);
  assert_int_equal(change.waits[DIBS_FLEET_OK].count, 0);
  assert_int_equal(change.waits[DIBS_FLEET_OK].sum_us, 0);
  fleet_reading_deinit(&r);
  fleet_reading_deinit(&later);
}

TEST_WITH(a_full_server_refuses_the_report_and_the_next_one_has_it, begin, end_refused)
{
  fleet_reading r;

  one_hold(20);
  assert_true(fleet_report_begin(f, false, now));
  stage_fill_memory();
  assert_int_equal(resp_root(sent())->kind, RESP_ERROR);
  stage_empty_memory();
  assert_string_equal(asked("EXISTS " TOTALS " " CLASSES " " CLIENTS), "0");
  fleet_report_end(f, now);
  one_hold(20);
  report_all(false);
  assert_int_equal(row(&r).waits[DIBS_FLEET_OK].count, 2);
  fleet_reading_deinit(&r);
}

TEST_WITH(a_key_of_another_kind_stays_and_the_rest_is_done, begin, end_refused)
{
  const char *fault = NULL;

  assert_string_equal(asked("SET " TOTALS " mine"), "OK");
  one_hold(1500);
  assert_true(fleet_report_begin(f, false, now));
  assert_true(fleet_report_answer(sent(), &fault));
  assert_non_null(strstr(fault, "WRONGTYPE"));
  assert_string_equal(asked("GET " TOTALS), "mine");
  assert_string_equal(asked("XLEN " HISTORY), "1");
}

RUN_STAGE(stage_start, stage_stop, begin, end)
