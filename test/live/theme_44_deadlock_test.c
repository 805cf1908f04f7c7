/* SPDX-License-Identifier: MIT */
/* test/live/theme_44_deadlock_test.c - clients that look for deadlocks: of each true cycle the
 * youngest waiter fails, nobody else ever does, and looking costs nothing where nobody
 * waits for long. Waiting for oneself: theme_11_owner_test.c, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

#define DETECTS DIBS_CLIENT_DETECT_DEADLOCK

/* ---- a process, or a thread, that takes one name and then wants another ---- */

struct want { char kind; const char *name; };    /* x r w p, m: two of one letter each */

struct report {
  dibs_status status;
  int64_t after_ms;
  char text[512];
};

struct party {
  struct want first, second;
  uint32_t flags;
  int wait_ms;                     /* 0: 15 s */
  const char *url;                 /* NULL: the server's */
  dibs_client *client;             /* of a thread */
  pid_t pid;                       /* of a process */
  pthread_t thread;
  int orders[2], reports[2];
};

static void party_fault(const char *what, dibs_status status)
{
  (void)fprintf(stderr, "# party %d: %s: %s\n", (int)getpid(), what, dibs_status_name(status));
  if (status != DIBS_OK)
    live_fault("%s: %s", what, dibs_status_name(status));
}

static dibs_status take(dibs_client *c, struct want want, int wait_ms, dibs_hold **ret)
{
  dibs_lock_options o = live_lock_options(60000, wait_ms);
  char one[2] = { want.name[0], 0 }, two[2] = { want.name[0] != 0 ? want.name[1] : 0, 0 };
  const char *names[] = { one, two };

  switch (want.kind) {
  case 'r':
    return dibs_read_lock(c, want.name, &o, ret);
  case 'w':
    return dibs_write_lock(c, want.name, &o, ret);
  case 'p':
    return dibs_acquire_permits(c, want.name, 1, &o, ret);
  case 'm':
    return dibs_lock_many(c, names, 2, &o, ret);
  default:
    return dibs_lock(c, want.name, &o, ret);
  }
}

static void order_await(const struct party *p)
{
  char byte;

  if (read(p->orders[0], &byte, 1) != 1)
    party_fault("no order", DIBS_UNKNOWN);
}

static void report_make(const struct party *p, dibs_client *c, dibs_status status,
                        int64_t since_ms)
{
  struct report r = { .status = status, .after_ms = live_now_ms() - since_ms };
  dibs_error error;

  dibs_last_error(c, &error);
  (void)snprintf(r.text, sizeof(r.text), "%s", error.text);
  if (write(p->reports[1], &r, sizeof(r)) != (ssize_t)sizeof(r))
    party_fault("no report", DIBS_UNKNOWN);
}

/* Takes the first, says so; wants the second when told to, says how it went; lets go of all
 * when told to. */
static void party_run(const struct party *p, dibs_client *c)
{
  dibs_hold *first = NULL, *second = NULL;
  dibs_status status = take(c, p->first, 5000, &first);
  int64_t since_ms;

  report_make(p, c, status, live_now_ms());
  order_await(p);
  since_ms = live_now_ms();
  status = take(c, p->second, p->wait_ms > 0 ? p->wait_ms : LIVE_LONG_MS, &second);
  report_make(p, c, status, since_ms);
  order_await(p);
  if (second != NULL)
    (void)dibs_release(second);
  (void)dibs_release(first);
}

static void *party_thread(void *data)
{
  const struct party *p = data;

  party_run(p, p->client);
  return NULL;
}

static void party_process(const struct party *p)
{
  dibs_options o = live_options();
  dibs_client *c = NULL;
  dibs_status status;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  o.flags = p->flags;
  status = dibs_open(p->url != NULL ? p->url : test_server_url(live_server), &o, &c);
  if (status == DIBS_OK)
    party_run(p, c);
  else
    party_fault("open", status);
  c = dibs_close(c);
  _exit(0);
}

/* ---- what tests do with them ---- */

static struct report party_report(const struct party *p)
{
  struct report r = { .status = DIBS_ERR_SYSTEM };

  assert_int_equal(read(p->reports[0], &r, sizeof(r)), sizeof(r));
  return r;
}

