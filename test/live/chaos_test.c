/* SPDX-License-Identifier: MIT */
/* test/live/chaos_test.c - four processes of four threads lock a few names while connections
 * are killed and cut, answers lost, bytes held back, a process stopped, keys deleted and
 * scripts forgotten. Afterwards a log in shared memory shows who believed what, when.
 *
 * A belief is an interval on the clock of this machine: from an instant after the grant to
 * one before the last look that said held. In between it never ended, as losses are final.
 * 8 s by default; grows with DIBS_TEST_SCALE. DIBS_TEST_SEED repeats a run's faults. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "proxy.h"

enum { PROCESSES = 4, THREADS = 4, NAMES = 4, TTL_MS = 500, LOG_MAX = 50000,
       WAIT_MAX_MS = 15000, DELETIONS_MAX = 5000 };

struct belief {
  int64_t from_us, to_us;
  uint64_t fence;
  int process;
};

struct span {
  int64_t from_us, to_us;
  int64_t to_server_us;             /* to_us on the server's clock, which is this machine's */
};

struct name_log {
  _Atomic long count;
  struct belief beliefs[LOG_MAX];
  long deletion_count;
  struct span deletions[DELETIONS_MAX];
};

/* What all processes see. */
struct world {
  _Atomic bool is_open, is_over;
  _Atomic int faults;
  _Atomic int64_t longest_wait_ms;
  _Atomic long told_lost, waits_failed, releases_unknown;
  char url[256];
  struct name_log names[NAMES];
};

static struct world *world;
static struct test_proxy *proxy;
static pid_t children[PROCESSES];
static dibs_client *client;       /* of a child */
static int process;               /* its number */

static void nap(int ms)
{
  (void)poll(NULL, 0, ms);
}

/* ---- what a child does ---- */

static void believe(int number, dibs_hold *hold, int64_t hold_ms)
{
  struct belief b = { .fence = dibs_hold_fence(hold), .process = process };
  long at;

  if (dibs_hold_state(hold) == DIBS_HOLD_GONE)
    return;
  b.from_us = b.to_us = live_now_us();
  do {
    int64_t looked_at = live_now_us();

    if (dibs_hold_state(hold) == DIBS_HOLD_GONE)
      break;
    b.to_us = looked_at;
    if (hold_ms > 0)
      nap(1);
  } while (live_now_us() - b.from_us < hold_ms * 1000);
  if (b.to_us <= b.from_us)
    return;
  at = atomic_fetch_add(&world->names[number].count, 1);
  if (at < LOG_MAX)
    world->names[number].beliefs[at] = b;
}

static bool was_reported(void *loss)
{
  return atomic_load(&((struct live_loss *)loss)->count) > 0;
}

static void end(dibs_hold *hold, struct live_loss *loss)
{
  bool is_gone = dibs_hold_state(hold) == DIBS_HOLD_GONE;
  dibs_status status;

  if (is_gone && !live_until(5000, was_reported, loss))
    live_fault("lost, and never told");
  status = dibs_release(hold);
  promise_kept(!is_gone || status != DIBS_OK, "lost, and released as held");
  if (status < 0)
    live_fault("release: %s", dibs_status_name(status));
  promise_kept(atomic_load(&loss->count) <= 1, "told twice");
  (void)atomic_fetch_add(&world->told_lost, atomic_load(&loss->count));
  (void)atomic_fetch_add(&world->releases_unknown, status == DIBS_UNKNOWN);
}

static void note_wait(int64_t took_ms)
{
  int64_t longest = atomic_load(&world->longest_wait_ms);

  while (took_ms > longest &&
         !atomic_compare_exchange_weak(&world->longest_wait_ms, &longest, took_ms))
    ;
}

