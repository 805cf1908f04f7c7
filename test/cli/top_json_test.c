/* SPDX-License-Identifier: MIT */
/* A reading of dibs top as JSON and back, and lines that are damaged. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/json.h"
#include "cli/top_json.h"
#include "cli/top_record.h"

static const char good[] =
  "{\"v\":1,\"time\":\"2026-11-26T02:14:03.512Z\",\"url\":\"redis://h\",\"up\":true,\"error\":null,"
  "\"round_trip_us\":114,\"names\":4,\"held\":3,\"waiting\":2,\"oldest_wait_ms\":82,"
  "\"not_inspected\":0,\"clients\":1,\"locks\":["
  "{\"name\":\"a:1\",\"kind\":\"lock\",\"state\":\"held\",\"holder\":{\"host\":\"vm\",\"pid\":7,"
  "\"program\":\"cat\",\"mode\":\"exclusive\"},\"holder_count\":1,\"held_ms\":247,"
  "\"remaining_ms\":29752,\"ttl_ms\":30000,\"fence\":18,\"waiter_count\":1,\"oldest_wait_ms\":82},"
  "{\"name\":\"s?\",\"name_hex\":\"73ff\",\"kind\":\"semaphore\",\"state\":\"free\","
  "\"holder\":null,"
  "\"holder_count\":0,\"limit\":4,\"used\":0,\"held_ms\":0,\"lease_ms\":0,\"ttl_ms\":0,\"fence\":0,"
  "\"waiting\":0,\"oldest_wait_ms\":0}],\"classes\":["
  "{\"class\":\"a\",\"kind\":\"lock\",\"holding\":1,\"waiting\":0,\"granted_per_s\":1.25,"
  "\"failed_per_s\":0,\"lost_per_min\":0.0,\"wait_p50_us\":100,\"wait_p99_us\":null,"
  "\"hold_p99_us\":null}]}\n";

static bool reads(const char *line, size_t size, top_reading *r, char why[200])
{
  *r = (top_reading){ 0 };
  return top_json_read(line, size, r, why);
}

TEST(a_reading_comes_back)
{
  top_reading r, again;
  const watch_row *rows[2];
  char why[200], *line;
  json_t *object;

  assert_true(reads(good, strlen(good), &r, why));
  assert_int_equal(r.table.count, 2);
  assert_int_equal(r.servers, 0);                        /* a recording before 0.6 */
  assert_null(r.patterns);
  r.servers = 3;
  r.servers_down = 1;
  memcpy(r.server_down, "redis://b", 10);
  r.patterns = strdup("a:*, b");
  assert_string_equal(r.table.rows[0].host, "vm");
  assert_int_equal(r.table.rows[0].left_ms, 29752);
  assert_int_equal(r.table.rows[0].waiters, 1);
  assert_string_equal(r.table.rows[0].program, "cat");
  assert_memory_equal(r.table.rows[1].name, "s\xff", 3);
  assert_int_equal(r.table.rows[1].limit, 4);
  assert_int_equal(r.sums.held, 3);
  assert_true(r.classes[0].has_rates && r.classes[0].granted == 1.25);
  assert_int_equal(r.classes[0].wait_p99_us, -1);
  object = top_json(&r, rows, watch_select(&r.table, WATCH_BY_NAME, "", true, r.at_ms, rows));
  json_set_time(object);
  line = json_dumps(object, JSON_COMPACT);
  assert_true(reads(line, strlen(line), &again, why));
  assert_int_equal(again.table.rows[0].fence, 18);
  assert_int_equal(again.servers, 3);
  assert_int_equal(again.servers_down, 1);
  assert_string_equal(again.server_down, "redis://b");
  assert_string_equal(again.patterns, "a:*, b");
  assert_int_equal(again.table.rows[1].size, 2);
  json_decref(object);
  free(line);
  top_reading_free(&again);
  top_reading_free(&r);
}

/* The second name of `good` has the keys of 0.5. */
TEST(a_recording_of_0_5_is_read)
{
  top_reading r;
  char why[200], line[sizeof(good)], *at;

  memcpy(line, good, sizeof(good));
  at = strstr(line, "\"lease_ms\":0");
  assert_non_null(at);
  at[strlen("\"lease_ms\":")] = '7';
  assert_true(reads(line, strlen(line), &r, why));
  assert_int_equal(r.table.rows[1].left_ms, 7);
  top_reading_free(&r);
}

TEST(what_is_damaged_is_named)
{
  static const struct { const char *was, *is, *says; } rows[] = {
    { "\"a:1\"", "7", "\"name\"" }, { "\"a:1\"", "\"\"", "\"name\"" },
    { "73ff", "73f", "\"name\"" }, { "73ff", "zz", "\"name\"" }, { "\"73ff\"", "7", "\"name\"" },
    { "\"waiter_count\":1", "\"waiter_count\":-1", "\"waiter_count\"" },
    { "\"waiter_count\":1", "\"waiter_count\":1.5", "\"waiter_count\"" },
    { "247", "1000000000000000000", "\"held_ms\"" }, { "247", "null", "\"held_ms\"" },
    { "\"limit\":4", "\"limit\":5000000000", "\"limit\"" }, { "\"limit\":4,", "", "\"limit\"" },
    { "semaphore", "mutex", "\"kind\"" },
    { "\"kind\":\"lock\",\"state\"", "\"state\"", "\"kind\"" },
    { "\"state\":\"held\"", "\"state\":1", "\"state\"" },
    { "\"holder\":null", "\"holder\":[]", "\"holder\"" },
    { "\"holder\":null", "\"holder\":{}", "\"host\"" }, { "\"pid\":7", "\"pid\":\"7\"", "\"pid\"" },
    { "2026-11-26T02", "yesterday", "\"time\"" }, { "\"up\":true", "\"up\":1", "\"up\"" },
    { "\"names\":4", "\"names\":\"many\"", "\"names\"" },
    { "\"locks\":[", "\"rocks\":[", "\"locks\"" },
    { "1.25", "-1", "\"granted_per_s\"" }, { "1.25", "1e300", "\"granted_per_s\"" },
    { "\"classes\":[", "\"classes\":[7,", "\"class\"" },
    { "\"locks\":[", "\"locks\":[7,", "\"name\"" },
    { "\"a:1\"", "\"a:1", "" }, { "{\"v\":1", "", "" }, { "\"a:1\"", "\"\xff\"", "" },
    { "}]}\n", "}]}{}\n", "" },
  };

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    const char *at = strstr(good, rows[i].was);
    char line[sizeof(good) + 100], why[200] = "";
    top_reading r;

    assert_non_null(at);
    snprintf(line, sizeof(line), "%.*s%s%s", (int)(at - good), good, rows[i].is,
             at + strlen(rows[i].was));
    if (reads(line, strlen(line), &r, why))
      fail_msg("%s was read", line);
    if (why[0] == 0 || strstr(why, rows[i].says) == NULL)
      fail_msg("%s says \"%s\"", rows[i].is, why);
  }
}

TEST(a_line_that_ends_anywhere_is_refused)
{
  char why[200];
  top_reading r;

  for (size_t size = 0; size + 2 < sizeof(good); size++) {
    char *line = malloc(size + 1);              /* so that a sanitizer sees its end */

    memcpy(line, good, size);
    assert_false(reads(line, size, &r, why));
    free(line);
  }
}

RUN_TESTS(NULL, NULL)
