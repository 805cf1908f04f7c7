/* SPDX-License-Identifier: MIT */
/* test/lib/deployment_cluster.c - a cluster: formed, agreed, failed over. */
#include "deployment_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a member says of the cluster ---- */

/* One line of CLUSTER NODES:
 * id address flags primary-id ping pong epoch state [first[-last]|[slot-<-id]]... */
struct line {
  const char *words[8];
  char *slots;                    /* what follows */
};

static bool line_read(char *text, struct line *ret_line)
{
  char *rest = text;

  for (int i = 0; i < 8; i++) {
    ret_line->words[i] = rest;
    rest += strcspn(rest, " ");
    if (*rest != '\0')
      *rest++ = '\0';
    else if (i < 7)
      return false;
  }
  ret_line->slots = rest;
  return true;
}

/* Marks in `map` what the line says is served, except slots on the move. */
static void slots_mark(const char *slots, unsigned char *map, unsigned char mark)
{
  while (*slots != '\0') {
    char *end;
    long first = strtol(slots, &end, 10), last = first;

    if (end != slots && *end == '-')
      last = strtol(end + 1, &end, 10);
    if (end != slots)
      for (long i = first; i <= last && i < TEST_SLOTS; i++)
        map[i] = mark;
    slots += strcspn(slots, " ");
    slots += *slots == ' ';
  }
}

static bool is_there(const struct test_server *s)
{
  return s->pid != 0 && !s->is_paused;
}

/* Calls `each` for each line; false: no answer. */
static bool nodes_read(const struct test_server *s,
                       void (*each)(const struct line *line, void *data), void *data)
{
  redisReply *reply = is_there(s) ? test_server_ask(s, "CLUSTER NODES") : NULL;
  bool is_read = reply != NULL && reply->type == REDIS_REPLY_STRING;
  char *rest = NULL;
  struct line line;

  for (char *text = is_read ? strtok_r(reply->str, "\n", &rest) : NULL; text != NULL;
       text = strtok_r(NULL, "\n", &rest))
    if (line_read(text, &line))
      each(&line, data);
  if (reply != NULL)
    freeReplyObject(reply);
  return is_read;
}

struct own_slots { unsigned char *map; bool is_primary; };

static void see_own(const struct line *line, void *data)
{
  struct own_slots *own = data;

  if (strstr(line->words[2], "myself,master") == NULL)
    return;
  own->is_primary = true;
  slots_mark(line->slots, own->map, 1);
}

bool cluster_slots_of(const struct test_server *s, unsigned char *ret_slots)
{
  struct own_slots own = { .map = ret_slots };

  memset(ret_slots, 0, TEST_SLOTS);
  return nodes_read(s, see_own, &own) && own.is_primary;
}

/* What one member believes: who serves each slot (a member's number + 1). */
struct belief {
  const struct test_cluster *cluster;
  unsigned char map[TEST_SLOTS];
  bool is_lacking;                /* a primary it knows to be living is taken for failed */
};

static int member_with_id(const struct test_cluster *c, const char *id)
{
  for (int i = 0; i < c->group.count; i++)
    if (strcmp(c->ids[i], id) == 0)
      return i;
  return -1;
}

static void see_node(const struct line *line, void *data)
{
  struct belief *b = data;
  int member = member_with_id(b->cluster, line->words[0]);

  if (strstr(line->words[2], "handshake") != NULL || member < 0)
    return;
  b->is_lacking |= group_is_living(&b->cluster->group, member)
                   && strstr(line->words[2], "fail") != NULL;
  slots_mark(line->slots, b->map, (unsigned char)(member + 1));
}

static bool believes(const struct test_cluster *c, int member, struct belief *ret_belief)
{
  memset(ret_belief, 0, sizeof(*ret_belief));
  ret_belief->cluster = c;
  return nodes_read(c->group.servers[member], see_node, ret_belief);
}

/* ---- when they agree ---- */

/* Whether everybody in the map is there to serve what he is said to. */
static bool are_serving(const struct test_cluster *c, const unsigned char *map)
{
  static unsigned char own[TEST_SLOTS];

  for (int i = 0; i < c->group.count; i++) {
    bool is_named = memchr(map, i + 1, TEST_SLOTS) != NULL;
    bool is_serving = group_is_living(&c->group, i)
                      && cluster_slots_of(c->group.servers[i], own);
    if (is_named && !is_serving)
      return false;
    for (int slot = 0; is_serving && slot < TEST_SLOTS; slot++)
      if ((own[slot] != 0) != (map[slot] == i + 1))
        return false;
  }
  return true;
}

static bool is_ok(void *data)
{
  const struct test_cluster *c = data;
  static struct belief first, other;
  bool has_first = false;
  char state[32];

  for (int i = 0; i < c->group.count; i++) {
    redisReply *reply;
    if (!group_is_living(&c->group, i))
      continue;
    reply = test_server_ask(c->group.servers[i], "CLUSTER INFO");
    (void)snprintf(state, sizeof(state), "%.16s",
                   reply == NULL || reply->str == NULL ? "" : reply->str);
    if (reply != NULL)
      freeReplyObject(reply);
    if (strcmp(state, "cluster_state:ok") != 0 || !believes(c, i, has_first ? &other : &first))
      return false;
    if ((has_first ? &other : &first)->is_lacking
        || (has_first && memcmp(first.map, other.map, TEST_SLOTS) != 0))
      return false;
    has_first = true;
  }
  return has_first && are_serving(c, first.map);
}

