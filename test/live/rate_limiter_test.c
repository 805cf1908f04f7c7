/* SPDX-License-Identifier: MIT */
/* test/live/rate_limiter_test.c - the calls of dibs/rate.h one by one, each way in which a wait
 * can end, answers that get lost, and a crowd of processes and threads that never gets more
 * than the rate in any interval, by the server's own time. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "one_client.h"

#define NAME "api"
#define VALUE "{api}:value"
#define PERMITS "{api}:permits"

#define run(...) test_server_command(live_server, __VA_ARGS__)
#define run_integer(...) test_server_integer(live_server, __VA_ARGS__)

/* ---- shorter words ---- */

static dibs_rate rate_of(int64_t permits, int64_t interval_ms)
{
  dibs_rate r = DIBS_RATE_INIT;

  r.permits = permits;
  r.interval_ms = interval_ms;
  return r;
}

static void set(int64_t permits, int64_t interval_ms)
{
  dibs_rate r = rate_of(permits, interval_ms);

  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_RESET), DIBS_OK);
}

static int64_t available_to(dibs_client *c)
{
  int64_t permits = -1;

  live_expect(c, dibs_rate_limiter_get(c, NAME, NULL, &permits), DIBS_OK);
  return permits;
}

static dibs_status take_or_when(dibs_client *c, uint32_t permits, int64_t *ret_wait_ms)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = 0;
  return dibs_rate_limiter_acquire(c, NAME, permits, &o, ret_wait_ms);
}

static dibs_status take(dibs_client *c, uint32_t permits)
{
  return take_or_when(c, permits, NULL);
}

static dibs_status acquire_ms(dibs_client *c, uint32_t permits, int wait_ms)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;

  o.wait_ms = wait_ms == 0 ? DIBS_FOREVER : wait_ms;
  return dibs_rate_limiter_acquire(c, NAME, permits, &o, NULL);
}

static dibs_request *begin(dibs_client *c, struct live_ending *e, uint32_t permits,
                           const dibs_wait_options *o)
{
  dibs_request *request = NULL;

  memset(e, 0, sizeof(*e));
  live_expect(c, dibs_rate_limiter_acquire_async(c, NAME, permits, o, live_note_ending, e,
                                                 &request), DIBS_OK);
  assert_non_null(request);
  return request;
}

/* ---- one call after the other ---- */

TEST(it_is_set_taken_read_given_back_and_deleted)
{
  dibs_rate r = rate_of(5, 60000), got = DIBS_RATE_INIT;
  int64_t wait_ms = -1, given = -1, left = -1;

  live_expect(client, take(client, 1), DIBS_ERR_NOT_SET);
  live_expect_words(client, "dibs_rate_limiter_set");
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_UPDATE),
              DIBS_ERR_NOT_SET);
  r.keepalive_ms = 120000;
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_IF_ABSENT), DIBS_OK);
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_IF_ABSENT), DIBS_BUSY);
  live_expect_words(client, "has a rate already");
  live_expect(client, dibs_rate_limiter_get(client, NAME, &got, &left), DIBS_OK);
  assert_int_equal(left, 5);
  assert_int_equal(got.permits, 5);
  assert_int_equal(got.interval_ms, 60000);
  assert_int_equal(got.keepalive_ms, 120000);
  assert_int_equal(got.type, DIBS_RATE_OVERALL);
  live_expect(client, take_or_when(client, 4, &wait_ms), DIBS_OK);
  assert_int_equal(wait_ms, 0);
  assert_int_equal(available_to(client), 1);
  live_expect(client, take_or_when(client, 2, &wait_ms), DIBS_BUSY);
  live_expect_words(client, "the rate is used up");
  assert_in_range(wait_ms, 50000, 60000);
  live_expect(client, dibs_rate_limiter_release(client, NAME, 3, &given), DIBS_OK);
  assert_int_equal(given, 3);
  live_expect(client, acquire_ms(client, 4, 0), DIBS_OK);
  r.permits = 7;
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_UPDATE), DIBS_OK);
  assert_int_equal(available_to(client), 2);
  live_expect(client, dibs_rate_limiter_delete(client, NAME), DIBS_OK);
  live_expect(client, dibs_rate_limiter_delete(client, NAME), DIBS_OK);
  live_expect(client, dibs_rate_limiter_get(client, NAME, &got, NULL), DIBS_ERR_NOT_SET);
}

