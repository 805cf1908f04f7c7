/* SPDX-License-Identifier: MIT */
/* Requests that a stopped server executes when it goes on, after their caller gave up: they
 * change nothing, whatever they are. Each is made again afterwards, so that what is looked at
 * is known to change. (Permits of rate limiters and sets are not simulated:
 * test/script/late_test.c.) */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/dibs.h>
#include <dibs/sim.h>

#include "expect.h"

enum { STOPPED_MS = 20000, TTL_MS = 600000 };

static dibs_sim *sim;
static char token[1200], lease[128];

typedef struct late_case {
  const char *name;
  dibs_status (*prepare)(dibs_client *c);
  dibs_status (*change)(dibs_client *c);
  const char *look;                      /* what it changes */
} late_case;

/* ---- before ---- */

static dibs_status nothing(dibs_client *c)
{
  return dibs_ping(c, 0, NULL);
}

static dibs_status value(dibs_client *c)
{
  return dibs_guarded_set(c, "k", 5, "1", 1, 0);
}

static dibs_status hash(dibs_client *c)
{
  dibs_field f = { .name = "f", .value = "1", .value_size = 1 };

  return dibs_guarded_hset(c, "k", 5, &f, 1);
}

static dibs_status latch(dibs_client *c)
{
  return dibs_latch_set(c, "gate", 5);
}

static dibs_status rate(dibs_client *c)
{
  dibs_rate r = DIBS_RATE_INIT;

  r.permits = 5;
  r.interval_ms = TTL_MS;
  return dibs_rate_limiter_set(c, "r", &r, DIBS_RATE_RESET);
}

static dibs_status permits(dibs_client *c)
{
  return dibs_semaphore_set(c, dibs_text("s"), 3, 0, NULL);
}

static dibs_status list(dibs_client *c)
{
  return dibs_list_add(c, "l", dibs_text("one"), NULL);
}

static dibs_status map(dibs_client *c)
{
  return dibs_map_put(c, "m", dibs_text("f"), dibs_text("1"), NULL);
}

/* A lease that no program holds: nothing renews it. */
static dibs_status detached(dibs_client *c)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_inspection *info = NULL;
  dibs_hold *hold = NULL;
  dibs_status status;

  o.ttl_ms = TTL_MS;
  status = dibs_lock(c, "x", &o, &hold);
  if (status != DIBS_OK)
    return status;
  EXPECT(dibs_hold_token(hold, token, sizeof(token)) == DIBS_OK);
  EXPECT(dibs_hold_detach(hold) == DIBS_OK);
  status = dibs_inspect(c, dibs_text("x"), &info);
  if (status == DIBS_OK)
    (void)snprintf(lease, sizeof(lease), "%s", info->lease);
  info = dibs_inspection_free(info);
  return status;
}

/* ---- changes ---- */

static dibs_status guarded_set(dibs_client *c)
{
  return dibs_guarded_set(c, "k", 6, "2", 1, 0);
}

static dibs_status guarded_incr(dibs_client *c)
{
  return dibs_guarded_incr(c, "k", 6, 1, NULL);
}

static dibs_status guarded_del(dibs_client *c)
{
  return dibs_guarded_del(c, "k", 6);
}

static dibs_status guarded_hset(dibs_client *c)
{
  dibs_field f[2] = { { .name = "f", .value = "2", .value_size = 1 },
                      { .name = "g", .value = "3", .value_size = 1 } };

  return dibs_guarded_hset(c, "k", 6, f, 2);
}

static dibs_status guarded_hdel(dibs_client *c)
{
  const char *names[] = { "f" };

  return dibs_guarded_hdel(c, "k", 6, names, 1);
}

static dibs_status latch_down(dibs_client *c)
{
  return dibs_latch_down(c, "gate", 1, NULL, NULL);
}

static dibs_status latch_down_once(dibs_client *c)
{
  return dibs_latch_down(c, "gate", 1, "job", NULL);
}

static dibs_status latch_delete(dibs_client *c)
{
  return dibs_latch_delete(c, "gate");
}

