/* SPDX-License-Identifier: MIT */
/* test/live/event_loops_test.c - a client in the event loops of other projects, by the adapters
 * of <dibs/adapters/>: the same facts in each loop that this machine has (loops/). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sys/wait.h>
#include <unistd.h>

#include "live.h"
#include "loops/loop.h"

enum { NAMES = 1000, IDLE_MS = 400, IDLE_CALLS_MAX = 20 };

static const struct loop *loop;
static dibs_client *client, *other;
static int calls;

dibs_status counted_process(dibs_client *c, int64_t *ret_wait_ms)
{
  calls++;
  return dibs_process(c, ret_wait_ms);
}

static dibs_client *open_client(void)
{
  dibs_options o = live_options();

  o.flags |= DIBS_CLIENT_NO_THREAD;
  o.command_timeout_ms = LIVE_LONG_MS;     /* a thousand at once, on a busy machine */
  return live_open_with(live_url(), &o);
}

static int setup(void **state)
{
  loop = *state;
  (void)live_server_setup(state);
  other = live_open(live_url());
  client = open_client();
  loop->open();
  assert_true(loop->attach(client) >= 0);
  return 0;
}

static int teardown(void **state)
{
  if (client != NULL) {
    loop->detach();
    client = dibs_close(client);
  }
  loop->close();
  other = dibs_close(other);
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

struct outcome { dibs_status status; dibs_hold *hold; int count; };

static void locked(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct outcome *o = data;

  *o = (struct outcome){ error->status, hold, o->count + 1 };
}

static void lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  struct outcome *o = data;

  *o = (struct outcome){ loss->why, hold, o->count + 1 };
}

static void run_until(const int *count, int wanted)
{
  int64_t end = live_now_ms() + LIVE_LONG_MS;

  while (*count < wanted && live_now_ms() < end)
    loop->turn(200);
  assert_int_equal(*count, wanted);
}

static dibs_hold *lock_in_loop(const char *name, const dibs_lock_options *options)
{
  struct outcome o = { .count = 0 };

  live_expect(client, dibs_lock_async(client, name, options, locked, &o, NULL), DIBS_OK);
  run_until(&o.count, 1);
  assert_int_equal(o.status, DIBS_OK);
  return o.hold;
}

/* ---- a thousand names ---- */

static int granted, released;

static void count_release(const dibs_error *error, void *data)
{
  (void)data;
  released += error->status == DIBS_OK;
}

static void release_at_once(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  granted += error->status == DIBS_OK;
  if (error->status == DIBS_OK)
    assert_int_equal(dibs_release_async(hold, count_release, NULL), DIBS_OK);
}

static void a_thousand_names_are_taken_and_released_by_callback(void **state)
{
  char name[16];

  (void)state;
  granted = released = 0;
  for (int i = 0; i < NAMES; i++) {
    (void)snprintf(name, sizeof(name), "name-%d", i);
    live_expect(client, dibs_lock_async(client, name, NULL, release_at_once, NULL, NULL), DIBS_OK);
  }
  run_until(&released, NAMES);
  assert_int_equal(granted, NAMES);
  /* What is kept of so many names does not fit into the look at the server of teardown(). */
  assert_string_equal(test_server_command(live_server, "FLUSHALL"), "OK");
}

/* ---- waiting ---- */

static void a_waiter_is_woken_and_a_cancelled_one_is_not(void **state)
{
  dibs_hold *held = live_lock(other, "waited", 60000);
  struct outcome first = { .count = 0 }, second = { .count = 0 };
  dibs_request *request;

  (void)state;
  live_expect(client, dibs_lock_async(client, "waited", NULL, locked, &first, NULL), DIBS_OK);
  live_expect(client, dibs_lock_async(client, "waited", NULL, locked, &second, &request), DIBS_OK);
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  run_until(&second.count, 1);
  assert_int_equal(second.status, DIBS_CANCELLED);
  assert_int_equal(first.count, 0);
  assert_int_equal(dibs_release(held), DIBS_OK);
  run_until(&first.count, 1);
  assert_int_equal(first.status, DIBS_OK);
  assert_int_equal(dibs_release(first.hold), DIBS_OK);
}

/* ---- time ---- */

/* The descriptor has the timers of the client: the loop itself has none that is due. */
static void a_lease_is_renewed_and_its_loss_reported(void **state)
{
  dibs_lock_options options = live_lock_options(600, 0);
  struct outcome gone = { .count = 0 };
  uint64_t renewed = live_stats(client).renewed;
  dibs_hold *hold;

  (void)state;
  options.on_lost = lost;
  options.on_lost_data = &gone;
  hold = lock_in_loop("renewed", &options);
  while (live_stats(client).renewed < renewed + 2 && dibs_hold_state(hold) != DIBS_HOLD_GONE)
    loop->turn(LIVE_LONG_MS);
  assert_int_not_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_int_equal(gone.count, 0);
  assert_int_equal(test_server_integer(live_server, "DEL %s", live_key("renewed")), 1);
  run_until(&gone.count, 1);
  assert_int_equal(gone.status, DIBS_LOST);
  assert_int_not_equal(dibs_release(hold), DIBS_OK);
}