TEST(what_cannot_be_is_refused_with_words)
{
  dibs_rate r = rate_of(0, 1000), got = { .size = 1 };

  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_RESET),
              DIBS_ERR_ARGUMENT);
  live_expect_words(client, "permits is 0; allowed are 1 to 1000000000");
  r = rate_of(1, 0);
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_RESET),
              DIBS_ERR_ARGUMENT);
  r = rate_of(1, 1000);
  r.keepalive_ms = 999;
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_RESET),
              DIBS_ERR_ARGUMENT);
  live_expect_words(client, "999; allowed are 1000 to");
  r.keepalive_ms = 0;
  r.type = 2;
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_RESET),
              DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_rate_limiter_set(client, NAME, NULL, DIBS_RATE_RESET),
              DIBS_ERR_ARGUMENT);
  live_expect(client, take(client, 0), DIBS_ERR_ARGUMENT);
  live_expect(client, acquire_ms(client, 1000000001, 0), DIBS_ERR_ARGUMENT);
  live_expect(client, acquire_ms(client, 1, -1), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_rate_limiter_acquire(client, "", 1, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_rate_limiter_get(client, NAME, &got, NULL), DIBS_ERR_ARGUMENT);
  live_expect(client, dibs_rate_limiter_acquire_async(client, NAME, 1, NULL, NULL, NULL, NULL),
              DIBS_ERR_ARGUMENT);
}

TEST(more_than_the_rate_is_refused_at_once_and_both_are_named)
{
  struct live_ending e;

  set(3, 1500);
  live_expect(client, acquire_ms(client, 4, 0), DIBS_ERR_ARGUMENT);
  live_expect_words(client, "4 permits");
  live_expect_words(client, "3 in 1500 ms");
  live_expect(client, take(client, 4), DIBS_ERR_ARGUMENT);
  begin(client, &e, 4, NULL);
  live_expect_ending(&e, DIBS_ERR_ARGUMENT);
  assert_int_equal(available_to(client), 3);
}

TEST(each_client_has_its_own_where_it_is_said_so)
{
  dibs_rate r = rate_of(2, 60000);
  dibs_client *other = live_open(live_url());

  r.type = DIBS_RATE_PER_CLIENT;
  live_expect(client, dibs_rate_limiter_set(client, NAME, &r, DIBS_RATE_RESET), DIBS_OK);
  live_expect(client, take(client, 2), DIBS_OK);
  live_expect(client, take(client, 1), DIBS_BUSY);
  live_expect(other, take(other, 1), DIBS_OK);
  assert_int_equal(available_to(other), 1);
  assert_int_equal(available_to(client), 0);
  live_expect(other, take(other, 2), DIBS_BUSY);
  assert_null(dibs_close(other));
  live_expect(client, dibs_rate_limiter_delete(client, NAME), DIBS_OK);
}

/* ---- waiting ---- */

TEST(who_waits_comes_back_when_told_and_not_before)
{
  uint64_t before;
  int64_t began, took;

  set(2, 400);
  live_expect(client, acquire_ms(client, 2, 0), DIBS_OK);
  before = live_stats(client).commands;
  began = live_now_ms();
  live_expect(client, acquire_ms(client, 1, LIVE_LONG_MS), DIBS_OK);
  took = live_now_ms() - began;
  assert_in_range(took, 250, 3000);
  /* Once to be told, once when told; once more if that was a moment early. */
  assert_in_range(live_stats(client).commands - before, 2, 3);
}

