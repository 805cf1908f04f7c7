/* SPDX-License-Identifier: MIT */
/* test/live/cancelled_thread_test.c - pthread_cancel() acts before and after a call, never
 * inside one. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <unistd.h>

#ifdef __x86_64__
#include <x86intrin.h>
#define SINGLE_STEPS 0x100ULL      /* the flag of the processor: SIGTRAP after each instruction */
#endif

#include "every_call.h"
#include "other_calls.h"
#include "server_parts.h"

/* ---- a cancellation that is due before the call begins ---- */

/* The next cancellation point of this thread ends it. */
static void cancel_myself(void)
{
  int before;

  (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
  (void)pthread_cancel(pthread_self());
  (void)pthread_setcancelstate(before, NULL);
}

static void not_alive(void *function)
{
  live_fault("%s: its thread ended inside", (const char *)function);
}

static void not_cancelled(const char *function)
{
  pthread_testcancel();
  live_fault("%s: cancellation is disabled after it", function);
}

static void *cancelled_in_a_row(void *data)
{
  struct trial *t = data;
  dibs_client *c = NULL;
  dibs_status status;

  pthread_cleanup_push(not_alive, (void *)(uintptr_t)t->row->function)
  cancel_myself();
  status = dibs_open(t->url, t->options, &c, NULL);
  if (status == DIBS_OK)
    status = t->row->call(c, t);
  c = dibs_close(c);                     /* runs the callback */
  pthread_cleanup_pop(0);
  if (status == DIBS_OK && !has_callback_run(t))
    live_fault("%s: no server, and DIBS_OK", t->row->function);
  not_cancelled(t->row->function);
  return NULL;
}

TEST(no_call_that_asks_a_server_ends_its_thread)
{
  static struct trial trials[ROW_COUNT];
  struct test_server *s = test_server_start();
  dibs_options o = live_options();
  int faults = live_faults();

  test_server_kill9(s);
  o.connect_timeout_ms = 100;
  for (size_t i = 0; i < ROW_COUNT; i++)
    trials[i] = trial_of(i, test_server_tcp_url(s), &o);
  run_all_rows(trials, NULL, cancelled_in_a_row);
  s = test_server_stop(s);
  assert_int_equal(live_faults() - faults, 0);
}

/* ---- all others, with a server ---- */

struct part { const char *name; void (*run)(struct things *t); struct things *things; };

#define PART(function, call) \
  static void function##_part(struct things *t) \
  { \
    (void)t; \
    (void)(call); \
  }
CALLS_OF_HANDLES(PART)
CALLS_WITHOUT_A_SERVER(PART)

static void *cancelled_in_a_part(void *data)
{
  const struct part *p = data;

  pthread_cleanup_push(not_alive, (void *)(uintptr_t)p->name)
  cancel_myself();
  p->run(p->things);
  pthread_cleanup_pop(0);
  not_cancelled(p->name);
  return NULL;
}

TEST(no_other_call_ends_its_thread)
{
#define ROW(function, call) { #function, function##_part, NULL },
  struct part parts[] = { CALLS_OF_HANDLES(ROW) CALLS_WITHOUT_A_SERVER(ROW) };
  dibs_client *other = live_open(live_url());
  dibs_hold *queued = live_lock(other, "queued", 60000);
  int faults = live_faults(), stdin_was = dup(STDIN_FILENO);

  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    struct things things = { .count = 0 };
    pthread_t thread;

    live_expect_ok(things_begin(&things, live_url(), NULL));
    parts[i].things = &things;
    (void)close(STDIN_FILENO);           /* what the library opens is moved away from there, which
                                            ends with a close(): it can be cancelled */
    assert_int_equal(pthread_create(&thread, NULL, cancelled_in_a_part, &parts[i]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    things_end(&things);
    live_tell_all("FLUSHALL");           /* a detached lease would expire late */
    live_expect(other, dibs_ping(other, 0, NULL), DIBS_OK);
  }
  (void)dup2(stdin_was, STDIN_FILENO);
  (void)close(stdin_was);
  (void)dibs_release(queued);
  other = dibs_close(other);
  assert_int_equal(live_faults() - faults, 0);
}

/* ---- a cancellation during a wait ---- */

struct waiter { dibs_client *client; dibs_status status; dibs_hold *hold; };

static void *wait_for_it(void *data)
{
  struct waiter *w = data;
  dibs_lock_options o = live_lock_options(30000, DIBS_FOREVER);

  w->status = dibs_lock(w->client, "w", &o, &w->hold);
  not_cancelled("dibs_lock()");
  return NULL;
}

static bool is_queued(void *client)
{
  dibs_inspection *seen = NULL;
  bool is_so = dibs_inspect(client, dibs_text("w"), &seen) == DIBS_OK && seen->waiter_count == 1;

  (void)dibs_inspection_free(seen);
  return is_so;
}

static void cancel_a_waiter_of(uint32_t flags)
{
  dibs_options o = live_options();
  dibs_client *other = live_open(live_url());
  dibs_hold *first = live_lock(other, "w", 30000), *hold;
  struct waiter w = { .status = DIBS_ERR_STALE };
  pthread_t thread;
  void *result;

  o.flags |= flags;
  w.client = live_open_with(live_url(), &o);
  assert_int_equal(pthread_create(&thread, NULL, wait_for_it, &w), 0);
  assert_true(live_until(LIVE_LONG_MS, is_queued, other));
  assert_int_equal(pthread_cancel(thread), 0);
  for (int i = 0; i < 20; i++) {                   /* the client works as before */
    hold = live_lock(w.client, "another", 30000);
    live_expect(w.client, dibs_release(hold), DIBS_OK);
  }
  assert_true(is_queued(other));
  live_expect(other, dibs_release(first), DIBS_OK);
  assert_int_equal(pthread_join(thread, &result), 0);
  assert_ptr_equal(result, PTHREAD_CANCELED);
  assert_int_equal(w.status, DIBS_OK);
  live_expect(w.client, dibs_release(w.hold), DIBS_OK);
  w.client = dibs_close(w.client);
  other = dibs_close(other);
}

TEST(a_cancelled_thread_gets_its_lock_first)
{
  int faults = live_faults();

  cancel_a_waiter_of(0);
  cancel_a_waiter_of(DIBS_CLIENT_NO_THREAD);
  cancel_a_waiter_of(DIBS_CLIENT_PROCESS_CALLBACKS);
  if (live_place() == LIVE_ONE)
    cancel_a_waiter_of(DIBS_CLIENT_DETECT_DEADLOCK);
  assert_int_equal(live_faults() - faults, 0);
}

/* ---- a signal handler that calls, at each instruction of a call ---- */

#ifdef __x86_64__
static dibs_client *called;
static _Atomic int steps;

static void call_in_between(int number)
{
  (void)number;
  steps++;
  (void)dibs_is_connected(called);
}

TEST(a_call_in_a_handler_does_not_change_whether_its_thread_can_be_cancelled)
{
  struct sigaction in_between = { .sa_handler = call_in_between }, before;
  int cancel_state;

  called = live_open(live_url());
  assert_int_equal(sigaction(SIGTRAP, &in_between, &before), 0);
  __writeeflags(__readeflags() | SINGLE_STEPS);
  (void)dibs_client_call_timeout(called);
  __writeeflags(__readeflags() & ~SINGLE_STEPS);
  (void)pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &cancel_state);
  assert_int_equal(cancel_state, PTHREAD_CANCEL_ENABLE);
  assert_true(steps > 10);
  assert_int_equal(sigaction(SIGTRAP, &before, NULL), 0);
  called = dibs_close(called);
}
#endif

/* ---- the data of callbacks, which the end of a call frees ---- */

static _Atomic int frees_begun, frees_ended;

static void free_with_a_cancellation_point(void *data)
{
  (void)data;
  frees_begun++;
  pthread_testcancel();
  frees_ended++;
}

static void on_change(dibs_hold *hold, const dibs_hold_info *info, dibs_change why, void *data)
{
  (void)hold;
  (void)info;
  (void)why;
  (void)data;
}

static void on_leader(const dibs_error *error, const dibs_leader *leader, void *data)
{
  (void)error;
  (void)leader;
  (void)data;
}

static void on_line(const dibs_log_line *line, void *data)
{
  (void)line;
  (void)data;
}

static dibs_lock_options options_with_data(void)
{
  dibs_lock_options o = live_lock_options(30000, 0);

  o.on_change = on_change;
  o.on_lost_free = o.on_change_free = free_with_a_cancellation_point;
  return o;
}

static dibs_hold *hold_with_data(dibs_client *c)
{
  dibs_lock_options o = options_with_data();
  dibs_hold *hold = NULL;

  if (dibs_lock(c, "free", &o, &hold) != DIBS_OK)
    live_fault("no lock");
  return hold;
}

static void a_release(dibs_client *c)
{
  dibs_hold *hold = hold_with_data(c);

  cancel_myself();
  (void)dibs_release(hold);
}

static void a_detach(dibs_client *c)
{
  dibs_hold *hold = hold_with_data(c);

  cancel_myself();
  (void)dibs_hold_detach(hold);
}

static void a_lock_that_is_refused(dibs_client *c)
{
  dibs_lock_options o = options_with_data();
  dibs_hold *none = NULL;

  cancel_myself();
  (void)!dibs_lock(c, NULL, &o, &none);
}

static void an_ask_that_is_refused(dibs_client *c)
{
  dibs_lock_options o = options_with_data();

  cancel_myself();
  (void)!dibs_lock_async(c, NULL, &o, NULL, NULL, NULL);
}

static void the_end_of_observing(dibs_client *c)
{
  dibs_observer *observer = NULL;

  (void)!dibs_observe(c, "free", on_leader, NULL, free_with_a_cancellation_point, &observer);
  cancel_myself();
  observer = dibs_observer_free(observer);
}

static void an_observation_that_is_refused(dibs_client *c)
{
  dibs_observer *observer = NULL;

  cancel_myself();
  (void)!dibs_observe(c, NULL, on_leader, NULL, free_with_a_cancellation_point, &observer);
}

static void a_log_that_is_refused(dibs_client *c)
{
  (void)c;
  cancel_myself();
  (void)!dibs_client_set_log(NULL, NULL, on_line, NULL, free_with_a_cancellation_point);
}

static void an_open_that_is_refused(dibs_client *c)
{
  dibs_options o = live_options();

  (void)c;
  o.on_event_free = free_with_a_cancellation_point;
  cancel_myself();
  (void)!dibs_open("nonsense://", &o, &c, NULL);
}

struct freeing { const char *name; void (*run)(dibs_client *c); int frees; dibs_client *client; };

static void *cancelled_while_it_frees(void *data)
{
  const struct freeing *f = data;

  pthread_cleanup_push(not_alive, (void *)(uintptr_t)f->name)
  f->run(f->client);
  pthread_cleanup_pop(0);
  not_cancelled(f->name);
  return NULL;
}

TEST(what_frees_the_data_of_a_callback_is_part_of_the_call)
{
  struct freeing all[] = { { "dibs_release()", a_release, 2, NULL },
                           { "dibs_hold_detach()", a_detach, 2, NULL },
                           { "dibs_lock()", a_lock_that_is_refused, 2, NULL },
                           { "dibs_lock_async()", an_ask_that_is_refused, 2, NULL },
                           { "dibs_observer_free()", the_end_of_observing, 1, NULL },
                           { "dibs_observe()", an_observation_that_is_refused, 1, NULL },
                           { "dibs_client_set_log()", a_log_that_is_refused, 1, NULL },
                           { "dibs_open()", an_open_that_is_refused, 1, NULL } };
  dibs_client *c = live_open(live_url());
  int faults = live_faults();

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    pthread_t thread;

    frees_begun = frees_ended = 0;
    all[i].client = c;
    assert_int_equal(pthread_create(&thread, NULL, cancelled_while_it_frees, &all[i]), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    if (frees_begun != all[i].frees || frees_ended != all[i].frees)
      live_fault("%s: %d begun and %d ended of %d", all[i].name, frees_begun, frees_ended,
                 all[i].frees);
    live_tell_all("FLUSHALL");           /* a detached lease would expire late */
  }
  c = dibs_close(c);
  assert_int_equal(live_faults() - faults, 0);
}

/* ---- threads of the library ---- */

static void cancel_and_note(const dibs_error *error, void *ending)
{
  (void)pthread_cancel(pthread_self());
  live_note_ending(error, ending);
  (void)live_now_ms();
}

TEST(a_callback_cannot_cancel_the_thread_of_callbacks)
{
  dibs_client *c = live_open(live_url());

  for (int i = 0; i < 2; i++) {
    struct live_ending ending = { .client = c };
    dibs_hold *hold = live_lock(c, "r", 30000);

    live_expect(c, dibs_release_async(hold, cancel_and_note, &ending), DIBS_OK);
    live_expect_ending(&ending, DIBS_OK);
  }
  c = dibs_close(c);
}

/* A private server of the test's own: no real one is ever touched. */
static char private[64];

static int setup(void **state)
{
  test_directory_make(private, sizeof(private));
  (void)setenv("DIBS_LOCAL_DIR", private, 1);
  (void)unsetenv("DIBS_NO_LOCAL");
  return every_call_setup(state);
}

static int teardown(void **state)
{
  (void)dibs_local_stop(true, NULL);
  test_directory_remove(private);
  return live_server_teardown(state);
}

RUN_TESTS(setup, teardown)
