/* SPDX-License-Identifier: MIT */
/* test/fault/f23_memory_full.c - F23: the server reaches maxmemory. With noeviction it refuses
 * who asks, and those who hold go on and let go. With any other policy it may forget leases
 * (protocol.md 8), and the fence is what is left. */
#include "scenario.h"
#include "world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>

#include "page.h"

/* ---- a full server ---- */

static long used_bytes(struct world *w)
{
  const char *memory = test_server_command(world_server(w), "INFO memory");
  const char *used = strstr(memory, "used_memory:");

  return used == NULL ? 0 : strtol(used + strlen("used_memory:"), NULL, 10);
}

static long evicted_keys(struct world *w)
{
  const char *stats = test_server_command(world_server(w), "INFO stats");
  const char *evicted = strstr(stats, "evicted_keys:");

  return evicted == NULL ? 0 : strtol(evicted + strlen("evicted_keys:"), NULL, 10);
}

static int begin_limit(struct world *w, const char *policy, long bytes)
{
  struct test_server *s = world_server(w);
  int fault = world_fault_begin(w, FAULT_ADMIN, EVERYBODY, NO_LOCK);

  (void)test_server_command(s, "CONFIG SET maxmemory-policy %s", policy);
  (void)test_server_command(s, "CONFIG SET maxmemory %lld", (long long)bytes);
  return fault;
}

static void end_limit(struct world *w, int fault)
{
  (void)test_server_command(world_server(w), "CONFIG SET maxmemory 0");
  world_fault_end(w, fault);
}

/* ---- noeviction ---- */

enum { TTL_MS = 500, LONG_TTL_MS = 2000 };

/* A hold of before, a renewal and a release on the full server, an ask that is refused. The
 * hold outlives a machine that stands still for a second. */
static void hold_over_it(struct world *w, dibs_client *client)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL, *other = NULL;
  dibs_status status;
  int fault;

  o.ttl_ms = LONG_TTL_MS;
  o.wait_ms = 2000;
  status = dibs_lock(client, "held over it", &o, &hold);
  if (status != DIBS_OK) {
    world_fail(w, "not locked: %s", dibs_status_name(status));
    return;
  }
  fault = begin_limit(w, "noeviction", 1);
  world_pass_ms(w, LONG_TTL_MS + TTL_MS);
  if (dibs_hold_state(hold) == DIBS_HOLD_HELD)
    world_mark(w, "renewed on a full server");
  status = dibs_try_lock(client, "asked on it", &o, &other);
  if (status == DIBS_ERR_REFUSED)
    world_mark(w, "asked in vain on a full server");
  else
    world_fail(w, "asked on a full server: %s", dibs_status_name(status));
  status = dibs_release(hold);
  if (status == DIBS_OK)
    world_mark(w, "released on a full server");
  else
    world_fail(w, "released on a full server: %s", dibs_status_name(status));
  end_limit(w, fault);
}

static void run_full(struct world *w, const struct scale *scale)
{
  struct plan plan = PLAN_INIT;
  dibs_client *client = NULL;
  uint64_t failed = 0;
  int count = 5;

  (void)scale;
  (void)world_lock(w, 'm', "full", 0);
  (void)world_lock(w, 'r', "read", 0);
  (void)world_lock(w, 'p', "permits", 5);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 5000;
  plan.hold_us_max = 3 * TTL_MS * 1000;
  plan.wait_ms = 500;
  plan.try_percent = 20;
  plan.many_percent = 10;
  plan.nested_percent = 10;
  (void)world_hire(w, &plan, count);
  world_demand(w, "renewed on a full server", 1);
  world_demand(w, "asked in vain on a full server", 1);
  world_demand(w, "released on a full server", 1);
  world_demand_overlap(w, 1);
  if (dibs_open(test_server_url(world_server(w)), NULL, &client, NULL) != DIBS_OK) {
    world_fail(w, "no client");
    return;
  }
  while (world_goes_on(w)) {
    hold_over_it(w, client);
    if (!world_wait_for_grants(w, 50, 5000))
      world_fail(w, "no work is done when there is room again");
  }
  client = dibs_close(client);
  for (int i = 0; i < count; i++)
    failed += world_page(w)->workers[i].asks_failed;
  world_demand(w, "workers refused", 5);
  world_mark_times(w, "workers refused", (int64_t)failed);
}

