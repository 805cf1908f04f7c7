/* SPDX-License-Identifier: MIT */
/* bench/handoff.c - from a release to the moment the next holder runs: 2 to 10 000 waiters
 * in up to 20 processes on one name, in multiples of a PING round trip of the same run.
 *
 * Each process is one client. A waiter that is granted notes the time since the release
 * before, asks again, and releases; so the number of waiters stays. Where the way between
 * processes is measured, hand-over inside a process is switched off. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "raw.h"

#define PROCESSES_MAX 20
#define SAMPLES_MAX (1 << 20)

/* How the waiters of a process wait. */
typedef enum style { LOOP, THREADS, CALLBACKS, RAW } style;

static const char *const style_names[] = { "event loops", "threads", "callback thread",
                                           "raw sockets" };

/* Between the processes. */
typedef struct shared {
  atomic_bool may_start, must_stop;
  _Atomic double released_at;
  atomic_uint ready, count, foreign;
  atomic_int last;                       /* the process that released last */
  float us[SAMPLES_MAX];
} shared;

typedef struct plan {
  style style;
  int processes, waiters;                /* waiters in all */
  int local_max;                         /* as dibs_options.local_handovers_max */
  int hold_us;
} plan;

static shared *all;
static struct test_server *server;
static int me;
static dibs_client *client;
static bool is_alone;                    /* one waiter in this process */
static unsigned hold_us;

/* ---- a waiter ---- */

static void note_grant(void)
{
  double now = bench_now();
  unsigned i;

  if (!atomic_load(&all->may_start) || atomic_load(&all->must_stop))
    return;
  i = atomic_fetch_add(&all->count, 1);
  if (atomic_load(&all->last) == me)
    return;                              /* from one waiter of a process to another */
  i = atomic_fetch_add(&all->foreign, 1);
  if (i < SAMPLES_MAX)
    all->us[i] = (float)((now - atomic_load(&all->released_at)) * 1e6);
}

static void note_release(void)
{
  atomic_store(&all->last, me);
  atomic_store(&all->released_at, bench_now());
}

static void ask(void);

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status == DIBS_ERR_CLOSED)
    return;
  bench_ok(error->status, "a lock");
  note_grant();
  if (!is_alone)
    ask();
  note_release();
  (void)dibs_release_async(hold, NULL, NULL);
  if (is_alone)
    ask();                               /* before, it would only be handed to itself */
}

static void ask(void)
{
  dibs_status status = dibs_lock_async(client, "handoff", NULL, on_lock, NULL, NULL);

  if (status != DIBS_ERR_CLOSED)
    bench_ok(status, "dibs_lock_async");
}

static void *thread(void *data)
{
  while (!atomic_load(&all->must_stop)) {
    dibs_hold *hold = NULL;

    bench_ok(dibs_lock(client, "handoff", NULL, &hold), "dibs_lock");
    note_grant();
    if (hold_us > 0)
      (void)usleep(hold_us);
    note_release();
    (void)dibs_release(hold);
  }
  return data;
}

/* The floor: two processes that pass a message to one another, each by a script. */
static void run_raw(void)
{
  static const char *const channels[] = { "first", "second" };
  raw *listener, *sender;

  while ((int)atomic_load(&all->ready) < me)
    (void)usleep(1000);                  /* raw_open() takes a lock: one after the other */
  listener = raw_open(server, true);
  sender = raw_open(server, true);
  raw_listen(listener, channels[me]);
  atomic_fetch_add(&all->ready, 1);
  while (atomic_load(&all->ready) < 2)
    (void)usleep(1000);
  if (me == 0)
    raw_publish(sender, channels[1]);
  do {
    raw_hear(listener);
    note_grant();
    (void)usleep(hold_us);
    note_release();
    raw_publish(sender, channels[1 - me]);
  } while (!atomic_load(&all->must_stop));
  _exit(0);
}

static void run_threads(int waiters)
{
  pthread_t threads[1000];

  for (int i = 0; i < waiters; i++)
    if (pthread_create(&threads[i], NULL, thread, NULL) != 0)
      bench_die("no thread");
  for (int i = 0; i < waiters; i++)
    (void)pthread_join(threads[i], NULL);
}

/* ---- a process ---- */