TEST(a_wait_ends_when_its_time_is_over_and_took_nothing)
{
  struct live_ending e;
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  int64_t began = live_now_ms();

  set(2, 60000);
  live_expect(client, take(client, 1), DIBS_OK);
  live_expect(client, acquire_ms(client, 2, 200), DIBS_TIMED_OUT);
  assert_in_range(live_now_ms() - began, 200, 3000);
  o.wait_ms = 50;
  begin(client, &e, 2, &o);
  live_expect_ending(&e, DIBS_TIMED_OUT);
  o.wait_ms = 0;
  begin(client, &e, 2, &o);
  live_expect_ending(&e, DIBS_BUSY);
  assert_int_equal(available_to(client), 1);
}

TEST(a_wait_is_cancelled_by_its_request_or_its_canceller)
{
  dibs_wait_options o = DIBS_WAIT_OPTIONS_INIT;
  struct live_ending one, two;
  dibs_canceller *canceller;
  dibs_request *request;

  assert_int_equal(dibs_canceller_new(&canceller), DIBS_OK);
  set(2, 60000);
  live_expect(client, take(client, 2), DIBS_OK);
  request = begin(client, &one, 1, NULL);
  o.cancel = canceller;
  begin(client, &two, 1, &o);
  assert_false(live_until(50, live_has_ended, &one));
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_ERR_STALE);
  live_expect_ending(&one, DIBS_CANCELLED);
  dibs_cancel(canceller);
  live_expect_ending(&two, DIBS_CANCELLED);
  live_expect(client, dibs_rate_limiter_acquire(client, NAME, 1, &o, NULL), DIBS_CANCELLED);
  assert_int_equal(available_to(client), 0);
  canceller = dibs_canceller_free(canceller);
}

TEST(a_limiter_that_is_deleted_ends_its_waits)
{
  struct live_ending e;

  set(1, 300);
  live_expect(client, take(client, 1), DIBS_OK);
  begin(client, &e, 1, NULL);
  live_expect(client, dibs_rate_limiter_delete(client, NAME), DIBS_OK);
  live_expect_ending(&e, DIBS_ERR_NOT_SET);
}

/* ---- answers that get lost ---- */

/* Its scripts are known to the server: what goes wrong, goes wrong with the digest. */
static void warm_up(void)
{
  set(9, 60000);
  live_expect(client, take(client, 1), DIBS_OK);
  set(9, 60000);
}

TEST(an_answer_that_is_lost_takes_nothing_twice)
{
  live_needs_one_server();
  struct test_proxy *p = test_proxy_start(live_server);
  dibs_client *mine = live_open(live_url_by(p));

  warm_up();
  live_expect(mine, dibs_ping(mine, 0, NULL), DIBS_OK);
  test_proxy_lose_reply_to(p, "EVALSHA");
  live_expect(mine, acquire_ms(mine, 2, LIVE_LONG_MS), DIBS_OK);
  assert_true(test_proxy_wait_for_cuts(p, 1, LIVE_LONG_MS));
  assert_int_equal(available_to(client), 7);
  test_proxy_lose_reply_to(p, "EVALSHA");
  live_expect(mine, take(mine, 3), DIBS_OK);
  assert_true(test_proxy_wait_for_cuts(p, 2, LIVE_LONG_MS));
  assert_int_equal(available_to(client), 4);
  assert_int_equal(run_integer("ZCARD " PERMITS), 2);
  assert_string_equal(run("GET " VALUE), "4");
  assert_null(dibs_close(mine));
  p = test_proxy_stop(p);
}

static bool is_taken(void *data)
{
  (void)data;
  return run_integer("ZCARD " PERMITS) == 1;
}

static bool is_given_back(void *data)
{
  (void)data;
  return run_integer("ZCARD " PERMITS) == 0;
}