/* It has its first name when this returns. */
static void party_start(struct party *p)
{
  assert_int_equal(pipe(p->orders), 0);
  assert_int_equal(pipe(p->reports), 0);
  (void)fflush(NULL);
  if (p->client != NULL) {
    assert_int_equal(pthread_create(&p->thread, NULL, party_thread, p), 0);
  } else {
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0)
      party_process(p);
  }
  assert_int_equal(party_report(p).status, DIBS_OK);
}

static void party_order(const struct party *p)
{
  assert_int_equal(write(p->orders[1], "x", 1), 1);
}

/* Who waits: in the queues of the server, or among the threads of its client. */
static long long waiting(const struct party *p)
{
  if (p->client != NULL)
    return (long long)live_stats(p->client).waiting;
  return test_server_integer(
    live_server, "EVAL %s 0",
    "local count = 0 "
    "for _, key in ipairs(redis.call('KEYS', 'dibs:m:*')) do "
    "  if redis.call('TYPE', key).ok == 'hash' then "
    "    for _, field in ipairs(redis.call('HKEYS', key)) do "
    "      count = count + (field:match('^w%d') and 1 or 0) "
    "    end "
    "  end "
    "end "
    "return count");
}

struct waiting_more { const struct party *party; long long than; };

static bool is_waiting_more(void *data)
{
  const struct waiting_more *more = data;

  return waiting(more->party) > more->than;
}

/* Wants its second name, and waits for it, before anybody after it by more than the clocks of
 * clients differ. */
static void party_want(const struct party *p)
{
  struct waiting_more more = { p, waiting(p) };

  party_order(p);
  assert_true(live_until(LIVE_LONG_MS, is_waiting_more, &more));
  (void)usleep(20000);
}

static void party_end(struct party *p)
{
  int status = 0;

  party_order(p);
  if (p->client != NULL) {
    assert_int_equal(pthread_join(p->thread, NULL), 0);
  } else {
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    assert_int_equal(status, 0);
  }
  for (int i = 0; i < 2; i++) {
    (void)close(p->orders[i]);
    (void)close(p->reports[i]);
  }
}

/* The last of `count` that wait in a ring fails, and nobody else. */
static void expect_last_fails(struct party *parties, int count)
{
  struct party *last = &parties[count - 1];
  struct report r;

  for (int i = 0; i < count; i++)
    party_start(&parties[i]);
  for (int i = 0; i < count; i++)
    party_want(&parties[i]);

  r = party_report(last);
  assert_int_equal(r.status, DIBS_WOULD_DEADLOCK);
  assert_in_range(r.after_ms, 1000, 5000);
  for (int i = 0; i < count; i++)
    if (parties[i].second.kind != 'm')
      assert_non_null(strstr(r.text, parties[i].second.name));
  assert_non_null(strstr(r.text, "which waits for"));

  /* Whoever waits for what it lets go of has it now, and so on around. */
  party_end(last);
  for (int i = count - 2; i >= 0; i--) {
    assert_int_equal(party_report(&parties[i]).status, DIBS_OK);
    party_end(&parties[i]);
  }
  assert_int_equal(live_faults(), 0);
}

static void ring(struct party *parties, int count, uint32_t flags)
{
  static const char *const names[] = { "ring-a", "ring-b", "ring-c", "ring-d" };

  for (int i = 0; i < count; i++)
    parties[i] = (struct party){ .first = { 'x', names[i] },
                                 .second = { 'x', names[(i + 1) % count] }, .flags = flags };
}

/* ---- true cycles ---- */

static void theme_44_the_younger_of_two_processes_fails_and_the_other_goes_on(void **state)
{
  struct party parties[2];

  (void)state;
  ring(parties, 2, DETECTS);
  expect_last_fails(parties, 2);
}

static void theme_44_so_it_is_without_a_thread_of_the_library(void **state)
{
  struct party parties[2];

  (void)state;
  ring(parties, 2, DETECTS | DIBS_CLIENT_NO_THREAD);
  expect_last_fails(parties, 2);
}

static void theme_44_the_youngest_of_four_processes_fails(void **state)
{
  struct party parties[4];

  (void)state;
  ring(parties, 4, DETECTS);
  expect_last_fails(parties, 4);
}