static void an_idle_client_leaves_the_loop_alone(void **state)
{
  dibs_hold *hold = lock_in_loop("idle", NULL);
  int64_t end = live_now_ms() + IDLE_MS;

  (void)state;
  calls = 0;
  while (live_now_ms() < end)
    loop->turn((int)(end - live_now_ms()));
  if (calls > IDLE_CALLS_MAX)
    fail_msg("dibs_process() was called %d times in %d ms", calls, IDLE_MS);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

/* ---- ends ---- */

static void a_restarted_server_is_found_again(void **state)
{
  (void)state;
  assert_int_equal(dibs_release(lock_in_loop("before", NULL)), DIBS_OK);
  test_server_restart(live_server, true);
  assert_int_equal(dibs_release(lock_in_loop("after", NULL)), DIBS_OK);
}

static void a_loop_ends_with_requests_under_way(void **state)
{
  dibs_hold *held = live_lock(other, "never", 60000);
  struct outcome o = { .count = 0 };

  (void)state;
  for (int i = 0; i < 10; i++)
    live_expect(client, dibs_lock_async(client, "never", NULL, locked, &o, NULL), DIBS_OK);
  loop->turn(50);
  loop->detach();
  client = dibs_close(client);
  assert_int_equal(o.count, 10);
  assert_int_equal(o.status, DIBS_ERR_CLOSED);
  assert_int_equal(dibs_release(held), DIBS_OK);
}

/* A child that has no client must not turn for ever around its descriptor. */
static void in_a_forked_child_the_adapter_stops(void **state)
{
  int status = 0;
  pid_t child;

  (void)state;
  live_expect(client, dibs_lock_async(client, "parent", NULL, release_at_once, NULL, NULL),
              DIBS_OK);
  child = fork();
  if (child == 0) {
    loop->forked();
    calls = 0;
    for (int i = 0; i < 5; i++)
      loop->turn(20);
    _exit(calls <= 1 && (calls == 0 || loop->status() == DIBS_ERR_FORKED) ? 0 : 1);
  }
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  granted = released = 0;
  run_until(&released, 1);
}

static void a_client_without_a_descriptor_is_refused(void **state)
{
  (void)state;
  loop->detach();
  loop->turn(0);
  assert_true(loop->attach(other) < 0);
  loop->detach();                      /* as a program does that cleans up after any fault */
  assert_true(loop->attach(client) >= 0);
  assert_int_equal(dibs_release(lock_in_loop("attached", NULL)), DIBS_OK);
  loop->detach();
  loop->detach();
  loop->turn(0);
  assert_true(loop->attach(client) >= 0);
}

#define ROW(ident) extern const struct loop loop_##ident;
LOOPS(ROW)
#undef ROW

int main(void)
{
  if (live_is_beyond(LIVE_SENTINEL))
    return 0;
#define ROW(ident) &loop_##ident,
  static const struct loop *const loops[] = { LOOPS(ROW) };
#undef ROW
  static const struct { const char *name; CMUnitTestFunction run; } facts[] = {
#define FACT_OF(fact) { #fact, fact }
    FACT_OF(a_thousand_names_are_taken_and_released_by_callback),
    FACT_OF(a_waiter_is_woken_and_a_cancelled_one_is_not),
    FACT_OF(a_lease_is_renewed_and_its_loss_reported),
    FACT_OF(an_idle_client_leaves_the_loop_alone),
    FACT_OF(a_restarted_server_is_found_again),
    FACT_OF(a_loop_ends_with_requests_under_way),
    FACT_OF(in_a_forked_child_the_adapter_stops),
    FACT_OF(a_client_without_a_descriptor_is_refused),
  };
  enum { FACTS = sizeof(facts) / sizeof(facts[0]), LOOPS_MAX = sizeof(loops) / sizeof(loops[0]) };
  static char names[FACTS * LOOPS_MAX][96];
  struct CMUnitTest tests[FACTS * LOOPS_MAX];

  for (int l = 0; l < LOOPS_MAX; l++)
    for (int f = 0; f < FACTS; f++) {
      int at = l * FACTS + f;
      (void)snprintf(names[at], sizeof(names[at]), "%s_%s", loops[l]->name, facts[f].name);
      tests[at] = (struct CMUnitTest){ names[at], facts[f].run, setup, teardown,
                                       (void *)(uintptr_t)loops[l] };
    }
  return cmocka_run_group_tests(tests, NULL, NULL);
}
