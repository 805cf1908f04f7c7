/* SPDX-License-Identifier: MIT */
/* local/form.h - forms a deployment from several servers, with options and commands.
 *
 * Used by `dibs sandbox` and by the tests' own deployments (test/lib/deployment.h). It starts
 * no process: the caller starts the servers and passes a function that sends commands. */
#ifndef LOCAL_FORM_H
#define LOCAL_FORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FORM_NODES_MAX = 16, FORM_BUS = 10000 };   /* the bus port is this much higher */

/* Options of each replicating server, and of each cluster member: pairs, NULL at the end.
 * Replicas synchronize at once, and roles change on command only. */
extern const char *const form_replica_options[];
extern const char *const form_cluster_options[];

typedef struct form_node {
  const char *address;
  int port;
} form_node;

/* Sends one command to a node, its arguments separated by blanks. Returns the reply as
 * text: a string, a number, the server's error, or the strings of an array separated by ",
 * ". false: no reply. */
typedef bool (*form_ask)(void *data, int node, const char *command, char *ret_text,
                         size_t size);

typedef struct former {
  form_ask ask;
  void *data;
  const form_node *nodes;
  int count;
  int64_t until;        /* of clock_ms() */
  char why[400];        /* the fault, after a false */
} former;

/* Assigns the slots to the first `primaries` nodes; the others follow them in turn. true:
 * all nodes know each other and report the cluster as complete. */
bool form_cluster(former *f, int primaries);

/* Makes `replica` follow `primary` and waits until it is in sync. */
bool form_replica(former *f, int replica, int primary);

typedef struct form_watch {
  const char *service;
  const char *address;  /* of the primary */
  int port;
  int quorum;
  int down_after_ms, failover_timeout_ms;
} form_watch;

/* Makes the sentinel `node` watch a primary. The caller sets passwords, and waits. */
bool form_sentinel(former *f, int node, const form_watch *w);

/* Waits until all nodes from `first` on, which are sentinels, see `replicas` replicas that
 * are up, and the other sentinels. */
bool form_sentinels_wait(former *f, int first, const char *service, int replicas);

/* Sets the interval of messages between sentinels, where the server supports it. */
void form_sentinels_publish_each(former *f, int first, int ms);

#endif