const struct scenario f23_memory_full = {
  .id = "F23",
  .name = "a_full_server_refuses_who_asks_and_lets_holders_renew_and_let_go",
  .run = run_full,
};

/* ---- policies that evict ---- */

enum { FILLERS_MAX = 6000 };

/* Their time to live is longer than any lock's, so that the policy that looks at it takes the
 * locks first. */
static void write_filler(struct world *w, int number)
{
  static char bytes[1001];

  memset(bytes, 'x', sizeof(bytes) - 1);
  (void)test_server_command(world_server(w), "SET filler:%d %s EX 86400", number, bytes);
}

static void remove_fillers(struct world *w, int count)
{
  const char *remove = "for i = ARGV[1], ARGV[2] do "
                       "redis.call('DEL', 'filler:' .. string.format('%.0f', i)) end";

  for (int i = 0; i < count; i += 100)
    (void)test_server_command(world_server(w), "EVAL %s 0 %d %d", remove, i, i + 99);
}

static bool is_key_gone(struct world *w, int lock)
{
  return test_server_integer(world_server(w), "EXISTS %s", world_lock_key(w, lock)) == 0;
}

/* Until the lease of a stopped holder is gone, or the server has kept it against many. */
static void evict_under_holder(struct world *w, int lock, const char *policy)
{
  int holder = world_stop_holder(w, lock, 4000), fault, fillers = 0;
  long evicted = evicted_keys(w);

  if (holder < 0) {
    world_fail(w, "nobody held it for 4 s");
    return;
  }
  fault = begin_limit(w, policy, used_bytes(w) + 100000);
  while (fillers < FILLERS_MAX && !is_key_gone(w, lock))
    write_filler(w, fillers++);
  world_mark_times(w, "policies that evicted", evicted_keys(w) > evicted);
  if (fillers < FILLERS_MAX) {
    world_mark(w, "leases evicted");
    world_count(w, policy, 1);
    world_fault_instant(w, FAULT_DATA_LOST, EVERYBODY, NO_LOCK);
    world_mark_times(w, "granted beside a stopped holder", world_wait_for_grants(w, 1, 1500));
  }
  end_limit(w, fault);
  remove_fillers(w, fillers);
  world_continue(w, holder);
  if (!world_wait_for_grants(w, 20, 8000))
    world_fail(w, "no work is done after %s", policy);
}

static void run_evictions(struct world *w, const struct scale *scale)
{
  static const char *const policies[] = { "volatile-ttl", "allkeys-random", "volatile-lru",
                                          "volatile-random", "allkeys-lru", "volatile-lfu",
                                          "allkeys-lfu" };
  struct plan plan = PLAN_INIT;
  int lock = world_lock(w, 'm', "evicted", 0);

  (void)scale;
  plan.ttl_ms = 4000;
  plan.hold_us = 2000;
  plan.think_us = 3000;
  (void)world_hire(w, &plan, 4);
  world_demand(w, "policies that evicted", 2);
  world_demand(w, "leases evicted", 1);
  world_demand(w, "granted beside a stopped holder", 1);
  for (size_t round = 0; round < 2 || world_goes_on(w); round++)
    evict_under_holder(w, lock, policies[round % (sizeof(policies) / sizeof(policies[0]))]);
}

const struct scenario f23_evictions = {
  .id = "F23",
  .name = "a_server_that_evicts_leases_gives_them_twice_and_no_fence_goes_back",
  .run = run_evictions,
  .expects = { .expects_overlap = true, .wake_ms_max = 5000 },
};
