/* SPDX-License-Identifier: MIT */
/* test/live/two_in_cluster.h - the cluster of one_cluster.h and two clients of it in one dialect,
 * for all tests of a file. */
#ifndef TEST_TWO_IN_CLUSTER_H
#define TEST_TWO_IN_CLUSTER_H

#include "one_cluster.h"

static dibs_client *a, *b;

static void two_in_cluster(dibs_dialect dialect)
{
  cluster_start();
  a = cluster_open(cluster_options(dialect));
  b = cluster_open(cluster_options(dialect));
}

static int teardown(void **state)
{
  (void)state;
  a = dibs_close(a);
  b = dibs_close(b);
  cluster = test_cluster_stop(cluster);
  return 0;
}

#endif
