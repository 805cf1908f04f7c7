/* SPDX-License-Identifier: MIT */
/* test/live/refused_memory_test.c - whichever allocation is refused, nothing
 * crashes, hangs or leaks, and the next client works. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>

#include <poll.h>

#include <dibs/dibs.h>

#include "failing_heap.h"
#include "server.h"
#include "take.h"

static struct test_server *server;

/* Each run its own name: a lease that a broken run left behind must not hold up others. */
static dibs_status one_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_inspection *in = NULL;
  dibs_hold *hold = NULL;
  dibs_status status, released;
  char name[32];

  options.wait_ms = 300;
  options.note = "short of memory";
  (void)snprintf(name, sizeof(name), "run:%d", run);
  status = dibs_lock(client, name, &options, &hold);
  if (status != DIBS_OK)
    return status;
  status = dibs_inspect(client, dibs_text(name), &in);
  in = dibs_inspection_free(in);
  released = dibs_release(hold);
  return released != DIBS_OK ? released : status;
}

/* Keeps the first that is not DIBS_OK. */
static void also(dibs_status *all, dibs_status one)
{
  if (*all == DIBS_OK)
    *all = one;
}

/* Reads twice, is detached once, by its token given back; writes, downgrades. */
static dibs_status rwlock_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL, *inner = NULL;
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;
  char name[32], token[DIBS_TOKEN_SIZE];
  dibs_status status;

  options.wait_ms = 300;
  (void)snprintf(name, sizeof(name), "rwlock:%d", run);
  status = dibs_acquire(client, DIBS_WRITE(name), &options, &hold);
  if (status != DIBS_OK)
    return status;
  status = dibs_acquire(client, DIBS_READ(name), &options, &inner);
  if (status == DIBS_OK)
    also(&status, dibs_release(inner));
  also(&status, dibs_downgrade(hold));
  also(&status, dibs_release(hold));
  if (status == DIBS_OK)
    status = dibs_acquire(client, DIBS_READ(name), &options, &hold);
  if (status != DIBS_OK)
    return status;
  also(&status, dibs_hold_token(hold, token, sizeof(token)));
  if (dibs_hold_detach(hold) == DIBS_ERR_NO_MEMORY) {      /* it is held as before */
    also(&status, DIBS_ERR_NO_MEMORY);
    assert_int_equal(dibs_hold_get_info(hold, &info), DIBS_OK);
    assert_int_equal(info.depth, 1);
    also(&status, dibs_release(hold));
    return status;
  }
  also(&status, dibs_token_renew(client, token, 1000, NULL));
  also(&status, dibs_token_release(client, token));
  return status;
}

static dibs_status permits_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL, *rest = NULL;
  dibs_status status;
  char name[32];

  options.wait_ms = 300;
  (void)snprintf(name, sizeof(name), "permits:%d", run);
  status = dibs_semaphore_set(client, dibs_text(name), 3, 0, NULL);
  if (status == DIBS_OK)
    status = dibs_acquire(client, DIBS_PERMITS(name, 2), &options, &hold);
  if (status != DIBS_OK)
    return status;
  status = dibs_acquire(client, DIBS_PERMITS(name, DIBS_UNITS_ALL_FREE), &options, &rest);
  if (status == DIBS_OK)
    also(&status, dibs_release(rest));
  also(&status, dibs_release(hold));
  also(&status, dibs_semaphore_delete(client, dibs_text(name)));
  return status;
}

static dibs_status many_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  const char *names[3];
  char bytes[3][32], token[DIBS_TOKEN_SIZE];
  dibs_hold *hold = NULL, *one = NULL;
  dibs_status status, waited;

  options.wait_ms = 300;
  for (int i = 0; i < 3; i++) {
    (void)snprintf(bytes[i], sizeof(bytes[i]), "set:%d:%d", run, i);
    names[i] = bytes[i];
  }
  status = dibs_lock(client, names[1], &options, &one);
  if (status != DIBS_OK)
    return status;
  options.wait_ms = 20;
  options.owner = "another";
  options.owner_size = 7;
  waited = acquire_names(client, names, 3, &options, &hold);
  status = waited == DIBS_TIMED_OUT ? DIBS_OK : waited == DIBS_OK ? DIBS_ERR_SERVER : waited;
  also(&status, dibs_release(one));
  if (status == DIBS_OK)
    status = acquire_names(client, names, 3, &options, &hold);
  if (status != DIBS_OK)
    return status;
  also(&status, dibs_hold_token(hold, token, sizeof(token)));
  also(&status, dibs_release(hold));
  return status;
}

