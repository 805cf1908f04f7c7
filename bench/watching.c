/* SPDX-License-Identifier: MIT */
/* bench/watching.c - what it costs a server to be looked at: a scrape of `dibs metrics`, a page of
 * `dibs web` and `dibs top`, with 10 000 held names of 1 000 clients. The path of dibs is the first
 * argument. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"

#define CLIENTS 1000
#define NAMES_EACH 10
#define ROUNDS_MAX 99
#define SCRAPE_EVERY 5.0         /* seconds; Prometheus' usual interval is longer */

extern char **environ;

static struct test_server *server;
static dibs_client *clients[CLIENTS];
static size_t client_count;

/* ---- the fleet ---- */

static bool has_reported(dibs_client *c)
{
  dibs_fleet *read = NULL;
  bool has_all;

  bench_ok(dibs_fleet_read(c, &read), "dibs_fleet_read");
  has_all = read->clients >= client_count;
  read = dibs_fleet_free(read);
  return has_all;
}

/* Each is a client without a thread: once it has reported it sends nothing, and all that the server
 * does is done for those who look. */
static void fleet_open(void)
{
  dibs_lock_options lock = DIBS_LOCK_OPTIONS_INIT;
  dibs_options o = DIBS_OPTIONS_INIT;
  dibs_client *reader = bench_open(test_server_unix_url(server), 0);

  client_count = bench.is_smoke ? 5 : CLIENTS;
  o.flags = DIBS_CLIENT_NO_THREAD;
  o.report_ms = 1000;
  lock.ttl_ms = 3600000;
  for (size_t i = 0; i < client_count; i++) {
    bench_ok(dibs_open(test_server_unix_url(server), &o, &clients[i], NULL), "dibs_open");
    for (int n = 0; n < NAMES_EACH; n++) {
      dibs_hold *hold = NULL;

      bench_ok(dibs_lock(clients[i], bench_text("orders:%zu-%d", i, n), &lock, &hold),
               "dibs_lock");
    }
  }
  do {
    for (size_t i = 0; i < client_count; i++)
      bench_ok(dibs_process(clients[i], NULL), "dibs_process");
  } while (!has_reported(reader));
  reader = dibs_close(reader);
}

/* Their entries in the table of clients last as long as they say so. */
static void fleet_keep(void)
{
  for (size_t i = 0; i < client_count; i++)
    bench_ok(dibs_process(clients[i], NULL), "dibs_process");
}

/* ---- those who look ---- */

typedef struct watcher {
  pid_t pid;
  int said;                      /* its stderr */
  int port;                      /* 0: it serves none */
} watcher;

static void watcher_start(watcher *w, char *const *words)
{
  posix_spawn_file_actions_t how;
  int ends[2];

  if (pipe2(ends, O_CLOEXEC) != 0)
    bench_die("no pipe");
  (void)posix_spawn_file_actions_init(&how);
  (void)posix_spawn_file_actions_addopen(&how, 1, "/dev/null", O_WRONLY, 0);
  (void)posix_spawn_file_actions_adddup2(&how, ends[1], 2);
  if (posix_spawn(&w->pid, words[0], &how, NULL, words, environ) != 0)
    bench_die("%s cannot be started", words[0]);
  (void)posix_spawn_file_actions_destroy(&how);
  (void)close(ends[1]);
  w->said = ends[0];
}

/* Reads `... at http://127.0.0.1:PORT/...`. */
static void watcher_port(watcher *w)
{
  char words[300];
  size_t used = 0;
  const char *at;

  while (used + 1 < sizeof(words) && memchr(words, '\n', used) == NULL) {
    ssize_t got = read(w->said, words + used, sizeof(words) - 1 - used);

    if (got <= 0)
      break;
    used += (size_t)got;
  }
  words[used] = 0;
  at = strstr(words, "http://127.0.0.1:");
  if (at == NULL)
    bench_die("no address: %s", words);
  w->port = atoi(at + strlen("http://127.0.0.1:"));
}

static void watcher_end(watcher *w)
{
  int status;

  (void)kill(w->pid, SIGTERM);
  if (waitpid(w->pid, &status, 0) != w->pid)
    bench_die("waitpid() fails");
  (void)close(w->said);
}

static int ask(const watcher *w, const char *path)
{
  struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)w->port),
                            .sin_addr = { htonl(INADDR_LOOPBACK) } };
  const char *words = bench_text("GET %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                 "Connection: close\r\n\r\n", path);
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

  if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0 ||
      write(fd, words, strlen(words)) != (ssize_t)strlen(words))
    bench_die("no answer of port %d", w->port);
  return fd;
}

/* Reads for at most `seconds`; returns the number of bytes. */
static size_t read_for(int fd, double seconds)
{
  static char bytes[65536];
  double until = bench_now() + seconds;
  size_t size = 0;

  for (;;) {
    struct pollfd watched = { .fd = fd, .events = POLLIN };
    double left = until - bench_now();
    ssize_t got;

    if (left <= 0 || poll(&watched, 1, (int)(left * 1000) + 1) <= 0)
      return size;
    got = read(fd, bytes, sizeof(bytes));
    if (got <= 0)
      return size;
    size += (size_t)got;
  }
}