static dibs_status rate_delete(dibs_client *c)
{
  return dibs_rate_limiter_delete(c, "r");
}

static dibs_status permits_more(dibs_client *c)
{
  return dibs_semaphore_set(c, dibs_text("s"), 4, 0, NULL);
}

static dibs_status permits_delete(dibs_client *c)
{
  return dibs_semaphore_delete(c, dibs_text("s"));
}

static dibs_status list_pop(dibs_client *c)
{
  dibs_value *v = NULL;
  dibs_status status = dibs_list_take(c, "l", NULL, &v);

  v = dibs_value_free(v);
  return status;
}

static dibs_status map_more(dibs_client *c)
{
  return dibs_map_put(c, "m", dibs_text("f"), dibs_text("2"), NULL);
}

static dibs_status map_remove(dibs_client *c)
{
  return dibs_map_remove(c, "m", dibs_text("f"), NULL);
}

static dibs_status data_delete(dibs_client *c)
{
  return dibs_data_delete(c, "m", NULL);
}

static dibs_status token_renew(dibs_client *c)
{
  return dibs_token_renew(c, token, 2 * TTL_MS, NULL);
}

static dibs_status token_release(dibs_client *c)
{
  return dibs_token_release(c, token);
}

static dibs_status force(dibs_client *c)
{
  return dibs_break(c, dibs_text("x"), lease);
}

static const late_case cases[] = {
  { "guarded set", value, guarded_set, "GET k" },
  { "guarded incr", value, guarded_incr, "GET k" },
  { "guarded del", value, guarded_del, "GET k" },
  { "guarded hset", hash, guarded_hset, "HGETALL k" },
  { "guarded hdel", hash, guarded_hdel, "HGETALL k" },
  { "latch set", nothing, latch, "GET gate" },
  { "latch down", latch, latch_down, "GET gate" },
  { "latch down with an id", latch, latch_down_once, "GET gate" },
  { "latch delete", latch, latch_delete, "GET gate" },
  { "rate set", nothing, rate, "HGET r rate" },
  { "rate delete", rate, rate_delete, "HGET r rate" },
  { "semaphore set", permits, permits_more, "HGET dibs:m:{s} s" },
  { "semaphore delete", permits, permits_delete, "HGET dibs:m:{s} s" },
  { "list add", list, list, "LLEN l" },
  { "list take", list, list_pop, "LLEN l" },
  { "map put", map, map_more, "HGET m f" },
  { "map remove", map, map_remove, "HGET m f" },
  { "data delete", map, data_delete, "HGET m f" },
  { "token renew", detached, token_renew, "GET dibs:m:{x}" },
  { "token release", detached, token_release, "GET dibs:m:{x}" },
  { "force release", detached, force, "GET dibs:m:{x}" },
};

/* ---- one world ---- */

static void look(const late_case *l, char ret[512])
{
  (void)snprintf(ret, 512, "%s", dibs_sim_server(sim, l->look));
}

static void gives_up(void *data)
{
  const late_case *l = data;
  dibs_sim_fault stop = { .kind = DIBS_SIM_SERVER_PAUSE, .ms = STOPPED_MS };
  char before[512], after[512];
  dibs_client *c = NULL;
  dibs_status status;

  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  EXPECT(l->prepare(c) == DIBS_OK);
  look(l, before);
  stop.at_us = dibs_sim_now_us(sim);
  EXPECT(dibs_sim_inject(sim, &stop) == DIBS_OK);
  dibs_sim_sleep_ms(1);
  status = l->change(c);
  EXPECT(status != DIBS_OK);
  dibs_sim_sleep_ms(2 * STOPPED_MS);
  look(l, after);
  if (strcmp(before, after) != 0)
    dibs_sim_flaw("%s: \"%s\" became \"%s\" after its call had returned %s", l->name, before,
                  after, dibs_status_name(status));
  status = l->change(c);
  if (status != DIBS_OK)
    dibs_sim_flaw("%s: made again it returns %s", l->name, dibs_status_name(status));
  look(l, after);
  if (strcmp(before, after) == 0)
    dibs_sim_flaw("%s: \"%s\" does not change at all", l->name, before);
  c = dibs_close(c);
}