/* The reply to the request is held; `is_known`: the server has the script of the cancel. */
static void gives_up(dibs_client *mine, struct test_proxy *p, bool is_known)
{
  struct live_ending e;
  dibs_request *request;

  set(9, 60000);
  test_proxy_hold(p, TEST_TO_CLIENT);
  request = begin(mine, &e, 2, NULL);
  assert_true(live_until(LIVE_LONG_MS, is_taken, NULL));
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  if (!is_known)
    test_proxy_pass(p, TEST_TO_CLIENT);
  assert_true(live_until(LIVE_LONG_MS, is_given_back, NULL));
  test_proxy_pass(p, TEST_TO_CLIENT);
  live_expect_ending(&e, DIBS_CANCELLED);
  assert_int_equal(available_to(client), 9);
}

TEST(what_was_granted_to_one_who_gave_up_comes_back)
{
  live_needs_one_server();
  struct test_proxy *p = test_proxy_start(live_server);
  dibs_client *mine = live_open(live_url_by(p));

  warm_up();
  live_expect(mine, dibs_ping(mine, 0, NULL), DIBS_OK);
  gives_up(mine, p, false);
  gives_up(mine, p, true);
  assert_null(dibs_close(mine));
  p = test_proxy_stop(p);
}

/* The connection is lost with the reply, and there is no other for what gives back. */
TEST(permits_that_could_not_be_given_back_are_not_said_to_be)
{
  live_needs_one_server();
  struct test_proxy *p = test_proxy_start(live_server);
  dibs_client *mine = live_open(live_url_by(p));
  struct live_ending e;
  dibs_request *request;

  warm_up();
  live_expect(mine, dibs_ping(mine, 0, NULL), DIBS_OK);
  test_proxy_hold(p, TEST_TO_CLIENT);
  request = begin(mine, &e, 2, NULL);
  assert_true(live_until(LIVE_LONG_MS, is_taken, NULL));
  test_proxy_refuse(p, true);
  test_proxy_cut(p);
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  live_expect_ending(&e, DIBS_UNKNOWN);
  assert_int_equal(available_to(client), 7);
  assert_null(dibs_close(mine));
  p = test_proxy_stop(p);
}

/* ---- a crowd ---- */

enum { RATE = 20, INTERVAL_MS = 250, PROCESSES = 3, THREADS = 4, ENTRIES_MAX = 20000 };

struct board { _Atomic int taken, wrong, is_over; };
static struct board *board;

struct entry { char name[40]; int permits; long long at_ms; };
static struct entry entries[ENTRIES_MAX];
static int entry_count;
static int64_t looked_ms, longest_gap_ms;

static void *take_and_take(void *of)
{
  unsigned seed = (unsigned)(uintptr_t)&seed;

  while (!atomic_load(&board->is_over)) {
    int permits = 1 + rand_r(&seed) % 3;
    bool is_try = rand_r(&seed) % 4 == 0;
    dibs_status status = is_try ? take(of, (uint32_t)permits)
                                : acquire_ms(of, (uint32_t)permits, 0);

    if (status == DIBS_OK)
      atomic_fetch_add(&board->taken, permits);
    else if (status != DIBS_BUSY)
      atomic_fetch_add(&board->wrong, 1);
    if (is_try)
      (void)poll(NULL, 0, 5);
  }
  return NULL;
}

