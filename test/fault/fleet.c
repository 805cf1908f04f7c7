/* SPDX-License-Identifier: MIT */
/* test/fault/fleet.c - deployments in networks, and faults that worlds write down. */
#include "fleet.h"

#include <stdio.h>
#include <string.h>

#include "lib/server_parts.h"

/* One in a process: each scenario has its own. */
static struct fleet the_fleet;

static void stop(void *data)
{
  struct fleet *f = data;

  f->watch = test_sentinels_stop(f->watch);
  f->set = test_set_stop(f->set);
  f->cluster = test_cluster_stop(f->cluster);
  f->quorum = test_quorum_stop(f->quorum);
  f->net = test_network_free(f->net);
}

static struct fleet *begin(struct world *w, int hosts)
{
  struct fleet *f = &the_fleet;

  f->world = w;
  f->net = hosts > 0 ? test_network_make(hosts) : NULL;
  if (hosts > 0 && f->net == NULL)
    test_bail_out("%s", test_network_why_not());
  world_at_end(w, stop, f);
  return f;
}

static void set_url(struct fleet *f, const char *url, const char *options)
{
  (void)snprintf(f->url, sizeof(f->url), "%s%s", url, options);
}

struct fleet *fleet_sentinels(struct world *w, const struct test_set_options *set,
                              const struct test_sentinels_options *sentinels,
                              const char *options)
{
  struct fleet *f = begin(w, FLEET_HOSTS);
  struct test_set_options o = *set;

  o.network = f->net;
  f->set = test_set_start(&o);
  f->watch = test_sentinels_start(f->set, sentinels);
  set_url(f, test_sentinels_url(f->watch), options);
  return f;
}

struct fleet *fleet_set(struct world *w, const char *options)
{
  struct fleet *f = begin(w, 0);

  f->set = test_set_start(NULL);
  set_url(f, test_set_url(f->set), options);
  return f;
}

struct fleet *fleet_cluster(struct world *w, const struct test_cluster_options *cluster,
                            int hosts, const char *options)
{
  struct fleet *f = begin(w, hosts);
  struct test_cluster_options o = *cluster;

  o.network = f->net;
  f->cluster = test_cluster_start(&o);
  set_url(f, test_cluster_url(f->cluster), options);
  return f;
}

struct fleet *fleet_quorum(struct world *w, int servers,
                           const struct test_server_options *server, int hosts,
                           const char *options)
{
  struct fleet *f = begin(w, hosts);
  const char *url, *blank;

  f->quorum = test_quorum_start(servers, server, f->net);
  url = test_quorum_url(f->quorum);
  /* What an option says of the client stands in the first URL. */
  blank = strchr(url, ' ');
  (void)snprintf(f->url, sizeof(f->url), "%.*s%s%s", (int)(blank - url), url, options, blank);
  return f;
}

int fleet_hire(struct fleet *f, int host, const struct plan *plan, int count)
{
  struct plan p = *plan;
  int first;

  if (p.url == NULL)
    p.url = f->url;
  if (host >= 0)
    test_network_enter(f->net, host);
  first = world_hire(f->world, &p, count);
  if (host >= 0)
    test_network_leave(f->net);
  return first;
}

/* ---- faults ---- */

void fleet_fault(struct fleet *f, enum fault kind)
{
  if (f->fault == 0)
    f->fault = world_fault_begin(f->world, kind, EVERYBODY, NO_LOCK);
}

void fleet_cut(struct fleet *f, unsigned side, unsigned other)
{
  fleet_fault(f, FAULT_NETWORK);
  test_network_split(f->net, side, other);
}

void fleet_cut_one_way(struct fleet *f, unsigned from, unsigned to)
{
  fleet_fault(f, FAULT_NETWORK);
  for (int a = 0; a < test_network_count(f->net); a++)
    for (int b = 0; b < test_network_count(f->net); b++)
      if (a != b && (from >> a & 1U) != 0 && (to >> b & 1U) != 0)
        test_network_cut_one_way(f->net, a, b);
}

void fleet_heal(struct fleet *f)
{
  test_network_heal_all(f->net);
}

void fleet_calm(struct fleet *f)
{
  if (f->fault != 0)
    world_fault_end(f->world, f->fault);
  f->fault = 0;
}

/* ---- what is measured ---- */

struct promotion { struct fleet *f; int old, found; };

static bool is_promoted(struct world *w, void *data)
{
  struct promotion *p = data;

  (void)w;
  for (int i = 0; i < test_set_count(p->f->set); i++)
    if (i != p->old && test_role_of(test_set_member(p->f->set, i)) == TEST_ROLE_PRIMARY) {
      p->found = i;
      return true;
    }
  return false;
}

int fleet_wait_promoted(struct fleet *f, int old, int limit_ms)
{
  struct promotion p = { f, old, -1 };

  (void)world_until(f->world, limit_ms, is_promoted, &p);
  return p.found;
}

struct crew { int first, count; uint64_t before[WORKERS_MAX]; };

static bool has_grant(struct world *w, void *data)
{
  const struct crew *c = data;

  for (int i = 0; i < c->count; i++)
    if (world_grants_of(w, c->first + i) > c->before[i])
      return true;
  return false;
}

bool fleet_time_grant(struct fleet *f, int first, int count, const char *what, int limit_ms)
{
  struct crew c = { first, count, { 0 } };
  int64_t begun_ns = history_now_ns();
  bool is_granted;

  for (int i = 0; i < count; i++)
    c.before[i] = world_grants_of(f->world, first + i);
  is_granted = world_until(f->world, limit_ms, has_grant, &c);
  if (is_granted)
    fleet_value(f, what, (history_now_ns() - begun_ns) / 1000000);
  return is_granted;
}

void fleet_value(struct fleet *f, const char *what, int64_t value)
{
  world_say(f->world, "value %s %lld", what, (long long)value);
}
