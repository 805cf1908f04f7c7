/* SPDX-License-Identifier: MIT */
/* A quorum of which one server answers BUSY or LOADING: what reads names, clients and history
 * goes on at once with the others, and so does a break, also if the server begins to refuse in
 * the middle of a call. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dibs/sim.h>

#include "expect.h"

#define URL "redis://s1 redis://s2 redis://s3"
#define URL_OF_MANY URL " redis://s4 redis://s5 redis://s6 redis://s7 redis://s8 redis://s9 " \
  "redis://s10 redis://s11 redis://s12 redis://s13 redis://s14 redis://s15"

enum { SERVERS = 3, MANY_SERVERS = 15, NAMES = 20, WORLD_MS = 600000, REFUSES_MS = 60000,
       SOON_MS = 100, TTL_MS = 30000, CALL_MS = 1000, SILENT_MS = 8000, REPAIR_MS = 250,
       LOOK_US = 400, BREAK_US = 1000, STEP_US = 100 };

static dibs_sim *sim;

static struct {
  dibs_sim_fault_kind kind;
  int first, count;                /* the servers that refuse */
  int64_t ms;                      /* for so long */
  int64_t after_us;                /* the begin of the call */
  void (*call)(dibs_client *c);
} play;

static int64_t now_ms(void)
{
  return dibs_sim_now_us(dibs_sim_current()) / 1000;
}

static void refuse(void)
{
  for (int i = 0; i < play.count; i++) {
    dibs_sim_fault fault = { .kind = play.kind, .ms = play.ms,
                             .server = (play.first + i) % SERVERS + 1 };

    EXPECT(dibs_sim_inject(dibs_sim_current(), &fault) == DIBS_OK);
  }
  dibs_sim_sleep_ms(1);
}

static const char *reason(void)
{
  return play.kind == DIBS_SIM_SERVER_BUSY ? "BUSY" : "LOADING";
}

/* ---- the calls ---- */

static void expect_ok(dibs_client *c, dibs_status status)
{
  dibs_error error = DIBS_ERROR_INIT;

  if (status == DIBS_OK)
    return;
  (void)dibs_client_error(c, 0, &error);
  dibs_sim_flaw("%s: %s", dibs_status_name(status), error.text);
}

static bool count_one(const dibs_inspection *in, void *count)
{
  EXPECT(!in->is_held || in->holder->host[0] != 0);
  *(int *)count += in->is_held;
  return true;
}

/* With the first name a server begins to refuse. */
static bool refuse_and_count(const dibs_inspection *in, void *count)
{
  if (*(int *)count == 0)
    refuse();
  return count_one(in, count);
}

static bool count_name(dibs_family family, const char *name, size_t size, void *count)
{
  (void)family;
  (void)size;
  *(int *)count += name[0] == 'n';
  return true;
}

static void inspect(dibs_client *c)
{
  dibs_inspection *in = NULL;

  expect_ok(c, dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in));
  EXPECT(in != NULL && in->is_held && in->holder->host[0] != 0);
  in = dibs_inspection_free(in);
}

static void list(dibs_client *c)
{
  int count = 0;

  expect_ok(c, dibs_list(c, NULL, count_one, &count));
  EXPECT(count == NAMES);
}

static void list_names(dibs_client *c)
{
  int count = 0;

  expect_ok(c, dibs_list_names(c, DIBS_FAMILY_LOCK, NULL, count_name, &count));
  EXPECT(count == NAMES);
}

static void fleet(dibs_client *c)
{
  dibs_fleet *f = NULL;

  expect_ok(c, dibs_fleet_read(c, &f));
  EXPECT(f != NULL && f->clients == 1);
  f = dibs_fleet_free(f);
}

static void history(dibs_client *c)
{
  dibs_history *h = NULL;

  expect_ok(c, dibs_history_read(c, NULL, &h));
  EXPECT(h != NULL && h->count == 1);
  h = dibs_history_free(h);
}

static void ping(dibs_client *c)
{
  expect_ok(c, dibs_ping(c, 0, NULL));
}

/* ---- the programs ---- */

static void holds(void *data)
{
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  (void)data;
  EXPECT(dibs_open(URL, NULL, &c, NULL) == DIBS_OK);
  EXPECT(dibs_lock(c, "ended", NULL, &hold) == DIBS_OK);
  dibs_sim_sleep_ms(1000);
  EXPECT(dibs_release(hold) == DIBS_OK);
  for (int i = 0; i < NAMES; i++) {
    char name[8];

    (void)snprintf(name, sizeof(name), "n%d", i);
    EXPECT(dibs_lock(c, name, NULL, &hold) == DIBS_OK);
  }
  dibs_sim_sleep_ms(WORLD_MS / 2);
  c = dibs_close(c);
}