static void one_turn(unsigned *seed)
{
  int number = (int)(rand_r(seed) % NAMES);
  dibs_lock_options o = live_lock_options(TTL_MS, 2 * WAIT_MAX_MS);
  struct live_loss loss = { .count = 0 };
  dibs_hold *hold = NULL;
  int64_t begun = live_now_ms();
  dibs_status status;
  char name[16];

  (void)snprintf(name, sizeof(name), "chaos-%d", number);
  o.on_lost = live_on_lost;
  o.on_lost_data = &loss;
  if (rand_r(seed) % 8 == 0)
    o.wait_ms = (int)(rand_r(seed) % 50) + 1;
  status = rand_r(seed) % 8 == 0 ? dibs_try_lock(client, name, &o, &hold)
                                 : dibs_lock(client, name, &o, &hold);
  note_wait(live_now_ms() - begun);
  if (status == DIBS_OK) {
    believe(number, hold, rand_r(seed) % 64 == 0 ? 2 * TTL_MS : rand_r(seed) % 4);
    end(hold, &loss);
  } else {
    (void)atomic_fetch_add(&world->waits_failed, 1);
    if (status != DIBS_BUSY && status != DIBS_TIMED_OUT && status != DIBS_UNKNOWN &&
        status != DIBS_ERR_UNREACHABLE)
      live_fault("lock: %s", dibs_status_name(status));
  }
}

static void *take_turns(void *number)
{
  unsigned seed = (unsigned)(process * 100 + (int)(intptr_t)number);

  while (!atomic_load(&world->is_over))
    one_turn(&seed);
  return NULL;
}

static _Noreturn void be_child(void)
{
  dibs_options o = live_options();
  pthread_t threads[THREADS];

  while (!atomic_load(&world->is_open))
    nap(1);
  o.connect_timeout_ms = WAIT_MAX_MS;
  o.close_timeout_ms = 5000;
  if (dibs_open(world->url, &o, &client, NULL) != DIBS_OK)
    _exit(99);
  for (intptr_t i = 0; i < THREADS; i++)
    if (pthread_create(&threads[i], NULL, take_turns, (void *)i) != 0)
      _exit(98);
  for (int i = 0; i < THREADS; i++)
    (void)pthread_join(threads[i], NULL);
  client = dibs_close(client);
  (void)atomic_fetch_add(&world->faults, live_faults());
  _exit(0);
}

/* ---- what happens to them ---- */

