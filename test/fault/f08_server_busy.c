/* SPDX-License-Identifier: MIT */
/* test/fault/f08_server_busy.c - F08: the server lives and does not serve: somebody's script
 * runs and runs, silently or with BUSY for all others; or an administrator pauses clients. */
#include "scenario.h"
#include "world.h"

#include <pthread.h>
#include <string.h>

enum { TTL_MS = 300 };

/* Longer than a lease, so that holders must be told by their own clocks. */
static int draw_ms(struct world *w)
{
  return world_between(w, TTL_MS + TTL_MS / 2, 3 * TTL_MS);
}

/* Nobody gets more than an error, and what he asked for may be done when it is over. */
static int begin(struct world *w)
{
  return world_fault_begin(w, FAULT_HELD_UP, EVERYBODY, NO_LOCK);
}

/* ---- scripts ---- */

static void *run_script(void *server)
{
  (void)test_server_command(server, "EVAL %s 0", "while true do end");
  return NULL;
}

static bool is_busy(struct world *w, void *data)
{
  (void)data;
  return strncmp(test_server_command(world_server(w), "GET x"), "BUSY", 4) == 0;
}

/* Only a script that has run for lua-time-limit can be ended, and until then the server
 * answers nobody; afterwards it answers BUSY until it is ended. */
static void run_script_for(struct world *w, int silent_ms, int busy_ms)
{
  struct test_server *s = world_server(w);
  int fault = begin(w);
  pthread_t thread;

  (void)test_server_command(s, "CONFIG SET lua-time-limit %d", silent_ms);
  if (pthread_create(&thread, NULL, run_script, s) != 0) {
    world_fail(w, "no thread");
    return;
  }
  if (world_until(w, silent_ms + 5000, is_busy, NULL))
    world_fault_in_force(w, fault);
  else
    world_fail(w, "the script does not run");
  world_pass_ms(w, busy_ms);
  world_fault_lifting(w, fault);
  (void)test_server_command(s, "SCRIPT KILL");
  (void)pthread_join(thread, NULL);
  world_fault_end(w, fault);
}

static void silent_script(struct world *w)
{
  run_script_for(w, draw_ms(w), 0);
  world_mark(w, "a script, silently");
}

static void busy_script(struct world *w)
{
  run_script_for(w, 20, draw_ms(w));
  world_mark(w, "a script, with BUSY");
}

/* ---- pauses ---- */

/* Writes of clients wait. The end of it is asked for, and so is known. */
static void pause_writes(struct world *w)
{
  struct test_server *s = world_server(w);
  int fault = begin(w);

  if (strcmp(test_server_command(s, "CLIENT PAUSE 20000 WRITE"), "OK") == 0)
    world_mark(w, "writes paused");
  world_fault_in_force(w, fault);
  world_pass_ms(w, draw_ms(w));
  world_fault_lifting(w, fault);
  (void)test_server_command(s, "CLIENT UNPAUSE");
  world_fault_end(w, fault);
}

/* Everything of clients waits, the command that would end it too: it is sure for half of the
 * time only. */
static void pause_all(struct world *w)
{
  struct test_server *s = world_server(w);
  int fault = begin(w), ms = draw_ms(w);

  if (strcmp(test_server_command(s, "CLIENT PAUSE %d ALL", 2 * ms), "OK") == 0)
    world_mark(w, "all paused");
  world_fault_in_force(w, fault);
  world_pass_ms(w, ms);
  world_fault_lifting(w, fault);
  (void)test_server_command(s, "PING");       /* is answered when it is over */
  world_fault_end(w, fault);
}

static void run(struct world *w, const struct scale *scale)
{
  static void (*const faults[])(struct world *w) = { silent_script, busy_script, pause_writes,
                                                     pause_all };
  struct plan plan = PLAN_INIT;

  (void)scale;
  (void)world_lock(w, 'm', "busy", 0);
  (void)world_lock(w, 'r', "read", 0);
  plan.ttl_ms = TTL_MS;
  plan.hold_us = 2000;
  plan.hold_us_max = 4 * TTL_MS * 1000;
  plan.wait_ms = 700;
  plan.command_timeout_ms = 200;
  plan.try_percent = 20;
  plan.async_percent = 20;
  plan.cancel_percent = 10;
  (void)world_hire(w, &plan, 6);
  world_demand(w, "a script, silently", 1);
  world_demand(w, "a script, with BUSY", 1);
  world_demand(w, "writes paused", 1);
  world_demand(w, "all paused", 1);
  world_demand_overlap(w, 4);
  for (size_t round = 0; round < 4 || world_goes_on(w); round++) {
    faults[round % 4](w);
    if (!world_wait_for_grants(w, 30, 5000))
      world_fail(w, "no work is done afterwards");
  }
}

const struct scenario f08_server_busy = {
  .id = "F08",
  .name = "a_busy_or_paused_server_delays_nobody_for_longer_than_he_wants",
  .run = run,
};
