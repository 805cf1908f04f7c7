/* SPDX-License-Identifier: MIT */
/* Unit: metrics of one client - what it counted is in them before, during and after a report; the
 * text in both formats, line by line. */

#include "tests.h"

#include <string.h>

#include <dibs/version.h>

#include "failing_heap.h"
#include "fleet/fleet.h"

static protocol names = { .prefix = "dibs", .client = "AAAAAAAAAAAAAAAAAAAAAA" };
static failing_heap heap;
static instant now = { 7000000000 };
static char written[100000];
static size_t used;

static memory heap_memory(void)
{
  return FAILING_HEAP_AS(memory, &heap);
}

static fleet *fleet_every(span every)
{
  fleet_settings s = { .memory = heap_memory(), .names = &names, .host = "h", .program = "p",
                       .note = "", .every = every, .history = HISTORY_ALL };

  return fleet_new(&s, now);
}

static fleet_note hold(fleet *f, const char *name, int64_t waited_us)
{
  fleet_note n = { .ttl_ms = 1000 };

  fleet_began(f, &n, name, strlen(name), now);
  now.ns += waited_us * 1000;
  fleet_granted(f, &n, now);
  return n;
}

static void end(fleet *f, fleet_note *n, dibs_fleet_end how, int64_t held_us)
{
  now.ns += held_us * 1000;
  fleet_tell(f, n, fleet_end_words[how], "x", 1, 7, now);
  fleet_ended(f, n, how, now);
}

static void hold_and_release(fleet *f)
{
  fleet_note n = hold(f, "orders:1", 150);

  end(f, &n, DIBS_FLEET_RELEASED, 1500);
}

static void expect_counts(const fleet *f, uint64_t count)
{
  fleet_reading r = { .memory = heap_memory() };

  assert_true(fleet_read_own(f, &r));
  assert_int_equal(r.fleet.count, 1);
  assert_string_equal(r.rows[0].class_name, "orders");
  assert_int_equal(r.rows[0].waits[DIBS_FLEET_OK].count, count);
  assert_int_equal(r.rows[0].waits[DIBS_FLEET_OK].sum_us, count * 150);
  assert_int_equal(r.rows[0].waits[DIBS_FLEET_OK].buckets[1], count);
  assert_int_equal(r.rows[0].holds[DIBS_FLEET_RELEASED].count, count);
  assert_int_equal(r.rows[0].holds[DIBS_FLEET_RELEASED].sum_us, count * 1500);
  fleet_reading_deinit(&r);
}

/* ---- numbers ---- */

TEST(what_was_counted_stays_after_its_report)
{
  fleet *f = fleet_every(SPAN_MS(10000));

  hold_and_release(f);
  expect_counts(f, 1);
  assert_true(fleet_report_begin(f, false, now));
  hold_and_release(f);
  expect_counts(f, 2);                   /* one of them is on its way */
  fleet_report_done(f, 0, true);
  fleet_report_end(f, now);
  expect_counts(f, 2);
  assert_true(fleet_report_begin(f, false, now));
  fleet_report_end(f, now);              /* refused: it is reported again */
  expect_counts(f, 2);
  assert_null(fleet_free(f));
  assert_int_equal(heap.live, 0);
}

TEST(without_reports_it_is_counted_too_and_nothing_is_due)
{
  fleet *f = fleet_every((span){ 0 });

  hold_and_release(f);
  expect_counts(f, 1);
  assert_true(instant_is_never(fleet_due(f)));
  assert_false(fleet_report_begin(f, true, now));
  assert_null(fleet_free(f));
  assert_int_equal(heap.live, 0);
}

/* ---- text ---- */

static void add(const char *bytes, size_t size, void *data)
{
  (void)data;
  assert_true(used + size < sizeof(written));
  assert_true(size > 0 && bytes[size - 1] == '\n');
  memcpy(written + used, bytes, size);
  used += size;
  written[used] = 0;
}

static void write_as(fleet *f, bool is_classic, bool has_end)
{
  fleet_reading r = { .memory = heap_memory() };
  metrics_out out = { .is_classic = is_classic, .add = add };
  dibs_metrics m = { .size = sizeof(m), .renewed = 7, .lease_slack_ppm = 612345,
                     .handovers = { 1, 2, 3, 4 }, .commands = 9 };

  used = 0;
  assert_true(fleet_read_own(f, &r));
  assert_true(fleet_read_show(&r));
  m.count = r.fleet.count;
  m.rows = r.shown;
  metrics_client(&out, &m, has_end);
  fleet_reading_deinit(&r);
}

