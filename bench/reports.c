/* SPDX-License-Identifier: MIT */
/* bench/reports.c - what reports cost a client and its server, and how true the totals of a fleet
 * are, against a log that processes keep by their own clocks, 200 `dibs run` among them. The path
 * of dibs is the first argument. */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bench.h"

#define ROUNDS_MAX 99
#define CLIENTS 20
#define PROCESSES 20
#define RUNS 200
#define RUN_NAMES 8
#define HOLD_S 0.02              /* of the processes */
#define RUN_S 0.2                /* of what `dibs run` runs */
#define LOG "DIBS_BENCH_LOG"

extern char **environ;

static struct test_server *server;

static dibs_client *open_with(int32_t report_ms, dibs_history_mode history)
{
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *c = NULL;

  o.report_ms = report_ms;
  o.history = history;
  bench_ok(dibs_open(test_server_unix_url(server), &o, &c, NULL), "dibs_open");
  bench_ok(dibs_ping(c, 0, NULL), "dibs_ping");
  return c;
}

static void pair(dibs_client *c, const char *name)
{
  dibs_hold *hold = NULL;

  bench_ok(dibs_lock(c, name, NULL, &hold), "dibs_lock");
  bench_ok(dibs_release(hold), "dibs_release");
}

/* ---- a pair ---- */

typedef enum kind { OFF, AS_USUAL, ALL, KINDS } kind;

static const char *const kind_names[KINDS] = {
  "report=off", "report=10s", "report=1s, history=all"
};
static const char *const pair_names[KINDS] = { "off:1", "usual:1", "all:1" };
static double wall[KINDS][ROUNDS_MAX], cpu[KINDS][ROUNDS_MAX];

static void measure(dibs_client *c, kind k, int round)
{
  double began = bench_now(), own = bench_cpu_of(getpid());
  double at_server = bench_cpu_of(test_server_pid(server)), took, length = bench_seconds(0.3);
  unsigned pairs = 0;

  do {
    for (int i = 0; i < 20; i++, pairs++)
      pair(c, pair_names[k]);
    took = bench_now() - began;
  } while (took < length);
  wall[k][round] = took / pairs;
  cpu[k][round] = (bench_cpu_of(getpid()) - own +
                   bench_cpu_of(test_server_pid(server)) - at_server) / pairs;
}

/* Pairs in a time, against those without reports in the same round. */
static double gain(double values[KINDS][ROUNDS_MAX], kind k, int rounds)
{
  double ratios[ROUNDS_MAX];

  for (int i = 0; i < rounds; i++)
    ratios[i] = values[OFF][i] / values[k][i];
  return bench_median(ratios, (size_t)rounds);
}

static void pairs(void)
{
  int rounds = bench_rounds(31);
  dibs_client *clients[KINDS];

  if (rounds > ROUNDS_MAX)
    bench_die("at most %d rounds", ROUNDS_MAX);
  clients[OFF] = open_with(DIBS_REPORT_OFF, DIBS_HISTORY_DEFAULT);
  clients[AS_USUAL] = open_with(0, DIBS_HISTORY_DEFAULT);
  clients[ALL] = open_with(1000, DIBS_HISTORY_ALL);
  for (int i = 0; i < rounds; i++)
    for (int k = 0; k < KINDS; k++)
      measure(clients[(i + k) % KINDS], (kind)((i + k) % KINDS), i);
  for (kind k = AS_USUAL; k < KINDS; k++) {
    bench_add(&(bench_row){ .figure = bench_text("pairs, %s", kind_names[k]),
      .value = 1 / bench_median(wall[k], (size_t)rounds), .unit = "/s",
      .against = kind_names[OFF], .ratio = gain(wall, k, rounds),
      .target = k == AS_USUAL ? 0.99 : 0, .at_least = true });
    bench_add(&(bench_row){ .figure = bench_text("CPU of a pair, both sides, %s", kind_names[k]),
      .value = bench_median(cpu[k], (size_t)rounds) * 1e6, .unit = "us",
      .against = kind_names[OFF], .ratio = 1 / gain(cpu, k, rounds) });
  }
  for (int k = 0; k < KINDS; k++)
    clients[k] = dibs_close(clients[k]);
}

/* ---- commands ---- */

/* A free name is taken by one script and released by one. */
static void commands(void)
{
  dibs_client *clients[CLIENTS];
  double began, took, length = bench_seconds(5.5);
  uint64_t pairs = 0, calls;

  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = open_with(1000, DIBS_HISTORY_DEFAULT);
    pair(clients[i], "counted:0");
  }
  (void)test_server_command(server, "CONFIG RESETSTAT");
  began = bench_now();
  do {
    for (int i = 0; i < CLIENTS; i++, pairs++)
      pair(clients[i], "counted:0");
    took = bench_now() - began;
  } while (took < length);
  calls = bench_calls(server, "evalsha") - 2 * pairs;
  bench_add(&(bench_row){ .figure = "commands of a client in the time of one report",
    .value = (double)calls / CLIENTS / took, .unit = "", .target = 1 });
  bench_note("%d clients, %.1f s with a report each second: %llu commands beside %llu pairs",
             CLIENTS, took, (unsigned long long)calls, (unsigned long long)pairs);
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = dibs_close(clients[i]);
}

/* ---- totals ---- */

/* What happened, by the clock of those who did it. A hold ends somewhere in its release. */
typedef struct diary {
  double count, waited, held, held_and_released;
} diary;

static void sleep_for(double seconds)
{
  struct timespec left = { (time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9) };

  while (nanosleep(&left, &left) != 0)
    ;
}

