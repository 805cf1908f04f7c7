/* SPDX-License-Identifier: MIT */
/* on_change in a simulated world: which changes of a hold it reports, in virtual time; that they
 * are in order, that a loss is the last, and when its data is freed. */
#include "tests.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/sim.h>

#include "expect.h"

#define TTL_MS 3000
#define WARN_MS 1000

/* What was reported: a letter for each callback, and '.' when the data is freed. */
typedef struct told {
  char letters[64];
  size_t count;
  int64_t valid_ms[64];
  int slow_ms;                         /* a callback takes so long */
  bool releases;                       /* in the first one */
  dibs_status released;
} told;

static void add(told *t, char letter, int64_t valid_ms)
{
  EXPECT(t->count < sizeof(t->letters) - 1);
  t->valid_ms[t->count] = valid_ms;
  t->letters[t->count++] = letter;
}

static void on_change(dibs_hold *hold, const dibs_hold_info *info, dibs_change why, void *data)
{
  static const char letters[] = { [DIBS_CHANGE_SUSPECT] = 's', [DIBS_CHANGE_HELD] = 'h',
                                  [DIBS_CHANGE_ENDS_SOON] = 'e', [DIBS_CHANGE_LOST] = 'l' };
  told *t = data;
  char text[512] = "";

  EXPECT((why == DIBS_CHANGE_LOST) == (info->state == DIBS_HOLD_GONE));
  EXPECT(info->fence != 0);
  add(t, letters[why], info->valid_ms);
  if (why == DIBS_CHANGE_SUSPECT)
    EXPECT(dibs_hold_why(hold, text, sizeof(text)) == DIBS_OK && text[0] != 0);
  if (t->slow_ms > 0)
    dibs_sim_sleep_ms(t->slow_ms);
  if (t->releases && t->count == 1)
    t->released = dibs_release(hold);
}

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold;
  (void)loss;
  add(data, 'L', 0);
}

static void on_free(void *data)
{
  add(data, '.', 0);
}

static void fault(dibs_sim_fault_kind kind, int64_t ms)
{
  const dibs_sim_fault f = { .kind = kind, .ms = ms };

  EXPECT(dibs_sim_inject(dibs_sim_current(), &f) == DIBS_OK);
}

static dibs_client *open_client(void)
{
  dibs_client *client = NULL;

  EXPECT(dibs_open("redis://server", NULL, &client, NULL) == DIBS_OK);
  return client;
}

static dibs_hold *take(dibs_client *client, told *t, uint32_t flags, int32_t max_hold_ms)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;

  o.ttl_ms = TTL_MS;
  o.flags = flags;
  o.max_hold_ms = max_hold_ms;
  o.on_change = on_change;
  o.on_change_data = t;
  o.on_change_free = on_free;
  o.warn_ms = WARN_MS;
  EXPECT(dibs_lock(client, "job", &o, &hold) == DIBS_OK);
  return hold;
}

/* ---- the programs ---- */

static void an_outage_that_ends_in_time(void *data)
{
  dibs_client *client = open_client();
  dibs_hold *hold = take(client, data, 0, 0);

  dibs_sim_sleep_ms(5000);
  EXPECT(((told *)data)->count == 0);
  fault(DIBS_SIM_SERVER_MISCONF, 1200);
  dibs_sim_sleep_ms(5000);
  EXPECT(dibs_release(hold) == DIBS_OK);
  client = dibs_close(client);
}

static void an_outage_that_ends_late(void *data)
{
  dibs_client *client = open_client();
  dibs_hold *hold = take(client, data, 0, 0);

  fault(DIBS_SIM_SERVER_MISCONF, 2400);
  dibs_sim_sleep_ms(6000);
  EXPECT(dibs_release(hold) == DIBS_OK);
  client = dibs_close(client);
}

static void an_outage_that_is_too_long(void *data)
{
  dibs_client *client = open_client();
  dibs_hold *hold = take(client, data, 0, 0);

  fault(DIBS_SIM_SERVER_MISCONF, 60000);
  dibs_sim_sleep_ms(6000);
  EXPECT(dibs_status_is_lost(dibs_release(hold)));
  client = dibs_close(client);
}

static void a_hold_with_an_end(void *data)
{
  dibs_client *client = open_client();
  dibs_hold *hold = take(client, data, 0, 2 * TTL_MS);

  dibs_sim_sleep_ms(2 * TTL_MS - WARN_MS - 200);
  EXPECT(((told *)data)->count == 0);
  dibs_sim_sleep_ms(WARN_MS + 1000);
  EXPECT(dibs_status_is_lost(dibs_release(hold)));
  client = dibs_close(client);
}