static void theme_44_the_younger_of_two_threads_of_one_client_fails(void **state)
{
  dibs_options o = live_options();
  struct party parties[2];

  (void)state;
  o.flags = DETECTS;
  ring(parties, 2, DETECTS);
  parties[0].client = parties[1].client = live_open_with(test_server_url(live_server), &o);
  expect_last_fails(parties, 2);
  (void)dibs_close(parties[0].client);
}

static void theme_44_readers_that_want_to_write_each_others_are_a_cycle(void **state)
{
  struct party parties[2] = {
    { .first = { 'r', "rw-a" }, .second = { 'w', "rw-b" }, .flags = DETECTS },
    { .first = { 'r', "rw-b" }, .second = { 'w', "rw-a" }, .flags = DETECTS },
  };

  (void)state;
  expect_last_fails(parties, 2);
}

static void theme_44_a_writer_and_one_who_wants_to_read_are_a_cycle(void **state)
{
  struct party parties[2] = {
    { .first = { 'w', "wr-a" }, .second = { 'x', "wr-b" }, .flags = DETECTS },
    { .first = { 'x', "wr-b" }, .second = { 'r', "wr-a" }, .flags = DETECTS },
  };

  (void)state;
  expect_last_fails(parties, 2);
}

static void permits_set(const char *name, uint32_t permits)
{
  dibs_client *c = live_open(test_server_url(live_server));

  live_expect(c, dibs_semaphore_set(c, name, permits), DIBS_OK);
  (void)dibs_close(c);
}

static void theme_44_the_last_permit_is_part_of_a_cycle(void **state)
{
  struct party parties[2] = {
    { .first = { 'p', "permit-1" }, .second = { 'x', "permit-x" }, .flags = DETECTS },
    { .first = { 'x', "permit-x" }, .second = { 'p', "permit-1" }, .flags = DETECTS },
  };

  (void)state;
  permits_set("permit-1", 1);
  expect_last_fails(parties, 2);
}

static void theme_44_a_set_and_one_of_its_names_are_a_cycle(void **state)
{
  struct party parties[2] = {
    { .first = { 'm', "ST" }, .second = { 'x', "set-x" }, .flags = DETECTS },
    { .first = { 'x', "set-x" }, .second = { 'x', "T" }, .flags = DETECTS },
  };

  (void)state;
  expect_last_fails(parties, 2);
}

static void theme_44_who_waits_for_a_set_is_part_of_a_cycle(void **state)
{
  struct party parties[2] = {
    { .first = { 'x', "V" }, .second = { 'x', "set-y" }, .flags = DETECTS },
    { .first = { 'x', "set-y" }, .second = { 'm', "UV" }, .flags = DETECTS },
  };

  (void)state;
  expect_last_fails(parties, 2);
}

/* ---- none ---- */

/* Nobody fails: all wait until their time is over. */
static void expect_all_time_out(struct party *parties, int count)
{
  for (int i = 0; i < count; i++)
    party_start(&parties[i]);
  for (int i = 0; i < count; i++)
    party_want(&parties[i]);
  for (int i = 0; i < count; i++)
    assert_int_equal(party_report(&parties[i]).status, DIBS_TIMED_OUT);
  for (int i = 0; i < count; i++)
    party_end(&parties[i]);
  assert_int_equal(live_faults(), 0);
}

static void theme_44_nobody_fails_where_nobody_looks(void **state)
{
  struct party parties[2];

  (void)state;
  ring(parties, 2, 0);
  parties[0].wait_ms = parties[1].wait_ms = 2500;
  expect_all_time_out(parties, 2);
}

/* One of them does not tell its owners: nothing is guessed. */
static void theme_44_a_client_that_tells_nothing_ends_a_walk(void **state)
{
  struct party parties[3];

  (void)state;
  ring(parties, 3, DETECTS);
  parties[1].flags = 0;
  for (int i = 0; i < 3; i++)
    parties[i].wait_ms = 2500;
  expect_all_time_out(parties, 3);
}