static void crowd_process(void)
{
  pthread_t all[THREADS];
  dibs_client *mine = NULL;

  (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (dibs_open(live_url(), NULL, &mine, NULL) != DIBS_OK)
    _exit(2);
  for (int i = 0; i < THREADS; i++)
    if (pthread_create(&all[i], NULL, take_and_take, mine) != 0)
      _exit(3);
  for (int i = 0; i < THREADS; i++)
    (void)pthread_join(all[i], NULL);
  (void)dibs_close(mine);
  _exit(0);
}

static void entry_add(const char *name, int permits, long long at_ms)
{
  for (int i = entry_count - 1; i >= 0 && i > entry_count - 500; i--)
    if (strcmp(entries[i].name, name) == 0)
      return;
  assert_true(entry_count < ENTRIES_MAX);
  (void)snprintf(entries[entry_count].name, sizeof(entries[0].name), "%s", name);
  entries[entry_count].permits = permits;
  entries[entry_count++].at_ms = at_ms;
}

/* What the zset holds now: each entry stays there for an interval at least. */
static void entries_look(void)
{
  static const char words[] =
    "local out = '' local all = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES') "
    "for i = 1, #all, 2 do out = out .. string.gsub(string.sub(all[i], 2, 17), '.', "
    "function(c) return string.format('%02x', string.byte(c)) end) .. ' ' .. "
    "struct.unpack('I', all[i], 18) .. ' ' .. all[i + 1] .. '\\n' end return out";
  int64_t now = live_now_ms();
  const char *at = run("EVAL %s 1 " PERMITS, words);
  char name[40];
  int permits, size;
  long long ms;

  if (live_now_ms() - looked_ms > longest_gap_ms)
    longest_gap_ms = live_now_ms() - looked_ms;
  looked_ms = now;
  while (sscanf(at, "%39s %d %lld%n", name, &permits, &ms, &size) == 3) {
    entry_add(name, permits, ms);
    at += size;
  }
}

static int by_time(const void *a, const void *b)
{
  const struct entry *x = a, *y = b;

  return (x->at_ms > y->at_ms) - (x->at_ms < y->at_ms);
}

static void expect_the_rate_in_each_interval(void)
{
  for (int first = 0; first < entry_count; first++) {
    int sum = 0;

    for (int i = first; i < entry_count && entries[i].at_ms < entries[first].at_ms + INTERVAL_MS;
         i++)
      sum += entries[i].permits;
    promise_kept(sum <= RATE, "%d permits within %d ms from %lld on", sum, INTERVAL_MS,
                 entries[first].at_ms);
  }
}

TEST(a_crowd_never_gets_more_than_the_rate_in_any_interval)
{
#ifdef __SANITIZE_THREAD__
  (void)state;               /* it loses count of threads that are made behind a fork */
  return;
#endif
  int64_t windows = live_times(12), until;
  pid_t children[PROCESSES];
  int sum = 0, status;

  board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(board, MAP_FAILED);
  entry_count = 0;
  longest_gap_ms = 0;
  looked_ms = live_now_ms();
  set(RATE, INTERVAL_MS);
  for (int i = 0; i < PROCESSES; i++) {
    children[i] = fork();
    if (children[i] == 0)
      crowd_process();
  }
  until = live_now_ms() + windows * INTERVAL_MS;
  while (live_now_ms() < until) {
    entries_look();
    (void)poll(NULL, 0, 20);
  }
  atomic_store(&board->is_over, 1);
  for (int i = 0; i < PROCESSES; i++) {
    pid_t ended;

    while ((ended = promise_waitpid(children[i], &status, WNOHANG)) == 0) {
      entries_look();
      (void)poll(NULL, 0, 20);
    }
    assert_int_equal(ended, children[i]);
    assert_int_equal(status, 0);
  }
  entries_look();
  for (int i = 0; i < entry_count; i++)
    sum += entries[i].permits;
  assert_int_equal(atomic_load(&board->wrong), 0);
  if (longest_gap_ms < INTERVAL_MS)                      /* else one may have been missed */
    assert_int_equal(sum, atomic_load(&board->taken));
  assert_true(sum > RATE * windows / 3);                 /* and it was used */
  qsort(entries, (size_t)entry_count, sizeof(entries[0]), by_time);
  expect_the_rate_in_each_interval();
  assert_int_equal(munmap(board, sizeof(*board)), 0);
}

/* ---- Java's side ---- */

TEST(the_dialect_of_a_client_does_not_matter)
{
  dibs_options o = live_options();
  dibs_client *other;

  o.dialect = DIBS_DIALECT_REDISSON;
  set(3, 60000);
  other = live_open_with(live_url(), &o);
  live_expect(other, acquire_ms(other, 2, 0), DIBS_OK);
  live_expect(client, take(client, 2), DIBS_BUSY);
  live_expect(client, take(client, 1), DIBS_OK);
  assert_int_equal(available_to(other), 0);
  assert_null(dibs_close(other));
}

RUN_TESTS(setup, teardown)
