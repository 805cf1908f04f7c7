/* SPDX-License-Identifier: MIT */
/* Simulated worlds: programs written as for libdibs, time that costs nothing, and faults that
 * do what their names say. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/sim.h>

#include "expect.h"

#define URL "redis://server"
#define HOUR_MS 3600000

static dibs_sim *sim;
static char *lines;                 /* the trace */
static size_t lines_size;

static void keep_line(const char *line, void *data)
{
  size_t size = strlen(line);

  (void)data;
  lines = realloc(lines, lines_size + size + 2);
  memcpy(lines + lines_size, line, size);
  lines_size += size;
  memcpy(lines + lines_size++, "\n", 2);
}

static dibs_sim *world_of(dibs_sim_options *o)
{
  free(lines);
  lines = calloc(1, 1);
  lines_size = 0;
  o->on_trace = keep_line;
  sim = dibs_sim_new(o);
  assert_non_null(sim);
  return sim;
}

static dibs_sim *world(uint64_t seed)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  o.seed = seed;
  return world_of(&o);
}

static void world_end(void)
{
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s\n%s", dibs_sim_first_flaw(sim), lines);
  sim = dibs_sim_free(sim);
  free(lines);
  lines = NULL;
}

static void run(int64_t ms)
{
  if (!dibs_sim_run(sim, ms))
    fail_msg("not all programs have ended:\n%s", lines);
}

static void happens(dibs_sim_fault_kind kind, int process, int64_t ms)
{
  dibs_sim_fault f = { .kind = kind, .at_us = dibs_sim_now_us(sim), .process = process,
                       .ms = ms };

  EXPECT(dibs_sim_inject(sim, &f) == DIBS_OK);
  dibs_sim_sleep_us(1);             /* it has happened */
}

static dibs_client *open_client(void)
{
  dibs_client *c = NULL;

  EXPECT(dibs_open(URL, NULL, &c, NULL) == DIBS_OK);
  return c;
}

static dibs_hold *lock(dibs_client *c, const char *name, int ttl_ms, int wait_ms)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;
  dibs_status status;

  o.ttl_ms = ttl_ms;
  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  status = dibs_lock(c, name, &o, &hold);
  if (status != DIBS_OK)
    dibs_sim_note("%s: %s", name, dibs_status_text(status));
  return status == DIBS_OK ? hold : NULL;
}

/* ---- two programs ---- */

static int inside, rounds;

static void takes_turns(void *data)
{
  dibs_client *c = open_client();

  for (int i = 0; i < *(int *)data; i++) {
    dibs_hold *h = lock(c, "job", 0, 0);

    EXPECT(h != NULL && inside == 0);
    inside++;
    dibs_sim_sleep_ms((int64_t)dibs_sim_random(20));
    inside--;
    rounds++;
    EXPECT(dibs_release(h) == DIBS_OK);
  }
  c = dibs_close(c);
}

TEST(programs_exclude_each_other)
{
  int times = 50;

  inside = rounds = 0;
  world(1);
  for (int i = 0; i < 3; i++)
    (void)dibs_sim_start(sim, "p", takes_turns, &times);
  run(HOUR_MS);
  assert_int_equal(rounds, 150);
  assert_in_range(dibs_sim_now_us(sim), 150 * 5000, 150 * 20000);
  world_end();
}

static uint64_t fingerprint_of(uint64_t seed)
{
  uint64_t print;
  int times = 20;

  inside = 0;
  world(seed);
  for (int i = 0; i < 3; i++)
    (void)dibs_sim_start(sim, "p", takes_turns, &times);
  run(HOUR_MS);
  print = dibs_sim_fingerprint(sim);
  world_end();
  return print;
}

TEST(the_same_seed_is_the_same_world_and_another_is_not)
{
  assert_int_equal(fingerprint_of(7), fingerprint_of(7));
  assert_int_not_equal(fingerprint_of(7), fingerprint_of(8));
}

/* ---- a month costs nothing ---- */

static void holds_for_a_month(void *data)
{
  dibs_client *c = open_client();
  dibs_hold *h = lock(c, "month", 30000, 0);

  (void)data;
  dibs_sim_sleep_ms(30ll * 24 * HOUR_MS / 30);       /* a day will do */
  EXPECT(dibs_hold_state(h) == DIBS_HOLD_HELD);
  EXPECT(dibs_release(h) == DIBS_OK);
  c = dibs_close(c);
}