static int64_t server_now_us(void)
{
  struct timespec at;

  (void)clock_gettime(CLOCK_REALTIME, &at);
  return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

static void delete_one(unsigned *seed)
{
  int number = (int)(rand_r(seed) % NAMES);
  struct name_log *log = &world->names[number];
  struct span *d;

  if (log->deletion_count == DELETIONS_MAX)
    return;
  d = &log->deletions[log->deletion_count++];
  d->from_us = live_now_us();
  (void)test_server_command(live_server, "DEL dibs:m:{chaos-%d}", number);
  d->to_us = live_now_us();
  d->to_server_us = server_now_us();
}

static void stop_one(unsigned *seed)
{
  pid_t child = children[rand_r(seed) % PROCESSES];

  (void)kill(child, SIGSTOP);
  nap((int)(rand_r(seed) % (2 * TTL_MS)));
  (void)kill(child, SIGCONT);
}

static void disturb(unsigned *seed)
{
  enum test_direction one = rand_r(seed) % 2 == 0 ? TEST_TO_SERVER : TEST_TO_CLIENT;

  switch (rand_r(seed) % 12) {
  case 0:
    live_tell_all("CLIENT KILL TYPE normal SKIPME yes");
    break;
  case 1:
    live_tell_all("CLIENT KILL TYPE pubsub");
    break;
  case 2:
    test_proxy_cut(proxy);
    break;
  case 3:
    test_proxy_cut_after(proxy, one, (unsigned)rand_r(seed) % 2000);
    break;
  case 4:
    test_proxy_lose_reply_to(proxy, "EVALSHA");
    break;
  case 5:
    test_proxy_swallow_replies(proxy, 1 + (unsigned)rand_r(seed) % 3);
    break;
  case 6:
    test_proxy_black_hole(proxy, rand_r(seed) % 2 == 0 ? TEST_BOTH : one);
    nap((int)(rand_r(seed) % TTL_MS));
    break;
  case 7:
    test_proxy_hold(proxy, rand_r(seed) % 2 == 0 ? TEST_BOTH : one);
    nap((int)(rand_r(seed) % TTL_MS));
    break;
  case 8:
    test_proxy_delay(proxy, one, (int)(rand_r(seed) % 100));
    nap((int)(rand_r(seed) % 200));
    break;
  case 9:
    delete_one(seed);
    break;
  case 10:
    live_tell_all("SCRIPT FLUSH");
    break;
  default:
    stop_one(seed);
  }
  if (rand_r(seed) % 4 != 0)
    test_proxy_pass(proxy, TEST_BOTH);
  nap((int)(rand_r(seed) % 150));
}

/* ---- what must have been so ---- */

static int by_start(const void *a, const void *b)
{
  const struct belief *x = a, *y = b;

  return (x->from_us > y->from_us) - (x->from_us < y->from_us);
}

/* Whether the test itself took the name from the one that was granted it first before the
 * other got it. Grants count, which fences tell, not the instants at which the processes
 * heard of them: those can be much later, and in another order. */
static bool was_deleted(const struct name_log *log, const struct belief *x,
                        const struct belief *y)
{
  const struct belief *first = x->fence < y->fence ? x : y, *second = first == x ? y : x;
  int64_t granted_us = (int64_t)(first->fence / 1024);

  for (long i = 0; i < log->deletion_count; i++)
    if (log->deletions[i].from_us <= second->from_us &&
        log->deletions[i].to_server_us >= granted_us)
      return true;
  return false;
}

static void check_log(int number, struct name_log *log)
{
  long count = atomic_load(&log->count);
  const struct belief *last = &log->beliefs[0];      /* the one that was believed longest */

  assert_in_range(count, 20, LOG_MAX);
  qsort(log->beliefs, (size_t)count, sizeof(log->beliefs[0]), by_start);
  for (long i = 1; i < count; i++) {
    const struct belief *b = &log->beliefs[i];

    if (!was_deleted(log, last, b)) {
      promise_kept(b->from_us > last->to_us,
                   "name %d: %d believed until %lld, %d from %lld on; fences %llu %llu",
                   number, last->process, (long long)last->to_us, b->process,
                   (long long)b->from_us, (unsigned long long)last->fence,
                   (unsigned long long)b->fence);
      PROMISE_GROWN(b->fence, last->fence);
    }
    if (b->to_us > last->to_us)
      last = b;
  }
}

static void run(unsigned seed)
{
  int64_t until = live_now_ms() + live_times(8) * 1000;

  while (live_now_ms() < until)
    disturb(&seed);
  test_proxy_pass(proxy, TEST_BOTH);
  nap(500);                                          /* some undisturbed turns */
  atomic_store(&world->is_over, true);
  for (int i = 0; i < PROCESSES; i++) {
    int status;

    assert_int_equal(promise_waitpid(children[i], &status, 0), children[i]);
    assert_int_equal(status, 0);
  }
}

static void chaos_breaks_no_promise(void **state)
{
  live_needs_one_server();
  const char *seed = getenv("DIBS_TEST_SEED");
  unsigned first = seed != NULL ? (unsigned)strtoul(seed, NULL, 10) : (unsigned)live_now_us();
  long grants = 0;

  (void)state;
  (void)printf("# DIBS_TEST_SEED=%u\n", first);
  run(first);
  for (int i = 0; i < NAMES; i++) {
    check_log(i, &world->names[i]);
    grants += atomic_load(&world->names[i].count);
  }
  (void)printf("# %ld beliefs, %ld told lost, %ld failed waits, longest %lld ms\n", grants,
               atomic_load(&world->told_lost), atomic_load(&world->waits_failed),
               (long long)atomic_load(&world->longest_wait_ms));
  assert_int_equal(atomic_load(&world->faults), 0);
  assert_true(atomic_load(&world->longest_wait_ms) < WAIT_MAX_MS);
  proxy = test_proxy_stop(proxy);                    /* what it swallowed ends with it */
  live_expect_clean_but_presence(live_server);
}

static int setup(void **state)
{
  (void)live_server_setup(state);
  world = mmap(NULL, sizeof(*world), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_ptr_not_equal(world, MAP_FAILED);
  (void)fflush(NULL);
  for (process = 0; process < PROCESSES; process++) {      /* before there are threads */
    children[process] = fork();
    assert_true(children[process] >= 0);
    if (children[process] == 0)
      be_child();
  }
  proxy = test_proxy_start(live_server);
  (void)snprintf(world->url, sizeof(world->url), "%s", live_url_by(proxy));
  atomic_store(&world->is_open, true);
  return 0;
}

static int teardown(void **state)
{
  atomic_store(&world->is_over, true);
  proxy = test_proxy_stop(proxy);
  (void)munmap(world, sizeof(*world));
  return live_server_teardown(state);
}

int main(void)
{
  const struct CMUnitTest tests[] = { cmocka_unit_test(chaos_breaks_no_promise) };

  return cmocka_run_group_tests(tests, setup, teardown);
}
