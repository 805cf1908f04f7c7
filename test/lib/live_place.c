/* SPDX-License-Identifier: MIT */
/* test/lib/live_place.c - where the tests of a file have their locks: on one server, or in
 * the deployment that DIBS_TEST_DEPLOYMENT names.
 *
 * live_server is then the one that has the keys: the primary; in a cluster the first member,
 * whose MOVED test_server_command() follows; in a quorum the first server. */
#include "tests.h"
#include "live.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deployment.h"

enum { QUORUM_SERVERS = 3, PATIENCE_MS = 30000 };

struct test_server *live_server;

static struct {
  enum live_place kind;
  struct test_set *set;
  struct test_sentinels *sentinels;
  struct test_cluster *cluster;
  struct test_quorum *quorum;
} place;

static const char *const names[] = { "", "replicated", "sentinel", "cluster", "quorum" };

/* A machine that is busy is no reason for a failover. */
static const struct test_sentinels_options calm_sentinels = { .down_after_ms = PATIENCE_MS };
static const struct test_cluster_options calm_cluster = { .node_timeout_ms = PATIENCE_MS };

static enum live_place wanted(void)
{
  const char *name = getenv("DIBS_TEST_DEPLOYMENT");

  for (int i = LIVE_ONE; i <= LIVE_QUORUM; i++)
    if (strcmp(name == NULL ? "" : name, names[i]) == 0)
      return (enum live_place)i;
  fail_msg("DIBS_TEST_DEPLOYMENT is replicated, sentinel, cluster or quorum, not \"%s\"", name);
  return LIVE_ONE;
}

enum live_place live_place(void)
{
  return place.kind;
}

int live_server_setup(void **state)
{
  (void)state;
  place.kind = wanted();
  switch (place.kind) {
  case LIVE_SENTINEL:
  case LIVE_REPLICATED:
    place.set = test_set_start(NULL);
    if (place.kind == LIVE_SENTINEL)
      place.sentinels = test_sentinels_start(place.set, &calm_sentinels);
    live_server = test_set_member(place.set, 0);
    break;
  case LIVE_CLUSTER:
    place.cluster = test_cluster_start(&calm_cluster);
    live_server = test_cluster_member(place.cluster, 0);
    test_server_follow_moved(live_server);
    break;
  case LIVE_QUORUM:
    place.quorum = test_quorum_start(QUORUM_SERVERS, NULL, NULL);
    live_server = test_quorum_server(place.quorum, 0);
    break;
  case LIVE_ONE:
    live_server = test_server_start();
    break;
  }
  return 0;
}

int live_server_teardown(void **state)
{
  (void)state;
  if (place.kind == LIVE_ONE)
    (void)test_server_stop(live_server);
  live_server = NULL;
  place.sentinels = test_sentinels_stop(place.sentinels);
  place.set = test_set_stop(place.set);
  place.cluster = test_cluster_stop(place.cluster);
  place.quorum = test_quorum_stop(place.quorum);
  return 0;
}

const char *live_url(void)
{
  switch (place.kind) {
  case LIVE_REPLICATED:
    return test_set_url(place.set);
  case LIVE_SENTINEL:
    return test_sentinels_url(place.sentinels);
  case LIVE_CLUSTER:
    return test_cluster_url(place.cluster);
  case LIVE_QUORUM:
    return test_quorum_url(place.quorum);
  case LIVE_ONE:
    break;
  }
  return test_server_url(live_server);
}

const char *live_other_url(void)
{
  return place.kind == LIVE_ONE ? test_server_tcp_url(live_server) : live_url();
}

const char *live_url_by(const struct test_proxy *proxy)
{
  return place.kind == LIVE_ONE ? test_proxy_url(proxy) : live_url();
}

const char *live_tcp_url_by(const struct test_proxy *proxy)
{
  return place.kind == LIVE_ONE ? test_proxy_tcp_url(proxy) : live_url();
}

int live_server_count(void)
{
  if (place.kind == LIVE_QUORUM)
    return test_quorum_count(place.quorum);
  return place.kind == LIVE_CLUSTER ? 3 : 1;    /* its primaries, which are first */
}

const struct test_server *live_server_at(int which)
{
  if (place.kind == LIVE_QUORUM)
    return test_quorum_server(place.quorum, which);
  return place.kind == LIVE_CLUSTER ? test_cluster_member(place.cluster, which) : live_server;
}

void live_tell_all(const char *command)
{
  for (int i = 0; i < live_server_count(); i++)
    (void)test_server_command(live_server_at(i), command);
}

/* ---- what a test needs, and is skipped without ---- */

static void skip_because(const char *why)
{
  print_message("# skipped in a deployment \"%s\": %s\n", names[place.kind], why);
  skip();
}

bool live_is_beyond(enum live_place last)
{
  enum live_place kind = wanted();

  if (kind > last)
    (void)printf("1..0 # SKIP not for a deployment \"%s\"\n", names[kind]);
  return kind > last;
}

bool live_is_lost_to_tsan(void)
{
#ifdef __SANITIZE_THREAD__
  (void)printf("1..0 # SKIP thread sanitizer and fork\n");
  return true;
#else
  return false;
#endif
}

void live_needs_one_server(void)
{
  if (place.kind != LIVE_ONE)
    skip_because("it does something to its one server, or stands between it and the client");
}

void live_needs_one_view(void)
{
  if (place.kind == LIVE_CLUSTER || place.kind == LIVE_QUORUM)
    skip_because("it looks at all keys, clients or commands of its one server");
}

void live_needs_keys(void)
{
  if (place.kind == LIVE_QUORUM)
    skip_because("it uses a key, of which there are several here, or what no quorum has");
}

void live_needs_answer(dibs_status answer)
{
  if (place.kind != LIVE_ONE && answer == DIBS_ERR_UNSUPPORTED)
    skip_because("the library answers DIBS_ERR_UNSUPPORTED here");
}