bool test_cluster_wait_ok(const struct test_cluster *c, int limit_ms)
{
  return deployment_until(limit_ms, is_ok, (void *)(uintptr_t)c);
}

bool test_cluster_wait_for_primary(const struct test_cluster *c, int member, int limit_ms)
{
  return test_wait_for_role(group_server(&c->group, member), TEST_ROLE_PRIMARY, limit_ms);
}

/* ---- forming ---- */

static void cluster_arguments(struct test_cluster *c, const struct test_cluster_options *o)
{
  struct group *g = &c->group;

  group_number(g, "--cluster-node-timeout",
               o->node_timeout_ms > 0 ? o->node_timeout_ms : 2000);
  group_add_arguments(g, form_cluster_options);
  group_add_arguments(g, form_replica_options);
  if (g->options.password != NULL)
    group_argument(g, "--masterauth", g->options.password);
  if (g->options.user != NULL)
    group_argument(g, "--masteruser", g->options.user);
  if (g->options.has_tls) {
    group_argument(g, "--tls-replication", "yes");
    group_argument(g, "--tls-cluster", "yes");
  }
  group_add_arguments(g, o->server != NULL ? o->server->arguments : NULL);
}

static void cluster_start_member(struct test_cluster *c)
{
  int member = group_add(&c->group);
  const struct test_server *s = c->group.servers[member];

  deployment_expect(s, "OK", "CONFIG SET cluster-announce-ip %s", test_server_address(s));
  /* A primary that gave away its last slot stays a primary, where the server has a say. */
  (void)test_server_command(s, "CONFIG SET cluster-allow-replica-migration no");
  deployment_expect(s, "OK", "CONFIG REWRITE");
  (void)snprintf(c->ids[member], sizeof(c->ids[0]), "%s",
                 test_server_command(s, "CLUSTER MYID"));
}

static void wait_in_sync(const struct test_cluster *c, int replica, int of)
{
  if (!test_wait_in_sync(c->group.servers[of], c->group.servers[replica], FORM_MS))
    test_bail_out("member %d of the cluster does not get in sync with %d", replica, of);
}

static void form(struct test_cluster *c, int primaries)
{
  struct group_former g;

  group_former_init(&g, &c->group);
  if (!form_cluster(&g.former, primaries))
    test_bail_out("a cluster is not formed: %s", g.former.why);
  for (int i = primaries; i < c->group.count; i++)
    wait_in_sync(c, i, i % primaries);
  if (!test_cluster_wait_ok(c, FORM_MS))
    test_bail_out("a cluster does not become whole");
}

struct test_cluster *test_cluster_start(const struct test_cluster_options *options)
{
  struct test_cluster_options o =
    options != NULL ? *options : (struct test_cluster_options){ 0 };
  struct test_cluster *c = calloc(1, sizeof(*c));
  int primaries = o.primaries > 0 ? o.primaries : 3;
  int replicas = o.replicas == 0 ? 1 : o.replicas < 0 ? 0 : o.replicas;

  if (c == NULL)
    test_bail_out("no memory");
  group_init(&c->group, o.server, o.network);
  c->group.options.has_cluster = true;
  c->group.options.keeps_configuration = true;
  cluster_arguments(c, &o);
  for (int i = 0; i < primaries * (1 + replicas); i++)
    cluster_start_member(c);
  form(c, primaries);
  group_url(&c->group, c->group.options.has_tls ? "rediss+cluster" : "redis+cluster", 3,
            c->url, sizeof(c->url));
  return c;
}

struct test_cluster *test_cluster_stop(struct test_cluster *c)
{
  if (c != NULL)
    group_stop(&c->group);
  free(c);
  return NULL;
}

/* ---- a failover ---- */

struct known_question { const struct test_cluster *cluster; int replica; };

/* By its own primary. Others answer for themselves with an error, or with other replicas. */
static bool is_known(void *data)
{
  const struct known_question *q = data;
  const struct group *g = &q->cluster->group;

  for (int i = 0; i < g->count; i++)
    if (group_is_living(g, i)
        && strstr(test_server_command(g->servers[i], "CLUSTER REPLICAS %s", q->cluster->ids[i]),
                  q->cluster->ids[q->replica]) != NULL)
      return true;
  return false;
}

/* A primary that has not heard yet whose replica it is does not hear its request either. */
bool test_cluster_failover(const struct test_cluster *c, int replica, const char *how)
{
  const struct test_server *s = group_server(&c->group, replica);
  struct known_question q = { c, replica };

  if (how[0] == '\0' && !deployment_until(FORM_MS, is_known, &q))
    return false;
  return strcmp(how[0] == '\0' ? test_server_command(s, "CLUSTER FAILOVER")
                               : test_server_command(s, "CLUSTER FAILOVER %s", how),
                "OK") == 0;
}

/* ---- looking ---- */

int test_cluster_count(const struct test_cluster *c) { return c->group.count; }
const char *test_cluster_url(const struct test_cluster *c) { return c->url; }

struct test_server *test_cluster_member(const struct test_cluster *c, int member)
{
  return group_server(&c->group, member);
}

int test_cluster_replica_of(const struct test_cluster *c, int member)
{
  const struct test_server *primary = group_server(&c->group, member);

  for (int i = 0; i < c->group.count; i++) {
    const struct test_server *s = c->group.servers[i];
    if (group_is_living(&c->group, i) && test_role_of(s) == TEST_ROLE_REPLICA
        && info_number(s, "replication", "master_port") == test_server_port(primary))
      return i;
  }
  return -1;
}