/* ---- figures ---- */

/* Of the server, in per cent of a core. */
static void add_core(const char *what, double cpu, double seconds)
{
  bench_add(&(bench_row){ .figure = bench_text("%s: server", what), .value = cpu / seconds * 100,
                          .unit = "% core", .target = 2 });
}

static double server_cpu(void)
{
  return bench_cpu_of(test_server_pid(server));
}

static void scrapes(char *dibs)
{
  char verb[] = "metrics", listen[] = "--listen", port[] = "127.0.0.1:0";
  char *words[] = { dibs, verb, listen, port, NULL };
  double took[ROUNDS_MAX], cpu[ROUNDS_MAX], size = 0;
  int rounds = bench_rounds(9);
  watcher w;

  watcher_start(&w, words);
  watcher_port(&w);
  for (int i = 0; i < rounds; i++) {
    double began = bench_now(), at_server = server_cpu();
    int fd = ask(&w, "/metrics");

    size = (double)read_for(fd, 30);
    (void)close(fd);
    took[i] = bench_now() - began;
    cpu[i] = server_cpu() - at_server;
    if (i + 1 < rounds)
      (void)poll(NULL, 0, (int)(SCRAPE_EVERY * 1000));
  }
  watcher_end(&w);
  bench_add(&(bench_row){ .figure = "dibs metrics: a scrape", .value = bench_median(took,
                          (size_t)rounds), .unit = "s", .target = 2 });
  add_core(bench_text("dibs metrics, a scrape in %.0f s", SCRAPE_EVERY),
           bench_median(cpu, (size_t)rounds), SCRAPE_EVERY);
  bench_note("a page of metrics: %.0f bytes", size);
}

/* The stream of an open page. */
static void page(char *dibs)
{
  char verb[] = "web", listen[] = "--listen", port[] = "127.0.0.1:0";
  char *words[] = { dibs, verb, listen, port, NULL };
  double began, at_server, took, length = bench_seconds(20);
  size_t size;
  watcher w;
  int fd;

  watcher_start(&w, words);
  watcher_port(&w);
  fd = ask(&w, "/api/events");
  (void)read_for(fd, bench_seconds(6));            /* the first walk over all names */
  began = bench_now();
  at_server = server_cpu();
  size = read_for(fd, length);
  took = bench_now() - began;
  add_core("dibs web, an open page", server_cpu() - at_server, took);
  bench_note("the stream of an open page: %.0f bytes a second", (double)size / took);
  (void)close(fd);
  watcher_end(&w);
}

static void top(char *dibs)
{
  char verb[] = "top", record[] = "--record", file[] = "/dev/null", every[] = "-i", two[] = "2s";
  char *words[] = { dibs, verb, record, file, every, two, NULL };
  double began, at_server, own, length = bench_seconds(20);
  watcher w;

  watcher_start(&w, words);
  (void)read_for(w.said, bench_seconds(6));
  began = bench_now();
  at_server = server_cpu();
  own = bench_cpu_of(w.pid);
  (void)read_for(w.said, length);
  add_core("dibs top, a reading in 2 s", server_cpu() - at_server, bench_now() - began);
  bench_note("dibs top: %.2f %% of a core for the program",
             (bench_cpu_of(w.pid) - own) / (bench_now() - began) * 100);
  watcher_end(&w);
}

static void sizes(const char *dibs)
{
  dibs_client *reader = bench_open(test_server_unix_url(server), 0);
  dibs_fleet *read = NULL;
  struct stat found;

  bench_ok(dibs_fleet_read(reader, &read), "dibs_fleet_read");
  bench_note("%zu names were held, by %llu clients", client_count * NAMES_EACH,
             (unsigned long long)read->clients);
  read = dibs_fleet_free(read);
  reader = dibs_close(reader);
  if (stat(dibs, &found) == 0)
    bench_note("the program: %.2f MB, with what a debugger needs if it was built so",
               (double)found.st_size / 1e6);
}

int main(int argc, char **argv)
{
  int kept = bench_begin(argc, argv);

  if (kept < 2 || bench_rounds(9) > ROUNDS_MAX)
    bench_die("watching PATH-OF-DIBS; at most %d rounds", ROUNDS_MAX);
  server = test_server_start();
  (void)setenv("DIBS_URL", test_server_unix_url(server), 1);
  fleet_open();
  scrapes(argv[1]);
  fleet_keep();
  page(argv[1]);
  fleet_keep();
  top(argv[1]);
  sizes(argv[1]);
  bench_print("watching");
  /* Giving 10 000 back one by one is no figure; the process and its server just end. */
  (void)test_server_stop(server);
  return 0;
}