/* Taken again while it lingers, and given up when a set wants it. */
static dibs_status linger_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_status status = DIBS_OK;
  const char *names[1];
  dibs_hold *hold = NULL;
  char name[32];

  options.wait_ms = 300;
  options.linger_ms = 60000;
  (void)snprintf(name, sizeof(name), "linger:%d", run);
  for (int i = 0; i < 3 && status == DIBS_OK; i++) {
    status = dibs_lock(client, name, &options, &hold);
    if (status == DIBS_OK)
      status = dibs_release(hold);
  }
  options.linger_ms = 0;
  names[0] = name;
  if (status == DIBS_OK)
    status = acquire_names(client, names, 1, &options, &hold);
  if (status == DIBS_OK)
    status = dibs_release(hold);
  return status;
}

static void ended(const dibs_error *error, void *data)
{
  *(int *)data = error->status;
}

/* Times out blocked, and is released with a callback. */
static dibs_status latch_pass(dibs_client *client, int run)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_status status, waited;
  static int told;               /* told by dibs_close() at the latest */
  char name[32];

  told = -99;
  options.wait_ms = 20;
  (void)snprintf(name, sizeof(name), "latch:%d", run);
  status = dibs_latch_set(client, name, 1);
  if (status != DIBS_OK)
    return status;
  waited = dibs_latch_await(client, name, &options);
  status = dibs_latch_down(client, name, 1, "id", NULL);
  if (status == DIBS_OK)
    status = dibs_latch_await_async(client, name, NULL, ended, &told, NULL);
  for (int i = 0; i < 100 && status == DIBS_OK && told == -99; i++) {
    struct pollfd fd = { .fd = dibs_fd(client), .events = POLLIN };

    (void)dibs_process(client, NULL);
    (void)poll(&fd, 1, 5);
  }
  if (status != DIBS_OK || waited != DIBS_TIMED_OUT)
    return status != DIBS_OK ? status : DIBS_ERR_SERVER;
  return (dibs_status)told;
}

/* Takes at once, waits with a callback, and times out blocked. */
static dibs_status rate_pass(dibs_client *client, int run)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_rate rate = DIBS_RATE_INIT;
  dibs_status status, waited;
  static int told;               /* told by dibs_close() at the latest */
  char name[32];

  told = -99;
  options.wait_ms = 2;
  rate.permits = 1;
  rate.interval_ms = 20;
  (void)snprintf(name, sizeof(name), "rate:%d", run);
  status = dibs_rate_limiter_set(client, name, &rate, DIBS_RATE_RESET);
  if (status == DIBS_OK)
    status = dibs_rate_limiter_acquire(client, name, 1, NULL, NULL);
  if (status != DIBS_OK)
    return status;
  waited = dibs_rate_limiter_acquire(client, name, 1, &options, NULL);
  status = dibs_rate_limiter_acquire_async(client, name, 1, NULL, ended, &told, NULL);
  for (int i = 0; i < 200 && status == DIBS_OK && told == -99; i++) {
    struct pollfd fd = { .fd = dibs_fd(client), .events = POLLIN };

    (void)dibs_process(client, NULL);
    (void)poll(&fd, 1, 5);
  }
  if (status != DIBS_OK)
    return status;
  return waited == DIBS_TIMED_OUT || waited == DIBS_OK ? (dibs_status)told : waited;
}

/* Passes alone, gives up when it has to wait, and mends what that broke. */
static dibs_status barrier_pass(dibs_client *client, int run)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_status status, waited;
  char name[32];

  options.wait_ms = 20;
  (void)snprintf(name, sizeof(name), "barrier:%d", run);
  status = dibs_barrier_await(client, name, 1, NULL, NULL);
  if (status != DIBS_OK)
    return status;
  waited = dibs_barrier_await(client, name, 2, &options, NULL);
  status = dibs_barrier_reset(client, name);
  if (status != DIBS_OK || waited != DIBS_TIMED_OUT)
    return status != DIBS_OK ? status : DIBS_ERR_SERVER;
  return DIBS_OK;
}

static void elected(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)hold;
  *(int *)data = error->status;
}