TEST(a_watchdog_renews_for_a_day_of_virtual_time)
{
  world(1);
  (void)dibs_sim_start(sim, "p", holds_for_a_month, NULL);
  run(48 * HOUR_MS);
  world_end();
}

/* ---- threads, callbacks, cancellers ---- */

static dibs_canceller *canceller;
static dibs_hold *lost_hold;
static int64_t lost_at_us;

/* ---- the trace ---- */

static void takes_a_long_name(void *data)
{
  dibs_client *c = open_client();

  EXPECT(dibs_release(lock(c, data, 0, 0)) == DIBS_OK);
  c = dibs_close(c);
}

static void trace_of_a_long_name(char *name, int32_t split_per_mille)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  o.split_per_mille = split_per_mille;
  world_of(&o);
  (void)dibs_sim_start(sim, "p", takes_a_long_name, name);
  run(HOUR_MS);
}

TEST(a_trace_shows_commands_whole_and_scripts_by_name)
{
  char name[201];

  memset(name, 'n', sizeof(name) - 1);
  name[sizeof(name) - 1] = 0;
  trace_of_a_long_name(name, 0);
  assert_non_null(strstr(lines, " EVALSHA native/acquire 1 dibs:m:{nnn"));
  assert_non_null(strstr(lines, " EVAL native/acquire 1 dibs:m:{nnn"));
  assert_non_null(strstr(lines, name));
  assert_null(strstr(lines, "redis.call"));
  world_end();
}

TEST(a_trace_of_pieces_names_scripts_too)
{
  char name[] = "job";

  trace_of_a_long_name(name, 1000);
  assert_non_null(strstr(lines, " EVAL native/acquire"));
  assert_null(strstr(lines, "redis.call"));
  world_end();
}

static void waits_until_cancelled(void *client)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold;

  o.cancel = canceller;
  EXPECT(dibs_lock(client, "mine", &o, &hold) == DIBS_CANCELLED);
  rounds++;
}

static void cancels(void *data)
{
  dibs_client *c = open_client();
  dibs_hold *h = lock(c, "mine", 0, 0);

  (void)data;
  EXPECT(dibs_canceller_new(&canceller) == DIBS_OK);
  dibs_sim_thread(waits_until_cancelled, c);
  dibs_sim_sleep_ms(100);
  EXPECT(rounds == 0);
  dibs_cancel(canceller);
  dibs_sim_sleep_ms(5);
  EXPECT(rounds == 1);
  EXPECT(dibs_release(h) == DIBS_OK);
  canceller = dibs_canceller_free(canceller);
  c = dibs_close(c);
}

TEST(a_thread_that_waits_can_be_cancelled_by_another)
{
  rounds = 0;
  world(1);
  (void)dibs_sim_start(sim, "p", cancels, NULL);
  run(HOUR_MS);
  world_end();
}

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)data;
  (void)loss;
  lost_hold = hold;
  lost_at_us = dibs_sim_now_us(sim);
}

static void is_cut_off(void *data)
{
  dibs_client *c = open_client();
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *h;
  int64_t at;

  (void)data;
  o.ttl_ms = 3000;
  o.on_lost = on_lost;
  EXPECT(dibs_lock(c, "far", &o, &h) == DIBS_OK);
  at = dibs_sim_now_us(sim);
  happens(DIBS_SIM_HOLD, 1, 10000);
  dibs_sim_sleep_ms(2500);
  EXPECT(lost_hold == NULL && dibs_hold_valid_ms(h) > 0);
  EXPECT(dibs_sim_valid_us(sim, 1, h) > 0);
  dibs_sim_sleep_ms(600);
  EXPECT(lost_hold == h && lost_at_us - at < 3000000);
  EXPECT(dibs_hold_state(h) == DIBS_HOLD_GONE && dibs_sim_valid_us(sim, 1, h) == 0);
  (void)dibs_release(h);
  c = dibs_close(c);
}

TEST(who_is_cut_off_is_told_before_the_lease_ends)
{
  lost_hold = NULL;
  world(3);
  (void)dibs_sim_start(sim, "p", is_cut_off, NULL);
  run(HOUR_MS);
  world_end();
}

/* ---- kill, vanish, pause ---- */

static void takes_and_sleeps(void *data)
{
  dibs_client *c = open_client();
  dibs_hold *h = lock(c, "job", *(int *)data, 0);

  EXPECT(h != NULL);
  dibs_sim_sleep_ms(HOUR_MS);
  dibs_sim_flaw("alive after an hour");
}