/* P waits for Q and Q for P, but not the same threads of them. */
static void theme_44_clients_that_cross_with_other_owners_are_no_cycle(void **state)
{
  dibs_options o = live_options();
  dibs_client *p, *q, *other = live_open(test_server_url(live_server));
  struct party parties[3] = {
    { .first = { 'x', "cross-p" }, .second = { 'x', "others" }, .wait_ms = 2500 },
    { .first = { 'x', "own-p" }, .second = { 'x', "cross-q" }, .wait_ms = 2500 },
    { .first = { 'x', "cross-q" }, .second = { 'x', "cross-p" }, .wait_ms = 2500 },
  };
  dibs_hold *others = live_lock(other, "others", 60000);

  (void)state;
  o.flags = DETECTS;
  parties[0].client = parties[1].client = p = live_open_with(test_server_url(live_server), &o);
  parties[2].client = q = live_open_with(test_server_url(live_server), &o);
  expect_all_time_out(parties, 3);
  assert_int_equal(dibs_release(others), DIBS_OK);
  (void)dibs_close(p);
  (void)dibs_close(q);
  (void)dibs_close(other);
}

/* Another permit is in hands that wait for nobody. */
static void theme_44_permits_that_somebody_else_may_give_back_are_no_cycle(void **state)
{
  struct party parties[2] = {
    { .first = { 'p', "permit-2" }, .second = { 'x', "permit-y" }, .flags = DETECTS,
      .wait_ms = 2500 },
    { .first = { 'x', "permit-y" }, .second = { 'p', "permit-2" }, .flags = DETECTS,
      .wait_ms = 2500 },
  };
  dibs_lock_options o = live_lock_options(60000, 1000);
  dibs_client *c = live_open(test_server_url(live_server));
  dibs_hold *hold = NULL;

  (void)state;
  permits_set("permit-2", 2);
  live_expect(c, dibs_acquire_permits(c, "permit-2", 1, &o, &hold), DIBS_OK);
  expect_all_time_out(parties, 2);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  (void)dibs_close(c);
}

/* How many clients tell of owners now. */
static long long telling(void)
{
  return test_server_integer(
    live_server, "EVAL %s 0",
    "local count = 0 "
    "for _, key in ipairs(redis.call('KEYS', 'dibs:client:*')) do "
    "  count = count + redis.call('HEXISTS', key, 'owners') "
    "end "
    "return count");
}

static bool tell_so_many(void *count)
{
  return telling() == *(const int *)count;
}

static long long publishes(void)
{
  const char *stats = test_server_command(live_server, "INFO commandstats");
  const char *at = strstr(stats, "cmdstat_publish:calls=");

  return at == NULL ? 0 : atoll(at + strlen("cmdstat_publish:calls="));
}

/* Twice to both: once found, asked about, not confirmed, and found again. */
static bool has_found_it_again(void *nothing)
{
  (void)nothing;
  return publishes() >= 4;
}

/* What it told stands on the server and looks like a cycle, yet its wait is over: it cannot
 * say so, and so is not believed. */
static void theme_44_what_a_cut_off_client_told_before_is_not_believed(void **state)
{
  struct test_proxy *proxy = test_proxy_start(live_server);
  struct party parties[2];
  struct report r;
  int both = 2;

  (void)state;
  ring(parties, 2, DETECTS);
  parties[0].url = test_proxy_url(proxy);
  parties[0].wait_ms = 900;
  party_start(&parties[0]);
  party_start(&parties[1]);
  party_want(&parties[0]);
  party_want(&parties[1]);
  assert_true(live_until(LIVE_LONG_MS, tell_so_many, &both));
  test_proxy_hold(proxy, TEST_BOTH);     /* its wait ends in the dark */
  (void)test_server_command(live_server, "CONFIG RESETSTAT");
  r = party_report(&parties[0]);
  assert_int_equal(r.status, DIBS_TIMED_OUT);
  assert_true(live_until(LIVE_LONG_MS, has_found_it_again, NULL));
  test_proxy_pass(proxy, TEST_BOTH);
  party_end(&parties[0]);
  assert_int_equal(party_report(&parties[1]).status, DIBS_OK);
  party_end(&parties[1]);
  proxy = test_proxy_stop(proxy);
}

/* ---- crowds ---- */

#define CROWD_CLIENTS 3
#define CROWD_THREADS 3            /* of each client */
#define CROWD_NAMES 5