static void child(const plan *p, int number)
{
  dibs_options options = DIBS_OPTIONS_INIT;
  int waiters = (bench.is_smoke ? p->processes : p->waiters) / p->processes;

  me = number;
  is_alone = waiters == 1;
  hold_us = (unsigned)p->hold_us;
  if (p->style == RAW)
    run_raw();
  options.flags = p->style == LOOP ? DIBS_CLIENT_NO_THREAD : 0;
  options.local_handovers_max = p->local_max;
  bench_ok(dibs_open(test_server_unix_url(server), &options, &client, NULL), "dibs_open");
  if (p->style != THREADS)
    for (int i = 0; i < waiters; i++)
      ask();
  bench_ok(dibs_ping(client, 0, NULL), "dibs_ping");
  atomic_fetch_add(&all->ready, 1);
  if (p->style == THREADS)
    run_threads(waiters);
  while (p->style == LOOP && !atomic_load(&all->must_stop))
    bench_wait(client);
  while (p->style == CALLBACKS && !atomic_load(&all->must_stop))
    (void)usleep(10000);
  client = dibs_close(client);
  _exit(0);
}

static void child_check(const plan *p, int number, int status, const char *when)
{
  bool is_killed = WIFSIGNALED(status);

  if (status != 0)
    bench_die("process %d of %d (%s) ended %s, %s %d", number + 1, p->processes,
              style_names[p->style], when, is_killed ? "by signal" : "with exit code",
              is_killed ? WTERMSIG(status) : WEXITSTATUS(status));
}

/* One that ends before it is ready would be waited for without end. */
static void children_ready(const plan *p, const pid_t *children)
{
  while ((int)atomic_load(&all->ready) < p->processes) {
    for (int i = 0; i < p->processes; i++) {
      int status;

      if (waitpid(children[i], &status, WNOHANG) == children[i])
        child_check(p, i, status, "before all were ready");
    }
    (void)usleep(1000);
  }
}

static void children_start(const plan *p, pid_t *children)
{
  atomic_store(&all->ready, 0);
  atomic_store(&all->count, 0);
  atomic_store(&all->foreign, 0);
  atomic_store(&all->must_stop, false);
  atomic_store(&all->may_start, false);
  for (int i = 0; i < p->processes; i++) {
    children[i] = fork();
    if (children[i] == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
      child(p, i);
    }
    if (children[i] < 0)
      bench_die("no process");
  }
  children_ready(p, children);
}

/* What was only in the queue is dropped with its process; the queue with the key. */
static void children_stop(const plan *p, const pid_t *children)
{
  atomic_store(&all->must_stop, true);
  for (int i = 0; i < p->processes; i++) {
    int status;

    (void)waitpid(children[i], &status, 0);
    child_check(p, i, status, "too early");
  }
  (void)test_server_command(server, "FLUSHALL");
}

/* ---- a measurement ---- */

static double ping_us(raw *r)
{
  double started = bench_now();
  int count = bench.is_smoke ? 20 : 4000;

  for (int i = 0; i < count; i++)
    raw_ping(r);
  return (bench_now() - started) / count * 1e6;
}

static double quantile_us(double share)
{
  static double us[SAMPLES_MAX];
  size_t count = atomic_load(&all->foreign);

  if (count > SAMPLES_MAX)
    count = SAMPLES_MAX;
  for (size_t i = 0; i < count; i++)
    us[i] = (double)all->us[i];
  return bench_quantile(us, count, share);
}

typedef struct result {
  double ping, p50, p99, rate, scripts, messages, cpu, local;
} result;

static result measure(const plan *p)
{
  pid_t children[PROCESSES_MAX];
  raw *r = raw_open(server, true);
  result got = { .ping = ping_us(r) };
  double started, cpu, count;

  children_start(p, children);
  (void)usleep((useconds_t)(bench_seconds(0.5) * 1e6));
  (void)test_server_command(server, "CONFIG RESETSTAT");
  cpu = bench_cpu_of(test_server_pid(server));
  started = bench_now();
  atomic_store(&all->may_start, true);
  (void)usleep((useconds_t)(bench_seconds(1.5) * 1e6));
  count = atomic_load(&all->count);
  got.scripts = (double)(bench_calls(server, "evalsha") + bench_calls(server, "eval")) / count;
  got.messages = (double)bench_calls(server, "publish") / count;
  got.cpu = (bench_cpu_of(test_server_pid(server)) - cpu) / count * 1e6;
  got.rate = count / (bench_now() - started);
  got.local = 1 - (double)atomic_load(&all->foreign) / count;
  got.p50 = quantile_us(0.5);
  got.p99 = quantile_us(0.99);
  children_stop(p, children);
  got.ping = (got.ping + ping_us(r)) / 2;
  (void)raw_close(r);
  return got;
}

static double middle(const result *results, int rounds, size_t offset, bool by_ping)
{
  double values[99];

  for (int i = 0; i < rounds; i++) {
    memcpy(&values[i], (const char *)&results[i] + offset, sizeof(double));
    if (by_ping)
      values[i] /= results[i].ping;
  }
  return bench_median(values, (size_t)rounds);
}

