/* SPDX-License-Identifier: MIT */
/* bench/names.c - many names in one process: 10 000 waiters on 10 000 names with one
 * subscriber connection; 100 000 held leases, what they weigh and what renewing costs. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "raw.h"

#define HELD 100000
#define WAITERS 10000
#define IN_FLIGHT 512
#define TTL_MS 30000

static struct test_server *server;
static dibs_hold *holds[HELD];
static dibs_client *holder, *waiter;
static size_t asked, granted, lost;
static double released_at;
static double us[WAITERS];
static size_t us_count;

static const char *name_of(size_t i)
{
  static char name[32];

  (void)snprintf(name, sizeof(name), "order-%08zu", i);
  return name;
}

/* ---- holding ---- */

static void on_lost(dibs_hold *hold, const dibs_loss *loss, void *data)
{
  (void)hold, (void)loss, (void)data;
  lost++;
}

static void on_held(const dibs_error *error, dibs_hold *hold, void *data)
{
  bench_ok(error->status, "a lock");
  holds[(size_t)(uintptr_t)data] = hold;
  granted++;
}

static void hold_all(size_t count)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;

  options.ttl_ms = TTL_MS;
  options.on_lost = on_lost;
  asked = granted = 0;
  while (granted < count) {
    while (asked < count && asked - granted < IN_FLIGHT) {
      bench_ok(dibs_lock_async(holder, name_of(asked), &options, on_held,
                               (void *)(uintptr_t)asked, NULL), "dibs_lock_async");
      asked++;
    }
    bench_wait(holder);
  }
}

static dibs_client_info stats_of(dibs_client *client)
{
  dibs_client_info stats = DIBS_CLIENT_INFO_INIT;

  bench_ok(dibs_client_get_info(client, &stats), "dibs_client_get_info");
  return stats;
}

/* ---- 100 000 held ---- */

static void weigh(size_t count, double rss, double used)
{
  bench_add(&(bench_row){ .figure = bench_text("%zu held: client, resident", count),
    .value = (bench_rss_bytes() - rss) / (double)count, .unit = "B each" });
  bench_add(&(bench_row){ .figure = bench_text("%zu held: client, table_bytes", count),
    .value = (double)stats_of(holder).table_bytes / (double)count, .unit = "B each" });
  bench_add(&(bench_row){ .figure = bench_text("%zu held: server, used_memory", count),
    .value = ((double)bench_info(server, "memory", "used_memory") - used) / (double)count,
    .unit = "B each" });
}

/* Other clients' PING while the renewals go on, or while they do not. */
static double ping_p99(raw *r, double seconds, bool is_renewing)
{
  static double pings[1000000];
  size_t count = 0;
  double until = bench_now() + seconds;

  while (bench_now() < until && count < 1000000) {
    double started = bench_now();

    raw_ping(r);
    pings[count++] = (bench_now() - started) * 1e6;
    if (is_renewing)
      (void)dibs_process(holder, NULL);
  }
  return bench_quantile(pings, count, 0.99);
}

static void renew(size_t count, double seconds)
{
  double started = bench_now(), own = bench_cpu_of(getpid());
  double at_server = bench_cpu_of(test_server_pid(server)), took;
  dibs_client_info before = stats_of(holder), after;

  while (bench_now() - started < seconds)
    bench_wait(holder);
  took = bench_now() - started;
  after = stats_of(holder);
  bench_add(&(bench_row){ .figure = bench_text("%zu held: server, renewals", count),
    .value = (bench_cpu_of(test_server_pid(server)) - at_server) / took * 100,
    .unit = "% core", .target = 1.2 });
  bench_add(&(bench_row){ .figure = bench_text("%zu held: client, renewals", count),
    .value = (bench_cpu_of(getpid()) - own) / took * 100, .unit = "% core", .target = 0.5 });
  if (after.renewed > before.renewed) {
    double renewed = (double)(after.renewed - before.renewed);

    bench_note("renewed %.0f times in %.1f s by %.0f commands, each lease every %.1f s; "
               "failed %llu, lost %zu", renewed, took, (double)(after.commands - before.commands),
               took * (double)count / renewed,
               (unsigned long long)(after.renew_failed - before.renew_failed), lost);
    bench_note("CPU of one renewal: server %.2f us, client %.2f us",
               (bench_cpu_of(test_server_pid(server)) - at_server) / renewed * 1e6,
               (bench_cpu_of(getpid()) - own) / renewed * 1e6);
  }
}

