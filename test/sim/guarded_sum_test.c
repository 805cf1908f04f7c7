/* SPDX-License-Identifier: MIT */
/* For how long a sum whose reply was lost can be repeated, in virtual time: no longer than the
 * server knows that it has counted it. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>
#include <dibs/sim.h>

#include "expect.h"

enum { SECOND = 1000, HOUR = 3600 * SECOND, LIMIT_MS = 1500 };

static dibs_sim *sim;
static dibs_client *c;

static void inject_at(dibs_sim_fault_kind kind, int64_t ms, int64_t in_ms)
{
  dibs_sim_fault f = { .kind = kind, .ms = ms, .at_us = dibs_sim_now_us(sim) + in_ms * 1000 };

  EXPECT(dibs_sim_inject(sim, &f) == DIBS_OK);
}

static void inject(dibs_sim_fault_kind kind, int64_t ms)
{
  inject_at(kind, ms, 0);
  dibs_sim_sleep_ms(1);
}

static dibs_status add(uint64_t fence, int64_t *ret_sum)
{
  return dibs_guarded_incr(c, "k", fence, 100, ret_sum);
}

static void expect_stored(const char *value)
{
  const char *stored = dibs_sim_server(sim, "GET k");

  if (strstr(stored, value) == NULL)
    dibs_sim_flaw("\"%s\" is stored in place of \"%s\"", stored, value);
}

/* It is counted, and its caller does not know that. */
static void counted_in_doubt(void)
{
  inject(DIBS_SIM_REFUSE, 10 * SECOND);
  inject(DIBS_SIM_CUT_REPLY, 0);
  EXPECT(add(7, NULL) == DIBS_UNKNOWN);
  expect_stored("100");
  dibs_sim_sleep_ms(10 * SECOND);
}

static void repeats_within_the_hour(void)
{
  int64_t sum = 0;

  counted_in_doubt();
  dibs_sim_sleep_ms(3400 * SECOND);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 100);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 200);
}

static void repeats_after_the_hour(void)
{
  int64_t sum = 0;

  counted_in_doubt();
  dibs_sim_sleep_ms(HOUR);
  for (int i = 0; i < 3; i++)
    EXPECT(add(7, &sum) == DIBS_UNKNOWN);
  expect_stored("100");
  EXPECT(add(8, &sum) == DIBS_OK && sum == 200);      /* of another hold */
}

/* As dibs/guard.h says: the program reads the number, and sets it. */
static void is_set_after_the_hour(void)
{
  int64_t sum = 0;

  counted_in_doubt();
  dibs_sim_sleep_ms(HOUR);
  EXPECT(add(7, &sum) == DIBS_UNKNOWN);
  EXPECT(dibs_guarded_set(c, "k", 7, "5", 1, 0) == DIBS_OK);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 105);
}

static void is_set_within_the_hour(void)
{
  int64_t sum = 0;

  counted_in_doubt();
  EXPECT(dibs_guarded_set(c, "k", 7, "5", 1, 0) == DIBS_OK);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 100);      /* counted before that, and only then */
  expect_stored("5");
}

/* The call begins in time; the server answers it after that. */
static void waits_over_the_hour(void)
{
  counted_in_doubt();
  dibs_sim_sleep_ms(3400 * SECOND);
  inject(DIBS_SIM_REFUSE, 300 * SECOND);
  inject(DIBS_SIM_CUT, 0);
  (void)dibs_client_set_call_timeout(c, HOUR);
  EXPECT(add(7, NULL) == DIBS_UNKNOWN);
  dibs_sim_sleep_ms(300 * SECOND);
  expect_stored("100");
}

/* Another copy in doubt does not lengthen the time. */
static void is_in_doubt_twice(void)
{
  counted_in_doubt();
  dibs_sim_sleep_ms(1800 * SECOND);
  counted_in_doubt();
  dibs_sim_sleep_ms(1800 * SECOND);
  EXPECT(add(7, NULL) == DIBS_UNKNOWN);
  expect_stored("100");
}

static void was_never_sent(void)
{
  int64_t sum = 0;

  inject(DIBS_SIM_REFUSE, HOUR + 100 * SECOND);
  inject(DIBS_SIM_CUT, 0);
  EXPECT(add(7, NULL) == DIBS_ERR_UNREACHABLE);
  dibs_sim_sleep_ms(HOUR + 200 * SECOND);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 100);
}

static void was_only_refused(void)
{
  int64_t sum = 0;

  inject(DIBS_SIM_SERVER_MISCONF, HOUR + 100 * SECOND);
  EXPECT(add(7, NULL) == DIBS_ERR_REFUSED);
  dibs_sim_sleep_ms(HOUR + 200 * SECOND);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 100);
}

/* A number that nothing can be added to. */
static void put_full(void)
{
  EXPECT(dibs_guarded_set(c, "k", 7, "9223372036854775800", 19, 0) == DIBS_OK);
}

/* It was refused, and its caller does not know that. */
static void would_overflow_in_doubt(void)
{
  put_full();
  inject(DIBS_SIM_REFUSE, 10 * SECOND);
  inject(DIBS_SIM_CUT_REPLY, 0);
  EXPECT(add(7, NULL) == DIBS_UNKNOWN);
  dibs_sim_sleep_ms(10 * SECOND);
}