/* Leads, tells, is looked at and observed; leads again by a callback, until the close. */
static dibs_status election_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_observer *observer = NULL;
  dibs_leader *leader = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;
  static int told;               /* told by dibs_close() at the latest */
  char name[32];

  told = -99;
  options.wait_ms = 300;
  (void)snprintf(name, sizeof(name), "election:%d", run);
  status = dibs_observe(client, name, NULL, NULL, NULL, &observer);
  if (status == DIBS_OK)
    status = dibs_acquire(client, DIBS_LEAD(name, "here"), &options, &hold);
  if (status == DIBS_OK)
    status = dibs_get_leader(client, name, &leader);
  leader = dibs_leader_free(leader);
  if (status == DIBS_OK)
    status = dibs_publish(hold, "there");
  if (status == DIBS_OK && dibs_observer_next(observer, &leader) != DIBS_OK)
    status = DIBS_ERR_SERVER;
  leader = dibs_leader_free(leader);
  if (hold != NULL && dibs_release(hold) != DIBS_OK && status == DIBS_OK)
    status = DIBS_ERR_SERVER;
  observer = dibs_observer_free(observer);
  if (status == DIBS_OK)
    status = dibs_acquire_async(client, DIBS_LEAD(name, "again"), &options, elected, &told,
                                NULL);
  for (int i = 0; i < 100 && status == DIBS_OK && told == -99; i++) {
    struct pollfd fd = { .fd = dibs_fd(client), .events = POLLIN };

    (void)dibs_process(client, NULL);
    (void)poll(&fd, 1, 5);
  }
  return status != DIBS_OK ? status : (dibs_status)told;
}

static bool see(dibs_bytes key, dibs_bytes value, void *data)
{
  *(int *)data += key.size == 1 && value.size == 3;
  return true;
}

/* By a command, by a script, by pages and by waiting. */
static dibs_status data_pass(dibs_client *client, int run)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_value *value = NULL;
  char map[32], list[32];
  dibs_status status;
  int seen = 0;

  options.wait_ms = 20;
  (void)snprintf(map, sizeof(map), "map:%d", run);
  (void)snprintf(list, sizeof(list), "list:%d", run);
  status = dibs_map_put(client, map, dibs_text("k"), dibs_text("old"), NULL);
  if (status == DIBS_OK)
    status = dibs_map_each(client, map, see, &seen);
  if (status == DIBS_OK)
    status = dibs_list_take(client, list, &options, &value);
  if (status != DIBS_TIMED_OUT)
    return status == DIBS_OK ? DIBS_ERR_SERVER : status;
  status = dibs_list_add(client, list, dibs_text("work"), NULL);
  if (status == DIBS_OK)
    status = dibs_list_take(client, list, &options, &value);
  value = dibs_value_free(value);
  return status == DIBS_OK && seen != 1 ? DIBS_ERR_SERVER : status;
}

static void on_line(const dibs_log_line *line, void *data)
{
  (void)line;
  assert_int_equal(*(int *)data, 0);
}

static void count_free(void *freed)
{
  (*(int *)freed)++;
}

/* Each lock has lines, and lines over the limit. */
static dibs_status log_pass(dibs_client *client, int run)
{
  dibs_log_options options = DIBS_LOG_OPTIONS_INIT;
  dibs_status status;
  int freed = 0;

  options.level = DIBS_LOG_DEBUG;
  options.lines_max = 1;
  status = dibs_client_set_log(client, &options, on_line, &freed, count_free);
  for (int i = 0; i < 3 && status == DIBS_OK; i++)
    status = one_pass(client, run);
  if (freed == 0)
    assert_int_equal(dibs_client_set_log(client, NULL, NULL, NULL, NULL), DIBS_OK);
  (void)dibs_process(client, NULL);
  assert_int_equal(freed, 1);
  return status;
}

static bool take_line(const char *text, size_t size, void *data)
{
  *(size_t *)data += size;
  return text != NULL;
}

/* What this client knows itself. */
static dibs_status memory_read(dibs_client *client)
{
  static char url[DIBS_URL_SIZE];
  dibs_metrics *metrics = NULL;
  dibs_names *names = NULL;
  size_t seen = 0;
  dibs_status status = dibs_metrics_read(client, &metrics);

  also(&status, dibs_metrics_write(client, 0, take_line, &seen));
  also(&status, dibs_names_list(client, &names));
  also(&status, dibs_full_url(client, true, url, sizeof(url)));
  metrics = dibs_metrics_free(metrics);
  names = dibs_names_free(names);
  return status;
}

/* Reads its own numbers while it holds a lock, and those of the fleet. */
static dibs_status reading_pass(dibs_client *client, int run)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;
  dibs_history *history = NULL;
  dibs_fleet *fleet = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;
  char name[32];

  options.wait_ms = 300;
  (void)snprintf(name, sizeof(name), "reading:%d", run);
  status = dibs_lock(client, name, &options, &hold);
  if (status != DIBS_OK)
    return status;
  status = memory_read(client);
  also(&status, dibs_release(hold));
  also(&status, dibs_fleet_read(client, &fleet));
  also(&status, dibs_history_read(client, NULL, &history));
  fleet = dibs_fleet_free(fleet);
  history = dibs_history_free(history);
  return status;
}

typedef struct passing {
  dibs_status (*pass)(dibs_client *client, int run);
  int runs;
} passing;

