/* SPDX-License-Identifier: MIT */
/* test/live/degrade_deployments_test.c - degrade=local over several servers: only those that decide
 * about a name end its lock of this machine, and only their outage makes one. */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "degrade_place.h"
#include "deployment.h"

enum { SERVERS = 3, TTL_MS = 20000, TIMES = 5 };

static struct test_quorum *quorum;
static struct test_cluster *cluster;

static int end(void **state)
{
  (void)teardown(state);
  quorum = test_quorum_stop(quorum);
  cluster = test_cluster_stop(cluster);
  return 0;
}

/* A busy machine is not to take a living server for a dead one. */
static void open_both(const char *url)
{
  dibs_options o = local_options();

  o.connect_timeout_ms = 2000;
  a = live_open_with(url, &o);
  b = live_open(url);
}

static dibs_durability_kind kind_of(const dibs_hold *hold)
{
  return (dibs_durability_kind)live_info(hold).durability;
}

static bool is_gone(void *hold)
{
  return dibs_hold_state(hold) == DIBS_HOLD_GONE;
}

/* A lock of the machine, which stays one for as long as the test wants. */
static dibs_hold *local_lock(const char *name)
{
  dibs_hold *hold = live_lock(a, name, TTL_MS);

  assert_int_equal(kind_of(hold), DIBS_DURABLE_LOCAL);
  return hold;
}

static void ends(dibs_hold *hold)
{
  assert_true(live_until(LIVE_LONG_MS, is_gone, hold));
  assert_int_equal(dibs_release(hold), DIBS_LOST);
}

/* ---- a primary and its replica ---- */

enum { CLIENTS = 8 };

/* The former primary refuses the clients that know it, and a search finds none: what was last, is
 * the reason of a call. */
TEST_WITH(a_former_primary_makes_a_lock_of_this_machine_as_a_dead_one_does, NULL, end)
{
  struct test_set_options one = { .replicas = 1 };
  struct test_set *set = test_set_start(&one);
  dibs_options o = local_options();
  dibs_client *clients[CLIENTS];
  char name[16];

  for (int i = 0; i < CLIENTS; i++) {
    clients[i] = live_open_with(test_set_url(set), &o);
    live_expect_free(clients[i], "x", LIVE_LONG_MS);
  }
  (void)test_server_command(test_set_member(set, 0), "REPLICAOF 127.0.0.1 1");
  for (int i = 0; i < CLIENTS; i++) {
    (void)snprintf(name, sizeof(name), "x%d", i);
    assert_int_equal(kind_of(live_lock(clients[i], name, TTL_MS)), DIBS_DURABLE_LOCAL);
  }
  for (int i = 0; i < CLIENTS; i++)
    clients[i] = dibs_close(clients[i]);
  set = test_set_stop(set);
}

/* A call that ends while the primary is looked for: the refusal says nothing about that one, which
 * serves others. The search waits a moment for a server that is silent. */
TEST_WITH(a_former_primary_makes_none_while_the_primary_is_looked_for, NULL, end)
{
  struct test_set_options two = { .replicas = 2 };
  struct test_set *set = test_set_start(&two);
  dibs_lock_options soon = live_lock_options(TTL_MS, 50);
  dibs_hold *hold = NULL;
  dibs_status status;

  open_both(test_set_url(set));
  live_expect_free(a, "x", LIVE_LONG_MS);
  (void)test_server_command(test_set_member(set, 1), "REPLICAOF NO ONE");
  (void)test_server_command(test_set_member(set, 0), "REPLICAOF 127.0.0.1 1");
  test_server_pause(test_set_member(set, 2));
  (void)live_lock(b, "x", TTL_MS);
  status = dibs_lock(a, "x", &soon, &hold);
  assert_int_not_equal(status, DIBS_OK);
  test_server_resume(test_set_member(set, 2));
  set = test_set_stop(set);
}

/* ---- a quorum ---- */

static int of_quorum(void **state)
{
  (void)state;
  quorum = test_quorum_start(SERVERS, NULL, NULL);
  open_both(test_quorum_url(quorum));
  return 0;
}

/* What a minority has been asked by the client that looks for an end of the outage. */
static long answers_of(const struct test_server *s, const char *section, const char *word)
{
  const char *line = strstr(test_server_command(s, "INFO %s", section), word);

  return line == NULL ? 0 : atol(line + strlen(word));
}

struct probing { dibs_hold *hold; const struct test_server *server; const char *section, *word;
                 long enough; };

static bool was_probed(void *data)
{
  struct probing *p = data;

  return is_gone(p->hold) || answers_of(p->server, p->section, p->word) >= p->enough;
}

/* The server says something to TIMES more probes. */
static void stays(dibs_hold *hold, const struct test_server *server, const char *section,
                  const char *word)
{
  struct probing p = { hold, server, section, word, answers_of(server, section, word) + TIMES };

  assert_true(live_until(LIVE_LONG_MS, was_probed, &p));
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
}