static void takes_it_then(void *data)
{
  dibs_client *c = open_client();
  int64_t begun = dibs_sim_now_us(sim);
  dibs_hold *h;

  dibs_sim_sleep_ms(50);
  h = lock(c, "job", 1000, 0);
  EXPECT(h != NULL);
  *(int64_t *)data = (dibs_sim_now_us(sim) - begun) / 1000;
  (void)dibs_release(h);
  c = dibs_close(c);
}

TEST(a_killed_holder_costs_one_lease)
{
  static const dibs_sim_fault_kind how[] = { DIBS_SIM_KILL, DIBS_SIM_VANISH };
  int ttl_ms = 2000;
  int64_t ms = 0;

  for (int i = 0; i < 2; i++) {
    dibs_sim_fault f = { .kind = how[i], .at_us = 100000, .process = 1 };

    world(4);
    (void)dibs_sim_start(sim, "dies", takes_and_sleeps, &ttl_ms);
    (void)dibs_sim_start(sim, "waits", takes_it_then, &ms);
    assert_int_equal(dibs_sim_inject(sim, &f), DIBS_OK);
    run(HOUR_MS);
    assert_in_range(ms, 1500, 6000);
    world_end();
  }
}

static void is_stopped(void *data)
{
  dibs_client *c = open_client();
  dibs_hold *h = lock(c, "job", 1000, 0);
  int64_t before = dibs_sim_now_us(sim);

  (void)data;
  happens(DIBS_SIM_PAUSE, dibs_sim_self(), 5000);
  dibs_sim_sleep_us(1);
  EXPECT(dibs_sim_now_us(sim) - before >= 5000000);
  EXPECT(dibs_hold_valid_ms(h) == 0);
  (void)dibs_release(h);
  c = dibs_close(c);
}

TEST(a_process_that_was_stopped_believes_nothing_when_it_goes_on)
{
  world(5);
  (void)dibs_sim_start(sim, "p", is_stopped, NULL);
  run(HOUR_MS);
  world_end();
}

/* ---- the server ---- */

static void goes_on_over(void *data)
{
  const dibs_sim_fault_kind *kinds = data;
  dibs_client *c = open_client();

  for (int i = 0; kinds[i] != 0; i++) {
    dibs_hold *h;

    happens(kinds[i], 0, 300);
    h = lock(c, "job", 2000, 10000);
    EXPECT(h != NULL);
    if (h == NULL)
      dibs_sim_note("after kind %d", (int)kinds[i]);
    dibs_sim_sleep_ms(500);
    (void)dibs_release(h);
  }
  c = dibs_close(c);
}

TEST(a_client_gets_on_whatever_happens_to_the_server_for_a_moment)
{
  static dibs_sim_fault_kind kinds[] = {
    DIBS_SIM_SERVER_PAUSE, DIBS_SIM_SERVER_RESTART, DIBS_SIM_SERVER_EMPTY,
    DIBS_SIM_SERVER_FLUSH, DIBS_SIM_SERVER_FORGET, DIBS_SIM_SERVER_BUSY,
    DIBS_SIM_SERVER_LOADING, DIBS_SIM_SERVER_KILL_CLIENTS, DIBS_SIM_SERVER_REPLICA,
    DIBS_SIM_SERVER_FAIL_OVER, DIBS_SIM_CUT, DIBS_SIM_CUT_LATE, DIBS_SIM_CUT_REPLY,
    DIBS_SIM_HOLD, DIBS_SIM_BLACK_HOLE, DIBS_SIM_SLOW, DIBS_SIM_REFUSE, 0 };

  world(6);
  (void)dibs_sim_start(sim, "p", goes_on_over, kinds);
  run(HOUR_MS);
  world_end();
}

static void asks_the_server(void *data)
{
  dibs_client *c = open_client();
  dibs_hold *h = lock(c, "job", 2000, 0);

  (void)data;
  EXPECT(strcmp(dibs_sim_server(sim, "EXISTS dibs:m:{job}"), "1") == 0);
  EXPECT(strstr(dibs_sim_server(sim, "GET dibs:m:{job}"), ":1:") != NULL);
  happens(DIBS_SIM_SERVER_FLUSH, 0, 0);
  EXPECT(strcmp(dibs_sim_server(sim, "EXISTS dibs:m:{job}"), "0") == 0);
  dibs_sim_sleep_ms(1000);
  EXPECT(dibs_hold_state(h) == DIBS_HOLD_GONE);
  (void)dibs_release(h);
  c = dibs_close(c);
}