static bool lives_through(failing_heap *heap, void *data)
{
  passing *p = data;
  dibs_allocator allocator = FAILING_HEAP_AS(dibs_allocator, heap);
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL;
  dibs_status status;

  options.allocator = &allocator;
  options.connect_timeout_ms = 150;
  options.command_timeout_ms = 100;
  options.close_timeout_ms = 50;
  options.flags = DIBS_CLIENT_NO_THREAD;
  status = dibs_open(test_server_url(server), &options, &client, NULL);
  if (status == DIBS_OK)
    status = p->pass(client, ++p->runs);
  assert_null(dibs_close(client));
  return status == DIBS_OK;
}

TEST(no_refused_allocation_hurts)
{
  passing locks = { one_pass, 0 }, latches = { latch_pass, 1000 };
  passing barriers = { barrier_pass, 2000 }, elections = { election_pass, 3000 };
  passing rwlocks = { rwlock_pass, 4000 }, permits = { permits_pass, 5000 };
  passing sets = { many_pass, 6000 }, lingerers = { linger_pass, 7000 };
  passing limiters = { rate_pass, 8000 };
  passing data = { data_pass, 8000 }, logs = { log_pass, 9000 };
  passing readings = { reading_pass, 10000 };

  failing_heap_try_all(lives_through, &locks);
  assert_true(locks.runs > 10);
  failing_heap_try_all(lives_through, &latches);
  assert_true(latches.runs > 1010);
  failing_heap_try_all(lives_through, &barriers);
  assert_true(barriers.runs > 2010);
  failing_heap_try_all(lives_through, &elections);
  assert_true(elections.runs > 3010);
  failing_heap_try_all(lives_through, &rwlocks);
  assert_true(rwlocks.runs > 4010);
  failing_heap_try_all(lives_through, &permits);
  assert_true(permits.runs > 5010);
  failing_heap_try_all(lives_through, &sets);
  assert_true(sets.runs > 6010);
  failing_heap_try_all(lives_through, &lingerers);
  assert_true(lingerers.runs > 7010);
  failing_heap_try_all(lives_through, &limiters);
  assert_true(limiters.runs > 8010);
  failing_heap_try_all(lives_through, &data);
  assert_true(data.runs > 8010);
  failing_heap_try_all(lives_through, &logs);
  assert_true(logs.runs > 9010);
  failing_heap_try_all(lives_through, &readings);
  assert_true(readings.runs > 10010);
}

/* ---- a wait that ends ---- */

static void on_waited(const dibs_error *error, const dibs_barrier_info *info, void *status)
{
  (void)info;
  *(dibs_status *)status = error->status;
}

static void until_arrived(dibs_client *waiting, dibs_client *other)
{
  dibs_barrier_info seen = { .size = sizeof(seen) };

  for (int i = 0; i < 5000 && seen.arrived == 0; i++) {
    assert_int_equal(dibs_process(waiting, NULL), DIBS_OK);
    if (dibs_barrier_get(other, "leaves", &seen) != DIBS_OK)
      seen.arrived = 0;
  }
  assert_int_equal(seen.arrived, 1);
}

TEST(a_party_that_cannot_leave_the_barrier_does_not_say_that_it_has)
{
  failing_heap heap = { .fail_at = 0 };
  dibs_allocator allocator = FAILING_HEAP_AS(dibs_allocator, &heap);
  dibs_options options = DIBS_OPTIONS_INIT;
  dibs_client *client = NULL, *other = NULL;
  dibs_request *request = NULL;
  dibs_status status = DIBS_OK;

  options.flags = DIBS_CLIENT_NO_THREAD;
  assert_int_equal(dibs_open(test_server_url(server), &options, &other, NULL), DIBS_OK);
  options.allocator = &allocator;
  assert_int_equal(dibs_open(test_server_url(server), &options, &client, NULL), DIBS_OK);
  assert_int_equal(dibs_barrier_await_async(client, "leaves", 2, NULL, on_waited, &status,
                                            &request), DIBS_OK);
  until_arrived(client, other);
  heap.keeps_failing = true;
  heap.fail_at = atomic_load(&heap.asked) + 1;
  assert_int_equal(dibs_request_cancel(request), DIBS_OK);
  heap.fail_at = 0;
  for (int i = 0; i < 5000 && status == DIBS_OK; i++)
    assert_int_equal(dibs_process(client, NULL), DIBS_OK);
  assert_int_equal(status, DIBS_UNKNOWN);
  assert_null(dibs_close(client));
  assert_null(dibs_close(other));
  assert_int_equal(atomic_load(&heap.live), 0);
}

static int server_start(void **state)
{
  (void)state;
  server = test_server_start();
  return 0;
}

static int server_end(void **state)
{
  (void)state;
  server = test_server_stop(server);
  return 0;
}

RUN_TESTS(server_start, server_end)
