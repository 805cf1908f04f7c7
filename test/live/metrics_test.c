/* SPDX-License-Identifier: MIT */
/* test/live/metrics_test.c - a client's own numbers are what the program did with it: in all
 * deployments, without reports, as numbers and as text. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "live.h"

enum { TTL_MS = 20000 };

static dibs_client *open_silent(void)
{
  dibs_options o = live_options();

  o.report_ms = DIBS_REPORT_OFF;
  return live_open_with(live_url(), &o);
}

/* ---- numbers ---- */

static dibs_fleet_row row_of(dibs_client *c, const char *class_name, dibs_kind kind)
{
  dibs_fleet_row found = { .size = 0 };
  dibs_metrics *m = NULL;

  live_expect(c, dibs_metrics_read(c, &m), DIBS_OK);
  assert_int_equal(m->size, sizeof(*m));
  for (size_t i = 0; i < m->count; i++)
    if (m->rows[i]->kind == kind && strcmp(m->rows[i]->class_name, class_name) == 0)
      found = *m->rows[i];
  found.class_name = class_name;
  assert_null(dibs_metrics_free(m));
  return found;
}

TEST(each_request_is_counted_by_its_end)
{
  dibs_client *c = open_silent(), *other = live_open(live_url());
  dibs_hold *hold = live_lock(other, "orders:1", TTL_MS);
  dibs_lock_options o = live_lock_options(TTL_MS, 30);
  dibs_fleet_row row;

  assert_int_equal(live_try(c, "orders:1"), DIBS_BUSY);
  live_expect_refused(c, dibs_lock(c, "orders:1", &o, &hold), DIBS_TIMED_OUT);
  for (int i = 0; i < 3; i++)
    live_expect_ok(dibs_release(live_lock(c, "orders:2", TTL_MS)));
  row = row_of(c, "orders", DIBS_KIND_MUTEX);
  assert_int_equal(row.waits[DIBS_FLEET_OK].count, 3);
  assert_int_equal(row.waits[DIBS_FLEET_BUSY].count, 1);
  assert_int_equal(row.waits[DIBS_FLEET_TIMED_OUT].count, 1);
  assert_true(row.waits[DIBS_FLEET_TIMED_OUT].sum_us >= 30000);
  assert_int_equal(row.holds[DIBS_FLEET_RELEASED].count, 3);
  assert_int_equal(row.holding + row.waiting, 0);
  assert_int_equal(row.since_us, 0);
  assert_null(dibs_close(c));
  assert_null(dibs_close(other));
}

TEST(a_hold_that_was_broken_is_one_loss)
{
  dibs_client *c = open_silent(), *other = live_open(live_url());
  struct live_loss loss = { 0 };
  dibs_lock_options o = live_lock_options(3000, 0);
  dibs_inspection *seen = NULL;
  dibs_fleet_row row;
  dibs_hold *hold;

  live_needs_one_server();
  live_report_loss(&o, &loss);
  hold = live_lock_with(c, "broken:1", &o);
  assert_int_equal(row_of(c, "broken", DIBS_KIND_MUTEX).holding, 1);
  live_expect_ok(dibs_inspect(other, dibs_text("broken:1"), &seen));
  live_expect_ok(dibs_break(other, dibs_text("broken:1"), seen->lease));
  assert_null(dibs_inspection_free(seen));
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  assert_true(dibs_release(hold) != DIBS_OK);
  row = row_of(c, "broken", DIBS_KIND_MUTEX);
  assert_int_equal(row.holding, 0);
  assert_int_equal(row.holds[DIBS_FLEET_RELEASED].count, 0);
  assert_int_equal(row.holds[DIBS_FLEET_LOST].count + row.holds[DIBS_FLEET_TAKEN].count, 1);
  assert_null(dibs_close(c));
  assert_null(dibs_close(other));
}

/* The records of one server's locks: as many as there are names are held at a time. */
TEST(a_held_lease_takes_few_bytes)
{
  enum { COUNT = 20, MOST = 696 };
  dibs_client *c = live_open(live_url());
  dibs_lock_options o = live_lock_options(60000, 0);
  dibs_hold *holds[COUNT];
  char name[] = "few:a";

  live_needs_one_server();
  for (int i = 0; i < COUNT; i++) {
    name[4] = (char)('a' + i);
    holds[i] = live_lock_with(c, name, &o);
  }
  if (sizeof(void *) == 8)
    assert_in_range(live_stats(c).table_bytes / COUNT, 500, MOST + strlen(name));
  for (int i = 0; i < COUNT; i++)
    assert_int_equal(dibs_release(holds[i]), DIBS_OK);
  assert_null(dibs_close(c));
}

static bool two_wait(void *c)
{
  return row_of(c, "shared", DIBS_KIND_MUTEX).waiting == 2;
}

TEST(what_waits_is_a_gauge)
{
  dibs_client *c = open_silent(), *other = live_open(live_url());
  dibs_hold *hold = live_lock(other, "shared:1", TTL_MS);
  struct live_ask asks[2];

  for (int i = 0; i < 2; i++) {
    live_ask_begin(&asks[i], c, "shared:1", NULL);
  }
  assert_true(live_until(LIVE_LONG_MS, two_wait, c));
  live_expect_ok(dibs_release(hold));
  for (int i = 0; i < 2; i++)
    live_expect_ok(dibs_release(live_ask_granted(&asks[i], LIVE_LONG_MS)));
  assert_int_equal(row_of(c, "shared", DIBS_KIND_MUTEX).waiting, 0);
  assert_int_equal(row_of(c, "shared", DIBS_KIND_MUTEX).waits[DIBS_FLEET_OK].count, 2);
  assert_null(dibs_close(c));
  assert_null(dibs_close(other));
}

