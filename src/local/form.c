/* SPDX-License-Identifier: MIT */
/* local/form.c - forms a deployment from several servers. */
#include "local/form.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "local/ask.h"

enum { SLOTS = 16384, SLOTS_AT_ONCE = 1000, COMMAND_SIZE = 7168, TEXT_SIZE = 7168,
       TURN_MS = 5 };

const char *const form_replica_options[] = {
  "--repl-diskless-sync", "yes",
  "--repl-diskless-sync-delay", "0",
  "--repl-ping-replica-period", "1",
  NULL,
};

const char *const form_cluster_options[] = {
  "--cluster-require-full-coverage", "no",
  "--cluster-replica-validity-factor", "0",
  "--cluster-migration-barrier", "999",
  NULL,
};

static bool fail(former *f, int node, const char *command, const char *said)
{
  (void)snprintf(f->why, sizeof(f->why), "server %d at port %d answered to \"%.80s\": %.200s",
                 node, f->nodes[node].port, command, said[0] == '\0' ? "(nothing)" : said);
  return false;
}

/* Sends a command that replies OK. */
__attribute__((format(printf, 3, 4)))
static bool report(former *f, int node, const char *format, ...)
{
  char command[512], text[256] = "";
  va_list values;

  va_start(values, format);
  (void)vsnprintf(command, sizeof(command), format, values);
  va_end(values);
  if (f->ask(f->data, node, command, text, sizeof(text)) && strncmp(text, "OK", 2) == 0)
    return true;
  return fail(f, node, command, text);
}

/* Waits until is_so() accepts the node's reply to `command`. */
static bool wait_for(former *f, int node, const char *command,
                     bool (*is_so)(const char *text, int number), int number)
{
  char text[TEXT_SIZE] = "";

  for (;;) {
    if (f->ask(f->data, node, command, text, sizeof(text)) && is_so(text, number))
      return true;
    if (clock_ms() >= f->until)
      return fail(f, node, command, text);
    nap_ms(TURN_MS);
  }
}

/* ---- a replica ---- */

static bool is_linked(const char *text, int number)
{
  (void)number;
  return strstr(text, "master_link_status:up") != NULL;
}

bool form_replica(former *f, int replica, int primary)
{
  return report(f, replica, "REPLICAOF %s %d", f->nodes[primary].address,
                f->nodes[primary].port)
         && wait_for(f, replica, "INFO replication", is_linked, 0);
}

/* ---- a cluster ---- */

/* ADDSLOTSRANGE came with 7.0. */
static bool add_slots(former *f, int node, int first, int last)
{
  char command[COMMAND_SIZE], text[256] = "";

  while (first <= last) {
    int used = snprintf(command, sizeof(command), "CLUSTER ADDSLOTS");
    for (int i = 0; i < SLOTS_AT_ONCE && first <= last; i++, first++)
      used += snprintf(command + used, sizeof(command) - (size_t)used, " %d", first);
    if (!f->ask(f->data, node, command, text, sizeof(text)) || strncmp(text, "OK", 2) != 0)
      return fail(f, node, command, text);
  }
  return true;
}

static int occurrences(const char *text, const char *word)
{
  int count = 0;

  for (const char *at = text; (at = strstr(at, word)) != NULL; at += strlen(word))
    count++;
  return count;
}

/* CLUSTER NODES has a line for each node; a node still in handshake is not known completely. */
static bool has_met(const char *text, int count)
{
  return occurrences(text, "connected\n") + occurrences(text, "connected ") >= count
         && strstr(text, "handshake") == NULL && strstr(text, "noaddr") == NULL
         && strstr(text, "disconnected") == NULL;
}

static bool has_replicas(const char *text, int count)
{
  return occurrences(text, "slave ") == count && strstr(text, "fail") == NULL;
}

static bool is_whole(const char *text, int number)
{
  (void)number;
  return strstr(text, "cluster_state:ok") != NULL
         && strstr(text, "cluster_slots_ok:16384") != NULL;
}

static bool wait_for_all(former *f, const char *command,
                         bool (*is_so)(const char *text, int number), int number)
{
  for (int i = 0; i < f->count; i++)
    if (!wait_for(f, i, command, is_so, number))
      return false;
  return true;
}

static bool follow(former *f, int replica, int primary)
{
  char id[128] = "";

  if (!f->ask(f->data, primary, "CLUSTER MYID", id, sizeof(id)))
    return fail(f, primary, "CLUSTER MYID", id);
  return report(f, replica, "CLUSTER REPLICATE %s", id)
         && wait_for(f, replica, "INFO replication", is_linked, 0);
}

bool form_cluster(former *f, int primaries)
{
  bool is_done = true;

  for (int i = 0; i < f->count && is_done; i++)
    is_done = report(f, i, "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
  for (int i = 0; i < primaries && is_done; i++)
    is_done = add_slots(f, i, SLOTS * i / primaries, SLOTS * (i + 1) / primaries - 1);
  for (int i = 1; i < f->count && is_done; i++)
    is_done = report(f, 0, "CLUSTER MEET %s %d %d", f->nodes[i].address, f->nodes[i].port,
                     f->nodes[i].port + FORM_BUS);
  is_done = is_done && wait_for_all(f, "CLUSTER NODES", has_met, f->count);
  for (int i = primaries; i < f->count && is_done; i++)
    is_done = follow(f, i, i % primaries);
  return is_done && wait_for_all(f, "CLUSTER NODES", has_replicas, f->count - primaries)
         && wait_for_all(f, "CLUSTER INFO", is_whole, 0);
}

/* ---- sentinels ---- */

bool form_sentinel(former *f, int node, const form_watch *w)
{
  return report(f, node, "SENTINEL MONITOR %s %s %d %d", w->service, w->address, w->port,
                w->quorum)
         && report(f, node, "SENTINEL SET %s down-after-milliseconds %d", w->service,
                   w->down_after_ms)
         && report(f, node, "SENTINEL SET %s failover-timeout %d", w->service,
                   w->failover_timeout_ms)
         && report(f, node, "SENTINEL SET %s parallel-syncs 8", w->service);
}

void form_sentinels_publish_each(former *f, int first, int ms)
{
  char command[80], text[256];

  (void)snprintf(command, sizeof(command), "SENTINEL DEBUG publish-period %d", ms);
  for (int i = first; i < f->count; i++)
    (void)f->ask(f->data, i, command, text, sizeof(text));
}

/* "flags, master, ..., num-slaves, 2, ...": all replicas are up, and no flag reports a fault. */
static bool sees_replicas(const char *text, int count)
{
  return occurrences(text, "master-link-status, ok") == count
         && strstr(text, "s_down") == NULL && strstr(text, "disconnected") == NULL;
}

static bool sees_sentinels(const char *text, int count)
{
  return occurrences(text, "runid, ") == count && strstr(text, "s_down") == NULL
         && strstr(text, "disconnected") == NULL;
}

bool form_sentinels_wait(former *f, int first, const char *service, int replicas)
{
  char of_replicas[128], of_sentinels[128];

  (void)snprintf(of_replicas, sizeof(of_replicas), "SENTINEL REPLICAS %s", service);
  (void)snprintf(of_sentinels, sizeof(of_sentinels), "SENTINEL SENTINELS %s", service);
  for (int i = first; i < f->count; i++)
    if (!wait_for(f, i, of_replicas, sees_replicas, replicas)
        || !wait_for(f, i, of_sentinels, sees_sentinels, f->count - first - 1))
      return false;
  return true;
}
