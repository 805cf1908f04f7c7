/* SPDX-License-Identifier: MIT */
/* bench/threads.c - uncontended pairs by 64 threads on 64 names, against a connection for
 * each thread, a raw pipelined client, and redis-benchmark with the same scripts. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "raw.h"

#define ROUNDS_MAX 99
#define THREADS_MAX 64
#define KEYS 1000000

typedef enum kind {
  PIPELINED, CONNECTIONS, WAITING, POSTING, CALLBACKS, KINDS
} kind;

static const char *const kind_names[KINDS] = {
  "raw pipelined client", "raw, a connection for each thread", "dibs_lock + dibs_release",
  "dibs_lock + dibs_release_async", "dibs_lock_async in a loop",
};

static struct test_server *server;
static dibs_client *client, *loop_client;
static raw *bare[THREADS_MAX];
static int threads;
static char names[THREADS_MAX][2][32];
static atomic_bool must_stop;
static atomic_ulong pairs;

/* ---- threads ---- */

static void pair(int i, unsigned long turn, bool is_posting)
{
  dibs_hold *hold = NULL;

  bench_ok(dibs_lock(client, names[i][is_posting ? turn % 2 : 0], NULL, &hold), "dibs_lock");
  if (is_posting)
    bench_ok(dibs_release_async(hold, NULL, NULL), "dibs_release_async");
  else
    bench_ok(dibs_release(hold), "dibs_release");
}

typedef struct worker {
  pthread_t thread;
  int i;
  kind kind;
} worker;

static void *work(void *data)
{
  const worker *w = data;
  unsigned long done = 0;

  while (!atomic_load(&must_stop)) {
    if (w->kind == CONNECTIONS)
      raw_pair(bare[w->i], names[w->i][0]);
    else
      pair(w->i, done, w->kind == POSTING);
    done++;
  }
  atomic_fetch_add(&pairs, done);
  return NULL;
}

static void run_threads(kind k, double seconds)
{
  worker workers[THREADS_MAX];

  for (int i = 0; i < threads; i++) {
    workers[i] = (worker){ .i = i, .kind = k };
    if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
      bench_die("no thread");
  }
  (void)usleep((useconds_t)(seconds * 1e6));
  atomic_store(&must_stop, true);
  for (int i = 0; i < threads; i++)
    (void)pthread_join(workers[i].thread, NULL);
}

/* ---- one thread that has as much in flight ---- */

static void run_pipelined(double seconds)
{
  const char *all[THREADS_MAX];
  double until = bench_now() + seconds;

  for (int i = 0; i < threads; i++)
    all[i] = names[i][0];
  do {
    raw_pairs(bare[0], all, (size_t)threads);
    atomic_fetch_add(&pairs, (unsigned long)threads);
  } while (bench_now() < until);
}

static int in_flight;

static void begin(int i);

static void on_release(const dibs_error *error, void *data)
{
  bench_ok(error->status, "a release");
  in_flight--;
  atomic_fetch_add(&pairs, 1);
  if (!atomic_load(&must_stop))
    begin((int)(intptr_t)data);
}

static void on_lock(const dibs_error *error, dibs_hold *hold, void *data)
{
  bench_ok(error->status, "a lock");
  bench_ok(dibs_release_async(hold, on_release, data), "dibs_release_async");
}

static void begin(int i)
{
  in_flight++;
  bench_ok(dibs_lock_async(loop_client, names[i][0], NULL, on_lock, (void *)(intptr_t)i, NULL),
           "dibs_lock_async");
}

static void run_callbacks(double seconds)
{
  double until = bench_now() + seconds;

  for (int i = 0; i < threads; i++)
    begin(i);
  while (in_flight > 0) {
    if (bench_now() > until)
      atomic_store(&must_stop, true);
    bench_wait(loop_client);
  }
}

/* ---- a measurement ---- */

typedef struct figures {
  double rate[ROUNDS_MAX], server_cpu[ROUNDS_MAX], cpu[ROUNDS_MAX];
} figures;

static void measure(figures *f, kind k, int round)
{
  double started = bench_now(), own = bench_cpu_of(getpid());
  double at_server = bench_cpu_of(test_server_pid(server)), count;

  atomic_store(&pairs, 0);
  atomic_store(&must_stop, false);
  if (k == PIPELINED)
    run_pipelined(bench_seconds(0.5));
  else if (k == CALLBACKS)
    run_callbacks(bench_seconds(0.5));
  else
    run_threads(k, bench_seconds(0.5));
  count = (double)atomic_load(&pairs);
  f->rate[round] = count / (bench_now() - started);
  f->server_cpu[round] = (bench_cpu_of(test_server_pid(server)) - at_server) / count * 1e6;
  f->cpu[round] = (bench_cpu_of(getpid()) - own) / count * 1e6;
}

/* ---- redis-benchmark ---- */

/* Requests per second of one command, `threads` in flight on one connection. */
static double benchmark(const char *words)
{
  const char *line = bench_text("redis-benchmark -s %s -c 1 -P %d -n %d -r %d --csv %s",
                                test_server_socket(server), threads,
                                bench.is_smoke ? 1000 : 100000, KEYS, words);
  char answer[512] = "";
  double rate = 0;
  FILE *pipe = popen(line, "r");

  if (pipe == NULL)
    return 0;
  while (fgets(answer, sizeof(answer), pipe) != NULL) {
    const char *quote = strrchr(answer, ' ') != NULL ? strstr(answer, "\",\"") : NULL;

    if (quote != NULL && strstr(answer, "rps") == NULL)
      rate = atof(quote + 3);
  }
  (void)pclose(pipe);
  return rate;
}