static dibs_client *open_connected(void)
{
  dibs_client *c = NULL;

  dibs_sim_sleep_ms(20000);                    /* all is reported */
  EXPECT(dibs_open(URL, NULL, &c, NULL) == DIBS_OK);
  inspect(c);
  dibs_sim_sleep_ms(1000);
  return c;
}

static void reads(void *data)
{
  dibs_client *c = open_connected();
  int64_t began;

  (void)data;
  play.call(c);                                /* as always */
  refuse();
  began = now_ms();
  play.call(c);
  EXPECT(now_ms() - began <= SOON_MS);
  c = dibs_close(c);
}

static void lists(void *data)
{
  dibs_client *c = open_connected();
  int64_t began = now_ms();
  int count = 0;

  (void)data;
  expect_ok(c, dibs_list(c, NULL, refuse_and_count, &count));
  EXPECT(count == NAMES);
  EXPECT(now_ms() - began <= SOON_MS);
  c = dibs_close(c);
}

static bool refuse_and_count_name(dibs_family family, const char *name, size_t size, void *count)
{
  if (*(int *)count == 0)
    refuse();
  return count_name(family, name, size, count);
}

static void lists_names(void *data)
{
  dibs_client *c = open_connected();
  int64_t began = now_ms();
  int count = 0;

  (void)data;
  expect_ok(c, dibs_list_names(c, DIBS_FAMILY_LOCK, "n*", refuse_and_count_name, &count));
  EXPECT(count == NAMES);
  EXPECT(now_ms() - began <= SOON_MS);
  c = dibs_close(c);
}

/* A part was read before, and is not told twice. */
static void lists_names_later(void *data)
{
  dibs_client *c = open_connected();
  int64_t began = now_ms();
  int count = 0;

  (void)data;
  expect_ok(c, dibs_list_names(c, DIBS_FAMILY_LOCK, "n*", refuse_and_count_name, &count));
  EXPECT(count == NAMES);
  EXPECT(now_ms() - began >= play.ms);
  c = dibs_close(c);
}

static void lists_too_little(void *data)
{
  dibs_client *c = open_connected();
  dibs_error error = DIBS_ERROR_INIT;
  int count = 0;

  (void)data;
  EXPECT(dibs_list_names(c, DIBS_FAMILY_LOCK, "n*", refuse_and_count_name, &count) < 0);
  EXPECT(dibs_client_error(c, 0, &error) == DIBS_OK);
  if (strstr(error.text, reason()) == NULL)
    dibs_sim_flaw("%s: %s", dibs_status_name(error.status), error.text);
  c = dibs_close(c);
}

static void is_refused(void *data)
{
  dibs_client *c = open_connected();
  dibs_inspection *in = NULL;
  dibs_error error = DIBS_ERROR_INIT;
  int count = 0;

  (void)data;
  refuse();
  EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_ERR_UNREACHABLE);
  EXPECT(dibs_client_error(c, 0, &error) == DIBS_OK);
  EXPECT(strstr(error.text, reason()) != NULL);
  EXPECT(in == NULL);
  EXPECT(dibs_list(c, NULL, count_one, &count) == DIBS_ERR_UNREACHABLE);
  EXPECT(count == 0);
  c = dibs_close(c);
}

static void pings_too_few(void *data)
{
  dibs_client *c = open_connected();

  (void)data;
  refuse();
  EXPECT(dibs_ping(c, CALL_MS, NULL) == DIBS_ERR_UNREACHABLE);
  c = dibs_close(c);
}

/* The reasons leave room for each name. */
static void is_refused_by_many(void *data)
{
  dibs_client *c = NULL;
  dibs_inspection *in = NULL;
  dibs_error error = DIBS_ERROR_INIT;

  (void)data;
  EXPECT(dibs_open(URL_OF_MANY, NULL, &c, NULL) == DIBS_OK);
  EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_OK);
  in = dibs_inspection_free(in);
  for (int i = MANY_SERVERS / 2; i < MANY_SERVERS; i++) {
    dibs_sim_fault fault = { .kind = DIBS_SIM_SERVER_BUSY, .ms = REFUSES_MS, .server = i + 1 };

    EXPECT(dibs_sim_inject(dibs_sim_current(), &fault) == DIBS_OK);
  }
  dibs_sim_sleep_ms(1);
  EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_ERR_UNREACHABLE);
  EXPECT(dibs_client_error(c, 0, &error) == DIBS_OK);
  for (int i = MANY_SERVERS / 2; i < MANY_SERVERS; i++) {
    char name[32];

    (void)snprintf(name, sizeof(name), "s%d:6379/0 (BUSY", i + 1);
    if (strstr(error.text, name) == NULL)
      dibs_sim_flaw("no %s: %s", name, error.text);
  }
  c = dibs_close(c);
}

