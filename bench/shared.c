/* SPDX-License-Identifier: MIT */
/* bench/shared.c - readers together, hand-off of permits, a latch for a thousand, and a
 * hundred names at once. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS_MAX 99
#define THREADS_MAX 64
#define NAMES 100
#define WAITERS 1000

static struct test_server *server;
static atomic_bool must_stop;
static atomic_ulong pairs;

/* ---- threads that take and give back ---- */

typedef enum what { READ, MUTEX, PERMIT } what;

typedef struct worker {
  pthread_t thread;
  dibs_client *client;
  what what;
} worker;

static dibs_status take(const worker *w, dibs_hold **ret_hold)
{
  switch (w->what) {
  case READ:
    return dibs_acquire(w->client, DIBS_READ("read"), NULL, ret_hold);
  case PERMIT:
    return dibs_acquire(w->client, DIBS_PERMITS("permit", 1), NULL, ret_hold);
  case MUTEX:
    break;
  }
  return dibs_lock(w->client, "mutex", NULL, ret_hold);
}

static void *work(void *data)
{
  const worker *w = data;
  unsigned long done = 0;

  while (!atomic_load(&must_stop)) {
    dibs_hold *hold = NULL;

    bench_ok(take(w, &hold), "taking");
    bench_ok(dibs_release(hold), "giving back");
    done++;
  }
  atomic_fetch_add(&pairs, done);
  return NULL;
}

static uint64_t commands_of(dibs_client *const *clients, int count)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;
  uint64_t sum = 0;

  for (int i = 0; i < count; i++) {
    bench_ok(dibs_client_get_info(clients[i], &stats), "dibs_client_get_info");
    sum += stats.commands;
  }
  return sum;
}

/* Pairs a second by `threads` threads of `count` clients; commands for each. */
static double rate(what w, dibs_client **clients, int count, int threads, double *ret_commands)
{
  worker workers[THREADS_MAX];
  uint64_t before = commands_of(clients, count);
  double started = bench_now(), took;
  unsigned long done;

  atomic_store(&pairs, 0);
  atomic_store(&must_stop, false);
  for (int i = 0; i < threads; i++) {
    workers[i] = (worker){ .client = clients[i % count], .what = w };
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
      bench_die("no thread");
  }
  (void)usleep((useconds_t)(bench_seconds(0.5) * 1e6));
  atomic_store(&must_stop, true);
  for (int i = 0; i < threads; i++)
    (void)pthread_join(workers[i].thread, NULL);
  took = bench_now() - started;
  done = atomic_load(&pairs);
  *ret_commands = (double)(commands_of(clients, count) - before) / (double)done;
  return (double)done / took;
}

static double median_rate(what w, dibs_client **clients, int count, int threads,
                          double *ret_commands)
{
  double rates[ROUNDS_MAX], commands[ROUNDS_MAX];
  int rounds = bench_rounds(5);

  for (int i = 0; i < rounds; i++)
    rates[i] = rate(w, clients, count, threads, &commands[i]);
  *ret_commands = bench_median(commands, (size_t)rounds);
  return bench_median(rates, (size_t)rounds);
}

static void readers(void)
{
  static const int crowds[] = { 1, 8, 64 };
  dibs_client *client = bench_open(test_server_url(server), 0);
  double commands;

  for (int i = 0; i < 3; i++) {
    double alone = median_rate(MUTEX, &client, 1, crowds[i], &commands);
    double together = median_rate(READ, &client, 1, crowds[i], &commands);

    bench_add(&(bench_row){ .figure = bench_text("%d reader threads", crowds[i]),
                            .value = together, .unit = "pairs/s", .ratio = together / alone,
                            .against = "the same with a mutex" });
    bench_add(&(bench_row){ .figure = bench_text("%d reader threads, commands", crowds[i]),
                            .value = commands, .unit = "each" });
  }
  client = dibs_close(client);
}

/* Eight clients and one permit: each pair is a hand-off between clients. */
static void permits(void)
{
  dibs_client *clients[8];
  double commands, handoffs, mutex;

  for (int i = 0; i < 8; i++)
    clients[i] = bench_open(test_server_url(server), 0);
  bench_ok(dibs_semaphore_set(clients[0], dibs_text("permit"), 1, 0, NULL), "dibs_semaphore_set");
  mutex = median_rate(MUTEX, clients, 8, 8, &commands);
  handoffs = median_rate(PERMIT, clients, 8, 8, &commands);
  bench_add(&(bench_row){ .figure = "hand-off of a permit, 8 clients", .value = handoffs,
                          .unit = "/s", .ratio = handoffs / mutex,
                          .against = "hand-off of a mutex" });
  bench_add(&(bench_row){ .figure = "hand-off of a permit, commands", .value = commands,
                          .unit = "each", .target = 2.05 });
  for (int i = 0; i < 8; i++)
    clients[i] = dibs_close(clients[i]);
}