/* Free keys for one, held ones for the other; where a random key comes twice, a script
 * meets a name in the other state, which is as good for one call in twenty. */
static double benchmark_pairs(void)
{
  static const char fill[] = "for i=0,ARGV[1]-1 do redis.call('SET',"
                             "string.format('dibs:m:{%012d}',i),ARGV[2],'PX',3600000) end";
  const char *value, *lease;
  double acquires, releases;

  (void)test_server_command(server, "FLUSHALL");
  acquires = benchmark(raw_acquire_words(bare[0], "__rand_int__"));
  (void)test_server_command(server, "FLUSHALL");

  raw_hold(bare[0], "sample");
  value = test_server_command(server, "GET dibs:m:{sample}");
  lease = bench_text("%.*s", (int)strcspn(value, " "), value);
  (void)test_server_command(server, "EVAL %s 0 %d %s", fill, KEYS, value);
  releases = benchmark(raw_release_words(bare[0], "__rand_int__", lease));
  (void)test_server_command(server, "FLUSHALL");
  return acquires > 0 && releases > 0 ? 1 / (1 / acquires + 1 / releases) : 0;
}

/* ---- report ---- */

static double ratio(const figures *f, const figures *against, int rounds)
{
  double ratios[ROUNDS_MAX];

  for (int i = 0; i < rounds; i++)
    ratios[i] = f->rate[i] / against->rate[i];
  return bench_median(ratios, (size_t)rounds);
}

static void add(const figures *all, kind k, int rounds, kind against, double target)
{
  const figures *f = &all[k];
  bench_row row = { .figure = bench_text("%d: %s", threads, kind_names[k]),
                    .value = bench_median(f->rate, (size_t)rounds), .unit = "pairs/s" };

  if (k != against) {
    row.against = kind_names[against];
    row.ratio = ratio(f, &all[against], rounds);
    row.target = target;
    row.at_least = true;
  }
  bench_add(&row);
}

static void report(const figures *all, int rounds, double by_benchmark)
{
  double limit = bench_median(all[PIPELINED].server_cpu, (size_t)rounds);

  add(all, PIPELINED, rounds, PIPELINED, 0);
  add(all, CONNECTIONS, rounds, PIPELINED, 0);
  add(all, WAITING, rounds, CONNECTIONS, 1.6);
  add(all, WAITING, rounds, PIPELINED, 0.4);
  add(all, POSTING, rounds, PIPELINED, 0.85);
  add(all, CALLBACKS, rounds, PIPELINED, 0.95);
  if (by_benchmark > 0)
    for (kind k = PIPELINED; k < KINDS; k++)
      bench_add(&(bench_row){ .figure = bench_text("%d: %s", threads, kind_names[k]),
        .value = bench_median(all[k].rate, (size_t)rounds), .unit = "pairs/s",
        .against = "redis-benchmark -c 1 -P 64",
        .ratio = bench_median(all[k].rate, (size_t)rounds) / by_benchmark });
  for (kind k = PIPELINED; k < KINDS; k++) {
    double cpu = bench_median(all[k].server_cpu, (size_t)rounds);

    bench_add(&(bench_row){ .figure = bench_text("%d: server CPU, %s", threads, kind_names[k]),
      .value = cpu, .unit = "us/pair", .against = k == PIPELINED ? NULL : "raw pipelined client",
      .ratio = k == PIPELINED ? 0 : cpu / limit, .target = k == WAITING ? 1.1 : 0 });
    bench_note("%d: client CPU, %s: %.1f us per pair", threads, kind_names[k],
               bench_median(all[k].cpu, (size_t)rounds));
  }
}

int main(int argc, char **argv)
{
  static figures all[KINDS];
  int kept = bench_begin(argc, argv), rounds = bench_rounds(7);

  threads = kept > 1 ? atoi(argv[1]) : THREADS_MAX;
  if (rounds > ROUNDS_MAX || threads < 1 || threads > THREADS_MAX)
    bench_die("1 to %d threads, at most %d rounds", THREADS_MAX, ROUNDS_MAX);
  server = test_server_start();
  for (int i = 0; i < threads; i++) {
    bare[i] = raw_open(server, true);
    for (int j = 0; j < 2; j++)
      (void)snprintf(names[i][j], sizeof(names[i][j]), "threads-%d-%d", i, j);
  }
  client = bench_open(test_server_unix_url(server), 0);
  loop_client = bench_open(test_server_unix_url(server), DIBS_CLIENT_NO_THREAD);
  for (int round = 0; round < rounds; round++)
    for (kind k = PIPELINED; k < KINDS; k++)
      measure(&all[k], k, round);
  report(all, rounds, benchmark_pairs());
  bench_print("threads");
  loop_client = dibs_close(loop_client);
  client = dibs_close(client);
  for (int i = 0; i < threads; i++)
    bare[i] = raw_close(bare[i]);
  (void)test_server_stop(server);
  return 0;
}