/* The time of a call is shorter than that after which the link of a silent server breaks. */
static void reads_in_time(void *data)
{
  dibs_client *c = open_connected();
  int64_t began;

  (void)data;
  EXPECT(dibs_client_set_call_timeout(c, CALL_MS) == DIBS_OK);
  refuse();
  began = now_ms();
  play.call(c);
  EXPECT(now_ms() - began <= CALL_MS + SOON_MS);
  c = dibs_close(c);
}

static void no_warning_of_all(const dibs_event *event, void *data)
{
  (void)data;
  if (event->kind == DIBS_EVENT_WARNING && strstr(event->text, "no server could be asked") != NULL)
    dibs_sim_flaw("%s", event->text);
}

/* Longer than the time after which what waits for a server is told. */
static void reads_without_a_warning(void *data)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_inspection *in = NULL;
  dibs_client *c = NULL;

  (void)data;
  o.on_event = no_warning_of_all;
  o.command_timeout_ms = SILENT_MS;
  EXPECT(dibs_open(URL, &o, &c, NULL) == DIBS_OK);
  for (int i = 0; i < 3; i++) {      /* not connected; connected; known to be silent */
    if (i < 2)
      refuse();
    expect_ok(c, dibs_inspect(c, (dibs_bytes){ "free", 4 }, &in));
    in = dibs_inspection_free(in);
    if (i == 0)
      dibs_sim_sleep_ms(2 * play.ms);
  }
  c = dibs_close(c);
}

static void note_silence(const dibs_event *event, void *data)
{
  if (event->kind == DIBS_EVENT_WARNING && strstr(event->text, "does not answer") != NULL)
    *(bool *)data = true;
}

static void warns_of_silence(void *data)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_inspection *in = NULL;
  dibs_client *c = NULL;
  bool is_told = false;

  (void)data;
  o.on_event = note_silence;
  o.on_event_data = &is_told;
  o.command_timeout_ms = SILENT_MS;
  EXPECT(dibs_open(URL, &o, &c, NULL) == DIBS_OK);
  expect_ok(c, dibs_inspect(c, (dibs_bytes){ "free", 4 }, &in));
  in = dibs_inspection_free(in);
  dibs_sim_sleep_ms(2 * SILENT_MS);         /* the other program has what it locks */
  refuse();
  EXPECT(dibs_inspect(c, (dibs_bytes){ "free", 4 }, &in) == DIBS_ERR_UNREACHABLE);
  EXPECT(is_told);
  c = dibs_close(c);
}

/* Its holder has died, and a try by another client would get it. */
static void inspects_what_is_over(void *data)
{
  dibs_sim_fault kill = { .kind = DIBS_SIM_KILL, .process = 1 };
  dibs_client *c = open_connected();
  dibs_inspection *in = NULL;

  (void)data;
  EXPECT(dibs_sim_inject(dibs_sim_current(), &kill) == DIBS_OK);
  dibs_sim_sleep_ms(TTL_MS + 1000);
  for (int i = 0; i < 2; i++) {
    EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_OK && !in->is_held);
    in = dibs_inspection_free(in);
    refuse();
  }
  c = dibs_close(c);
}

static void refuse_later(void *data)
{
  (void)data;
  dibs_sim_sleep_us(play.after_us);
  refuse();
}

/* The look that comes first has all servers, or two. Returns how long it took. */
static int64_t breaks(void)
{
  dibs_client *c = open_connected();
  dibs_inspection *in = NULL;
  int64_t began;

  EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_OK);
  dibs_sim_thread(refuse_later, NULL);
  began = now_ms();
  expect_ok(c, dibs_break(c, (dibs_bytes){ "n0", 2 }, in->lease));
  in = dibs_inspection_free(in);
  began = now_ms() - began;
  dibs_sim_sleep_ms(play.ms);                  /* all is ended there, too */
  EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_OK && !in->is_held);
  in = dibs_inspection_free(in);
  c = dibs_close(c);
  return began;
}

static void breaks_soon(void *data)
{
  (void)data;
  EXPECT(breaks() <= REPAIR_MS + SOON_MS);
}

static void breaks_later(void *data)
{
  (void)data;
  EXPECT(breaks() >= play.ms);
}

/* Longer than the call, and after its first look. */
static void breaks_perhaps(void *data)
{
  dibs_client *c = open_connected();
  dibs_inspection *in = NULL;

  (void)data;
  EXPECT(dibs_inspect(c, (dibs_bytes){ "n0", 2 }, &in) == DIBS_OK);
  dibs_sim_thread(refuse_later, NULL);
  EXPECT(dibs_break(c, (dibs_bytes){ "n0", 2 }, in->lease) == DIBS_UNKNOWN);
  in = dibs_inspection_free(in);
  c = dibs_close(c);
}

