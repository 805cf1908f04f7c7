/* SPDX-License-Identifier: MIT */
/* bench/linger.c - what lingering saves: taking a lock again against a pthread mutex, and two
 * processes that take the same lock in turn, with and without it. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS_MAX 99
#define LINGER_MS 60000

static struct test_server *server;

static dibs_lock_options lingering(bool lingers)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;

  o.linger_ms = lingers ? LINGER_MS : 0;
  return o;
}

static void pair(dibs_client *client, const char *name, const dibs_lock_options *options)
{
  dibs_hold *hold = NULL;

  bench_ok(dibs_lock(client, name, options, &hold), "dibs_lock");
  bench_ok(dibs_release(hold), "dibs_release");
}

/* ---- taking it again ---- */

static double again_ns(dibs_client *client, bool lingers, long times)
{
  dibs_lock_options options = lingering(lingers);
  double started;

  for (int i = 0; i < 20; i++)              /* the inbox stands after the first few */
    pair(client, "again", &options);
  started = bench_now();
  for (long i = 0; i < times; i++)
    pair(client, "again", &options);
  return (bench_now() - started) / (double)times * 1e9;
}

static double mutex_ns(long times)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  double started = bench_now();

  for (long i = 0; i < times; i++) {
    (void)pthread_mutex_lock(&mutex);
    (void)pthread_mutex_unlock(&mutex);
  }
  return (bench_now() - started) / (double)times * 1e9;
}

/* What no design that has a mutex and a lease does without: both, once for each call. */
static double floor_ns(long times)
{
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  double started = bench_now();
  struct timespec now;

  for (long i = 0; i < 2 * times; i++) {
    (void)pthread_mutex_lock(&mutex);
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    (void)pthread_mutex_unlock(&mutex);
  }
  return (bench_now() - started) / (double)times * 1e9;
}

static void take_again(void)
{
  int rounds = bench_rounds(7);
  double kept[ROUNDS_MAX], asked[ROUNDS_MAX], mutex[ROUNDS_MAX], least[ROUNDS_MAX];
  dibs_client *client = bench_open(test_server_url(server), 0);
  double one;

  for (int i = 0; i < rounds; i++) {
    kept[i] = again_ns(client, true, bench.is_smoke ? 1000 : 200000);
    asked[i] = again_ns(client, false, bench.is_smoke ? 100 : 5000);
    mutex[i] = mutex_ns(bench.is_smoke ? 1000 : 10000000);
    least[i] = floor_ns(bench.is_smoke ? 1000 : 5000000);
  }
  client = dibs_close(client);
  one = bench_median(mutex, (size_t)rounds);
  bench_add(&(bench_row){ .figure = "pthread mutex, lock and unlock", .value = one,
                          .unit = "ns" });
  bench_add(&(bench_row){ .figure = "lock + release, lingering",
                          .value = bench_median(kept, (size_t)rounds), .unit = "ns",
                          .ratio = bench_median(kept, (size_t)rounds) / one,
                          .against = "pthread mutex" });
  bench_add(&(bench_row){ .figure = "two mutexes, two reads of the clock",
                          .value = bench_median(least, (size_t)rounds), .unit = "ns" });
  bench_add(&(bench_row){ .figure = "lock + release, lingering",
                          .value = bench_median(kept, (size_t)rounds), .unit = "ns",
                          .ratio = bench_median(kept, (size_t)rounds) /
                                   bench_median(least, (size_t)rounds),
                          .against = "two mutexes, two reads of the clock" });
  bench_add(&(bench_row){ .figure = "lock + release, lingering",
                          .value = bench_median(kept, (size_t)rounds), .unit = "ns",
                          .ratio = bench_median(asked, (size_t)rounds) /
                                   bench_median(kept, (size_t)rounds),
                          .against = "times faster than asking the server", .target = 35,
                          .at_least = true });
}

/* ---- two processes in turn ---- */

/* Takes the lock each time a byte comes, and answers with one. */
static void player(int in, int out, bool lingers)
{
  dibs_client *client = bench_open(test_server_url(server), 0);
  dibs_lock_options options = lingering(lingers);
  char count;

  while (read(in, &count, 1) == 1) {
    for (int i = 0; i < count; i++)
      pair(client, "turn", &options);
    if (write(out, "x", 1) != 1)
      break;
  }
  client = dibs_close(client);
  _exit(0);
}

typedef struct process { pid_t pid; int to, from; } process;

static process start(bool lingers)
{
  int there[2], back[2];
  process p;

  if (pipe(there) != 0 || pipe(back) != 0)
    bench_die("no pipe");
  p.pid = fork();
  if (p.pid == 0) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)close(there[1]);
    player(there[0], back[1], lingers);
  }
  (void)close(there[0]);
  (void)close(back[1]);
  p.to = there[1];
  p.from = back[0];
  return p;
}

static void play(const process *p, int count)
{
  char byte = (char)count;

  if (write(p->to, &byte, 1) != 1 || read(p->from, &byte, 1) != 1)
    bench_die("a player is gone");
}

static void stop(process *p)
{
  (void)close(p->to);
  (void)close(p->from);
  (void)waitpid(p->pid, NULL, 0);
}

/* Microseconds a pair, where the first takes it `own` times for each of the second's. */
static double turns_us(bool lingers, int own, int turns)
{
  process first = start(lingers), second = start(lingers);
  double started;

  for (int i = 0; i < 20; i++) {            /* what a client learns of a lock's use, it knows */
    play(&first, own);
    play(&second, 1);
  }
  started = bench_now();
  for (int i = 0; i < turns; i++) {
    play(&first, own);
    play(&second, 1);
  }
  started = bench_now() - started;
  stop(&second);                /* which has a copy of the first one's pipe */
  stop(&first);
  return started / turns / (own + 1) * 1e6;
}

static void take_turns(int own, double target, bool at_least)
{
  int rounds = bench_rounds(5), turns = bench.is_smoke ? 5 : own == 1 ? 2000 : 200;
  double with[ROUNDS_MAX], without[ROUNDS_MAX];
  double a, b;

  for (int i = 0; i < rounds; i++) {
    with[i] = turns_us(true, own, turns);
    without[i] = turns_us(false, own, turns);
  }
  a = bench_median(with, (size_t)rounds);
  b = bench_median(without, (size_t)rounds);
  bench_add(&(bench_row){ .figure = bench_text("two processes, %d : 1, lingering", own),
                          .value = a, .unit = "us", .ratio = at_least ? b / a : a / b,
                          .against = at_least ? "times faster than without"
                                              : "without lingering",
                          .target = target, .at_least = at_least });
  bench_add(&(bench_row){ .figure = bench_text("two processes, %d : 1, given back", own),
                          .value = b, .unit = "us" });
}

int main(int argc, char **argv)
{
  (void)bench_begin(argc, argv);
  server = test_server_start();
  take_again();
  take_turns(1, 1.2, false);
  take_turns(100, 35, true);
  bench_note("The turns are told over pipes, which is part of both figures.");
  bench_print("linger");
  server = test_server_stop(server);
  return 0;
}