static void would_overflow(void)
{
  int64_t sum = 0;

  would_overflow_in_doubt();
  EXPECT(add(7, NULL) == DIBS_ERR_SERVER);
  EXPECT(add(7, NULL) == DIBS_ERR_SERVER);
  expect_stored("9223372036854775800");
  (void)dibs_sim_server(sim, "SET k 5");
  EXPECT(add(7, &sum) == DIBS_OK && sum == 105);
}

static void is_no_number_any_more(void)
{
  would_overflow_in_doubt();
  (void)dibs_sim_server(sim, "SET k word");
  EXPECT(add(7, NULL) == DIBS_ERR_WRONG_TYPE);
  (void)dibs_sim_server(sim, "DEL k");
  (void)dibs_sim_server(sim, "HSET k field value");
  EXPECT(add(7, NULL) == DIBS_ERR_WRONG_TYPE);
}

/* A second copy would overflow while the first is on its way, and could be counted. */
static void would_overflow_before_the_first_copy(void)
{
  int64_t sum = 0;

  put_full();
  inject_at(DIBS_SIM_HOLD, 20, 0);
  inject_at(DIBS_SIM_CUT_LATE, 1000, 10);
  EXPECT(add(7, NULL) == DIBS_UNKNOWN);
  EXPECT(add(7, NULL) == DIBS_UNKNOWN);
  (void)dibs_sim_server(sim, "SET k 5");
  dibs_sim_sleep_ms(1000);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 105);
  expect_stored("105");
}

static dibs_status set(const char *value)
{
  return dibs_guarded_set(c, "k", 7, value, strlen(value), 0);
}

/* The late copy of a write that was done twice finds a later one, beside a sum in doubt. */
static void a_write_arrives_late(void)
{
  counted_in_doubt();
  EXPECT(set("0") == DIBS_OK);                      /* the server has this script, too */
  inject_at(DIBS_SIM_HOLD, 20, 0);
  inject_at(DIBS_SIM_CUT_LATE, 1000, 10);
  EXPECT(set("1") == DIBS_OK);
  EXPECT(set("2") == DIBS_OK);
  dibs_sim_sleep_ms(1000);
  expect_stored("2");
}

/* What was written since does not make a sum late that was never executed. */
static void is_repeated_after_another_write(void)
{
  int64_t sum = 0;

  inject(DIBS_SIM_REFUSE, 10 * SECOND);
  inject(DIBS_SIM_CUT, 0);
  EXPECT(add(7, NULL) == DIBS_ERR_UNREACHABLE);
  dibs_sim_sleep_ms(10 * SECOND);
  EXPECT(set("2") == DIBS_OK);
  EXPECT(add(7, &sum) == DIBS_OK && sum == 102);
}

typedef void part(void);

static void play_part(void *data)
{
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  (void)dibs_client_set_call_timeout(c, LIMIT_MS);
  EXPECT(dibs_guarded_incr(c, "other", 1, 1, NULL) == DIBS_OK);     /* the server has the script */
  (*(part **)data)();
  c = dibs_close(c);
}

static void play(part *p)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  char flaw[512] = "";

  o.seed = 1;
  sim = dibs_sim_new(&o);
  assert_int_equal(dibs_sim_start(sim, "a", play_part, (void *)&p), 1);
  assert_true(dibs_sim_run(sim, 4 * HOUR));
  if (dibs_sim_first_flaw(sim) != NULL)
    (void)snprintf(flaw, sizeof(flaw), "%s", dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
  assert_string_equal(flaw, "");
}

TEST(a_sum_in_doubt_is_the_same_within_the_hour) { play(repeats_within_the_hour); }
TEST(a_sum_in_doubt_is_not_counted_again_an_hour_later) { play(repeats_after_the_hour); }
TEST(a_sum_in_doubt_ends_when_its_number_is_set_after_the_hour) { play(is_set_after_the_hour); }
TEST(a_sum_in_doubt_stays_the_same_if_its_number_is_set) { play(is_set_within_the_hour); }
TEST(a_sum_in_doubt_is_not_sent_by_a_call_that_waits_over_the_hour) { play(waits_over_the_hour); }
TEST(a_second_copy_in_doubt_does_not_lengthen_the_hour) { play(is_in_doubt_twice); }
TEST(a_sum_that_was_never_sent_is_counted_whenever_it_is_repeated) { play(was_never_sent); }
TEST(a_sum_that_was_only_refused_is_counted_whenever_it_is_repeated) { play(was_only_refused); }
TEST(a_sum_in_doubt_that_would_overflow_is_an_error) { play(would_overflow); }
TEST(a_sum_in_doubt_on_what_is_no_number_is_an_error) { play(is_no_number_any_more); }
TEST(a_sum_that_would_overflow_stays_in_doubt_while_a_copy_is_on_its_way)
{
  play(would_overflow_before_the_first_copy);
}
TEST(a_late_copy_of_a_write_reverts_nothing_beside_a_sum_in_doubt) { play(a_write_arrives_late); }
TEST(a_sum_is_repeated_after_another_write) { play(is_repeated_after_another_write); }

RUN_TESTS(NULL, NULL)