/* ---- a latch ---- */

static _Atomic int released;
static double last_at;

static void on_zero(const dibs_error *error, void *data)
{
  (void)data;
  bench_ok(error->status, "a latch");
  last_at = bench_now();
  atomic_fetch_add(&released, 1);
}

static double fan_out_ms(dibs_client **clients, int count, int waiters)
{
  double began;

  atomic_store(&released, 0);
  bench_ok(dibs_latch_set(clients[0], "latch", 1), "dibs_latch_set");
  for (int i = 0; i < waiters; i++)
    bench_ok(dibs_latch_await_async(clients[i % count], "latch", NULL, on_zero, NULL, NULL),
             "dibs_latch_await_async");
  while (test_server_integer(server, "EVAL %s 0",
                             "return redis.call('PUBSUB','NUMSUB',"
                             "'redisson_countdownlatch__channel__{latch}')[2]") < count)
    (void)usleep(1000);
  began = bench_now();
  bench_ok(dibs_latch_down(clients[0], "latch", 1, NULL, NULL), "dibs_latch_down");
  while (atomic_load(&released) < waiters)
    (void)usleep(100);
  return (last_at - began) * 1e3;
}

static void latch(void)
{
  int count = 20, waiters = bench.is_smoke ? 40 : WAITERS, rounds = bench_rounds(5);
  dibs_client *clients[20];
  double ms[ROUNDS_MAX];

  for (int i = 0; i < count; i++)
    clients[i] = bench_open(test_server_url(server), 0);
  for (int i = 0; i < rounds; i++)
    ms[i] = fan_out_ms(clients, count, waiters);
  bench_add(&(bench_row){ .figure = bench_text("latch at zero: %d waiters of 20 clients all "
                                               "released", waiters),
                          .value = bench_median(ms, (size_t)rounds), .unit = "ms",
                          .target = 1000 });
  for (int i = 0; i < count; i++)
    clients[i] = dibs_close(clients[i]);
}

/* ---- a hundred names ---- */

static char texts[NAMES][16];
static const char *names[NAMES];

static double singles_us(dibs_client *client)
{
  dibs_hold *holds[NAMES];
  double began = bench_now();

  for (int i = 0; i < NAMES; i++)
    bench_ok(dibs_lock(client, names[i], NULL, &holds[i]), "dibs_lock");
  for (int i = 0; i < NAMES; i++)
    bench_ok(dibs_release(holds[i]), "dibs_release");
  return (bench_now() - began) * 1e6;
}

static double set_us(dibs_client *client)
{
  dibs_bytes bytes[NAMES];
  dibs_hold *hold = NULL;
  double began = bench_now();

  for (int i = 0; i < NAMES; i++)
    bytes[i] = dibs_text(names[i]);
  bench_ok(dibs_acquire(client, DIBS_LOCKS(bytes, NAMES), NULL, &hold), "dibs_acquire");
  bench_ok(dibs_release(hold), "dibs_release");
  return (bench_now() - began) * 1e6;
}

static void many(void)
{
  int rounds = bench_rounds(31);
  double one[ROUNDS_MAX], all[ROUNDS_MAX];
  dibs_client *client = bench_open(test_server_url(server), 0);

  for (int i = 0; i < NAMES; i++) {
    (void)snprintf(texts[i], sizeof(texts[i]), "account-%d", i);
    names[i] = texts[i];
  }
  for (int i = 0; i < rounds; i++) {
    one[i] = singles_us(client);
    all[i] = set_us(client);
  }
  bench_add(&(bench_row){ .figure = "100 names at once, taken and given back",
                          .value = bench_median(all, (size_t)rounds), .unit = "us",
                          .ratio = bench_median(one, (size_t)rounds) /
                                   bench_median(all, (size_t)rounds),
                          .against = "times faster than one by one" });
  client = dibs_close(client);
}

int main(int argc, char **argv)
{
  (void)bench_begin(argc, argv);
  server = test_server_start();
  readers();
  permits();
  latch();
  many();
  bench_print("shared");
  server = test_server_stop(server);
  return 0;
}
