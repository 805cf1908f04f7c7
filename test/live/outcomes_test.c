/* SPDX-License-Identifier: MIT */
/* test/live/outcomes_test.c - each outcome that a header lists for the functions of holds, tokens
 * and names, in the situation that it describes. test/doc/outcomes.py compares ROWS with the
 * headers, in both directions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 60000, SOON_MS = 200 };

/* `quick` gives up soon. */
static dibs_client *client, *other, *quick;
static dibs_hold *hold;
static char token[DIBS_TOKEN_SIZE];

/* Each situation has a name of its own. */
static const char *name;

/* ---- situations ---- */

static dibs_hold *held(dibs_client *c)
{
  return live_lock(c, name, TTL_MS);
}

static void token_of(dibs_hold *of)
{
  live_expect_ok(dibs_hold_token(of, token, sizeof(token)));
}

static void detached(void)
{
  hold = held(client);
  token_of(hold);
  live_expect_ok(live_detach(hold));
}

static void deleted(void)
{
  (void)test_server_command(live_server, "DEL %s", live_key(name));
}

static dibs_hold *fixed_and_over(void)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(SOON_MS, LIVE_LONG_MS);
  dibs_hold *over;

  o.flags = DIBS_LOCK_FIXED;
  o.on_lost = live_on_lost;
  o.on_lost_data = &loss;
  over = live_lock_with(client, name, &o);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  return over;
}

static void lease_of(char ret_lease[96])
{
  dibs_inspection *seen = NULL;

  live_expect_ok(dibs_inspect(other, name, &seen));
  memcpy(ret_lease, seen->lease, sizeof(seen->lease));
  seen = dibs_inspection_free(seen);
}

static void broken(void)
{
  char lease[96];

  lease_of(lease);
  live_expect_ok(dibs_break(other, name, lease));
}

/* What `run` returns in a child of this process. */
static dibs_status in_a_child(dibs_status (*run)(void))
{
  int status = 0;
  pid_t child = fork();

  assert_true(child >= 0);
  if (child == 0)
    _exit((int)run() + 100);
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  return (dibs_status)(WEXITSTATUS(status) - 100);
}

static void *closes(void *data)
{
  *(dibs_client **)data = dibs_close(*(dibs_client **)data);
  return NULL;
}

static bool is_closing(void *data)
{
  return dibs_set_credentials(data, NULL, NULL) == DIBS_ERR_CLOSED;
}

/* What `run` returns while another thread closes the client that it is given: that waits for a
 * stopped server. */
static dibs_status while_closing(dibs_status (*run)(dibs_client *c))
{
  dibs_options o = live_options();
  dibs_client *closed;
  dibs_status status;
  pthread_t thread;

  o.close_timeout_ms = LIVE_LONG_MS;
  closed = live_open_with(live_url(), &o);
  hold = held(closed);
  test_server_pause(live_server);
  assert_int_equal(pthread_create(&thread, NULL, closes, &closed), 0);
  assert_true(live_until(LIVE_LONG_MS, is_closing, closed));
  status = run(closed);
  test_server_resume(live_server);
  assert_int_equal(pthread_join(thread, NULL), 0);
  return status;
}

struct inside { dibs_status (*run)(void); _Atomic int status, has_run; };

static void on_lock(const dibs_error *error, dibs_hold *granted, void *data)
{
  struct inside *i = data;

  (void)error;
  atomic_store(&i->status, i->run());
  (void)dibs_release(granted);
  atomic_store(&i->has_run, 1);
}

static bool has_run(void *data)
{
  return atomic_load(&((struct inside *)data)->has_run) != 0;
}

static dibs_status in_a_callback(dibs_status (*run)(void))
{
  struct inside i = { .run = run };
  char outer[64];

  (void)snprintf(outer, sizeof(outer), "%s outer", name);
  live_expect_ok(dibs_lock_async(client, outer, NULL, on_lock, &i, NULL));
  assert_true(live_until(LIVE_LONG_MS, has_run, &i));
  return (dibs_status)atomic_load(&i.status);
}

static dibs_client *nowhere(void)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = SOON_MS;
  return live_open_with("unix:///nonexistent/dibs.sock", &o);
}

/* ---- dibs_lock ---- */