TEST_WITH(a_minority_of_a_quorum_does_not_end_it, of_quorum, end)
{
  dibs_hold *hold;

  test_server_kill9(test_quorum_server(quorum, 0));
  test_server_kill9(test_quorum_server(quorum, 1));
  hold = local_lock("x");
  stays(hold, test_quorum_server(quorum, 2), "errorstats", "errorstat_ERR:count=");
  live_refused(live_try(b, "x"), DIBS_ERR_UNREACHABLE);
  test_server_restart(test_quorum_server(quorum, 0), false);
  ends(hold);
  hold = live_lock(a, "x", TTL_MS);
  assert_int_equal(kind_of(hold), DIBS_DURABLE_QUORUM);
  assert_int_equal(dibs_release(hold), DIBS_OK);
}

/* The server could make a majority, but refuses each write. */
static dibs_hold *local_beside(const struct test_server *server, const char *refusal)
{
  dibs_hold *hold = local_lock("x");

  stays(hold, server, "errorstats", refusal);
  live_refused(live_try(b, "x"), DIBS_ERR_UNREACHABLE);
  return hold;
}

/* What changes and creates nothing needs no memory. */
TEST_WITH(nor_does_a_server_that_is_out_of_memory, of_quorum, end)
{
  struct test_server *server = test_quorum_server(quorum, 1);
  dibs_hold *hold;

  test_server_kill9(test_quorum_server(quorum, 0));
  (void)test_server_command(server, "CONFIG SET maxmemory 1");
  hold = local_beside(server, "errorstat_OOM:count=");
  (void)test_server_command(server, "CONFIG SET maxmemory 0");
  ends(hold);
}

TEST_WITH(nor_does_a_server_that_answers_reads_only, of_quorum, end)
{
  struct test_server *server = test_quorum_server(quorum, 1);
  dibs_hold *hold;

  test_server_kill9(test_quorum_server(quorum, 0));
  (void)test_server_command(server, "REPLICAOF 127.0.0.1 1");
  hold = local_beside(server, "errorstat_READONLY:count=");
  (void)test_server_command(server, "REPLICAOF NO ONE");
  ends(hold);
  (void)test_server_command(server, "CONFIG SET min-replicas-to-write 1");
  hold = local_beside(server, "errorstat_NOREPLICAS:count=");
  (void)test_server_command(server, "CONFIG SET min-replicas-to-write 0");
  ends(hold);
}

/* ---- a cluster ---- */

static void cluster_begin(const char *full_coverage, const char *reads)
{
  const char *arguments[] = { "--cluster-require-full-coverage", full_coverage,
                              "--cluster-allow-reads-when-down", reads, NULL };
  struct test_server_options server = { .arguments = arguments };
  struct test_cluster_options o = { .replicas = TEST_NONE, .server = &server };

  cluster = test_cluster_start(&o);
  open_both(test_cluster_url(cluster));
}

static void name_on(int member, char ret_name[32])
{
  test_cluster_name_on(cluster, member, "name", ret_name, 32);
}

/* The other nodes serve their slots, and answer whatever they are asked meanwhile. */
TEST_WITH(the_nodes_of_other_slots_do_not_end_it, NULL, end)
{
  char dead[32], live[2][32];
  dibs_hold *hold, *lease;

  cluster_begin("no", "no");
  for (int i = 0; i < 2; i++)
    name_on(i, live[i]);
  name_on(2, dead);
  test_server_kill9(test_cluster_member(cluster, 2));
  hold = local_lock(dead);
  for (int i = 0; i < 2; i++) {
    lease = live_lock(b, live[i], TTL_MS);
    live_refused(live_try(a, live[i]), DIBS_BUSY);
    assert_int_equal(dibs_release(lease), DIBS_OK);
    lease = live_lock(a, live[i], TTL_MS);
    assert_int_equal(kind_of(lease), DIBS_DURABLE_PRIMARY);
    assert_int_equal(dibs_release(lease), DIBS_OK);
  }
  assert_int_equal(dibs_hold_state(hold), DIBS_HOLD_HELD);
  test_server_restart(test_cluster_member(cluster, 2), true);
  ends(hold);
}

static bool is_down(void *member)
{
  return strstr(test_server_command(member, "CLUSTER INFO"), "cluster_state:fail") != NULL;
}

static void node_of_a_cluster_that_is_down(const char *reads)
{
  struct test_server *living;
  dibs_hold *hold;
  char name[32];

  cluster_begin("yes", reads);
  living = test_cluster_member(cluster, 0);
  name_on(0, name);
  test_server_kill9(test_cluster_member(cluster, 2));
  assert_true(live_until(LIVE_LONG_MS, is_down, living));
  hold = local_lock(name);
  stays(hold, living, "errorstats", "errorstat_CLUSTERDOWN:count=");
  test_server_restart(test_cluster_member(cluster, 2), true);
  ends(hold);
}

TEST_WITH(nor_does_a_node_of_a_cluster_that_is_down, NULL, end)
{
  node_of_a_cluster_that_is_down("no");
}

TEST_WITH(nor_does_one_that_allows_reads_meanwhile, NULL, end)
{
  node_of_a_cluster_that_is_down("yes");
}

RUN_TESTS(group_setup, group_teardown)