struct member {
  pthread_t thread;
  dibs_client *client;
  unsigned seed;
  bool keeps_order;
  int64_t until_ms;
  int done, failed;
};

static void hold_for_a_while(struct member *m)
{
  (void)usleep((useconds_t)(100 + rand_r(&m->seed) % 500) * 1000);
}

/* Takes two names, one after the other; 0: both were had. */
static dibs_status two_taken(struct member *m)
{
  static const char *const names[CROWD_NAMES] = { "crowd-0", "crowd-1", "crowd-2", "crowd-3",
                                                  "crowd-4" };
  dibs_lock_options o = live_lock_options(60000, 0);
  int one = rand_r(&m->seed) % CROWD_NAMES;
  int two = (one + 1 + rand_r(&m->seed) % (CROWD_NAMES - 1)) % CROWD_NAMES;
  bool swap = m->keeps_order && one > two;
  dibs_hold *first = NULL, *second = NULL;
  dibs_status status = dibs_lock(m->client, names[swap ? two : one], &o, &first);

  if (status != DIBS_OK)
    return status;
  hold_for_a_while(m);
  status = dibs_lock(m->client, names[swap ? one : two], &o, &second);
  if (status == DIBS_OK) {
    hold_for_a_while(m);
    (void)dibs_release(second);
  }
  (void)dibs_release(first);
  return status;
}

static void *member_run(void *data)
{
  struct member *m = data;

  while (live_now_ms() < m->until_ms) {
    dibs_status status = two_taken(m);

    if (status == DIBS_OK)
      m->done++;
    else if (status == DIBS_WOULD_DEADLOCK)
      m->failed++;
    else
      live_fault("%s", dibs_status_name(status));
  }
  return NULL;
}

/* How many failed; all others got both, or the test never ends. */
static int crowd_failures(bool keeps_order)
{
  struct member members[CROWD_CLIENTS * CROWD_THREADS];
  dibs_client *clients[CROWD_CLIENTS];
  dibs_options o = live_options();
  int failed = 0;

  o.flags = DETECTS;
  for (int i = 0; i < CROWD_CLIENTS; i++)
    clients[i] = live_open_with(test_server_url(live_server), &o);
  for (int i = 0; i < CROWD_CLIENTS * CROWD_THREADS; i++) {
    members[i] = (struct member){ .client = clients[i % CROWD_CLIENTS],
                                  .seed = (unsigned)i + 1, .keeps_order = keeps_order,
                                  .until_ms = live_now_ms() + live_times(4) * 1000 };
    assert_int_equal(pthread_create(&members[i].thread, NULL, member_run, &members[i]), 0);
  }
  for (int i = 0; i < CROWD_CLIENTS * CROWD_THREADS; i++) {
    assert_int_equal(pthread_join(members[i].thread, NULL), 0);
    assert_true(members[i].done + members[i].failed > 0);
    failed += members[i].failed;
  }
  for (int i = 0; i < CROWD_CLIENTS; i++)
    (void)dibs_close(clients[i]);
  assert_int_equal(live_faults(), 0);
  return failed;
}

static void theme_44_nobody_ever_fails_in_a_crowd_that_keeps_an_order(void **state)
{
  (void)state;
  assert_int_equal(crowd_failures(true), 0);
}

static void theme_44_a_crowd_without_an_order_gets_on(void **state)
{
  (void)state;
  assert_true(crowd_failures(false) > 0);
}

/* ---- faults meanwhile ---- */

static void theme_44_a_client_may_be_closed_while_it_looks(void **state)
{
  dibs_options o = live_options();
  struct party parties[2];

  (void)state;
  o.flags = DETECTS;
  for (int delay_ms = 900; delay_ms <= 1300; delay_ms += 200) {
    ring(parties, 2, DETECTS);
    parties[0].client = live_open_with(test_server_url(live_server), &o);
    parties[1].client = live_open_with(test_server_url(live_server), &o);
    party_start(&parties[0]);
    party_start(&parties[1]);
    party_want(&parties[0]);
    party_want(&parties[1]);
    (void)usleep((useconds_t)delay_ms * 1000);
    (void)dibs_close(parties[1].client);
    (void)dibs_close(parties[0].client);
    (void)party_report(&parties[0]);
    (void)party_report(&parties[1]);
    party_end(&parties[0]);
    party_end(&parties[1]);
  }
}

