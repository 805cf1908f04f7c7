/* SPDX-License-Identifier: MIT */
/* On a network with a round trip of 280 ms: what programs change by a token or from outside puts no
 * lease in doubt. A try, which watches nothing, would be refused for an hour after a crash. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dibs/dibs.h>
#include <dibs/sim.h>

#include "expect.h"

enum { ONE_WAY_US = 140000, TTL_MS = 3600000 };

static dibs_sim *sim;
static char token[1200], lease[128];

/* The last number of the lease that is stored: 2, in doubt. */
static bool is_in_doubt(const char *command)
{
  const char *value = dibs_sim_server(sim, command), *flags = strrchr(value, ' ');

  EXPECT(flags != NULL && flags[1] >= '0' && flags[1] <= '3');
  return flags != NULL && ((flags[1] - '0') & 2) != 0;
}

static void take_and_detach(dibs_client *c, const dibs_target *target)
{
  dibs_lock_options o = DIBS_LOCK_OPTIONS_INIT;
  dibs_hold *hold = NULL;

  o.ttl_ms = TTL_MS;
  EXPECT(dibs_acquire(c, target, &o, &hold) == DIBS_OK);
  EXPECT(dibs_hold_token(hold, token, sizeof(token)) == DIBS_OK);
  EXPECT(dibs_hold_detach(hold) == DIBS_OK);
}

static void renews(void *data)
{
  const dibs_bytes both[] = { dibs_text("x"), dibs_text("y") };
  dibs_client *c = NULL;

  (void)data;
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK("x"));
  EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_OK);
  EXPECT(!is_in_doubt("GET dibs:m:{x}"));
  EXPECT(dibs_token_release(c, token) == DIBS_OK);
  take_and_detach(c, DIBS_LOCKS(both, 2));
  EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_OK);
  EXPECT(!is_in_doubt("GET dibs:m:{x}") && !is_in_doubt("GET dibs:m:{y}"));
  c = dibs_close(c);
}

static void play(const dibs_sim_options *o, void (*program)(void *), void *data,
                 void (*other)(void *))
{
  sim = dibs_sim_new(o);
  (void)dibs_sim_start(sim, "one", program, data);
  if (other != NULL)
    (void)dibs_sim_start(sim, "other", other, NULL);
  assert_true(dibs_sim_run(sim, TTL_MS));
  if (dibs_sim_first_flaw(sim) != NULL)
    fail_msg("%s", dibs_sim_first_flaw(sim));
  sim = dibs_sim_free(sim);
}

static void run(void (*program)(void *), void (*other)(void *))
{
  dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

  o.seed = 1;
  o.delay_min_us = o.delay_max_us = ONE_WAY_US;
  play(&o, program, NULL, other);
}

TEST(a_renewal_by_token)
{
  run(renews, NULL);
}

/* The change is sent again, seconds after the time was read. */
static void renews_again(void *data)
{
  dibs_sim_fault cut = { .kind = DIBS_SIM_CUT };
  dibs_sim_fault refuse = { .kind = DIBS_SIM_REFUSE, .ms = 1500 };
  dibs_client *c = NULL;

  (void)data;
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK("x"));
  cut.at_us = refuse.at_us = dibs_sim_now_us(sim) + 5 * ONE_WAY_US / 2;    /* on its way */
  EXPECT(dibs_sim_inject(sim, &cut) == DIBS_OK && dibs_sim_inject(sim, &refuse) == DIBS_OK);
  EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_OK);
  EXPECT(!is_in_doubt("GET dibs:m:{x}"));
  c = dibs_close(c);
}

TEST(a_renewal_by_token_that_is_sent_again)
{
  run(renews_again, NULL);
}

static void takes_then_breaks(void *data)
{
  dibs_inspection *info = NULL;
  dibs_client *c = NULL;

  (void)data;
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK("x"));
  EXPECT(dibs_inspect(c, dibs_text("x"), &info) == DIBS_OK);
  (void)snprintf(lease, sizeof(lease), "%s", info->lease);
  info = dibs_inspection_free(info);
  dibs_sim_sleep_ms(5000);
  EXPECT(dibs_break(c, dibs_text("x"), lease) == DIBS_OK);
  c = dibs_close(c);
}

static void takes_then_releases(void *data)
{
  dibs_client *c = NULL;

  (void)data;
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK("x"));
  dibs_sim_sleep_ms(5000);
  EXPECT(dibs_token_release(c, token) == DIBS_OK);
  c = dibs_close(c);
}