static dibs_metrics numbers_of(dibs_client *c)
{
  dibs_metrics *m = NULL, copy;

  live_expect(c, dibs_metrics_read(c, &m), DIBS_OK);
  copy = *m;
  copy.rows = NULL;
  assert_null(dibs_metrics_free(m));
  return copy;
}

TEST(a_lock_that_lingers_or_waits_is_a_hand_over)
{
  dibs_client *c = open_silent(), *other = live_open(live_url());
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  struct live_ask ask;
  dibs_hold *hold;
  dibs_metrics m;

  live_needs_one_server();
  o.linger_ms = TTL_MS;
  for (int i = 0; i < 50; i++)           /* not before messages can come */
    live_expect_ok(dibs_release(live_lock_with(c, "parked:1", &o)));
  m = numbers_of(c);
  assert_true(m.handovers[DIBS_HANDOVER_LINGER] > 0);
  assert_int_equal(m.handovers[DIBS_HANDOVER_LINGER], live_stats(c).granted_local);
  hold = live_lock(other, "orders:1", TTL_MS);
  live_ask_begin(&ask, c, "orders:1", NULL);
  live_expect_waiters(live_server, "orders:1", 1);
  live_expect_ok(dibs_release(hold));
  live_expect_ok(dibs_release(live_ask_granted(&ask, LIVE_LONG_MS)));
  m = numbers_of(c);
  assert_int_equal(m.handovers[DIBS_HANDOVER_MESSAGE] + m.handovers[DIBS_HANDOVER_POLL], 1);
  assert_int_equal(m.handovers[DIBS_HANDOVER_LOCAL], 0);
  assert_null(dibs_close(c));
  assert_null(dibs_close(other));
}

TEST(commands_and_round_trips_agree_with_the_counters)
{
  dibs_client *c = open_silent();
  dibs_metrics m;

  live_expect_ok(dibs_release(live_lock(c, "orders:1", TTL_MS)));
  m = numbers_of(c);
  assert_int_equal(m.commands, live_stats(c).commands);
  assert_int_equal(m.reconnects, 0);
  assert_int_equal(m.renewed, live_stats(c).renewed);
  assert_true(m.round_trips.count >= 2 && m.round_trips.count <= m.commands);
  assert_true(m.round_trips.sum_us > 0);
  assert_null(dibs_close(c));
}

/* ---- text ---- */

typedef struct page {
  dibs_client *client;
  char text[65536];
  size_t used;
  int calls, most;                       /* most: 0: all */
} page;

/* Uses the client: no lock of the library is held. */
static bool page_add(const char *piece, size_t size, void *data)
{
  page *p = data;

  (void)live_stats(p->client);
  assert_true(p->used + size < sizeof(p->text));
  memcpy(p->text + p->used, piece, size);
  p->used += size;
  p->text[p->used] = 0;
  p->calls++;
  return p->calls != p->most;
}

TEST(the_text_has_the_numbers)
{
  static page p;
  dibs_client *c = open_silent();

  p = (page){ .client = c };
  live_expect_ok(dibs_release(live_lock(c, "say \"x\"\n\\:1", TTL_MS)));
  live_expect(c, dibs_metrics_write(c, 0, page_add, &p), DIBS_OK);
  assert_non_null(strstr(p.text, "\ndibs_hold_seconds_count{class=\"say??x???\",kind=\"lock\","
                                 "end=\"released\"} 1\n"));
  assert_string_equal(p.text + p.used - 6, "# EOF\n");
  assert_null(dibs_close(c));
}

TEST(a_writer_may_stop_it)
{
  static page p;
  dibs_client *c = open_silent();

  p = (page){ .client = c, .most = 2 };
  live_expect(c, dibs_metrics_write(c, DIBS_METRICS_PROMETHEUS, page_add, &p), DIBS_OK);
  assert_int_equal(p.calls, 2);
  assert_null(dibs_close(c));
}

TEST(bad_arguments_are_named)
{
  static page p;
  dibs_client *c = open_silent();
  dibs_metrics *m = NULL;

  p = (page){ .client = c };
  live_expect(c, dibs_metrics_read(c, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(c, "ret_metrics");
  live_expect(c, dibs_metrics_write(c, 0, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect_words(c, "writer");
  live_expect(c, dibs_metrics_write(c, 0x4u, page_add, &p), DIBS_ERR_ARGUMENT);
  live_expect_words(c, "flags");
  assert_int_equal(dibs_metrics_read(NULL, &m), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_metrics_write(NULL, 0, page_add, &p), DIBS_ERR_ARGUMENT);
  live_expect(c, dibs_metrics_read(c, &m), DIBS_OK);
  assert_int_equal(m->count, 0);
  assert_null(dibs_close(c));
  assert_null(dibs_metrics_free(m));     /* outlives its client */
  assert_null(dibs_metrics_free(NULL));
  assert_int_equal(dibs_metrics_read(c, &m), DIBS_ERR_STALE);
  assert_int_equal(p.calls, 0);
}

RUN_TESTS(live_server_setup, live_server_teardown)