static void a_release_in_the_callback(void *data)
{
  dibs_client *client = open_client();

  ((told *)data)->releases = true;
  (void)take(client, data, DIBS_LOCK_FIXED, 0);
  dibs_sim_sleep_ms(6000);
  EXPECT(((told *)data)->released == DIBS_OK);
  client = dibs_close(client);
}

static void a_callback_that_is_slow(void *data)
{
  dibs_client *client = open_client();
  dibs_hold *hold = take(client, data, 0, 0);

  ((told *)data)->slow_ms = 10000;     /* meanwhile it ends soon, and is lost */
  fault(DIBS_SIM_SERVER_MISCONF, 60000);
  dibs_sim_sleep_ms(25000);
  EXPECT(dibs_status_is_lost(dibs_release(hold)));
  client = dibs_close(client);
}

static void a_close_beside_a_hold(void *data)
{
  dibs_client *client = open_client();

  (void)take(client, data, 0, 0);
  fault(DIBS_SIM_SERVER_MISCONF, 60000);
  client = dibs_close(client);
}

static void both_callbacks(void *data)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = open_client();
  dibs_hold *hold = NULL;

  o.ttl_ms = TTL_MS;
  o.flags = DIBS_LOCK_FIXED;
  o.on_change = on_change;
  o.on_lost = on_lost;
  o.on_change_data = o.on_lost_data = data;
  o.on_change_free = o.on_lost_free = on_free;
  EXPECT(dibs_acquire(client, DIBS_LEAD("job", "me"), &o, &hold) == DIBS_OK);
  dibs_sim_sleep_ms(6000);
  EXPECT(dibs_status_is_lost(dibs_release(hold)));
  client = dibs_close(client);
}

/* Several leases: that of "a" ends first. */
static void several_names(void *data)
{
  static const dibs_bytes names[] = { { "a", 1 }, { "b", 1 } };
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *client = open_client();
  dibs_hold *hold = NULL;

  o.ttl_ms = TTL_MS;
  o.on_change = on_change;
  o.on_change_data = data;
  o.warn_ms = WARN_MS;
  EXPECT(dibs_acquire(client, DIBS_LOCKS(names, 2), &o, &hold) == DIBS_OK);
  dibs_sim_sleep_ms(5000);
  EXPECT(((told *)data)->count == 0);
  fault(DIBS_SIM_SERVER_MISCONF, 60000);
  dibs_sim_sleep_ms(6000);
  EXPECT(dibs_status_is_lost(dibs_release(hold)));
  client = dibs_close(client);
}

/* ---- ---- */

static void expect(void (*program)(void *data), const char *letters)
{
  for (uint64_t seed = 1; seed <= 5; seed++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
    told t = { .count = 0 };
    dibs_sim *sim;

    o.seed = seed;
    sim = dibs_sim_new(&o);
    assert_non_null(sim);
    (void)dibs_sim_start(sim, "p", program, &t);
    assert_true(dibs_sim_run(sim, 120000));
    assert_null(dibs_sim_first_flaw(sim));
    assert_string_equal(t.letters, letters);
    for (size_t i = 0; i < t.count; i++)
      if (t.letters[i] == 'e')
        assert_in_range(t.valid_ms[i], WARN_MS - 50, WARN_MS);
    sim = dibs_sim_free(sim);
  }
}

TEST(renewals_that_fail_for_a_while_are_reported_and_their_end_too)
{
  expect(an_outage_that_ends_in_time, "sh.");
}

TEST(after_a_warning_too)
{
  expect(an_outage_that_ends_late, "seh.");
}

TEST(a_loss_is_the_last_report)
{
  expect(an_outage_that_is_too_long, "sel.");
}

TEST(the_end_by_max_hold_is_reported_before)
{
  expect(a_hold_with_an_end, "el.");
}

TEST(after_a_release_in_the_callback_nothing_is_reported)
{
  expect(a_release_in_the_callback, "e.");
}

TEST(a_slow_callback_gets_what_is_then)
{
  expect(a_callback_that_is_slow, "sl.");
}

TEST(a_close_reports_nothing_and_frees_the_data)
{
  expect(a_close_beside_a_hold, ".");
}

TEST(a_loss_is_reported_to_both)
{
  expect(both_callbacks, "lL..");
}

TEST(a_hold_of_several_names_too)
{
  expect(several_names, "sel");
}

RUN_TESTS(NULL, NULL)
