/* SPDX-License-Identifier: MIT */
/* test/live/one_cluster.h - a cluster of three nodes without replicas for all tests of a file, and
 * clients of it that are patient enough for a busy machine. */
#ifndef TEST_ONE_CLUSTER_H
#define TEST_ONE_CLUSTER_H

#include "deployment.h"
#include "live.h"

static struct test_cluster *cluster;

static void cluster_start(void)
{
  static const struct test_cluster_options options = { .replicas = TEST_NONE,
                                                       .node_timeout_ms = 30000 };

  cluster = test_cluster_start(&options);
}

/* A test changes what it wants otherwise before it opens. */
static dibs_options cluster_options(dibs_dialect dialect)
{
  dibs_options o = live_options();

  o.connect_timeout_ms = LIVE_LONG_MS;
  o.command_timeout_ms = 5000;
  o.dialect = dialect;
  return o;
}

static dibs_client *cluster_open(dibs_options options)
{
  return live_open_with(test_cluster_url(cluster), &options);
}

#endif
