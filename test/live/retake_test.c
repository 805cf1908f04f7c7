/* SPDX-License-Identifier: MIT */
/* test/live/retake_test.c - taking a lingering lock again allocates and sends nothing, reads the
 * clock once, as its release does, and is seen by other threads, owners, clients, callbacks and
 * children like any other lock. */
#include "tests.h"

#include "real_clock.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "two_clients.h"

enum { TTL_MS = 20000, SOON_MS = 8000 };

static atomic_long allocations;

static void *count_allocate(size_t size, void *data)
{
  (void)data;
  atomic_fetch_add(&allocations, 1);
  return malloc(size);
}

static void *count_reallocate(void *old, size_t size, void *data)
{
  (void)data;
  atomic_fetch_add(&allocations, 1);
  return realloc(old, size);
}

static void count_release(void *old, void *data)
{
  (void)data;
  free(old);
}

static const dibs_allocator counting = { .allocate = count_allocate,
                                         .reallocate = count_reallocate,
                                         .release = count_release };

/* In place of libc's, for the library too. */
static _Thread_local long clock_reads;

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
  clock_reads += clock == CLOCK_BOOTTIME;
  return real_clock_gettime(clock, ret_time);
}

static int setup_counted(void **state)
{
  dibs_options o = live_options();

  o.allocator = &counting;
  return two_clients(state, &o);
}

static dibs_lock_options lingering(void)
{
  dibs_lock_options o = live_lock_options(TTL_MS, 0);

  o.linger_ms = 60000;
  return o;
}

static bool is_free(void *name) { return live_lease_end_us(live_server, name) == 0; }

static void cycle(const char *name, const dibs_lock_options *o)
{
  assert_int_equal(dibs_release(live_lock_with(client, name, o)), DIBS_OK);
}

/* The inbox has to stand before a lease is parked, and the first renewal to be answered. */
static void park(const char *name, const dibs_lock_options *o)
{
  char copy[32];
  int64_t until = live_now_ms() + LIVE_LONG_MS;
  uint64_t granted;

  do {
    granted = live_stats(client).granted_local;
    cycle(name, o);
    cycle(name, o);
  } while (live_stats(client).granted_local < granted + 2 && live_now_ms() < until);
  (void)snprintf(copy, sizeof(copy), "%s", name);
  assert_false(is_free(copy));
}

/* Bounded by counts, which do not depend on the machine. The background thread may renew
 * or raise the fence meanwhile: one try of several has nothing beside it. */
TEST(it_allocates_nothing_and_sends_nothing)
{
  dibs_lock_options o = lingering();
  long allocated = 1;
  uint64_t sent = 1;

  park("bounded", &o);
  for (int attempt = 0; attempt < 20 && (allocated > 0 || sent > 0); attempt++) {
    dibs_client_info before = live_stats(client);

    allocated = atomic_load(&allocations);
    for (int i = 0; i < 100; i++)
      cycle("bounded", &o);
    allocated = atomic_load(&allocations) - allocated;
    sent = live_stats(client).commands - before.commands;
    assert_int_equal(live_stats(client).granted_local - before.granted_local, 100);
    assert_int_equal(live_stats(client).released - before.released, 100);
  }
  assert_int_equal(allocated, 0);
  assert_int_equal(sent, 0);
}

/* A read costs a tenth of the pair. One of each is needed: a holder may have slept. */
TEST(a_pair_reads_the_clock_twice)
{
  dibs_lock_options o = lingering();
  long reads = 0;

  park("timed", &o);
  for (int attempt = 0; attempt < 20 && reads != 200; attempt++) {
    reads = clock_reads;
    for (int i = 0; i < 100; i++)
      cycle("timed", &o);
    reads = clock_reads - reads;
  }
  assert_int_equal(reads, 200);
}

TEST(each_hold_is_another_one)
{
  dibs_lock_options o = lingering();
  dibs_hold *before = NULL;
  char name[] = "another";

  park(name, &o);
  for (int i = 0; i < 50; i++) {
    dibs_hold *hold = live_lock_with(client, name, &o);
    char shown[16];
    size_t size = 0;

    assert_ptr_not_equal(hold, before);
    assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
    assert_true(dibs_hold_valid_ms(hold) > 0);
    assert_int_equal(live_info(hold).depth, 1);
    assert_int_equal(dibs_hold_name(hold, 0, shown, sizeof(shown), &size), DIBS_OK);
    assert_string_equal(shown, name);
    if (before != NULL) {
      assert_int_equal(dibs_hold_state(before), DIBS_HOLD_GONE);
      assert_int_equal(dibs_hold_fence(before), 0);
      assert_int_equal(dibs_release(before), DIBS_ERR_STALE);
    }
    assert_int_equal(dibs_release(hold), DIBS_OK);
    before = hold;
  }
  assert_int_equal(dibs_hold_state(before), DIBS_HOLD_GONE);
  assert_int_equal(dibs_release(before), DIBS_ERR_STALE);
}