static void theme_44_no_server_is_no_cycle(void **state)
{
  struct party parties[2];
  struct report r;
  int both = 2;

  (void)state;
  ring(parties, 2, DETECTS);
  parties[0].wait_ms = parties[1].wait_ms = 2500;
  party_start(&parties[0]);
  party_start(&parties[1]);
  party_want(&parties[0]);
  party_want(&parties[1]);
  assert_true(live_until(LIVE_LONG_MS, tell_so_many, &both));
  test_server_pause(live_server);        /* the walks begin, and nobody answers */
  for (int i = 0; i < 2; i++) {
    r = party_report(&parties[i]);
    assert_int_not_equal(r.status, DIBS_WOULD_DEADLOCK);
    assert_in_range(r.after_ms, 500, 2800);
  }
  test_server_resume(live_server);
  party_end(&parties[0]);
  party_end(&parties[1]);
}

/* ---- oneself; and what it costs ---- */

static void theme_44_waiting_for_oneself_is_refused_at_once(void **state)
{
  dibs_options o = live_options();
  dibs_lock_options again = live_lock_options(60000, 5000);
  dibs_client *c;
  dibs_hold *hold, *inner = NULL;
  int64_t since_ms;

  (void)state;
  o.flags = DETECTS;
  again.flags = DIBS_LOCK_NO_REENTRY;
  c = live_open_with(test_server_url(live_server), &o);
  hold = live_lock(c, "oneself", 60000);
  since_ms = live_now_ms();
  live_expect(c, dibs_lock(c, "oneself", &again, &inner), DIBS_WOULD_DEADLOCK);
  assert_true(live_now_ms() - since_ms < 200);
  live_expect_words(c, "this owner holds");
  assert_int_equal(dibs_release(hold), DIBS_OK);
  c = dibs_close(c);
}

static uint64_t commands_of(uint32_t flags)
{
  dibs_options o = live_options();
  dibs_client *c;
  uint64_t before;

  o.flags = flags;
  c = live_open_with(test_server_url(live_server), &o);
  (void)live_try(c, "cost");
  before = live_stats(c).commands;
  for (int i = 0; i < 200; i++)
    assert_int_equal(dibs_release(live_lock(c, "cost", 60000)), DIBS_OK);
  before = live_stats(c).commands - before;
  c = dibs_close(c);
  return before;
}

static void theme_44_looking_costs_no_command_where_nobody_waits(void **state)
{
  (void)state;
  assert_int_equal(commands_of(DETECTS), commands_of(0));
}

static void theme_44_only_who_holds_and_waits_tells_and_only_meanwhile(void **state)
{
  struct party parties[2] = {
    { .first = { 'x', "tell-a" }, .second = { 'x', "tell-b" }, .flags = DETECTS,
      .wait_ms = 2500 },
    { .first = { 'x', "tell-b" }, .second = { 'x', "tell-c" }, .flags = DETECTS },
  };
  int none = 0, one = 1;

  (void)state;
  party_start(&parties[0]);
  party_start(&parties[1]);
  assert_int_equal(telling(), 0);
  party_want(&parties[0]);
  assert_true(live_until(2000, tell_so_many, &one));
  party_order(&parties[1]);
  assert_int_equal(party_report(&parties[1]).status, DIBS_OK);
  assert_int_equal(party_report(&parties[0]).status, DIBS_TIMED_OUT);
  assert_true(live_until(LIVE_LONG_MS, tell_so_many, &none));
  party_end(&parties[0]);
  party_end(&parties[1]);
}

