/* SPDX-License-Identifier: MIT */
/* admin/doctor_replicas.c - whether a lock survives the failure of the server: replicas, and
 * the quarantine of a promoted replica. */
#include "admin/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/plural.h"

#define LAG_MAX_S 3            /* a replica acknowledges each second */
#define REPLICAS_SHOWN 100

/* ---- the role ---- */

static void role_look(examination *x, const char *name)
{
  if (x->deployment == DEPLOYMENT_REPLICATED && !facts_are(&x->info, "role", "slave"))
    doctor_set_primary(x, &x->info);     /* also without the right to INFO */
  if (x->info.reply == NULL)
    return;
  if (!facts_are(&x->info, "role", "master"))
    doctor_add(x, name, DIBS_FINDING_FAIL,
               "name its primary, all servers of the set, or the sentinels in the URL",
               "this is a replica: it takes no locks");
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "primary");
}

/* ---- replicas ---- */

typedef struct replica_set {
  int64_t count, counted;        /* connected replicas; those that min-replicas-to-write counts */
  int64_t needed, lag;           /* min-replicas-to-write, min-replicas-max-lag */
  bool is_needed_known;
} replica_set;

/* False: no right to read the settings. */
static bool needed_read(examination *x, int64_t *ret_needed, int64_t *ret_lag)
{
  return setting_number(x, "min-replicas-to-write", ret_needed) == DIBS_OK &&
         setting_number(x, "min-replicas-max-lag", ret_lag) == DIBS_OK;
}

static void late_report(examination *x, const char *name, const char *address,
                        const char *state, int64_t lag)
{
  if (strcmp(state, "online") != 0)
    doctor_add(x, name, DIBS_FINDING_WARN, "wait until it has copied all, or see its log",
               "the replica %s is in state %s: it cannot take over yet", address, state);
  else if (lag > LAG_MAX_S)
    doctor_add(x, name, DIBS_FINDING_WARN, "see the replica's log and its network",
               "the replica %s has acknowledged nothing for %" PRId64 " s: after a failover to it "
               "locks may be forgotten", address, lag);
}

/* `ip=..,port=..,state=online,offset=..,lag=0` */
static bool replica_look(examination *x, const char *name, const char *words, size_t size,
                         int64_t lag_max)
{
  char host[80], port[8], state[24], address[96];
  int64_t lag = part_number(words, size, "lag");

  part_copy(words, size, "ip", host, sizeof(host));
  part_copy(words, size, "port", port, sizeof(port));
  part_copy(words, size, "state", state, sizeof(state));
  doctor_address(host, port, address, sizeof(address));
  late_report(x, name, address, state, lag);
  return strcmp(state, "online") == 0 && lag <= lag_max;
}

static replica_set replicas_look(examination *x, const char *name)
{
  replica_set r = { .count = facts_number(&x->info, "connected_slaves", 0) };

  r.is_needed_known = needed_read(x, &r.needed, &r.lag);
  for (int64_t i = 0; i < r.count && i < REPLICAS_SHOWN; i++) {
    char field[24];
    const char *words;
    size_t size;

    (void)snprintf(field, sizeof(field), "slave%" PRId64, i);
    if (facts_find(&x->info, field, &words, &size))
      r.counted += replica_look(x, name, words, size, r.lag);
  }
  return r;
}

static void replicas_are_few(examination *x, const char *name)
{
  if (!doctor_has_failover(x))
    doctor_add(x, name, DIBS_FINDING_PASS, "", "no replicas");
  else
    doctor_add(x, name, DIBS_FINDING_WARN, "connect replicas",
               "no replicas: if this server fails, no other can take over");
}

static void replication_look(examination *x, const char *name)
{
  replica_set r;
  const char *ending;

  if (x->info.reply == NULL || !facts_are(&x->info, "role", "master"))
    return;
  r = replicas_look(x, name);
  ending = plural_s((uint64_t)r.count);
  x->lag_s = r.is_needed_known && r.needed > 0 ? r.lag : 0;
  if (r.is_needed_known && r.needed > 0 && r.lag > 0 && r.counted < r.needed)
    doctor_add(x, name, DIBS_FINDING_FAIL, "repair the replicas, or lower min-replicas-to-write",
               "min-replicas-to-write=%" PRId64 ", and only %" PRId64 " in order: no lock can be "
               "taken", r.needed, r.counted);
  else if (r.count == 0)
    replicas_are_few(x, name);
  else if (!r.is_needed_known)
    doctor_add(x, name, DIBS_FINDING_UNKNOWN,
               ADVICE_MODE ", or look at min-replicas-to-write",
               "%" PRId64 " replica%s; settings unknown without CONFIG GET", r.count, ending);
  else if (r.needed == 0 || r.lag == 0)
    doctor_add(x, name, DIBS_FINDING_WARN,
               "set min-replicas-to-write 1 and min-replicas-max-lag 2, use quarantine= or "
               "min_replicas, and check fences",
               "%" PRId64 " replica%s, min-replicas-to-write=0: a failover can forget a lock, "
               "and a cut-off primary still grants locks", r.count, ending);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "",
               "%" PRId64 " replica%s, min-replicas-to-write=%" PRId64 ", min-replicas-max-lag=%"
               PRId64, r.count, ending, r.needed, r.lag);
}

/* ---- quarantine: deployments.md 4 ---- */

static void quarantine_look(examination *x, const char *name)
{
  int64_t quarantine = x->client->names.quarantine_ms;
  int64_t needed = 0, lag = 0;

  if (quarantine == 0)
    return;
  if (quarantine < TTL_DEFAULT_MS + 1000)
    doctor_add(x, name, DIBS_FINDING_WARN,
               "quarantine= at least the longest ttl, the skew of the servers' clocks and 1 s",
               "%" PRId64 " ms is too short for leases of more than %" PRId64 " ms; "
               "the default is %d ms", quarantine, quarantine > 1000 ? quarantine - 1000 : 0,
               TTL_DEFAULT_MS);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "%" PRId64 " ms", quarantine);
  if (!doctor_has_failover(x))
    return;
  if (!needed_read(x, &needed, &lag))
    doctor_add(x, name, DIBS_FINDING_UNKNOWN,
               "it must be 1 or more: " ADVICE_MODE ", or look",
               "min-replicas-to-write unknown without CONFIG GET");
  else if (needed == 0 || lag == 0)
    doctor_add(x, name, DIBS_FINDING_FAIL, "set min-replicas-to-write 1, min-replicas-max-lag 2",
               "min-replicas-to-write=%" PRId64 ", min-replicas-max-lag=%" PRId64 ": a cut-off "
               "primary still grants locks, and a quarantine on other servers cannot "
               "prevent this", needed, lag);
}

const doctor_check doctor_replica_checks[] = {
  { "role", role_look },
  { "replication", replication_look },
  { "quarantine", quarantine_look },
  { NULL, NULL },
};