/* Without waiting for the replies that a full set of fences costs; they come in the
 * background. */
TEST(the_server_is_not_asked_for_more_fences)
{
  dibs_lock_options o = lingering();
  uint64_t fence = 0, token = 0;
  int tokens = 0, until = 3;
  dibs_client_info before = DIBS_CLIENT_INFO_INIT;

  park("fences", &o);
  before = live_stats(client);
  for (int i = 0; i < 8000 && tokens < until; i++) {
    dibs_hold *hold = live_lock_with(client, "fences", &o);

    PROMISE_GROWN(dibs_hold_fence(hold), fence);
    fence = dibs_hold_fence(hold);
    tokens += token != 0 && fence / 1024 != token;
    token = fence / 1024;
    assert_int_equal(dibs_release(hold), DIBS_OK);
    if (fence % 1024 > 600)
      (void)live_until(5, is_free, (char[]){ "fences" });
  }
  assert_int_equal(tokens, until);
  assert_int_equal(live_stats(client).granted - live_stats(client).granted_local,
                   before.granted - before.granted_local);
}

typedef struct loop { dibs_client *client; atomic_bool must_stop; atomic_long count; } loop;

static atomic_int inside;

/* Who has "hammered" is alone. */
static void be_inside(void)
{
  promise_kept(atomic_fetch_add(&inside, 1) == 0, "two have \"hammered\"");
  (void)atomic_fetch_sub(&inside, 1);
}

static void *hammer(void *data)
{
  loop *l = data;
  dibs_lock_options o = lingering();

  while (!atomic_load(&l->must_stop)) {
    dibs_hold *hold = NULL;
    dibs_status status = dibs_lock(l->client, "hammered", &o, &hold);

    if (status == DIBS_ERR_CLOSED)
      break;
    if (status == DIBS_OK)
      be_inside();
    else
      live_fault("hammered: %s", dibs_status_text(status));
    status = dibs_release(hold);
    if (status != DIBS_OK && status != DIBS_ERR_CLOSED && status != DIBS_ERR_STALE)
      live_fault("release: %s", dibs_status_text(status));
    atomic_fetch_add(&l->count, 1);
  }
  return NULL;
}

TEST(another_client_has_its_turn_while_it_is_taken_without_a_pause)
{
  live_needs_keys();
  loop l = { .client = client };
  pthread_t threads[2];

  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, hammer, &l), 0);
  for (int i = 0; i < 5; i++) {
    int64_t began = live_now_ms();
    long count = atomic_load(&l.count);
    dibs_hold *hold = live_lock(other, "hammered", TTL_MS);

    promise_kept(atomic_fetch_add(&inside, 1) == 0, "two have \"hammered\"");
    assert_true(live_now_ms() - began < SOON_MS);
    live_expect(other, dibs_ping(other, LIVE_LONG_MS, NULL), DIBS_OK);   /* its work */
    (void)atomic_fetch_sub(&inside, 1);
    assert_int_equal(dibs_release(hold), DIBS_OK);
    while (atomic_load(&l.count) < count + 1000)
      (void)live_until(1, is_free, (char[]){ "hammered" });
  }
  atomic_store(&l.must_stop, true);
  for (int i = 0; i < 2; i++)
    assert_int_equal(pthread_join(threads[i], NULL), 0);
  assert_int_equal(live_faults(), 0);
  live_expect_free(other, "hammered", SOON_MS);
}

static void *try_it(void *data)
{
  dibs_lock_options o = lingering();
  dibs_hold *hold = NULL;
  dibs_status status;

  o.ttl_ms = TTL_MS;
  status = dibs_try_lock(client, "owner", &o, &hold);
  if (status == DIBS_OK)
    status = dibs_release(hold) == DIBS_OK ? DIBS_OK : DIBS_LOST;
  *(dibs_status *)data = status;
  return NULL;
}

static dibs_status try_of_another_thread(void)
{
  dibs_status status = DIBS_UNKNOWN;
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, try_it, &status), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  return status;
}

