/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_set.c - a primary and its replicas. */
#include "deployment_parts.h"

#include <stdio.h>
#include <stdlib.h>

struct test_set {
  struct group group;
  int min_replicas;
  char url[URL_SIZE];
};

static void set_arguments(struct test_set *set, const struct test_set_options *o)
{
  struct group *g = &set->group;

  group_add_arguments(g, form_replica_options);
  group_number(g, "--repl-timeout", o->repl_timeout_s > 0 ? o->repl_timeout_s : 5);
  if (o->min_replicas_to_write > 0)
    group_number(g, "--min-replicas-to-write", o->min_replicas_to_write);
  if (o->min_replicas_max_lag_s > 0)
    group_number(g, "--min-replicas-max-lag", o->min_replicas_max_lag_s);
  if (g->options.password != NULL)
    group_argument(g, "--masterauth", g->options.password);
  if (g->options.user != NULL)
    group_argument(g, "--masteruser", g->options.user);
  if (g->options.has_tls)
    group_argument(g, "--tls-replication", "yes");
  group_add_arguments(g, o->server != NULL ? o->server->arguments : NULL);
}

static void follow(const struct group *g, int member, int primary)
{
  deployment_expect(g->servers[member], "OK", "REPLICAOF %s %d",
                    test_server_address(g->servers[primary]),
                    test_server_port(g->servers[primary]));
  deployment_expect(g->servers[member], "OK", "CONFIG REWRITE");
}

/* In sync is not yet counted: the first acknowledgement is awaited. */
static bool accepts_writes(void *data)
{
  const struct test_set *set = data;

  return set->min_replicas == 0
         || info_number(set->group.servers[0], "replication", "min_slaves_good_slaves")
              >= set->min_replicas;
}

struct test_set *test_set_start(const struct test_set_options *options)
{
  struct test_set_options o = options != NULL ? *options : (struct test_set_options){ 0 };
  struct test_set *set = calloc(1, sizeof(*set));
  struct group *g = set != NULL ? &set->group : NULL;
  int replicas = o.replicas == 0 ? 2 : o.replicas < 0 ? 0 : o.replicas;

  if (g == NULL)
    test_bail_out("no memory");
  group_init(g, o.server, o.network);
  g->options.keeps_configuration = true;
  set->min_replicas = o.min_replicas_to_write < replicas ? o.min_replicas_to_write : replicas;
  set_arguments(set, &o);
  for (int i = 0; i <= replicas; i++) {
    (void)group_add(g);
    if (i > 0)
      follow(g, i, 0);
  }
  if (!test_set_wait_in_sync(set, FORM_MS) || !deployment_until(FORM_MS, accepts_writes, set))
    test_bail_out("replicas of the server in %s do not get in sync",
                  test_server_directory(g->servers[0]));
  group_url(g, g->options.has_tls ? "rediss" : "redis", g->count, set->url,
            sizeof(set->url));
  return set;
}

struct test_set *test_set_stop(struct test_set *set)
{
  if (set != NULL)
    group_stop(&set->group);
  free(set);
  return NULL;
}

struct group *set_group(struct test_set *set) { return &set->group; }
int test_set_count(const struct test_set *set) { return set->group.count; }
const char *test_set_url(const struct test_set *set) { return set->url; }

struct test_server *test_set_member(const struct test_set *set, int member)
{
  return group_server(&set->group, member);
}

int test_set_primary(const struct test_set *set)
{
  for (int i = 0; i < set->group.count; i++)
    if (test_role_of(set->group.servers[i]) == TEST_ROLE_PRIMARY)
      return i;
  return -1;
}

int test_set_with_port(const struct test_set *set, int port)
{
  return group_with_port(&set->group, port);
}

struct set_sync_question {
  const struct test_set *set;
  int primary;                      /* -1: none was found yet */
  long long offset;                 /* of this primary when it was found */
};

/* Sentinels may promote another member while the replicas are still copying. */
static bool set_is_in_sync(void *data)
{
  struct set_sync_question *q = data;
  const struct group *g = &q->set->group;
  int primary = test_set_primary(q->set);

  if (primary < 0)
    return false;
  if (primary != q->primary) {
    q->primary = primary;
    q->offset = replication_offset(g->servers[primary]);
  }
  for (int i = 0; i < g->count; i++)
    if (i != primary && group_is_living(g, i)
        && !replica_has(g->servers[i], g->servers[primary], q->offset))
      return false;
  return q->offset >= 0;
}

bool test_set_wait_in_sync(const struct test_set *set, int limit_ms)
{
  struct set_sync_question q = { set, -1, -1 };

  return deployment_until(limit_ms, set_is_in_sync, &q);
}

void test_set_promote(const struct test_set *set, int member)
{
  const struct group *g = &set->group;

  test_promote(group_server(g, member));
  for (int i = 0; i < g->count; i++)
    if (i != member && group_is_living(g, i))
      follow(g, i, member);
}