static void held(void)
{
  size_t count = bench.is_smoke ? 500 : HELD;
  double rss, used, quiet;
  raw *r = raw_open(server, true);

  holder = bench_open(test_server_unix_url(server), DIBS_CLIENT_NO_THREAD);
  (void)test_server_command(server, "FLUSHALL");
  rss = bench_rss_bytes();
  used = (double)bench_info(server, "memory", "used_memory");
  hold_all(count);
  weigh(count, rss, used);
  quiet = ping_p99(r, bench_seconds(1), false);
  renew(count, bench_seconds(35));
  bench_note("PING of another client, p99: %.0f us without, %.0f us while renewals go on", quiet,
             ping_p99(r, bench_seconds(5), true));
  if (lost > 0)
    bench_die("%zu of %zu leases were lost", lost, count);
  (void)test_server_command(server, "FLUSHALL");
  (void)raw_close(r);
}

/* ---- 10 000 waiters on 10 000 names ---- */

static void on_granted(const dibs_error *error, dibs_hold *hold, void *data)
{
  (void)data;
  if (error->status == DIBS_ERR_CLOSED)
    return;
  bench_ok(error->status, "a lock");
  us[us_count++] = (bench_now() - released_at) * 1e6;
  bench_ok(dibs_release_async(hold, NULL, NULL), "dibs_release_async");
}

static void wait_all(size_t count)
{
  for (size_t i = 0; i < count; i++) {
    bench_ok(dibs_lock_async(waiter, name_of(i), NULL, on_granted, NULL, NULL),
             "dibs_lock_async");
    if (i % IN_FLIGHT == 0)
      (void)dibs_process(waiter, NULL);
  }
  while (bench_info(server, "keyspace", "db0") == 0 && bench_calls(server, "evalsha") < count)
    bench_wait(waiter);
  for (double until = bench_now() + bench_seconds(2); bench_now() < until;)
    (void)dibs_process(waiter, NULL);
}

static size_t lines_of(const char *words)
{
  size_t lines = 0;

  for (; *words != 0; words++)
    lines += *words == '\n';
  return lines;
}

static void hand_over(size_t count)
{
  for (size_t i = 0; i < count; i++) {
    released_at = bench_now();
    bench_ok(dibs_release_async(holds[i], NULL, NULL), "dibs_release_async");
    while (us_count <= i) {
      (void)dibs_process(waiter, NULL);
      (void)dibs_process(holder, NULL);
    }
  }
}

static void many_names(void)
{
  size_t count = bench.is_smoke ? 200 : WAITERS;
  double connected, started, calls;

  holder = bench_open(test_server_unix_url(server), DIBS_CLIENT_NO_THREAD);
  waiter = bench_open(test_server_unix_url(server), DIBS_CLIENT_NO_THREAD);
  connected = (double)bench_info(server, "clients", "connected_clients");
  hold_all(count);
  wait_all(count);
  (void)test_server_command(server, "CONFIG RESETSTAT");
  bench_add(&(bench_row){ .figure = bench_text("%zu waiters, %zu names: subscribers", count, count),
    .value = (double)lines_of(test_server_command(server, "CLIENT LIST TYPE pubsub")),
    .unit = "conns", .target = 1 });
  bench_note("connections more than before the waiting: %.0f",
             (double)bench_info(server, "clients", "connected_clients") - connected);
  started = bench_now();
  hand_over(count);
  calls = (double)bench_calls(server, "evalsha");
  bench_add(&(bench_row){
    .figure = bench_text("%zu waiters, %zu names: hand-off p50", count, count),
    .value = bench_quantile(us, us_count, 0.5), .unit = "us" });
  bench_add(&(bench_row){
    .figure = bench_text("%zu waiters, %zu names: hand-off p99", count, count),
    .value = bench_quantile(us, us_count, 0.99), .unit = "us" });
  bench_note("%zu names: script calls per grant and release %.2f, messages %.2f, took %.1f s",
             count, calls / (double)count, (double)bench_calls(server, "publish") / (double)count,
             bench_now() - started);
  waiter = dibs_close(waiter);
  holder = dibs_close(holder);
  (void)test_server_command(server, "FLUSHALL");
}

int main(int argc, char **argv)
{
  (void)bench_begin(argc, argv);
  server = test_server_start();
  many_names();
  held();
  bench_print("names");
  /* Giving 100 000 back one by one is no figure; the process and its server just end. */
  (void)test_server_stop(server);
  return 0;
}