TEST(it_belongs_to_the_thread_that_took_it)
{
  dibs_lock_options o = lingering();
  dibs_hold *hold, *inner;

  park("owner", &o);
  assert_int_equal(try_of_another_thread(), DIBS_OK);
  hold = live_lock_with(client, "owner", &o);
  live_refused(try_of_another_thread(), DIBS_BUSY);
  inner = live_lock_with(client, "owner", &o);
  assert_int_equal(live_info(inner).depth, 2);
  assert_int_equal(dibs_hold_fence(inner), dibs_hold_fence(hold));
  assert_int_equal(dibs_release(inner), DIBS_OK);
  assert_int_equal(live_info(hold).depth, 1);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_int_equal(try_of_another_thread(), DIBS_OK);
}

static atomic_int losses;

static void count_loss(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold;
  (void)loss;
  (void)data;
  atomic_fetch_add(&losses, 1);
}

static bool is_lost(void *hold) { return dibs_hold_state(hold) == DIBS_HOLD_GONE; }
static bool has_called(void *count) { return atomic_load((atomic_int *)count) > 0; }

TEST(its_loss_is_reported_once_to_its_callback)
{
  dibs_lock_options o = lingering();
  dibs_inspection *in = NULL;
  dibs_hold *hold;

  o.on_lost = count_loss;
  park("lost", &o);
  hold = live_lock_with(client, "lost", &o);
  assert_int_equal(dibs_inspect(other, dibs_text("lost"), &in), DIBS_OK);
  live_expect_ok(dibs_break(other, dibs_text("lost"), in->lease));
  in = dibs_inspection_free(in);
  assert_true(live_until(LIVE_LONG_MS, is_lost, hold));
  assert_true(live_until(LIVE_LONG_MS, has_called, &losses));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
  assert_int_equal(atomic_load(&losses), 1);
  live_expect_free(other, "lost", SOON_MS);
}

TEST(what_needs_the_ordinary_way_has_it)
{
  dibs_lock_options o = lingering(), longer = lingering();
  char token[DIBS_TOKEN_SIZE], name[] = "ordinary";
  dibs_hold *hold;

  longer.ttl_ms = 2 * TTL_MS;
  park(name, &o);
  hold = live_lock_with(client, name, &longer);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  park(name, &o);
  hold = live_lock_with(client, name, &o);
  assert_true(dibs_hold_fd(hold) >= 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  park(name, &o);
  hold = live_lock_with(client, name, &o);
  assert_int_equal(dibs_hold_token(hold, token, sizeof(token)), DIBS_OK);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  assert_true(is_free(name));            /* a lease whose token is known does not linger */
  park(name, &o);
  hold = live_lock_with(client, name, &o);
  assert_int_equal(dibs_hold_detach(hold), DIBS_OK);
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_GONE);
  assert_false(is_free(name));
  live_tell_all("FLUSHALL");
}

TEST(a_child_has_none_of_it)
{
  dibs_lock_options o = lingering();
  dibs_hold *hold;
  int status = 0;
  pid_t child;

  park("child", &o);
  hold = live_lock_with(client, "child", &o);
  child = fork();
  if (child == 0) {
    dibs_hold *mine = NULL;
    bool is_refused = dibs_release(hold) == DIBS_ERR_FORKED &&
                      dibs_hold_state(hold) == DIBS_HOLD_GONE &&
                      dibs_lock(client, "child", &o, &mine) == DIBS_ERR_FORKED;

    (void)dibs_close(client);
    _exit(is_refused ? 0 : 1);
  }
  assert_int_equal(promise_waitpid(child, &status, 0), child);
  assert_int_equal(status, 0);
  assert_int_equal(dibs_release(hold), DIBS_OK);
  cycle("child", &o);
  live_expect_free(other, "child", SOON_MS);
}

TEST(close_ends_it_amid_calls)
{
  loop l = { .client = client };
  pthread_t thread;

  assert_int_equal(pthread_create(&thread, NULL, hammer, &l), 0);
  while (atomic_load(&l.count) < 1000)
    (void)live_until(1, is_free, (char[]){ "hammered" });
  client = dibs_close(client);
  atomic_store(&l.must_stop, true);
  assert_int_equal(pthread_join(thread, NULL), 0);
  assert_true(live_until(SOON_MS, is_free, (char[]){ "hammered" }));
}

int main(void)
{
  (void)setup;
  return tests_run(setup_counted, teardown, NULL, NULL);
}