static void work(int number, diary *log)
{
  dibs_client *c = open_with(1000, DIBS_HISTORY_DEFAULT);
  double until = bench_now() + bench_seconds(5);
  const char *name = bench_text("worked:%d", number % 4);

  do {
    double asked = bench_now(), granted, released;
    dibs_hold *hold = NULL;

    bench_ok(dibs_lock(c, name, NULL, &hold), "dibs_lock");
    granted = bench_now();
    sleep_for(HOLD_S);
    released = bench_now();
    bench_ok(dibs_release(hold), "dibs_release");
    log->count++;
    log->waited += granted - asked;
    log->held += released - granted;
    log->held_and_released += bench_now() - granted;
  } while (bench_now() < until);
  c = dibs_close(c);
}

/* In `dibs run`: adds a line to the log. */
static int run_inside(const char *path)
{
  double began = bench_now();
  FILE *log;

  sleep_for(RUN_S);
  log = fopen(path, "ae");
  if (log == NULL || fprintf(log, "%.9f\n", bench_now() - began) < 0 || fclose(log) != 0)
    return 1;
  return 0;
}

static void run_start(char *self, char *dibs, int number, pid_t *ret_pid)
{
  static char verb[] = "run", quiet[] = "-q", dashes[] = "--";
  char name[32];
  char *words[] = { dibs, verb, quiet, name, dashes, self, NULL };

  (void)snprintf(name, sizeof(name), "ran:%d", number % RUN_NAMES);
  if (posix_spawn(ret_pid, dibs, NULL, NULL, words, environ) != 0)
    bench_die("%s cannot be started", dibs);
}

static void all_end(const pid_t *pids, size_t count)
{
  int status;

  for (size_t i = 0; i < count; i++)
    if (waitpid(pids[i], &status, 0) != pids[i] || status != 0)
      bench_die("a process ends with %d", status);
}

static void compare(const char *class_name, const diary *log)
{
  dibs_client *c = bench_open(test_server_unix_url(server), 0);
  dibs_fleet_row row = { .size = 0 };
  dibs_fleet *read = NULL;
  double waited, held;

  bench_ok(dibs_fleet_read(c, &read), "dibs_fleet_read");
  for (size_t i = 0; i < read->count; i++)
    if (strcmp(read->rows[i]->class_name, class_name) == 0)
      row = *read->rows[i];
  waited = (double)row.waits[DIBS_FLEET_OK].sum_us / 1e6;
  held = (double)row.holds[DIBS_FLEET_RELEASED].sum_us / 1e6;
  bench_add(&(bench_row){ .figure = bench_text("%s: locks of the totals", class_name),
    .value = (double)row.waits[DIBS_FLEET_OK].count, .unit = "", .against = "the log",
    .ratio = (double)row.waits[DIBS_FLEET_OK].count / log->count });
  if (log->waited > 0)
    bench_add(&(bench_row){ .figure = bench_text("%s: waits", class_name), .value = waited,
      .unit = "s", .against = "the log", .ratio = waited / log->waited });
  bench_add(&(bench_row){ .figure = bench_text("%s: holds", class_name), .value = held,
    .unit = "s", .against = "until the call of the release", .ratio = held / log->held });
  if (log->held_and_released > 0)
    bench_add(&(bench_row){ .figure = bench_text("%s: holds", class_name), .value = held,
      .unit = "s", .against = "until its return", .ratio = held / log->held_and_released });
  read = dibs_fleet_free(read);
  c = dibs_close(c);
}

static void processes(void)
{
  diary *logs = mmap(NULL, PROCESSES * sizeof(*logs), PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0), sum = { 0 };
  pid_t pids[PROCESSES];

  if (logs == MAP_FAILED)
    bench_die("no memory");
  for (int i = 0; i < PROCESSES; i++) {
    pids[i] = fork();
    if (pids[i] == 0) {
      work(i, &logs[i]);
      _exit(0);
    }
  }
  all_end(pids, PROCESSES);
  for (int i = 0; i < PROCESSES; i++) {
    sum.count += logs[i].count;
    sum.waited += logs[i].waited;
    sum.held += logs[i].held;
    sum.held_and_released += logs[i].held_and_released;
  }
  compare("worked", &sum);
  (void)munmap(logs, PROCESSES * sizeof(*logs));
}

static void short_runs(char *self, char *dibs)
{
  int count = bench.is_smoke ? 10 : RUNS;
  char path[200], line[64];
  pid_t pids[RUNS];
  diary sum = { 0 };
  FILE *log;

  (void)snprintf(path, sizeof(path), "%s/ran", test_server_directory(server));
  (void)setenv(LOG, path, 1);
  for (int i = 0; i < count; i++)
    run_start(self, dibs, i, &pids[i]);
  all_end(pids, (size_t)count);
  (void)unsetenv(LOG);
  log = fopen(path, "re");
  while (log != NULL && fgets(line, sizeof(line), log) != NULL) {
    sum.count++;
    sum.held += strtod(line, NULL);
  }
  if (log == NULL || fclose(log) != 0 || sum.count != count)
    bench_die("%d runs, %.0f lines in the log", count, sum.count);
  compare("ran", &sum);
  bench_note("what dibs run holds lasts longer than its command: a program starts and ends");
}

int main(int argc, char **argv)
{
  int kept = bench_begin(argc, argv);

  if (getenv(LOG) != NULL)
    return run_inside(getenv(LOG));
  if (kept < 2)
    bench_die("reports PATH-OF-DIBS");
  server = test_server_start();
  (void)setenv("DIBS_URL", test_server_unix_url(server), 1);
  pairs();
  commands();
  processes();
  short_runs(argv[0], argv[1]);
  bench_print("reports");
  (void)test_server_stop(server);
  return 0;
}
