/* SPDX-License-Identifier: MIT */
/* test/live/kinds_test.c - what holds for each kind of hold alike: mutexes, readers, writers,
 * permits, sets and idle leases, with a thread and without, across fork, close and break. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live.h"

enum { TTL_MS = 20000 };

typedef enum kind { MUTEX, IDLE, READER, WRITER, PERMITS, SET, KINDS } kind;

static const char *const set[] = { "s:1", "s:2" };
static dibs_client *a, *b;

static int setup(void **state)
{
  (void)live_server_setup(state);
  a = live_open(live_url());
  b = live_open(live_url());
  if (dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL) != DIBS_OK)
    assert_int_equal(live_place(), LIVE_QUORUM);       /* where the tests say so */
  return 0;
}

static int teardown(void **state)
{
  a = dibs_close(a);
  b = dibs_close(b);
  (void)test_server_command(live_server, "DEL %s", live_key("permits"));
  live_expect_clean(live_server);
  return live_server_teardown(state);
}

/* The name to look at of what `k` takes. */
static const char *name_of(kind k)
{
  static const char *const names[KINDS] = { "mutex", "idle", "page", "page", "permits", "s:1" };

  return names[k];
}

static dibs_status begin(dibs_client *c, kind k, const dibs_lock_options *options,
                         dibs_lock_callback callback, void *data)
{
  dibs_lock_options o = *options;
  const char *name = name_of(k);

  switch (k) {
  case IDLE:
    o.linger_ms = TTL_MS;
    return dibs_lock_async(c, name, &o, callback, data, NULL);
  case READER:
    return dibs_acquire_async(c, DIBS_READ(name), &o, callback, data, NULL);
  case WRITER:
    return dibs_acquire_async(c, DIBS_WRITE(name), &o, callback, data, NULL);
  case PERMITS:
    return dibs_acquire_async(c, DIBS_PERMITS(name, 2), &o, callback, data, NULL);
  case SET:
    return acquire_names_async(c, set, 2, &o, callback, data, NULL);
  default:
    return dibs_lock_async(c, name, &o, callback, data, NULL);
  }
}

static dibs_status take(dibs_client *c, kind k, int wait_ms, dibs_hold **ret_hold)
{
  dibs_lock_options o = live_lock_options(TTL_MS, wait_ms);
  const char *name = name_of(k);

  switch (k) {
  case IDLE:
    o.linger_ms = TTL_MS;
    return dibs_lock(c, name, &o, ret_hold);
  case READER:
    return dibs_acquire(c, DIBS_READ(name), &o, ret_hold);
  case WRITER:
    return dibs_acquire(c, DIBS_WRITE(name), &o, ret_hold);
  case PERMITS:
    return dibs_acquire(c, DIBS_PERMITS(name, 2), &o, ret_hold);
  case SET:
    return acquire_names(c, set, 2, &o, ret_hold);
  default:
    return dibs_lock(c, name, &o, ret_hold);
  }
}

static dibs_hold *have(dibs_client *c, kind k)
{
  dibs_hold *hold = NULL;

  live_expect(c, take(c, k, LIVE_LONG_MS, &hold), DIBS_OK);
  assert_int_equal(live_info(hold).units, k == PERMITS ? 2 : 1);
  return hold;
}

/* Somebody who keeps a taker of `k` waiting. */
static dibs_hold *block(dibs_client *c, kind k)
{
  return have(c, k == READER ? WRITER : k);
}

/* ---- clients without a thread ---- */

struct outcome { dibs_status status, released; dibs_hold *hold; int calls; };

static void granted(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct outcome *o = data;

  o->status = error->status;
  o->hold = hold;
  o->calls++;
}

static void was_released(const dibs_error *error, void *data)
{
  struct outcome *o = data;

  o->released = error->status;
  o->calls++;
}

