/* SPDX-License-Identifier: MIT */
/* bench/script_cost.c - what an uncontended lock and unlock costs the server: our two
 * scripts, fence included, against two that do what Redisson's RLock does, without one.
 * 64 of each in one write, over a unix socket; both kinds in turn, medians. Where the server knows
 * SET with IFEQ, ours with releases by it, too (protocol.md 23). */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "raw.h"

#define TOGETHER 64
#define BATCHES 60

/* Written from the facts of Redisson's wire format: a hash field per owner with a count;
 * an unlock that remembers its result for its own repetition, and publishes always. */
static const char redisson_lock[] =
  "if redis.call('exists', KEYS[1]) == 0 or redis.call('hexists', KEYS[1], ARGV[2]) == 1 then "
  "redis.call('hincrby', KEYS[1], ARGV[2], 1) "
  "redis.call('pexpire', KEYS[1], ARGV[1]) "
  "return nil end "
  "return redis.call('pttl', KEYS[1])";
static const char redisson_unlock[] =
  "local done = redis.call('get', KEYS[3]) "
  "if done ~= false then return tonumber(done) end "
  "if redis.call('hexists', KEYS[1], ARGV[3]) == 0 then return nil end "
  "local count = redis.call('hincrby', KEYS[1], ARGV[3], -1) "
  "if count > 0 then "
  "redis.call('pexpire', KEYS[1], ARGV[2]) "
  "redis.call('set', KEYS[3], 0, 'px', ARGV[5]) "
  "return 0 end "
  "redis.call('del', KEYS[1]) "
  "redis.call(ARGV[4], KEYS[2], ARGV[1]) "
  "redis.call('set', KEYS[3], 1, 'px', ARGV[5]) "
  "return 1";
static const char redisson_owner[] = "0f8fad5b-d9cb-469f-a165-70867728950e:1";

static struct test_server *server;
static redisContext *context;
static char lock_sha[41], unlock_sha[41];
static char names[TOGETHER][32];
static const char *name_list[TOGETHER];

static void load(const char *words, char sha[41])
{
  (void)snprintf(sha, 41, "%s", test_server_command(server, "SCRIPT LOAD %s", words));
}

/* Reads the answers to all that was appended; those to scripts must be of `kind`. */
static void read_answers(int kind)
{
  for (int i = 0; i < TOGETHER; i++) {
    redisReply *reply = NULL;
    if (redisGetReply(context, (void **)&reply) != REDIS_OK || reply->type != kind)
      bench_die("the server answers %s", reply != NULL && reply->str != NULL ? reply->str : "");
    freeReplyObject(reply);
  }
}

static void redisson_batch(unsigned turn)
{
  for (int i = 0; i < TOGETHER; i++)
    (void)redisAppendCommand(context, "EVALSHA %s 1 %s 30000 %s", lock_sha, names[i],
                             redisson_owner);
  read_answers(REDIS_REPLY_NIL);
  for (int i = 0; i < TOGETHER; i++)
    (void)redisAppendCommand(context, "EVALSHA %s 3 %s redisson_lock__channel:{%s} "
      "redisson_unlock_latch:{%s}:%032u 0 30000 %s PUBLISH 16000", unlock_sha, names[i],
      names[i], names[i], turn, redisson_owner);
  read_answers(REDIS_REPLY_INTEGER);
  /* The client deletes the latch itself when it has the answer. */
  for (int i = 0; i < TOGETHER; i++)
    (void)redisAppendCommand(context, "DEL redisson_unlock_latch:{%s}:%032u", names[i], turn);
  read_answers(REDIS_REPLY_INTEGER);
}

/* Server time in our scripts since the last CONFIG RESETSTAT, us. */
static double script_us(void)
{
  const char *found = strstr(test_server_command(server, "INFO commandstats"),
                             "cmdstat_evalsha:");

  if (found == NULL || (found = strstr(found, "usec=")) == NULL)
    return 0;
  return strtod(found + 5, NULL);
}

typedef struct cost { double cpu_us, script_us; } cost;

static cost measure(raw *r, int batches)
{
  static unsigned turn;
  double pairs = (double)batches * TOGETHER, cpu;
  cost c;

  test_server_command(server, "CONFIG RESETSTAT");
  cpu = bench_cpu_of(test_server_pid(server));
  for (int i = 0; i < batches; i++) {
    if (r != NULL)
      raw_pairs(r, name_list, TOGETHER);
    else
      redisson_batch(++turn);
  }
  c.cpu_us = (bench_cpu_of(test_server_pid(server)) - cpu) * 1e6 / pairs;
  c.script_us = script_us() / pairs;
  return c;
}

static void report_ifeq(int rounds, double values[][6])
{
  double ratios[1000], column[1000];

  for (int i = 0; i < rounds; i++) {
    column[i] = values[i][5];
    ratios[i] = values[i][5] / values[i][2];
  }
  bench_add(&(bench_row){ .figure = "dibs, release by IFEQ: pair, all server CPU",
    .value = bench_median(column, (size_t)rounds), .unit = "us",
    .ratio = bench_median(ratios, (size_t)rounds), .against = "dibs by scripts" });
}

static void report(int rounds, double values[][6])
{
  static const char *const figures[2] = { "pair, scripts only", "pair, all server CPU" };
  double column[1000];

  for (int kind = 0; kind < 2; kind++) {
    double theirs;
    for (int i = 0; i < rounds; i++)
      column[i] = values[i][2 * kind + 1];
    theirs = bench_median(column, (size_t)rounds);
    for (int i = 0; i < rounds; i++)
      column[i] = values[i][2 * kind];
    double ours = bench_median(column, (size_t)rounds);
    bench_add(&(bench_row){ .figure = bench_text("RLock's scripts: %s", figures[kind]),
      .value = theirs, .unit = "us" });
    bench_add(&(bench_row){ .figure = bench_text("dibs: %s", figures[kind]), .value = ours,
      .unit = "us", .ratio = ours / theirs, .against = "RLock's scripts", .target = 1.0 });
  }
}

int main(int argc, char **argv)
{
  static double values[1000][6];
  int rounds, batches;
  raw *r;

  (void)bench_begin(argc, argv);
  rounds = bench_rounds(51);
  batches = bench.is_smoke ? 2 : BATCHES;
  server = test_server_start();
  context = redisConnectUnix(test_server_socket(server));
  if (context == NULL || context->err != 0)
    bench_die("cannot connect");
  load(redisson_lock, lock_sha);
  load(redisson_unlock, unlock_sha);
  for (int i = 0; i < TOGETHER; i++) {
    (void)snprintf(names[i], sizeof(names[i]), "orders-%d", i);
    name_list[i] = names[i];
  }
  r = raw_open(server, true);

  for (int i = 0; i < rounds && i < 1000; i++) {
    cost ours = measure(r, batches), theirs = measure(NULL, batches), by_ifeq = { 0, 0 };
    values[i][0] = ours.script_us;
    values[i][1] = theirs.script_us;
    values[i][2] = ours.cpu_us;
    values[i][3] = theirs.cpu_us;
    if (!r->has_ifeq)
      continue;
    r->uses_ifeq = true;
    by_ifeq = measure(r, batches);
    r->uses_ifeq = false;
    values[i][4] = by_ifeq.script_us;
    values[i][5] = by_ifeq.cpu_us;
  }
  report(rounds, values);
  if (r->has_ifeq)
    report_ifeq(rounds, values);
  bench_note("%d pairs in one write; ours give a fence, theirs do not", TOGETHER);
  bench_print("script_cost");
  r = raw_close(r);
  redisFree(context);
  server = test_server_stop(server);
  return 0;
}