static void expect_line(const char *line)
{
  const char *at = strstr(written, line);

  if (at == NULL || (at > written && at[-1] != '\n') || at[strlen(line)] != '\n')
    print_error("no line %s in:\n%s", line, written);
  assert_non_null(at);
  assert_true(at == written || at[-1] == '\n');
  assert_int_equal(at[strlen(line)], '\n');
}

static fleet *fleet_with_all(void)
{
  fleet *f = fleet_every((span){ 0 });
  fleet_note lost = hold(f, "orders:1", 150), kept;

  end(f, &lost, DIBS_FLEET_LOST, 12345678);
  kept = hold(f, "orders:2", 1000000);
  assert_true(kept.is_open);
  return f;
}

TEST(openmetrics_has_units_and_an_end)
{
  fleet *f = fleet_with_all();

  write_as(f, false, true);
  expect_line("# TYPE dibs_acquire_wait_seconds histogram");
  expect_line("# UNIT dibs_acquire_wait_seconds seconds");
  expect_line("# TYPE dibs_lost counter");
  expect_line("# TYPE dibs_build info");
  expect_line("dibs_build_info{version=\"" DIBS_VERSION "\"} 1");
  expect_line("dibs_holds{class=\"orders\",kind=\"lock\"} 1");
  expect_line("dibs_waiting{class=\"orders\",kind=\"lock\"} 0");
  expect_line("dibs_lost_total{class=\"orders\",kind=\"lock\",cause=\"lost\"} 1");
  expect_line("dibs_lost_total{class=\"orders\",kind=\"lock\",cause=\"taken\"} 0");
  assert_string_equal(written + used - 6, "# EOF\n");
  write_as(f, false, false);
  assert_null(strstr(written, "# EOF"));
  assert_null(fleet_free(f));
}

TEST(the_older_format_names_counters_with_their_suffix)
{
  fleet *f = fleet_with_all();

  write_as(f, true, false);
  expect_line("# TYPE dibs_lost_total counter");
  expect_line("# TYPE dibs_build_info gauge");
  assert_null(strstr(written, "# UNIT"));
  assert_null(strstr(written, "# EOF"));
  assert_null(fleet_free(f));
}

TEST(numbers_of_the_client_have_no_class)
{
  fleet *f = fleet_with_all();

  write_as(f, false, true);
  expect_line("dibs_renewals_total{result=\"ok\"} 7");
  expect_line("# UNIT dibs_lease_slack_ratio ratio");
  expect_line("dibs_lease_slack_ratio 0.612345");
  expect_line("dibs_handovers_total{path=\"linger\"} 4");
  expect_line("dibs_round_trip_seconds_bucket{le=\"+Inf\"} 0");
  expect_line("dibs_round_trip_seconds_count 0");
  expect_line("dibs_commands_total 9");
  assert_null(fleet_free(f));
}

TEST(buckets_add_up_and_seconds_are_exact)
{
  fleet *f = fleet_with_all();

  write_as(f, false, true);
#define OK "class=\"orders\",kind=\"lock\",outcome=\"ok\""
#define LOST "class=\"orders\",kind=\"lock\",end=\"lost\""
  expect_line("dibs_acquire_wait_seconds_bucket{" OK ",le=\"0.0001\"} 0");
  expect_line("dibs_acquire_wait_seconds_bucket{" OK ",le=\"0.0002\"} 1");
  expect_line("dibs_acquire_wait_seconds_bucket{" OK ",le=\"0.8192\"} 1");
  expect_line("dibs_acquire_wait_seconds_bucket{" OK ",le=\"1.6384\"} 2");
  expect_line("dibs_acquire_wait_seconds_bucket{" OK ",le=\"+Inf\"} 2");
  expect_line("dibs_acquire_wait_seconds_count{" OK "} 2");
  expect_line("dibs_acquire_wait_seconds_sum{" OK "} 1.00015");
  expect_line("dibs_hold_seconds_sum{" LOST "} 12.345678");
  assert_null(strstr(written, "outcome=\"busy\""));
  assert_null(fleet_free(f));
  assert_int_equal(heap.live, 0);
}

RUN_TESTS(NULL, NULL)