static void drive(dibs_client *c, const struct outcome *o, int calls)
{
  int64_t until = live_now_ms() + LIVE_LONG_MS;

  while (o->calls < calls && live_now_ms() < until) {
    struct pollfd fd = { .fd = dibs_fd(c), .events = POLLIN };

    (void)poll(&fd, 1, 20);
    (void)dibs_process(c, NULL);
  }
  assert_int_equal(o->calls, calls);
}

TEST(a_loop_without_a_thread_takes_waits_for_and_gives_back_each_kind)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  dibs_options options = live_options();
  dibs_lock_options wish = live_lock_options(TTL_MS, LIVE_LONG_MS);
  dibs_client *c;

  options.flags |= DIBS_CLIENT_NO_THREAD;
  c = live_open_with(live_url(), &options);
  for (kind k = 0; k < KINDS; k++) {
    dibs_hold *blocker = block(b, k);
    struct outcome o = { .calls = 0 };

    live_expect(c, begin(c, k, &wish, granted, &o), DIBS_OK);
    for (int i = 0; i < 10; i++)
      (void)dibs_process(c, NULL);
    assert_int_equal(o.calls, 0);
    assert_int_equal(dibs_release(blocker), DIBS_OK);
    drive(c, &o, 1);
    assert_int_equal(o.status, DIBS_OK);
    assert_true(dibs_hold_valid_ms(o.hold) > 0);
    if (k == WRITER)
      live_expect(c, dibs_downgrade(o.hold), DIBS_OK);
    assert_int_equal(dibs_release_async(o.hold, was_released, &o), DIBS_OK);
    drive(c, &o, 2);
    assert_int_equal(o.released, DIBS_OK);
    assert_int_equal(dibs_hold_state(o.hold), DIBS_HOLD_GONE);
  }
  assert_null(dibs_close(c));
}

/* ---- close ---- */

struct waiting { kind k; size_t count; };

static bool is_waited_for(void *data)
{
  const struct waiting *w = data;
  dibs_inspection *seen = NULL;
  size_t count = SIZE_MAX;

  if (dibs_inspect(b, dibs_text(name_of(w->k)), &seen) == DIBS_OK)
    count = seen->waiter_count;
  (void)dibs_inspection_free(seen);
  return count == w->count;
}

/* A set stands in the queue of the first name that somebody else has. */
static void expect_waiters(kind k, size_t count)
{
  struct waiting w = { k, count };

  assert_true(live_until(LIVE_LONG_MS, is_waited_for, &w));
}

TEST(close_ends_who_waits_and_gives_back_who_holds)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  dibs_lock_options wish = live_lock_options(TTL_MS, 0);

  for (kind k = 0; k < KINDS; k++) {
    dibs_client *c = live_open(live_url());
    dibs_hold *blocker = block(b, k);
    struct outcome o = { .calls = 0 };

    live_expect(c, begin(c, k, &wish, granted, &o), DIBS_OK);
    expect_waiters(k, 1);
    c = dibs_close(c);
    assert_int_equal(o.calls, 1);
    assert_int_equal(o.status, DIBS_ERR_CLOSED);
    expect_waiters(k, 0);
    assert_int_equal(dibs_release(blocker), DIBS_OK);

    c = live_open(live_url());
    (void)have(c, k);
    c = dibs_close(c);
    blocker = block(b, k);
    assert_int_equal(dibs_release(blocker), DIBS_OK);
  }
}

/* ---- fork ---- */

#define CHECK(fact) \
  do { \
    if (!(fact)) \
      _exit(__LINE__ % 250 + 1); \
  } while (0)