static void waits(void *data)
{
  dibs_client *c = NULL;
  dibs_hold *hold = NULL;

  (void)data;
  dibs_sim_sleep_ms(3000);
  EXPECT(dibs_open("redis://server", NULL, &c, NULL) == DIBS_OK);
  EXPECT(dibs_lock(c, "x", NULL, &hold) == DIBS_OK);
  EXPECT(!is_in_doubt("HGET dibs:m:{x} s"));
  c = dibs_close(c);
}

TEST(a_break_that_grants_to_a_waiter)
{
  run(takes_then_breaks, waits);
}

TEST(a_release_by_token_that_grants_to_a_waiter)
{
  run(takes_then_releases, waits);
}

/* ---- in a Cluster ---- */

typedef struct place { const char *name; int node; } place;

static int refusal_ms;                 /* the nodes answer BUSY for so long */

static void clocks_step(int64_t ms)
{
  for (int node = 1; node <= 2; node++) {
    dibs_sim_fault step = { .kind = DIBS_SIM_SERVER_WALL_STEP, .ms = ms, .server = node };

    EXPECT(dibs_sim_inject(sim, &step) == DIBS_OK);
  }
  dibs_sim_sleep_ms(1);
}

static void nodes_refuse(void)
{
  for (int node = 1; node <= 2; node++) {
    dibs_sim_fault busy = { .kind = DIBS_SIM_SERVER_BUSY, .ms = refusal_ms, .server = node };

    EXPECT(dibs_sim_inject(sim, &busy) == DIBS_OK);
  }
  dibs_sim_sleep_ms(1);
}

/* The clocks of both nodes are set right, and the client has no other reason to ask for them. */
static void renews_after_a_step(void *data)
{
  const place *at = data;
  dibs_client *c = NULL;
  char command[32];
  const char *value;

  (void)snprintf(command, sizeof(command), "GET dibs:m:{%s}", at->name);
  clocks_step(1000);
  EXPECT(dibs_open("redis+cluster://s1,s2", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK(at->name));
  EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_OK);
  clocks_step(-1000);
  for (int i = 0; i < 2; i++) {
    dibs_sim_sleep_ms(TTL_MS / 4);
    if (refusal_ms > 0)
      nodes_refuse();
    EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_OK);
  }
  value = dibs_sim_server_at(sim, at->node, command);
  if (strrchr(value, ' ') == NULL || strcmp(strrchr(value, ' '), " 0") != 0)
    dibs_sim_flaw("the lease on node %d: %s", at->node, value);
  c = dibs_close(c);
}

/* Longer than a call. */
static void is_refused(void *data)
{
  const place *at = data;
  dibs_error error = DIBS_ERROR_INIT;
  dibs_client *c = NULL;

  EXPECT(dibs_open("redis+cluster://s1,s2", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK(at->name));
  nodes_refuse();
  EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_ERR_UNREACHABLE);
  EXPECT(dibs_client_error(c, 0, &error) == DIBS_OK);
  if (strncmp(error.text, "BUSY", 4) != 0)
    dibs_sim_flaw("%s", error.text);
  c = dibs_close(c);
}

/* Its time cannot be asked for; the renewal waits for it. */
static void renews_while_down(void *data)
{
  const place *at = data;
  dibs_sim_fault down = { .kind = DIBS_SIM_SERVER_RESTART, .ms = 500, .server = at->node };
  dibs_client *c = NULL;

  EXPECT(dibs_open("redis+cluster://s1,s2", NULL, &c, NULL) == DIBS_OK);
  take_and_detach(c, DIBS_LOCK(at->name));
  EXPECT(dibs_sim_inject(sim, &down) == DIBS_OK);
  dibs_sim_sleep_ms(100);
  EXPECT(dibs_token_renew(c, token, TTL_MS, NULL) == DIBS_OK);
  c = dibs_close(c);
}

static void in_cluster(void (*program)(void *))
{
  static const place places[] = { { "b", 1 }, { "x", 2 } };

  for (size_t i = 0; i < 2; i++) {
    dibs_sim_options o = DIBS_SIM_OPTIONS_INIT;

    o.seed = 1;
    o.cluster_nodes = 2;
    play(&o, program, (void *)(uintptr_t)&places[i], NULL);
  }
}

TEST(a_renewal_by_token_asks_the_server_of_the_name_for_its_time)
{
  refusal_ms = 0;
  in_cluster(renews_after_a_step);
}

TEST(a_renewal_by_token_waits_for_the_time_of_a_server_that_refuses)
{
  refusal_ms = 2000;
  in_cluster(renews_after_a_step);
}

TEST(a_renewal_by_token_says_that_the_server_refuses)
{
  refusal_ms = 60000;
  in_cluster(is_refused);
}

TEST(a_renewal_by_token_waits_for_a_server_that_is_down)
{
  in_cluster(renews_while_down);
}

RUN_TESTS(NULL, NULL)
