/* SPDX-License-Identifier: MIT */
/* bench/command.c - `dibs run NAME -- true` over plain `true`: on a warm server by unix
 * socket and TCP, and on the private server. The path of dibs is the first argument. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define TIMES_MAX 999

extern char **environ;

typedef enum kind { PLAIN, BY_UNIX, BY_TCP, BY_LOCAL, VERSION, KINDS } kind;

static const char *const kind_names[KINDS] = {
  "true", "dibs run, unix socket", "dibs run, TCP", "dibs run, private server", "dibs --version",
};
static double ms[KINDS][TIMES_MAX];

static double run(char *const *argv)
{
  double started = bench_now();
  posix_spawn_file_actions_t silent;
  pid_t pid;
  int status;

  (void)posix_spawn_file_actions_init(&silent);
  (void)posix_spawn_file_actions_addopen(&silent, 1, "/dev/null", O_WRONLY, 0);
  (void)posix_spawn_file_actions_adddup2(&silent, 1, 2);
  if (posix_spawnp(&pid, argv[0], &silent, NULL, argv, environ) != 0)
    bench_die("%s cannot be started", argv[0]);
  if (waitpid(pid, &status, 0) != pid || status != 0)
    bench_die("%s ends with %d", argv[0], status);
  (void)posix_spawn_file_actions_destroy(&silent);
  return (bench_now() - started) * 1000;
}

static void once(char *dibs, kind k, const char *const *urls, int turn)
{
  static char true_word[] = "true", run_word[] = "run", dashes[] = "--", name[] = "bench-command";
  static char version[] = "--version";
  char *plain[] = { true_word, NULL };
  char *guarded[] = { dibs, run_word, name, dashes, true_word, NULL };
  char *shown[] = { dibs, version, NULL };

  if (k == PLAIN) {
    ms[k][turn] = run(plain);
  } else if (k == VERSION) {
    ms[k][turn] = run(shown);
  } else {
    (void)setenv("DIBS_URL", urls[k], 1);
    ms[k][turn] = run(guarded);
  }
}

static void report(int times)
{
  double plain = bench_median(ms[PLAIN], (size_t)times);

  bench_add(&(bench_row){ .figure = kind_names[PLAIN], .value = plain, .unit = "ms" });
  for (kind k = BY_UNIX; k < KINDS; k++) {
    double took = bench_median(ms[k], (size_t)times);

    bench_add(&(bench_row){ .figure = kind_names[k], .value = took, .unit = "ms",
                            .against = "true", .ratio = took / plain });
    bench_note("%s: %.2f ms more than true, p99 %.2f ms", kind_names[k], took - plain,
               bench_quantile(ms[k], (size_t)times, 0.99));
  }
}

int main(int argc, char **argv)
{
  const char *urls[KINDS] = { NULL };
  int kept = bench_begin(argc, argv), times = bench.is_smoke ? 1 : bench_rounds(101);
  struct test_server *s = test_server_start();
  char place[128];

  if (kept < 2 || times > TIMES_MAX)
    bench_die("command PATH-OF-DIBS; at most %d rounds", TIMES_MAX);
  urls[BY_UNIX] = test_server_unix_url(s);
  urls[BY_TCP] = test_server_tcp_url(s);
  urls[BY_LOCAL] = "local:";
  /* A private server of our own; it goes when nobody used it for a moment. */
  (void)snprintf(place, sizeof(place), "%s/local", test_server_directory(s));
  (void)setenv("DIBS_LOCAL_DIR", place, 1);
  (void)setenv("HOME", test_server_directory(s), 1);
  for (kind k = PLAIN; k < KINDS; k++)
    once(argv[1], k, urls, 0);           /* warm: programs in memory, scripts known */
  for (int turn = 0; turn < times; turn++)
    for (kind k = PLAIN; k < KINDS; k++)
      once(argv[1], k, urls, turn);
  report(times);
  bench_print("command");
  (void)dibs_local_stop(false, NULL);
  (void)test_server_stop(s);
  return 0;
}