#define MIDDLE(member) middle(results, rounds, offsetof(result, member), false)
#define MIDDLE_BY_PING(member) middle(results, rounds, offsetof(result, member), true)

/* A lock that is held for a moment, by the floor of the same round. */
static void report_held(const plan *p, const result *results, const result *floors, int rounds)
{
  double ratios[99];

  for (int i = 0; i < rounds; i++)
    ratios[i] = results[i].p50 / floors[i].p50;
  bench_add(&(bench_row){ .figure = bench_text("%d waiters, %d processes, %s, held for 1 ms: p50",
                                               p->waiters, p->processes, style_names[p->style]),
    .value = MIDDLE(p50), .unit = "us", .against = "a script that only publishes",
    .ratio = bench_median(ratios, (size_t)rounds), .target = 1.6 });
  bench_note("held for 1 ms: %.2f PINGs; the floor %.1f us, %.2f PINGs", MIDDLE_BY_PING(p50),
             middle(floors, rounds, offsetof(result, p50), false),
             middle(floors, rounds, offsetof(result, p50), true));
}

static void report(const plan *p, const result *results, int rounds)
{
  const char *words = bench_text("%d waiters, %d processes, %s", p->waiters, p->processes,
                                 style_names[p->style]);

  if (p->local_max >= 0) {
    bench_add(&(bench_row){ .figure = bench_text("%s, local hand-over", words),
                            .value = MIDDLE(rate), .unit = "1/s" });
    bench_note("%s, local hand-over: %.1f %% within a process; per hand-off %.2f script calls, "
               "%.2f messages, server CPU %.1f us", words, MIDDLE(local) * 100, MIDDLE(scripts),
               MIDDLE(messages), MIDDLE(cpu));
    return;
  }
  bench_add(&(bench_row){ .figure = bench_text("%s: p50", words), .value = MIDDLE(p50),
    .unit = "us", .against = "PING", .ratio = MIDDLE_BY_PING(p50), .target = 1.3 });
  bench_add(&(bench_row){ .figure = bench_text("%s: p99", words), .value = MIDDLE(p99),
    .unit = "us", .against = "PING", .ratio = MIDDLE_BY_PING(p99), .target = 6 });
  bench_add(&(bench_row){ .figure = bench_text("%s: script calls", words),
    .value = MIDDLE(scripts), .unit = "each", .target = 2.05 });
  bench_add(&(bench_row){ .figure = bench_text("%s: messages", words),
    .value = MIDDLE(messages), .unit = "each", .target = 1.05 });
  bench_note("%s: PING %.1f us; %.0f hand-offs/s; server CPU %.1f us each", words, MIDDLE(ping),
             MIDDLE(rate), MIDDLE(cpu));
}

int main(int argc, char **argv)
{
  static const plan plans[] = {
    { LOOP, 2, 2, -1, 0 }, { LOOP, 20, 100, -1, 0 }, { LOOP, 20, 10000, -1, 0 },
    { THREADS, 2, 2, -1, 0 }, { THREADS, 20, 20, -1, 0 }, { THREADS, 20, 100, -1, 0 },
    { CALLBACKS, 20, 100, -1, 0 }, { CALLBACKS, 20, 10000, -1, 0 },
    { LOOP, 20, 10000, 16, 0 }, { THREADS, 20, 100, 16, 0 },
    { LOOP, 1, 500, 1000000, 0 }, { THREADS, 1, 100, 1000000, 0 },
    { THREADS, 2, 2, -1, 1000 },
  };
  static const plan floor = { RAW, 2, 2, -1, 1000 };
  enum { PLANS = sizeof(plans) / sizeof(plans[0]) };
  static result results[PLANS][99], floors[99];
  int kept = bench_begin(argc, argv), rounds = bench_rounds(5);
  int first = kept > 1 ? atoi(argv[1]) : 0, end = kept > 1 ? first + 1 : PLANS;

  all = mmap(NULL, sizeof(*all), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || rounds > 99 || first < 0 || end > PLANS)
    bench_die("no memory, more than 99 rounds, or no such plan");
  server = test_server_start();
  for (int round = 0; round < rounds; round++)
    for (int i = first; i < end; i++) {
      if (plans[i].hold_us > 0)
        floors[round] = measure(&floor);
      results[i][round] = measure(&plans[i]);
    }
  for (int i = first; i < end; i++)
    if (plans[i].hold_us > 0)
      report_held(&plans[i], results[i], floors, rounds);
    else
      report(&plans[i], results[i], rounds);
  bench_print("handoff");
  (void)test_server_stop(server);
  return 0;
}