static void ask_in_a_child(kind k, dibs_hold *hold)
{
  dibs_lock_options wish = live_lock_options(TTL_MS, 0);
  struct outcome o = { .calls = 0 };
  char token[DIBS_TOKEN_SIZE];
  dibs_hold *none = NULL;

  CHECK(dibs_hold_state(hold) == DIBS_HOLD_GONE);
  CHECK(live_info(hold).units == 0);
  CHECK(dibs_downgrade(hold) == DIBS_ERR_FORKED);
  CHECK(dibs_hold_token(hold, token, sizeof(token)) == DIBS_ERR_FORKED);
  CHECK(dibs_hold_detach(hold) == DIBS_ERR_FORKED);
  CHECK(dibs_release(hold) == DIBS_ERR_FORKED);
  CHECK(take(a, k, 0, &none) == DIBS_ERR_FORKED && none == NULL);
  CHECK(begin(a, k, &wish, granted, &o) == DIBS_ERR_FORKED && o.calls == 0);
  CHECK(dibs_semaphore_set(a, dibs_text("permits"), 9, 0, NULL) == DIBS_ERR_FORKED);
  CHECK(dibs_acquire(a, DIBS_PERMITS("permits", DIBS_UNITS_ALL_FREE), NULL,
                     &none) == DIBS_ERR_FORKED);
  CHECK(dibs_token_release(a, "lease:AAAAAAAAAAAAAAAAAAAAAA:1:1:x") == DIBS_ERR_FORKED);
  CHECK(dibs_close(a) == NULL);
  _exit(0);
}

TEST(a_child_has_none_of_them_and_takes_none_away)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  for (kind k = 0; k < KINDS; k++) {
    dibs_hold *hold = have(a, k), *none = NULL;
    pid_t child;
    int status;

    (void)fflush(NULL);
    child = fork();
    assert_true(child >= 0);
    if (child == 0)
      ask_in_a_child(k, hold);
    assert_int_equal(promise_waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
    live_expect_refused(b, take(b, k == READER ? WRITER : k, 300, &none), DIBS_TIMED_OUT);
    assert_int_equal(dibs_release(hold), DIBS_OK);
  }
}

/* ---- break ---- */

TEST(a_lease_is_broken_once_and_by_its_very_name)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  for (kind k = 0; k < KINDS; k++) {
    dibs_inspection *seen = NULL;
    dibs_hold *hold = have(a, k), *next = NULL;
    bool is_exclusive = k == MUTEX || k == IDLE || k == SET;
    char lease[128];

    live_expect(b, dibs_inspect(b, dibs_text(name_of(k)), &seen), DIBS_OK);
    (void)snprintf(lease, sizeof(lease), "%s", seen->lease);
    seen = dibs_inspection_free(seen);
    live_expect(b, dibs_break(b, dibs_text(name_of(k)), lease), DIBS_OK);
    live_expect(b, dibs_break(b, dibs_text(name_of(k)), lease),
                is_exclusive ? DIBS_EXPIRED : DIBS_LOST);
    if (k == SET) {                       /* the owner gives the others back when it knows */
      assert_int_not_equal(dibs_release(hold), DIBS_OK);
      hold = NULL;
    }
    live_expect(b, take(b, k == READER ? WRITER : k, LIVE_LONG_MS, &next), DIBS_OK);
    live_expect(a, dibs_break(a, dibs_text(name_of(k)), lease),
                is_exclusive ? DIBS_TAKEN : DIBS_LOST);
    assert_int_equal(dibs_hold_state(next), DIBS_HOLD_HELD);
    if (hold != NULL) {
      dibs_status status = dibs_release(hold);

      /* A lingering lease is kept without asking, maybe before the message of the break. */
      if (status != DIBS_TAKEN && status != DIBS_LOST && !(k == IDLE && status == DIBS_OK))
        fail_msg("kind %d: %s", (int)k, dibs_status_name(status));
    }
    assert_int_equal(dibs_release(next), DIBS_OK);
  }
}

/* ---- tokens and readers together ---- */

static dibs_hold *read_as(dibs_client *c, const char *owner, uint32_t flags)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *hold = NULL;

  o.owner = owner;
  o.owner_size = 1;
  o.flags = flags;
  live_expect(c, dibs_acquire(c, DIBS_READ("page"), &o, &hold), DIBS_OK);
  return hold;
}

/* Readers of one client share a lease when they come together; one of them cannot give away
 * what the other one still believes in. */