TEST(a_flushed_lease_is_told_lost_by_the_next_renewal)
{
  world(7);
  (void)dibs_sim_start(sim, "p", asks_the_server, NULL);
  run(HOUR_MS);
  world_end();
}

static long blocks;

static void *take(size_t size, void *data)
{
  (void)data;
  blocks++;
  return malloc(size);
}

static void *resize(void *block, size_t size, void *data)
{
  (void)data;
  blocks += block == NULL;
  return realloc(block, size);
}

static void give(void *block, void *data)
{
  (void)data;
  blocks -= block != NULL;
  free(block);
}

/* Its time is asked for before the number of permits is. */
static void asks_for_permits_of_a_busy_server(void *data)
{
  const dibs_allocator counting = { take, resize, give, NULL };
  dibs_sim_fault busy = { .kind = DIBS_SIM_SERVER_BUSY, .ms = HOUR_MS / 2 };
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_lock_options at_once = DIBS_LOCK_OPTIONS_INIT;
  dibs_error why = DIBS_ERROR_INIT;
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;
  int nodes = *(int *)data;

  o.allocator = &counting;
  at_once.wait_ms = 0;
  EXPECT(dibs_open(nodes > 1 ? "redis+cluster://s1,s2" : URL, &o, &c, NULL) == DIBS_OK);
  EXPECT(dibs_ping(c, 0, NULL) == DIBS_OK);
  for (busy.server = 1; busy.server <= nodes; busy.server++)
    EXPECT(dibs_sim_inject(sim, &busy) == DIBS_OK);
  dibs_sim_sleep_ms(1);
  for (int i = 0; i < 3; i++) {
    EXPECT(dibs_acquire(c, DIBS_PERMIT_OF("x", 2), &at_once, &hold) == DIBS_ERR_UNREACHABLE);
    dibs_client_error(c, 0, &why);
    EXPECT(strstr(why.text, "BUSY") != NULL);
  }
  c = dibs_close(c);
  EXPECT(blocks == 0);
}

TEST(permits_of_a_busy_server_are_refused_with_its_reason)
{
  for (int nodes = 1; nodes <= 2; nodes++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

    o.seed = 8;
    o.cluster_nodes = nodes > 1 ? nodes : 0;
    world_of(&o);
    (void)dibs_sim_start(sim, "p", asks_for_permits_of_a_busy_server, &nodes);
    run(HOUR_MS);
    world_end();
  }
}

/* ---- misuse ---- */

TEST(wrong_faults_and_options_are_refused)
{
  dibs_sim_fault f = { .kind = (dibs_sim_fault_kind)99 };
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;
  dibs_client *c;

  o.preempt_per_mille = 1001;
  assert_null(dibs_sim_new(&o));
  world(1);
  assert_int_equal(dibs_sim_inject(sim, &f), DIBS_ERR_ARGUMENT);
  f = (dibs_sim_fault){ .kind = DIBS_SIM_PAUSE, .process = 9 };
  assert_int_equal(dibs_sim_inject(sim, &f), DIBS_ERR_ARGUMENT);
  assert_null(dibs_sim_new(NULL));             /* one at a time */
  assert_int_equal(dibs_open(URL, NULL, &c, NULL), DIBS_ERR_CONFIG);     /* not in a program */
  world_end();
}

/* ---- programs that are not simulated, and large ones ---- */

TEST(a_client_opened_outside_of_a_program_is_refused)
{
  dibs_client *client = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  assert_int_equal(dibs_open("redis://server", NULL, &client, &error),
                   DIBS_ERR_CONFIG);
  assert_null(client);
  assert_non_null(strstr(error.text, "dibs_sim_start()"));
}

static void use_much_stack(void *data)
{
  volatile char large[4 << 20];

  large[0] = large[sizeof(large) - 1] = 1;
  *(int *)data += large[0] + large[sizeof(large) - 1];
}

TEST(a_program_has_the_stack_of_a_thread)
{
  dibs_sim *world = dibs_sim_new(NULL);
  int sum = 0;

  (void)dibs_sim_start(world, "large", use_much_stack, &sum);
  (void)dibs_sim_run(world, 1000);
  assert_int_equal(sum, 2);
  world = dibs_sim_free(world);
}

RUN_TESTS(NULL, NULL)