static int setup(void **state)
{
  (void)state;
  play.ms = REFUSES_MS;
  return 0;
}

static int teardown(void **state)
{
  (void)state;
  sim = dibs_sim_free(sim);
  return 0;
}

static void played_with(dibs_sim_fault_kind kind, void (*program)(void *data), int refusing)
{
  for (int first = 0; first < SERVERS; first++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

    o.servers = SERVERS;
    play.kind = kind;
    play.first = first;
    play.count = refusing;
    sim = dibs_sim_new(&o);
    assert_int_equal(dibs_sim_start(sim, "holds", holds, NULL), 1);
    assert_int_equal(dibs_sim_start(sim, "reads", program, NULL), 2);
    assert_true(dibs_sim_run(sim, WORLD_MS));
    if (dibs_sim_first_flaw(sim) != NULL)
      fail_msg("fault %d, server %d: %s", (int)kind, first, dibs_sim_first_flaw(sim));
    sim = dibs_sim_free(sim);
  }
}

static void played(void (*program)(void *data), int refusing)
{
  played_with(DIBS_SIM_SERVER_BUSY, program, refusing);
  played_with(DIBS_SIM_SERVER_LOADING, program, refusing);
}

TEST(one_server_that_refuses_does_not_delay_an_inspection)
{
  play.call = inspect;
  played(reads, 1);
}

TEST(one_server_that_refuses_does_not_delay_a_list)
{
  play.call = list;
  played(reads, 1);
}

TEST(one_server_that_refuses_does_not_delay_a_list_of_names)
{
  play.call = list_names;
  played(reads, 1);
}

TEST(one_server_that_refuses_does_not_delay_a_reading_of_the_fleet)
{
  play.call = fleet;
  played(reads, 1);
}

TEST(one_server_that_refuses_does_not_delay_a_reading_of_the_history)
{
  play.call = history;
  played(reads, 1);
}

TEST(one_server_that_is_silent_leaves_time_to_read_the_history)
{
  play.call = history;
  played_with(DIBS_SIM_SERVER_PAUSE, reads_in_time, 1);
}

TEST(one_server_that_is_silent_does_not_make_a_warning_of_all)
{
  played_with(DIBS_SIM_SERVER_PAUSE, reads_without_a_warning, 1);
}

TEST(a_silent_majority_is_told)
{
  played_with(DIBS_SIM_SERVER_PAUSE, warns_of_silence, 2);
}

TEST(what_is_over_is_not_shown_as_held_beside_a_silent_server)
{
  played_with(DIBS_SIM_SERVER_PAUSE, inspects_what_is_over, 1);
}

TEST(one_server_that_refuses_does_not_delay_a_ping)
{
  play.call = ping;
  played(reads, 1);
}

TEST(one_server_that_is_silent_does_not_delay_a_ping)
{
  play.call = ping;
  played_with(DIBS_SIM_SERVER_PAUSE, reads, 1);
}

TEST(a_ping_needs_a_majority)
{
  played_with(DIBS_SIM_SERVER_PAUSE, pings_too_few, 2);
}

TEST(one_that_begins_to_refuse_ends_no_list)
{
  played(lists, 1);
}

TEST(one_that_begins_to_refuse_ends_no_list_of_names)
{
  played(lists_names, 1);
}

TEST(a_majority_that_begins_to_refuse_ends_it_with_its_reason)
{
  played(lists_too_little, SERVERS);
}

TEST(a_list_of_names_waits_for_a_majority)
{
  play.ms = 2000;
  played(lists_names_later, SERVERS);
}

TEST(one_that_begins_to_refuse_does_not_delay_a_break)
{
  for (play.after_us = 0; play.after_us < BREAK_US; play.after_us += STEP_US)
    played(breaks_soon, 1);
}

TEST(a_break_waits_for_a_majority)
{
  play.ms = 2000;
  for (play.after_us = 0; play.after_us < BREAK_US; play.after_us += STEP_US)
    played(breaks_later, 2);
}

TEST(a_break_without_a_majority_at_the_end_is_unknown)
{
  for (play.after_us = LOOK_US; play.after_us < BREAK_US; play.after_us += STEP_US)
    played(breaks_perhaps, 2);
}

TEST(a_majority_that_refuses_is_an_error_with_its_reason)
{
  played(is_refused, 2);
}

TEST(each_server_of_many_that_refuses_is_named)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  o.servers = MANY_SERVERS;
  sim = dibs_sim_new(&o);
  assert_int_equal(dibs_sim_start(sim, "reads", is_refused_by_many, NULL), 1);
  assert_true(dibs_sim_run(sim, WORLD_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
