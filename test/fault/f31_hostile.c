/* SPDX-License-Identifier: MIT */
/* test/fault/f31_hostile.c - a server that greets well and then attacks: every call ends in
 * time, memory stays small, and a client of a good server in the same process, and others
 * elsewhere, are not disturbed. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "child.h"
#include "hostile.h"

enum { TTL_MS = 600, WAIT_MS = 150, CONNECT_MS = 300, COMMAND_MS = 150 };
#ifdef __SANITIZE_ADDRESS__
enum { MEMORY_KIB = 512 * 1024 };         /* what is freed is kept for a while */
#else
enum { MEMORY_KIB = 48 * 1024 };
#endif

static char mad_url[128], good_url[128];

static long peak_kib(void)
{
  struct rusage used;

  (void)getrusage(RUSAGE_SELF, &used);
  return used.ru_maxrss;
}

/* Nothing is said of outcomes: changed answers may still be answers. */
static void be_attacked(struct child *self)
{
  dibs_lock_options o = child_lock_options(TTL_MS, WAIT_MS);
  dibs_options options = DIBS_OPTIONS_INIT;
  struct child_time begun;
  dibs_inspection *seen = NULL;
  dibs_client *client;
  dibs_hold *hold = NULL;

  options.connect_timeout_ms = CONNECT_MS;
  options.command_timeout_ms = COMMAND_MS;
  options.close_timeout_ms = 100;
  client = child_open(self, mad_url, &options);
  begun = child_time();
  if (dibs_try_lock(client, "mad-0", &o, &hold) == DIBS_OK)
    (void)dibs_release(hold);
  (void)child_check_time(self, "an attacked try", begun, CONNECT_MS + 2 * COMMAND_MS);
  begun = child_time();
  if (dibs_lock(client, "mad-1", &o, &hold) == DIBS_OK)
    (void)dibs_release(hold);
  (void)child_check_time(self, "an attacked lock", begun, WAIT_MS + COMMAND_MS);
  begun = child_time();
  if (dibs_inspect(client, dibs_text("mad-0"), &seen) == DIBS_OK)
    seen = dibs_inspection_free(seen);
  (void)child_check_time(self, "an attacked inspection", begun, CONNECT_MS + COMMAND_MS);
  begun = child_time();
  client = dibs_close(client);
  (void)child_check_time(self, "an attacked close", begun, 100);
}

static void check_other(struct child *self, dibs_client *good, dibs_hold *hold)
{
  struct child_time begun = child_time();
  dibs_hold *other = NULL;
  dibs_status status = dibs_try_lock(good, "good-1", NULL, &other);

  (void)child_check(self, status == DIBS_OK, "a good server's lock: %s",
                    dibs_status_name(status));
  (void)dibs_release(other);
  (void)child_check_time(self, "a good server's lock", begun, 100);
  (void)child_check(self, dibs_hold_state(hold) == DIBS_HOLD_HELD, "a good server's hold is not");
}

static void live_through(struct child *self, void *data)
{
  dibs_client *good = child_open(self, good_url, NULL);
  dibs_hold *hold = child_lock(self, good, "good-0", TTL_MS);
  long fds, threads, before;

  (void)data;
  child_listens(self, good);
  fds = child_fds();
  threads = child_threads();
  before = peak_kib();
  child_tell(self, "ready");
  for (;;) {
    child_obey(self, "go on");
    for (int i = 0; i < 2; i++) {
      be_attacked(self);
      check_other(self, good, hold);
    }
    (void)child_check(self, peak_kib() - before < MEMORY_KIB, "%ld KiB more memory",
                      peak_kib() - before);
    (void)child_check(self, child_fds() == fds, "%ld descriptors, before %ld", child_fds(),
                      fds);
    (void)child_check(self, child_threads() == threads, "%ld threads, before %ld",
                      child_threads(), threads);
    child_tell(self, "alive");
  }
}

static void run(struct world *w, const struct scale *scale)
{
  struct hostile *h = hostile_start(world_server(w), scale->seed * 1000);
  struct child *c;

  (void)world_lock(w, 'm', "good-1", 0);
  child_bystanders(w);
  (void)snprintf(mad_url, sizeof(mad_url), "%s", hostile_url(h));
  (void)snprintf(good_url, sizeof(good_url), "%s", test_server_url(world_server(w)));
  c = child_start(w, live_through, NULL);
  (void)child_hear(c, "ready", 5000);
  for (int a = 0; a < ATTACK_COUNT || world_goes_on(w); a++) {
    hostile_choose(h, (enum attack)(a % ATTACK_COUNT));
    child_order(c, "go on");
    if (!child_hear(c, "alive", 15000))
      break;
  }
  c = child_kill(c);
  for (int a = 0; a < ATTACK_COUNT; a++) {
    world_demand(w, attack_name((enum attack)a), 1);
    world_mark_times(w, attack_name((enum attack)a), hostile_attacks(h, (enum attack)a));
  }
  h = hostile_stop(h);
}

const struct scenario f31_hostile = {
  .id = "F31", .name = "a_server_that_attacks_costs_time_limits_and_little_memory", .run = run,
};