static dibs_status lock(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 10 * SOON_MS);

  return dibs_lock(client, name, &o, &hold);
}

static dibs_status lock_of_another(void)
{
  dibs_hold *theirs = held(other);
  dibs_status status = lock();

  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status lock_that_is_cancelled(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *theirs = held(other);
  dibs_status status;

  live_expect_ok(dibs_canceller_new(&o.cancel));
  dibs_cancel(o.cancel);
  status = dibs_lock(client, name, &o, &hold);
  o.cancel = dibs_canceller_free(o.cancel);
  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status lock_by_its_owner(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_hold *outer = held(client);
  dibs_status status;

  o.flags = DIBS_LOCK_NO_REENTRY;
  status = dibs_lock(client, name, &o, &hold);
  assert_int_equal(dibs_release(outer), DIBS_OK);
  return status;
}

static dibs_status lock_without_a_reply(void)
{
  struct test_proxy *proxy = test_proxy_start(live_server);
  dibs_lock_options o = live_lock_options(TTL_MS, SOON_MS);
  dibs_client *by_proxy = live_open(live_url_by(proxy));
  dibs_status status;

  live_expect_free(by_proxy, name, LIVE_LONG_MS);
  test_proxy_black_hole(proxy, TEST_TO_CLIENT);
  status = dibs_lock(by_proxy, name, &o, &hold);
  by_proxy = dibs_close(by_proxy);
  proxy = test_proxy_stop(proxy);
  deleted();
  return status;
}

static dibs_status lock_without_a_server(void)
{
  dibs_client *none = nowhere();
  dibs_status status = dibs_lock(none, name, NULL, &hold);

  none = dibs_close(none);
  return status;
}

static dibs_status lock_without_a_name(void)
{
  return dibs_lock(client, "", NULL, &hold);
}

static dibs_status lock_in_a_child(void)
{
  return in_a_child(lock);
}

static dibs_status lock_by(dibs_client *c)
{
  dibs_hold *got;

  return dibs_lock(c, "another", NULL, &got);
}

static dibs_status lock_while_closing(void)
{
  return while_closing(lock_by);
}

static dibs_status lock_in_a_callback(void)
{
  return in_a_callback(lock);
}

static dibs_status try_of_another(void)
{
  dibs_hold *theirs = held(other);
  dibs_status status = dibs_try_lock(client, name, NULL, &hold);

  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

/* ---- dibs_release ---- */

static dibs_status release(void)
{
  return dibs_release(hold);
}

static dibs_status release_of_a_hold(void)
{
  hold = held(client);
  return release();
}

static dibs_status release_of_a_deleted_lease(void)
{
  hold = held(client);
  deleted();
  return release();
}

static dibs_status release_of_a_lease_over(void)
{
  hold = fixed_and_over();
  return release();
}

static void wait_for_end(void)
{
  dibs_inspection *seen = NULL;
  bool is_held;

  do {
    live_expect_ok(dibs_inspect(other, name, &seen));
    is_held = seen->is_held;
    seen = dibs_inspection_free(seen);
  } while (is_held);
}

/* No thread of the library runs: the release itself finds that it is over, and the lease stands on
 * the server. */
static dibs_status release_of_an_end_not_noticed(void)
{
  dibs_options o = live_options();
  dibs_client *idle;
  dibs_status status;

  o.flags = DIBS_CLIENT_NO_THREAD;
  idle = live_open_with(live_url(), &o);
  hold = live_lock(idle, name, SOON_MS);
  wait_for_end();
  status = release();
  idle = dibs_close(idle);
  return status;
}

static dibs_status release_of_a_taken_name(void)
{
  dibs_hold *theirs;
  dibs_status status;

  hold = held(client);
  deleted();
  theirs = held(other);
  status = release();
  assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status release_without_a_reply(void)
{
  dibs_status status;

  hold = held(quick);
  test_server_pause(live_server);
  status = release();
  test_server_resume(live_server);
  live_expect_free(other, name, LIVE_LONG_MS);
  return status;
}

static dibs_status second_release(void)
{
  (void)release_of_a_hold();
  return release();
}

static dibs_status release_of_nothing(void)
{
  return dibs_release(NULL);
}

static dibs_status release_in_a_child(void)
{
  dibs_status status;

  hold = held(client);
  status = in_a_child(release);
  assert_int_equal(release(), DIBS_OK);
  return status;
}

static dibs_status release_by(dibs_client *c)
{
  (void)c;
  return release();
}

/* The close releases it. */
static dibs_status release_while_closing(void)
{
  dibs_status status = while_closing(release_by);

  live_expect_free(other, name, LIVE_LONG_MS);
  return status;
}

/* ---- what a hold tells ---- */

static dibs_status hold_name(void)
{
  char bytes[DIBS_NAME_MAX + 1];

  return dibs_hold_name(hold, 0, bytes, sizeof(bytes), NULL);
}

static dibs_status hold_why(void)
{
  char bytes[512];

  return dibs_hold_why(hold, bytes, sizeof(bytes));
}

static dibs_status hold_token(void)
{
  return dibs_hold_token(hold, token, sizeof(token));
}

static dibs_status hold_durability(void)
{
  dibs_durability d = { .size = sizeof(d) };

  return dibs_hold_durability(hold, &d);
}

static dibs_status hold_detach(void)
{
  return live_detach(hold);
}

/* What `run` tells of a hold; released by the way where it still can be. */
static dibs_status of_a_hold(dibs_status (*run)(void))
{
  dibs_status status;

  hold = held(client);
  status = run();
  if (dibs_release(hold) == DIBS_ERR_STALE)
    deleted();
  return status;
}

static dibs_status of_a_released_hold(dibs_status (*run)(void))
{
  (void)release_of_a_hold();
  return run();
}

static dibs_status (*child_runs)(void);

static dibs_status child_run(void)
{
  return in_a_child(child_runs);
}

static dibs_status of_a_hold_in_a_child(dibs_status (*run)(void))
{
  child_runs = run;
  return of_a_hold(child_run);
}

static dibs_status no_name(void)
{
  return dibs_hold_name(hold, 1, NULL, 0, NULL);
}

static dibs_status no_room_for_why(void)
{
  return dibs_hold_why(hold, token, 0);
}

static dibs_status no_room(void)
{
  return dibs_hold_token(hold, token, 3);
}

static dibs_status no_size(void)
{
  dibs_durability d = { .size = 0 };

  return dibs_hold_durability(hold, &d);
}

static dibs_status name_of_a_hold(void) { return of_a_hold(hold_name); }
static dibs_status name_that_is_not_there(void) { return of_a_hold(no_name); }
static dibs_status name_of_a_released_hold(void) { return of_a_released_hold(hold_name); }
static dibs_status name_in_a_child(void) { return of_a_hold_in_a_child(hold_name); }
static dibs_status why_of_a_hold(void) { return of_a_hold(hold_why); }
static dibs_status why_without_room(void) { return of_a_hold(no_room_for_why); }
static dibs_status why_of_a_released_hold(void) { return of_a_released_hold(hold_why); }
static dibs_status why_in_a_child(void) { return of_a_hold_in_a_child(hold_why); }
static dibs_status token_of_a_hold(void) { return of_a_hold(hold_token); }
static dibs_status token_without_room(void) { return of_a_hold(no_room); }
static dibs_status token_of_a_released_hold(void) { return of_a_released_hold(hold_token); }
static dibs_status durability_of_a_hold(void) { return of_a_hold(hold_durability); }
static dibs_status durability_without_size(void) { return of_a_hold(no_size); }
static dibs_status durability_of_a_released(void) { return of_a_released_hold(hold_durability); }
static dibs_status detach_of_a_hold(void) { return of_a_hold(hold_detach); }
static dibs_status detach_of_a_released(void) { return of_a_released_hold(hold_detach); }

static dibs_status detach_of_a_lease_over(void)
{
  hold = fixed_and_over();
  return hold_detach();
}

/* Readers share a lease that is young. */
static dibs_status detach_of_a_shared_reader(void)
{
  dibs_options young = live_options();
  dibs_lock_options o = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *readers;
  dibs_hold *second;
  dibs_status status;

  young.local_handover_ms = LIVE_LONG_MS;
  readers = live_open_with(live_url(), &young);
  o.flags = DIBS_LOCK_NO_OWNER;
  live_expect_ok(dibs_read_lock(readers, name, &o, &hold));
  live_expect_ok(dibs_read_lock(readers, name, &o, &second));
  status = hold_detach();
  assert_int_equal(dibs_release(second), DIBS_OK);
  assert_int_equal(release(), DIBS_OK);
  readers = dibs_close(readers);
  return status;
}

/* ---- tokens ---- */

static dibs_status renew(void)
{
  return dibs_token_renew(other, token, TTL_MS, NULL);
}

static dibs_status token_release(void)
{
  return dibs_token_release(other, token);
}

/* Another client has it, and after `gives_back` had it. */
static dibs_status of_a_followed_token(dibs_status (*run)(void), bool gives_back)
{
  dibs_hold *theirs;
  dibs_status status;

  detached();
  broken();
  theirs = held(other);
  if (gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  status = run();
  if (!gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status renew_of_a_lease(void)
{
  dibs_status status;

  detached();
  status = renew();
  live_expect_ok(token_release());
  return status;
}

/* Its time is over, and no other client has asked for the name since. */
static dibs_status renew_after_the_end(void)
{
  dibs_status status;

  hold = live_lock(client, name, SOON_MS);
  token_of(hold);
  live_expect_ok(live_detach(hold));
  wait_for_end();
  status = renew();
  live_refused(live_try(client, name), DIBS_BUSY);
  live_expect_ok(token_release());
  return status;
}

static dibs_status renew_of_a_released_lease(void)
{
  detached();
  live_expect_ok(token_release());
  return renew();
}

/* With an era guard a server is not believed that no other client had the name: it may have been
 * promoted without the last grant. */
static dibs_status with_an_era_guard(dibs_status (*run)(void))
{
  dibs_options o = live_options();
  dibs_client *former[] = { client, other };
  dibs_status status;

  o.prefix = "guarded";
  o.quarantine_ms = 1;
  client = live_open_with(live_url(), &o);
  other = live_open_with(live_url(), &o);
  status = run();
  client = dibs_close(client);
  other = dibs_close(other);
  client = former[0];
  other = former[1];
  return status;
}

static dibs_status renew_with_an_era_guard(void)
{
  return with_an_era_guard(renew_of_a_released_lease);
}

static dibs_status renew_of_a_taken_name(void) { return of_a_followed_token(renew, false); }
static dibs_status renew_of_a_followed_lease(void) { return of_a_followed_token(renew, true); }

static dibs_status renew_without_a_token(void)
{
  return dibs_token_renew(other, "x", TTL_MS, NULL);
}

static dibs_status token_release_of_a_lease(void)
{
  detached();
  return token_release();
}

static dibs_status second_token_release(void)
{
  live_expect_ok(token_release_of_a_lease());
  return token_release();
}

static dibs_status token_release_of_a_taken_name(void)
{
  return of_a_followed_token(token_release, false);
}

static dibs_status token_release_of_a_followed_lease(void)
{
  return of_a_followed_token(token_release, true);
}

/* Whether another client had the name since the end of a hold: dibs_release() does not know. */
static dibs_status token_release_of_a_lost_hold(bool is_followed)
{
  struct live_loss loss = { .count = 0 };
  dibs_lock_options o = live_lock_options(SOON_MS, LIVE_LONG_MS);

  o.flags = DIBS_LOCK_FIXED;
  o.on_lost = live_on_lost;
  o.on_lost_data = &loss;
  hold = live_lock_with(client, name, &o);
  token_of(hold);
  assert_true(live_loss_wait(&loss, LIVE_LONG_MS));
  if (is_followed)
    assert_int_equal(dibs_release(held(other)), DIBS_OK);
  live_expect(client, release(), DIBS_LOST);
  return token_release();
}

static dibs_status token_release_after_a_loss(void)
{
  return token_release_of_a_lost_hold(false);
}

static dibs_status token_release_after_a_loss_and_another(void)
{
  return token_release_of_a_lost_hold(true);
}

static dibs_status token_release_without_a_token(void)
{
  return dibs_token_release(other, "x");
}

/* ---- names ---- */

static dibs_status inspect(void)
{
  dibs_inspection *seen = NULL;
  dibs_status status = dibs_inspect(other, name, &seen);

  seen = dibs_inspection_free(seen);
  return status;
}

static dibs_status inspect_of_another_type(void)
{
  dibs_status status;

  (void)test_server_command(live_server, "RPUSH %s x", live_key(name));
  status = inspect();
  deleted();
  return status;
}

static dibs_status inspect_without_a_name(void)
{
  dibs_inspection *seen;

  return dibs_inspect(other, "", &seen);
}

static bool on_listed(const dibs_inspection *seen, void *data)
{
  (void)seen;
  (void)data;
  return true;
}

static dibs_status list(void)
{
  return dibs_list(other, NULL, on_listed, NULL);
}

static dibs_status list_of_all_in_a_dialect(void)
{
  dibs_options o = live_options();
  dibs_client *java;
  dibs_status status;

  o.dialect = DIBS_DIALECT_REDISSON;
  java = live_open_with(live_url(), &o);
  status = dibs_list(java, NULL, on_listed, NULL);
  java = dibs_close(java);
  return status;
}

static char lease[96];

static dibs_status break_it(void)
{
  return dibs_break(other, name, lease);
}

static dibs_status break_of_a_lease(void)
{
  dibs_status status;

  hold = held(client);
  lease_of(lease);
  status = break_it();
  (void)release();
  return status;
}

static dibs_status second_break(void)
{
  (void)break_of_a_lease();
  return break_it();
}

/* Another client has the name, or had it. */
static dibs_status break_of_a_followed_lease(bool gives_back)
{
  dibs_hold *theirs;
  dibs_status status;

  hold = held(client);
  lease_of(lease);
  assert_int_equal(release(), DIBS_OK);
  theirs = held(other);
  if (gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  status = break_it();
  if (!gives_back)
    assert_int_equal(dibs_release(theirs), DIBS_OK);
  return status;
}

static dibs_status second_break_with_an_era_guard(void)
{
  return with_an_era_guard(second_break);
}

static dibs_status break_of_a_lease_before(void) { return break_of_a_followed_lease(true); }
static dibs_status break_of_a_taken_name(void) { return break_of_a_followed_lease(false); }

/* ---- without a server that answers ---- */

/* What `run` returns of `other` when the server does not reply. */
static dibs_status without_a_reply(dibs_status (*run)(void))
{
  dibs_client *patient = other;
  dibs_status status;

  other = quick;
  live_expect_ok(dibs_ping(quick, LIVE_LONG_MS, NULL));        /* it is connected */
  test_server_pause(live_server);
  status = run();
  test_server_resume(live_server);
  other = patient;
  return status;
}

static dibs_status renew_without_a_reply(void)
{
  dibs_status status;

  detached();
  status = without_a_reply(renew);
  live_expect_ok(token_release());
  return status;
}

static dibs_status token_release_without_a_reply(void)
{
  dibs_status status;

  detached();
  status = without_a_reply(token_release);
  live_expect_ok(token_release());       /* what comes late changes nothing */
  return status;
}

static dibs_status break_without_a_reply(void)
{
  dibs_status status;

  hold = held(client);
  lease_of(lease);
  status = without_a_reply(break_it);
  (void)release();
  return status;
}

static dibs_status inspect_without_a_reply(void) { return without_a_reply(inspect); }
static dibs_status list_without_a_reply(void) { return without_a_reply(list); }

static dibs_status canceller(void)
{
  dibs_canceller *c = NULL;
  dibs_status status = dibs_canceller_new(&c);

  c = dibs_canceller_free(c);
  return status;
}

static dibs_status canceller_without_descriptors(void)
{
  struct rlimit limit, none = { 0 };
  dibs_status status;

  assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
  none.rlim_max = limit.rlim_max;
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
  status = canceller();
  assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
  return status;
}

/* ---- the table ---- */

/* NOT_HERE(function, outcome, the test that holds it, or why none can). */
#define ROWS(X, NOT_HERE) \
  X(dibs_lock, DIBS_OK, lock) \
  X(dibs_lock, DIBS_TIMED_OUT, lock_of_another) \
  X(dibs_lock, DIBS_CANCELLED, lock_that_is_cancelled) \
  X(dibs_lock, DIBS_WOULD_DEADLOCK, lock_by_its_owner) \
  NOT_HERE(dibs_lock, DIBS_WOULD_DEADLOCK, live/deadlock) \
  X(dibs_lock, DIBS_UNKNOWN, lock_without_a_reply) \
  X(dibs_lock, DIBS_ERR_UNREACHABLE, lock_without_a_server) \
  X(dibs_lock, DIBS_ERR_ARGUMENT, lock_without_a_name) \
  X(dibs_lock, DIBS_ERR_FORKED, lock_in_a_child) \
  X(dibs_lock, DIBS_ERR_CLOSED, lock_while_closing) \
  X(dibs_lock, DIBS_ERR_WOULD_BLOCK, lock_in_a_callback) \
  X(dibs_try_lock, DIBS_BUSY, try_of_another) \
  X(dibs_release, DIBS_OK, release_of_a_hold) \
  X(dibs_release, DIBS_LOST, release_of_a_deleted_lease) \
  X(dibs_release, DIBS_LOST, release_of_a_lease_over) \
  X(dibs_release, DIBS_TAKEN, release_of_a_taken_name) \
  X(dibs_release, DIBS_LOST, release_of_an_end_not_noticed) \
  X(dibs_release, DIBS_UNKNOWN, release_without_a_reply) \
  X(dibs_release, DIBS_ERR_STALE, second_release) \
  X(dibs_release, DIBS_ERR_STALE, release_of_nothing) \
  X(dibs_release, DIBS_ERR_FORKED, release_in_a_child) \
  X(dibs_release, DIBS_ERR_CLOSED, release_while_closing) \
  X(dibs_hold_name, DIBS_OK, name_of_a_hold) \
  X(dibs_hold_name, DIBS_ERR_ARGUMENT, name_that_is_not_there) \
  X(dibs_hold_name, DIBS_ERR_STALE, name_of_a_released_hold) \
  X(dibs_hold_name, DIBS_ERR_FORKED, name_in_a_child) \
  X(dibs_hold_why, DIBS_OK, why_of_a_hold) \
  X(dibs_hold_why, DIBS_ERR_ARGUMENT, why_without_room) \
  X(dibs_hold_why, DIBS_ERR_STALE, why_of_a_released_hold) \
  X(dibs_hold_why, DIBS_ERR_FORKED, why_in_a_child) \
  X(dibs_hold_token, DIBS_OK, token_of_a_hold) \
  X(dibs_hold_token, DIBS_ERR_ARGUMENT, token_without_room) \
  X(dibs_hold_token, DIBS_ERR_STALE, token_of_a_released_hold) \
  NOT_HERE(dibs_hold_token, DIBS_ERR_UNSUPPORTED, live/multi_lock_slots) \
  X(dibs_hold_durability, DIBS_OK, durability_of_a_hold) \
  X(dibs_hold_durability, DIBS_ERR_ARGUMENT, durability_without_size) \
  X(dibs_hold_durability, DIBS_ERR_STALE, durability_of_a_released) \
  X(dibs_hold_detach, DIBS_OK, detach_of_a_hold) \
  X(dibs_hold_detach, DIBS_LOST, detach_of_a_lease_over) \
  X(dibs_hold_detach, DIBS_ERR_STALE, detach_of_a_released) \
  X(dibs_hold_detach, DIBS_ERR_ARGUMENT, detach_of_a_shared_reader) \
  NOT_HERE(dibs_hold_detach, DIBS_ERR_UNSUPPORTED, live/multi_lock_slots) \
  NOT_HERE(dibs_hold_detach, DIBS_ERR_NO_MEMORY, live/refused_memory) \
  X(dibs_token_renew, DIBS_OK, renew_of_a_lease) \
  X(dibs_token_renew, DIBS_OK, renew_after_the_end) \
  X(dibs_token_renew, DIBS_EXPIRED, renew_of_a_released_lease) \
  X(dibs_token_renew, DIBS_LOST, renew_with_an_era_guard) \
  X(dibs_token_renew, DIBS_TAKEN, renew_of_a_taken_name) \
  X(dibs_token_renew, DIBS_LOST, renew_of_a_followed_lease) \
  X(dibs_token_renew, DIBS_UNKNOWN, renew_without_a_reply) \
  X(dibs_token_renew, DIBS_ERR_ARGUMENT, renew_without_a_token) \
  NOT_HERE(dibs_token_renew, DIBS_ERR_UNSUPPORTED, live/quorum) \
  X(dibs_token_release, DIBS_OK, token_release_of_a_lease) \
  X(dibs_token_release, DIBS_OK, second_token_release) \
  X(dibs_token_release, DIBS_OK, token_release_after_a_loss) \
  X(dibs_token_release, DIBS_LOST, token_release_after_a_loss_and_another) \
  X(dibs_token_release, DIBS_TAKEN, token_release_of_a_taken_name) \
  X(dibs_token_release, DIBS_LOST, token_release_of_a_followed_lease) \
  X(dibs_token_release, DIBS_UNKNOWN, token_release_without_a_reply) \
  X(dibs_token_release, DIBS_ERR_ARGUMENT, token_release_without_a_token) \
  NOT_HERE(dibs_token_release, DIBS_ERR_UNSUPPORTED, live/quorum) \
  X(dibs_canceller_new, DIBS_OK, canceller) \
  NOT_HERE(dibs_canceller_new, DIBS_ERR_NO_MEMORY, it has no allocator to refuse it) \
  X(dibs_canceller_new, DIBS_ERR_SYSTEM, canceller_without_descriptors) \
  X(dibs_inspect, DIBS_OK, inspect) \
  X(dibs_inspect, DIBS_ERR_WRONG_TYPE, inspect_of_another_type) \
  X(dibs_inspect, DIBS_ERR_ARGUMENT, inspect_without_a_name) \
  X(dibs_inspect, DIBS_ERR_UNREACHABLE, inspect_without_a_reply) \
  X(dibs_list, DIBS_OK, list) \
  X(dibs_list, DIBS_ERR_ARGUMENT, list_of_all_in_a_dialect) \
  X(dibs_list, DIBS_ERR_UNREACHABLE, list_without_a_reply) \
  X(dibs_break, DIBS_OK, break_of_a_lease) \
  X(dibs_break, DIBS_EXPIRED, second_break) \
  X(dibs_break, DIBS_LOST, second_break_with_an_era_guard) \
  X(dibs_break, DIBS_LOST, break_of_a_lease_before) \
  X(dibs_break, DIBS_TAKEN, break_of_a_taken_name) \
  X(dibs_break, DIBS_UNKNOWN, break_without_a_reply) \
  NOT_HERE(dibs_break, DIBS_ERR_UNSUPPORTED, live/quorum)

#define ROW(function, outcome, situation) { #function, #situation, outcome, situation },
#define NO_ROW(function, outcome, why)

static const struct row {
  const char *function, *situation;
  dibs_status outcome;
  dibs_status (*run)(void);
} rows[] = { ROWS(ROW, NO_ROW) };

static void each_outcome_comes_in_its_situation(void **state)
{
  int faults = live_faults();

  (void)state;
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    dibs_status status;

    name = rows[i].situation;
    status = rows[i].run();
    if (status != rows[i].outcome)
      live_fault("%s, %s: %s instead of %s", rows[i].function, rows[i].situation,
                 dibs_status_name(status), dibs_status_name(rows[i].outcome));
    if (rows[i].run == lock && status == DIBS_OK)
      assert_int_equal(release(), DIBS_OK);
  }
  assert_int_equal(live_faults() - faults, 0);
}

static int setup(void **state)
{
  dibs_options patient = live_options();

  (void)live_server_setup(state);
  patient.connect_timeout_ms = patient.command_timeout_ms = LIVE_LONG_MS;
  client = live_open_with(live_url(), &patient);
  other = live_open_with(live_url(), &patient);
  quick = live_open(live_url());
  return 0;
}

static int teardown(void **state)
{
  test_server_resume(live_server);
  client = dibs_close(client);
  other = dibs_close(other);
  quick = dibs_close(quick);
  return live_server_teardown(state);
}

int main(void)
{
  if (live_is_beyond(LIVE_ONE))
    return 0;
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_outcome_comes_in_its_situation),
  };

  return cmocka_run_group_tests(tests, setup, teardown);
}
