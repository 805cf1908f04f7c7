/* SPDX-License-Identifier: MIT */
/* test/peers/roster.c - the table of peers. A new one is a line here and a program in its
 * folder. */
#include "stage.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WATCHDOG "watchdog=2000"

/* Ours in the dialect of a family. */
#define FAIR "fair_wait=5000"
#define OURS RENEWS | REENTERS | COUNTS | SEES_COUNTS | FORCES | TELLS | HEARS
#define OURS_IN_REDISSON \
  "kinds=lock,fair,spin,fenced,read,write,semaphore,expirable,multi,latch,rate,map,list,set,canary"
#define REDISSON RENEWS | REENTERS | COUNTS | FORCES | TELLS | HEARS | FORGIVES

const struct peer stage_peers[] = {
  { "dibs", "dibs", FAMILY_NATIVE, OURS, { WATCHDOG } },
  { "dibs-redisson", "dibs", FAMILY_REDISSON, OURS | LETS_IN,
    { WATCHDOG, "query=dialect=redisson", OURS_IN_REDISSON } },
  { "redisson4", "redisson4", FAMILY_REDISSON, REDISSON, { WATCHDOG, FAIR } },
  { "redisson3", "redisson3", FAMILY_REDISSON, REDISSON, { WATCHDOG, FAIR } },
  { "dibs-spring", "dibs", FAMILY_SPRING,
    RENEWS | REENTERS | TELLS | HEARS | TELLS_OLD | HEARS_OLD,
    { WATCHDOG, "query=dialect=spring&registry=locks", "kinds=lock" } },
  { "spring7-pubsub", "spring7", FAMILY_SPRING,
    RENEWS | REENTERS | TELLS | HEARS | LOOKS_ONCE_A_LEASE | MEETS_ITSELF,
    { WATCHDOG, "type=pubsub" } },
  { "spring7-spin", "spring7", FAMILY_SPRING, RENEWS | REENTERS | POLLS,
    { WATCHDOG, "type=spin" } },
  { "spring6-pubsub", "spring6", FAMILY_SPRING,
    RENEWS | REENTERS | TELLS_OLD | HEARS_OLD | LOOKS_ONCE_A_LEASE | MEETS_ITSELF,
    { WATCHDOG, "type=pubsub" } },
  { "dibs-plain", "dibs", FAMILY_PLAIN, RENEWS | REENTERS | POLLS,
    { WATCHDOG, "query=dialect=plain", "kinds=lock" } },
  { "redis-py", "python", FAMILY_PLAIN, POLLS, { WATCHDOG } },
  { "redsync", "go", FAMILY_PLAIN, POLLS, { WATCHDOG, "library=redsync" } },
  { "redislock", "go", FAMILY_PLAIN, POLLS, { WATCHDOG, "library=redislock" } },
  { "node-redlock", "node", FAMILY_PLAIN, POLLS, { WATCHDOG, "library=redlock" } },
  { "redis-semaphore", "node", FAMILY_PLAIN, RENEWS | POLLS,
    { WATCHDOG, "library=redis-semaphore" } },
  { "rueidislock", "go", FAMILY_OTHER, RENEWS | HEARS, { "library=rueidislock" } },
  { "etcd", "etcd", FAMILY_OTHER, RENEWS | HEARS | OWN_SERVER, { NULL } },
};
const int stage_peer_count = sizeof(stage_peers) / sizeof(stage_peers[0]);

const char *stage_family(enum family family)
{
  static const char *const names[] = { "native", "redisson", "spring", "plain", "other" };

  return names[family];
}

const char *stage_program(const struct peer *p)
{
  static char path[400];
  const char *folder = getenv("DIBS_PEERS");

  if (strcmp(p->program, "dibs") == 0)
    return DIBS_PEER;
  (void)snprintf(path, sizeof(path), "%s/%s/run", folder == NULL ? DIBS_PEERS_HERE : folder,
                 p->program);
  return path;
}