static void play(const late_case *l)
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  o.seed = 1;
  sim = dibs_sim_new(&o);
  assert_int_equal(dibs_sim_start(sim, "a", gives_up, (void *)(uintptr_t)l), 1);
  assert_true(dibs_sim_run(sim, 10 * STOPPED_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
}

TEST(a_late_request_changes_nothing)
{
  for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
    play(&cases[i]);
}

/* ---- a caller that is killed while the server is stopped ---- */

typedef dibs_status try_function(dibs_client *c, const char *name, const dibs_lock_options *o,
                                 dibs_hold **ret_hold);

static dibs_status try_target(dibs_client *c, const dibs_target *t, const dibs_lock_options *o,
                              dibs_hold **ret_hold)
{
  dibs_lock_options own = o != NULL ? *o : (dibs_lock_options)DIBS_LOCK_OPTIONS_INIT;

  own.wait_ms = 0;
  return dibs_acquire(c, t, &own, ret_hold);
}

static dibs_status try_many(dibs_client *c, const char *name, const dibs_lock_options *o,
                            dibs_hold **ret_hold)
{
  const dibs_bytes names[] = { dibs_text(name), dibs_text("other") };

  return try_target(c, DIBS_LOCKS(names, 2), o, ret_hold);
}

static dibs_status try_write(dibs_client *c, const char *name, const dibs_lock_options *o,
                             dibs_hold **ret_hold)
{
  return try_target(c, DIBS_WRITE(name), o, ret_hold);
}

static try_function *const tries[] = { dibs_try_lock, try_write, try_many };

enum { SHORT_TTL_MS = 2000, KILLED_AFTER_MS = 600 };

static void is_killed(void *data)
{
  try_function *const *take = data;
  dibs_sim_fault stop = { .kind = DIBS_SIM_SERVER_PAUSE, .ms = 900 };
  dibs_sim_fault death = { .kind = DIBS_SIM_KILL, .process = dibs_sim_self() };
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_client *c = NULL;
  dibs_hold *hold;

  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  EXPECT((*take)(c, "warm", &o, &hold) == DIBS_OK && dibs_release(hold) == DIBS_OK);
  death.at_us = dibs_sim_now_us(sim) + KILLED_AFTER_MS * 1000;
  EXPECT(dibs_sim_inject(sim, &stop) == DIBS_OK && dibs_sim_inject(sim, &death) == DIBS_OK);
  dibs_sim_sleep_ms(1);
  o.ttl_ms = SHORT_TTL_MS;
  (void)(*take)(c, "x", &o, &hold);
  dibs_sim_flaw("it was not killed");
}

/* It watches nothing, so that a lease in doubt would refuse it for an hour. */
static void tries_later(void *data)
{
  try_function *const *take = data;
  dibs_client *c = NULL;
  dibs_hold *hold;

  dibs_sim_sleep_ms(SHORT_TTL_MS + 4000);
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  EXPECT((*take)(c, "x", NULL, &hold) == DIBS_OK);
  c = dibs_close(c);
}

/* The server executes its request, and the lease would be in doubt. */
TEST(a_request_of_a_dead_caller_leaves_no_doubt)
{
  for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

    o.seed = 1;
    sim = dibs_sim_new(&o);
    (void)dibs_sim_start(sim, "dies", is_killed, (void *)(uintptr_t)&tries[i]);
    (void)dibs_sim_start(sim, "tries", tries_later, (void *)(uintptr_t)&tries[i]);
    assert_true(dibs_sim_run(sim, 60000));
    if (dibs_sim_first_flaw(sim) != NULL)
      fail_msg("case %zu: %s", i, dibs_sim_first_flaw(sim));
    sim = dibs_sim_free(sim);
  }
}

RUN_TESTS(NULL, NULL)
