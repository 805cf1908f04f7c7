/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_sentinels.c - sentinels that watch a set. */
#include "deployment_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct test_sentinels {
  struct group group;
  struct test_set *set;
  char url[URL_SIZE];
};

static void set_text(const struct test_server *s, const char *option, const char *value)
{
  deployment_expect(s, "OK", "SENTINEL SET " TEST_SERVICE " %s %s", option, value);
}

static void log_in(const struct test_server *s, const struct test_sentinels_options *o)
{
  if (o->user != NULL)
    deployment_expect(s, "OK", "SENTINEL CONFIG SET sentinel-user %s", o->user);
  if (o->password != NULL)
    deployment_expect(s, "OK", "SENTINEL CONFIG SET sentinel-pass %s", o->password);
}

static void watch(const struct test_sentinels *t, int which,
                  const struct test_sentinels_options *o)
{
  const struct test_server *s = t->group.servers[which];
  const struct group *set = set_group(t->set);
  form_watch w = { .service = TEST_SERVICE,
                   .address = test_server_address(set->servers[0]),
                   .port = test_server_port(group_server(set, 0)),
                   .quorum = (o->count > 0 ? o->count : 3) / 2 + 1,
                   .down_after_ms = o->down_after_ms > 0 ? o->down_after_ms : 1000,
                   .failover_timeout_ms =
                     o->failover_timeout_ms > 0 ? o->failover_timeout_ms : 3000 };
  struct group_former g;

  group_former_init(&g, &t->group);
  if (!form_sentinel(&g.former, which, &w))
    test_bail_out("a sentinel does not watch: %s", g.former.why);
  if (set->options.user != NULL)
    set_text(s, "auth-user", set->options.user);
  if (set->options.password != NULL)
    set_text(s, "auth-pass", set->options.password);
  if (test_acl_is_for(set->servers[0])) {
    set_text(s, "auth-user", TEST_ADMIN);
    set_text(s, "auth-pass", TEST_ADMIN);
  }
}

/* Where it can be had, they find each other in a fifth of the time; later they are as slow
 * as sentinels are. */
static void publish_each(const struct test_sentinels *t, int ms)
{
  struct group_former g;

  group_former_init(&g, &t->group);
  form_sentinels_publish_each(&g.former, 0, ms);
}

struct test_sentinels *test_sentinels_start(struct test_set *set,
                                            const struct test_sentinels_options *options)
{
  struct test_sentinels_options o =
    options != NULL ? *options : (struct test_sentinels_options){ 0 };
  struct test_sentinels *t = calloc(1, sizeof(*t));
  const struct group *data = set_group(set);
  struct test_server_options server = { .is_sentinel = true, .has_tls = data->options.has_tls,
                                        .authority = data->options.authority,
                                        .password = o.password, .user = o.user,
                                        .has_clock = o.has_clock };

  if (t == NULL)
    test_bail_out("no memory");
  t->set = set;
  server.certificate = data->options.certificate;
  group_init(&t->group, &server, data->network);
  t->group.first_host = o.first_host > 0 ? o.first_host : data->count;
  if (server.has_tls)
    group_argument(&t->group, "--tls-replication", "yes");
  for (int i = 0; i < (o.count > 0 ? o.count : 3); i++)
    (void)group_add(&t->group);
  publish_each(t, 200);
  for (int i = 0; i < t->group.count; i++) {
    log_in(t->group.servers[i], &o);
    watch(t, i, &o);
  }
  if (!test_sentinels_wait_settled(t, FORM_MS))
    test_bail_out("the sentinels do not find each other and the members of their set");
  publish_each(t, 2000);
  group_url(&t->group, server.has_tls ? "rediss+sentinel" : "redis+sentinel", t->group.count,
            t->url, sizeof(t->url));
  (void)snprintf(t->url + strlen(t->url), sizeof(t->url) - strlen(t->url),
                 "/" TEST_SERVICE "/0");
  return t;
}

struct test_sentinels *test_sentinels_stop(struct test_sentinels *t)
{
  if (t != NULL)
    group_stop(&t->group);
  free(t);
  return NULL;
}