static void theme_44_who_of_a_client_holds_and_waits_is_shown(void **state)
{
  dibs_client *c = live_open(test_server_url(live_server));
  struct party parties[2] = {
    { .first = { 'x', "shown-a" }, .second = { 'x', "shown-b" }, .flags = DETECTS },
    { .first = { 'x', "shown-b" }, .second = { 'x', "shown-c" }, .flags = DETECTS },
  };
  dibs_inspection *a = NULL, *b = NULL;
  int one = 1;

  (void)state;
  party_start(&parties[0]);
  party_start(&parties[1]);
  party_want(&parties[0]);
  assert_true(live_until(2000, tell_so_many, &one));
  live_expect(c, dibs_inspect(c, "shown-a", &a), DIBS_OK);
  live_expect(c, dibs_inspect(c, "shown-b", &b), DIBS_OK);
  assert_int_equal(strlen(a->holders[0].party.owner), 16);
  assert_string_equal(b->waiters[0].owner, a->holders[0].party.owner);
  assert_string_equal(b->holders[0].party.owner, "");      /* it waits for nobody */
  a = dibs_inspection_free(a);
  b = dibs_inspection_free(b);
  c = dibs_close(c);
  party_order(&parties[1]);
  assert_int_equal(party_report(&parties[1]).status, DIBS_OK);
  party_end(&parties[1]);
  assert_int_equal(party_report(&parties[0]).status, DIBS_OK);
  party_end(&parties[0]);
}

static void *wait_in_vain(void *data)
{
  dibs_lock_options o = live_lock_options(60000, 2000);
  dibs_hold *none = NULL;

  if (dibs_lock(data, "alone", &o, &none) != DIBS_TIMED_OUT)
    live_fault("the lock was to be had");
  return NULL;
}

static void theme_44_who_waits_and_holds_nothing_tells_nothing(void **state)
{
  dibs_options o = live_options();
  dibs_client *holder = live_open(test_server_url(live_server)), *waiter;
  dibs_hold *hold = live_lock(holder, "alone", 60000);
  pthread_t thread;
  int one = 1;

  (void)state;
  o.flags = DETECTS;
  waiter = live_open_with(test_server_url(live_server), &o);
  assert_int_equal(pthread_create(&thread, NULL, wait_in_vain, waiter), 0);
  assert_false(live_until(1500, tell_so_many, &one));
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  holder = dibs_close(holder);
  waiter = dibs_close(waiter);
  assert_int_equal(live_faults(), 0);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(theme_44_the_younger_of_two_processes_fails_and_the_other_goes_on),
    cmocka_unit_test(theme_44_so_it_is_without_a_thread_of_the_library),
    cmocka_unit_test(theme_44_the_youngest_of_four_processes_fails),
    cmocka_unit_test(theme_44_the_younger_of_two_threads_of_one_client_fails),
    cmocka_unit_test(theme_44_readers_that_want_to_write_each_others_are_a_cycle),
    cmocka_unit_test(theme_44_a_writer_and_one_who_wants_to_read_are_a_cycle),
    cmocka_unit_test(theme_44_the_last_permit_is_part_of_a_cycle),
    cmocka_unit_test(theme_44_a_set_and_one_of_its_names_are_a_cycle),
    cmocka_unit_test(theme_44_who_waits_for_a_set_is_part_of_a_cycle),
    cmocka_unit_test(theme_44_nobody_fails_where_nobody_looks),
    cmocka_unit_test(theme_44_a_client_that_tells_nothing_ends_a_walk),
    cmocka_unit_test(theme_44_clients_that_cross_with_other_owners_are_no_cycle),
    cmocka_unit_test(theme_44_permits_that_somebody_else_may_give_back_are_no_cycle),
    cmocka_unit_test(theme_44_what_a_cut_off_client_told_before_is_not_believed),
    cmocka_unit_test(theme_44_nobody_ever_fails_in_a_crowd_that_keeps_an_order),
    cmocka_unit_test(theme_44_a_crowd_without_an_order_gets_on),
    cmocka_unit_test(theme_44_a_client_may_be_closed_while_it_looks),
    cmocka_unit_test(theme_44_no_server_is_no_cycle),
    cmocka_unit_test(theme_44_waiting_for_oneself_is_refused_at_once),
    cmocka_unit_test(theme_44_looking_costs_no_command_where_nobody_waits),
    cmocka_unit_test(theme_44_only_who_holds_and_waits_tells_and_only_meanwhile),
    cmocka_unit_test(theme_44_who_of_a_client_holds_and_waits_is_shown),
    cmocka_unit_test(theme_44_who_waits_and_holds_nothing_tells_nothing),
  };

  return cmocka_run_group_tests(tests, live_server_setup, live_server_teardown);
}