TEST(a_token_never_ends_another_readers_lease)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  dibs_options options = live_options();
  dibs_hold *one, *two, *none = NULL;
  char token[DIBS_TOKEN_SIZE];
  dibs_client *c;

  options.local_handover_ms = 5000;
  c = live_open_with(live_url(), &options);
  one = read_as(c, "1", 0);
  two = read_as(c, "2", 0);
  assert_int_equal(dibs_hold_fence(one) / 1024, dibs_hold_fence(two) / 1024);
  live_expect(c, dibs_hold_token(one, token, sizeof(token)), DIBS_ERR_ARGUMENT);
  live_expect_words(c, "share");
  live_expect(c, dibs_hold_detach(two), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_hold_state(two), DIBS_HOLD_HELD);
  assert_int_equal(live_info(two).depth, 1);
  assert_int_equal(dibs_release(two), DIBS_OK);

  live_expect(c, dibs_hold_token(one, token, sizeof(token)), DIBS_OK);
  two = read_as(c, "2", 0);
  assert_int_not_equal(dibs_hold_fence(one) / 1024, dibs_hold_fence(two) / 1024);
  live_expect(c, live_detach(one), DIBS_OK);
  live_expect(b, dibs_token_release(b, token), DIBS_OK);
  live_expect_refused(b, acquire_now(b, DIBS_WRITE(name_of(WRITER)), NULL, &none), DIBS_BUSY);
  assert_int_equal(dibs_release(two), DIBS_OK);

  one = read_as(c, "1", 0);
  two = read_as(c, "2", DIBS_LOCK_NO_REENTRY);
  assert_int_not_equal(dibs_hold_fence(one) / 1024, dibs_hold_fence(two) / 1024);
  live_expect(c, dibs_hold_token(two, token, sizeof(token)), DIBS_OK);
  assert_int_equal(dibs_release(one), DIBS_OK);
  assert_int_equal(dibs_release(two), DIBS_OK);
  assert_null(dibs_close(c));
}

/* ---- what is wrong ---- */

static void never_called(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)hold;
  (void)data;
  live_fault("called: %s", dibs_status_name(error->status));
}