int test_sentinels_count(const struct test_sentinels *t) { return t->group.count; }
const char *test_sentinels_url(const struct test_sentinels *t) { return t->url; }

struct test_server *test_sentinel(const struct test_sentinels *t, int which)
{
  return group_server(&t->group, which);
}

int test_sentinel_primary(const struct test_sentinels *t, int which)
{
  redisReply *reply = NULL;
  int member = -1;

  if (group_is_living(&t->group, which))
    reply = test_server_ask(t->group.servers[which],
                            "SENTINEL get-master-addr-by-name " TEST_SERVICE);
  if (reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
    member = test_set_with_port(t->set, (int)strtol(reply->element[1]->str, NULL, 10));
  if (reply != NULL)
    freeReplyObject(reply);
  return member;
}

bool test_sentinels_failover(const struct test_sentinels *t)
{
  for (int i = 0; i < t->group.count; i++)
    if (group_is_living(&t->group, i)
        && strcmp(test_server_command(t->group.servers[i], "SENTINEL FAILOVER " TEST_SERVICE),
                  "OK") == 0)
      return true;
  return false;
}

/* ---- when they agree ---- */

/* The member that all living sentinels name and that is a primary; -1: they do not. */
static int agreed_primary(const struct test_sentinels *t)
{
  int agreed = -1;

  for (int i = 0; i < t->group.count; i++) {
    int named;
    if (!group_is_living(&t->group, i))
      continue;
    named = test_sentinel_primary(t, i);
    if (named < 0 || (agreed >= 0 && named != agreed))
      return -1;
    agreed = named;
  }
  if (agreed >= 0 && test_role_of(test_set_member(t->set, agreed)) != TEST_ROLE_PRIMARY)
    return -1;
  return agreed;
}

struct failover_question { const struct test_sentinels *t; int old; };

static bool has_failed_over(void *data)
{
  const struct failover_question *q = data;
  int agreed = agreed_primary(q->t);

  return agreed >= 0 && agreed != q->old;
}

bool test_sentinels_wait_for_failover(const struct test_sentinels *t, int old, int limit_ms)
{
  struct failover_question q = { t, old };

  return deployment_until(limit_ms, has_failed_over, &q);
}

static const char *field_of(const redisReply *pairs, const char *name)
{
  for (size_t i = 0; i + 1 < pairs->elements; i += 2)
    if (strcmp(pairs->element[i]->str, name) == 0)
      return pairs->element[i + 1]->str;
  return "";
}

/* How many replicas, or other sentinels, this one sees without a fault, and linked. */
static int seen_by(const struct test_sentinels *t, int which, const char *what)
{
  redisReply *reply = test_server_ask(t->group.servers[which],
                                      "SENTINEL %s " TEST_SERVICE, what);
  int count = 0;

  for (size_t i = 0; reply != NULL && i < reply->elements; i++) {
    const redisReply *one = reply->element[i];
    const char *flags = field_of(one, "flags");
    const char *link = field_of(one, "master-link-status");
    count += strstr(flags, "s_down") == NULL && strstr(flags, "disconnected") == NULL
             && (link[0] == '\0' || strcmp(link, "ok") == 0);
  }
  if (reply != NULL)
    freeReplyObject(reply);
  return count;
}

static int living(const struct group *g)
{
  int count = 0;

  for (int i = 0; i < g->count; i++)
    count += group_is_living(g, i);
  return count;
}

static bool is_settled(void *data)
{
  const struct test_sentinels *t = data;

  if (agreed_primary(t) < 0)
    return false;
  for (int i = 0; i < t->group.count; i++)
    if (group_is_living(&t->group, i)
        && (seen_by(t, i, "replicas") != living(set_group(t->set)) - 1
            || seen_by(t, i, "sentinels") != living(&t->group) - 1))
      return false;
  return true;
}

bool test_sentinels_wait_settled(const struct test_sentinels *t, int limit_ms)
{
  return deployment_until(limit_ms, is_settled, (void *)(uintptr_t)t);
}
