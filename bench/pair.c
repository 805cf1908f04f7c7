/* SPDX-License-Identifier: MIT */
/* bench/pair.c - an uncontended lock and release by one thread, over TCP and a unix
 * socket, against two bare script calls and two PINGs on a blocking socket. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "raw.h"

#define ROUNDS_MAX 99

typedef enum kind {
  TWO_PINGS, TWO_SCRIPTS, WAITING, POSTING_ONE_NAME, POSTING_TWO_NAMES, NO_THREAD, KINDS
} kind;

static const char *const kind_names[KINDS] = {
  "two PING, blocking socket", "two EVALSHA, blocking socket", "dibs_lock + dibs_release",
  "dibs_lock + dibs_release_async, one name",
  "dibs_lock + dibs_release_async, two names in turn",
  "dibs_lock + dibs_release, DIBS_CLIENT_NO_THREAD",
};

typedef struct place {
  const char *words;
  bool is_unix;
  pid_t server;
  raw *bare;
  dibs_client *client, *threadless;
  double wall[KINDS][ROUNDS_MAX], server_cpu[KINDS][ROUNDS_MAX], cpu[KINDS][ROUNDS_MAX];
} place;

static void pair(dibs_client *client, const char *name, bool is_posting)
{
  dibs_hold *hold = NULL;

  bench_ok(dibs_lock(client, name, NULL, &hold), "dibs_lock");
  if (is_posting)
    bench_ok(dibs_release_async(hold, NULL, NULL), "dibs_release_async");
  else
    bench_ok(dibs_release(hold), "dibs_release");
}

static void once(place *p, kind k, unsigned turn)
{
  switch (k) {
  case TWO_PINGS:
    raw_ping(p->bare);
    raw_ping(p->bare);
    break;
  case TWO_SCRIPTS:
    raw_pair(p->bare, "pair-raw");
    break;
  case WAITING:
    pair(p->client, "pair-waiting", false);
    break;
  case POSTING_ONE_NAME:
    pair(p->client, "pair-posting", true);
    break;
  case POSTING_TWO_NAMES:
    pair(p->client, turn % 2 == 0 ? "pair-even" : "pair-odd", true);
    break;
  case NO_THREAD:
    pair(p->threadless, "pair-no-thread", false);
    break;
  case KINDS:
    break;
  }
}

static void measure(place *p, kind k, int round)
{
  double started = bench_now(), server = bench_cpu_of(p->server), own = bench_cpu_of(getpid());
  double length = bench_seconds(0.3), took;
  unsigned pairs = 0;

  do {
    for (int i = 0; i < 20; i++)
      once(p, k, pairs++);
    took = bench_now() - started;
  } while (took < length);
  p->wall[k][round] = took / pairs * 1e6;
  p->server_cpu[k][round] = (bench_cpu_of(p->server) - server) / pairs * 1e6;
  p->cpu[k][round] = (bench_cpu_of(getpid()) - own) / pairs * 1e6;
}

/* Ratios are taken within a round: what disturbs the machine disturbs both sides. */
static double ratio(const place *p, kind k, kind against, int rounds)
{
  double ratios[ROUNDS_MAX];

  for (int i = 0; i < rounds; i++)
    ratios[i] = p->wall[k][i] / p->wall[against][i];
  return bench_median(ratios, (size_t)rounds);
}

static void add(const place *p, kind k, int rounds, kind against, double target)
{
  bench_row row = { .figure = bench_text("%s: %s", p->words, kind_names[k]),
                    .value = bench_median(p->wall[k], (size_t)rounds), .unit = "us" };

  if (k != against) {
    row.against = against == TWO_PINGS ? "two PING" : "two EVALSHA";
    row.ratio = ratio(p, k, against, rounds);
    row.target = target;
  }
  bench_add(&row);
}

static void report(const place *p, int rounds)
{
  add(p, TWO_PINGS, rounds, TWO_PINGS, 0);
  add(p, TWO_SCRIPTS, rounds, TWO_PINGS, 0);
  add(p, WAITING, rounds, TWO_SCRIPTS, 0);
  add(p, WAITING, rounds, TWO_PINGS, 1.05);
  add(p, NO_THREAD, rounds, TWO_PINGS, 0);
  add(p, POSTING_ONE_NAME, rounds, TWO_PINGS, 0);
  add(p, POSTING_TWO_NAMES, rounds, TWO_PINGS, 0.6);
  for (kind k = TWO_PINGS; k < KINDS; k++)
    bench_note("%s: %s: CPU us per pair: server %.1f, client %.1f", p->words, kind_names[k],
               bench_median(p->server_cpu[k], (size_t)rounds),
               bench_median(p->cpu[k], (size_t)rounds));
}

static void place_open(place *p, const struct test_server *s, bool is_unix)
{
  const char *url = is_unix ? test_server_unix_url(s) : test_server_tcp_url(s);

  p->words = is_unix ? "unix" : "tcp";
  p->is_unix = is_unix;
  p->server = test_server_pid(s);
  p->bare = raw_open(s, is_unix);
  p->client = bench_open(url, 0);
  p->threadless = bench_open(url, DIBS_CLIENT_NO_THREAD);
}

static void place_close(place *p)
{
  p->threadless = dibs_close(p->threadless);
  p->client = dibs_close(p->client);
  p->bare = raw_close(p->bare);
}

/* For strace and perf: `pair --only KIND [tcp|unix]` does one kind 2000 times. */
static void only(place *p, kind k)
{
  for (unsigned i = 0; i < 2000; i++)
    once(p, k, i);
}

int main(int argc, char **argv)
{
  static place places[2];
  int kept = bench_begin(argc, argv), rounds = bench_rounds(9);
  struct test_server *s = test_server_start();

  if (rounds > ROUNDS_MAX)
    bench_die("at most %d rounds", ROUNDS_MAX);
  place_open(&places[0], s, false);
  place_open(&places[1], s, true);
  if (kept > 2 && strcmp(argv[1], "--only") == 0) {
    only(&places[kept > 3 && strcmp(argv[3], "unix") == 0], (kind)(argv[2][0] - '0'));
  } else {
    for (int round = 0; round < rounds; round++)
      for (int i = 0; i < 2; i++)
        for (kind k = TWO_PINGS; k < KINDS; k++)
          measure(&places[i], k, round);
    for (int i = 0; i < 2; i++)
      report(&places[i], rounds);
    bench_print("pair");
  }
  for (int i = 0; i < 2; i++)
    place_close(&places[i]);
  (void)test_server_stop(s);
  return 0;
}
