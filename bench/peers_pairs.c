/* SPDX-License-Identifier: MIT */
/* bench/peers_pairs.c - locks and unlocks of names that nobody else wants, by one thread or
 * many of one process. */
#include "peers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "overlap.h"

enum { ANSWER_MS = 60000, CYCLES_MAX = 400000 };

/* The rate while all threads were at it: those that began first wait for none. */
static double rate_of(const struct intervals *records, int threads)
{
  int64_t first[PEERS_THREADS] = { 0 }, last[PEERS_THREADS] = { 0 };
  int64_t begin = 0, end = INT64_MAX;
  double count = 0;

  for (size_t i = 0; i < records->count; i++) {
    const struct interval *one = &records->all[i];

    if (first[one->who] == 0)
      first[one->who] = one->enter_ns;
    last[one->who] = one->enter_ns;
  }
  for (int i = 0; i < threads; i++) {
    begin = first[i] > begin ? first[i] : begin;
    end = last[i] < end ? last[i] : end;
  }
  for (size_t i = 0; i < records->count; i++)
    count += records->all[i].enter_ns >= begin && records->all[i].enter_ns < end;
  return end > begin ? count * 1e9 / (double)(end - begin) : 0;
}

static bool answers_are_well(entrant *e, int threads)
{
  for (int i = 0; i < threads; i++) {
    const char *answer = side_answer(e->sides[0], i, ANSWER_MS);
    int done = 0, lost = 0;

    if (answer == NULL || sscanf(answer, "ok %d %d", &done, &lost) != 2 || lost != 0) {
      entrant_fail(e, "lock and unlock in a loop: %s", answer == NULL ? "no answer" : answer);
      return false;
    }
  }
  return true;
}

static bool records_read(entrant *e, struct intervals *records, int threads)
{
  for (int i = 0; i < threads; i++) {
    const char *path = peers_records(i);

    if (!intervals_read(records, path, i, false)) {
      entrant_fail(e, "no records in %s", path);
      return false;
    }
    (void)unlink(path);
  }
  return true;
}

void pairs_measure(entrant *e, pairs *p, int threads, double seconds, int round)
{
  double wanted = p->guess * seconds / threads;
  int each = wanted < 3 ? 3 : wanted > CYCLES_MAX ? CYCLES_MAX : (int)wanted;
  double total = (double)each * threads, server, client, rate;
  struct intervals records = { 0 };

  if (e->failure != NULL)
    return;
  server = entrant_server_cpu(e);
  client = bench_cpu_of(side_pid(e->sides[0]));
  for (int i = 0; i < threads; i++)
    side_tell(e->sides[0], i, "cycles lock mutex:p%d %d %d %s %s", i, each, PEERS_LEASE_MS,
              peers_counter(), peers_records(i));
  if (!answers_are_well(e, threads))
    return;
  server = (entrant_server_cpu(e) - server) / total * 1e6;
  client = (bench_cpu_of(side_pid(e->sides[0])) - client) / total * 1e6;
  if (records_read(e, &records, threads)) {
    rate = rate_of(&records, threads);
    if (rate > 0)
      p->guess = rate;
    if (round >= 0) {
      p->rate[round] = rate;
      p->server_us[round] = server;
      p->client_us[round] = client;
    }
  }
  intervals_deinit(&records);
}