static void expect_name_refused(const char *name)
{
  const char *const names[] = { "fine", name };
  dibs_hold *none = NULL;
  uint32_t permits = 0;

  live_expect(a, dibs_acquire(a, DIBS_READ(name), NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_now(a, DIBS_WRITE(name), NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS(name, 1), NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS(name, DIBS_UNITS_ALL_FREE), NULL, &none),
              DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names(a, names, 2, NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_semaphore_set(a, dibs_text(name), 1, 0, NULL), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_semaphore_set(a, dibs_text(name), 1, DIBS_SEMAPHORE_IF_ABSENT, &permits),
              DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_semaphore_delete(a, dibs_text(name)), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire_async(a, DIBS_READ(name), NULL, never_called, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names_async(a, names, 2, NULL, never_called, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  assert_null(none);
}

TEST(names_and_counts_out_of_range_are_refused)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  static const char *many[DIBS_MANY_MAX + 1];
  char longest[DIBS_NAME_MAX + 2];
  dibs_hold *none = NULL;

  memset(longest, 'n', sizeof(longest));
  longest[sizeof(longest) - 1] = '\0';
  expect_name_refused(NULL);
  expect_name_refused("");
  expect_name_refused("}x");
  expect_name_refused(longest);
  for (int i = 0; i <= DIBS_MANY_MAX; i++)
    many[i] = "same";
  live_expect(a, acquire_names(a, many, DIBS_MANY_MAX + 1, NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names(a, many, (size_t)-1, NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names(a, many, 0, NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names(a, NULL, 1, NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("permits", DIBS_PERMITS_MAX + 1), NULL, &none),
              DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("permits", 3), NULL, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("permits", UINT32_MAX - 1), NULL, &none),
              DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("no count", 1), NULL, &none), DIBS_ERR_NOT_SET);
  live_expect(a, dibs_acquire(a, DIBS_READ("fine"), NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names(a, set, 2, NULL, NULL), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire_async(a, DIBS_READ("fine"), NULL, NULL, NULL, NULL),
              DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_acquire(NULL, DIBS_WRITE("fine"), NULL, &none), DIBS_ERR_ARGUMENT);
  assert_int_equal(acquire_names(NULL, set, 2, NULL, &none), DIBS_ERR_ARGUMENT);
  assert_int_equal(dibs_semaphore_set(NULL, dibs_text("permits"), 2, 0, NULL), DIBS_ERR_ARGUMENT);
  assert_null(none);
  assert_int_equal(live_faults(), 0);
}

TEST(options_that_a_kind_has_not_are_refused)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  dibs_lock_options o = live_lock_options(TTL_MS, 0);
  dibs_hold *none = NULL;

  o.linger_ms = 1000;
  live_expect(a, dibs_acquire(a, DIBS_READ("page"), &o, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_WRITE("page"), &o, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, dibs_acquire(a, DIBS_PERMITS("permits", 1), &o, &none), DIBS_ERR_ARGUMENT);
  live_expect(a, acquire_names(a, set, 2, &o, &none), DIBS_ERR_ARGUMENT);
  live_expect_words(a, "linger_ms");
  o.linger_ms = -7;
  live_expect(a, dibs_lock(a, "mutex", &o, &none), DIBS_ERR_ARGUMENT);
  assert_null(none);
}

TEST(a_hold_of_another_kind_is_not_downgraded)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  assert_int_equal(dibs_downgrade(NULL), DIBS_ERR_STALE);
  for (kind k = 0; k < KINDS; k++) {
    bool can = k == READER || k == WRITER;
    dibs_hold *hold = have(a, k);

    live_expect(a, dibs_downgrade(hold), can ? DIBS_OK : DIBS_ERR_ARGUMENT);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    assert_int_equal(dibs_downgrade(hold), DIBS_ERR_STALE);
    assert_int_equal(live_info(hold).units, 0);
  }
}

/* ---- inside a callback ---- */

struct visit { struct live_ask ask; dibs_status answers[12]; };

static void block_in_callback(const dibs_error *error, dibs_hold *hold, void *data)
{
  struct visit *v = data;
  dibs_status *at = v->answers;
  dibs_hold *none = NULL;
  uint32_t permits;

  for (kind k = 0; k < KINDS; k++)
    *at++ = take(a, k, 10, &none);
  *at++ = acquire_now(a, DIBS_READ("other"), NULL, &none);
  *at++ = acquire_names_now(a, set, 2, NULL, &none);
  *at++ = dibs_acquire(a, DIBS_PERMITS("permits", DIBS_UNITS_ALL_FREE), NULL, &none);
  *at++ = dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL);
  *at++ = dibs_semaphore_set(a, dibs_text("permits"), 2, DIBS_SEMAPHORE_IF_ABSENT, &permits);
  *at++ = dibs_semaphore_delete(a, dibs_text("permits"));
  if (error->status != DIBS_OK || dibs_downgrade(hold) != DIBS_OK || dibs_release(hold) != DIBS_OK)
    live_fault("downgrade or release in a callback");
  (void)pthread_mutex_lock(&v->ask.mutex);
  v->ask.callbacks++;
  (void)pthread_cond_broadcast(&v->ask.changed);
  (void)pthread_mutex_unlock(&v->ask.mutex);
}

TEST(blocking_calls_in_a_callback_are_refused)
{
  live_needs_answer(dibs_semaphore_set(a, dibs_text("permits"), 2, 0, NULL));
  static struct visit v;

  live_ask_init(&v.ask);
  live_expect(a, dibs_acquire_async(a, DIBS_WRITE("page"), NULL, block_in_callback, &v, NULL),
              DIBS_OK);
  assert_true(live_ask_wait(&v.ask, LIVE_LONG_MS));
  for (size_t i = 0; i < sizeof(v.answers) / sizeof(v.answers[0]); i++)
    assert_int_equal(v.answers[i], DIBS_ERR_WOULD_BLOCK);
  assert_int_equal(live_faults(), 0);
}

RUN_TESTS_EACH(NULL, NULL, setup, teardown)
