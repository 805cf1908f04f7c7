/* SPDX-License-Identifier: MIT */
/* admin/doctor_memory.c - whether the server keeps data: eviction, free memory, persistence. */
#include "admin/doctor.h"

#include <inttypes.h>
#include <string.h>

/* ---- eviction ---- */

static void eviction_look(examination *x, const char *name)
{
  int64_t limit = facts_number(&x->info, "maxmemory", -1);
  char policy[32];

  if (x->info.reply == NULL)
    return;                              /* reported by another check */
  facts_copy(&x->info, "maxmemory_policy", policy, sizeof(policy));
  if (policy[0] == 0)
    doctor_add(x, name, DIBS_FINDING_UNKNOWN, "look at maxmemory-policy: it must be noeviction",
               "the server does not report its maxmemory-policy");
  else if (strcmp(policy, "noeviction") == 0)
    doctor_add(x, name, DIBS_FINDING_PASS, "", "maxmemory-policy=noeviction");
  else if (limit > 0)
    doctor_add(x, name, DIBS_FINDING_FAIL, "set maxmemory-policy noeviction",
               "maxmemory-policy=%s with maxmemory=%" PRId64 ": a full server evicts held locks",
               policy, limit);
  else
    doctor_add(x, name, DIBS_FINDING_WARN, "set maxmemory-policy noeviction",
               "maxmemory-policy=%s; without maxmemory it has no effect yet", policy);
}

static void room_look(examination *x, const char *name)
{
  int64_t limit = facts_number(&x->info, "maxmemory", 0);
  int64_t used = facts_number(&x->info, "used_memory", 0);

  if (x->info.reply == NULL)
    return;
  if (limit == 0)
    doctor_add(x, name, DIBS_FINDING_PASS, "", "%" PRId64 " bytes used, no limit", used);
  else if (used >= limit)
    doctor_add(x, name, DIBS_FINDING_FAIL, "raise maxmemory, or remove keys",
               "full: %" PRId64 " of %" PRId64 " bytes; new locks are refused", used, limit);
  else if (used > limit / 10 * 9)
    doctor_add(x, name, DIBS_FINDING_WARN, "raise maxmemory, or remove keys",
               "nearly full: %" PRId64 " of %" PRId64 " bytes; a full server refuses new locks",
               used, limit);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "%" PRId64 " of %" PRId64 " bytes used", used,
               limit);
}

/* ---- persistence ---- */

#define ADVICE_DISK "free space on the server's disk; see the server's log"

/* Whether a failed snapshot makes the server refuse writes; true when the setting cannot
 * be read. */
static bool snapshot_stops_writes(examination *x)
{
  char words[128];

  if (setting_read(x, "stop-writes-on-bgsave-error", words, sizeof(words)) == DIBS_OK &&
      strcmp(words, "no") == 0)
    return false;
  return setting_read(x, "save", words, sizeof(words)) != DIBS_OK || words[0] != 0;
}

/* Reports a fault that prevents writes now. */
static bool writing_is_broken(examination *x, const char *name)
{
  bool is_bad_save = facts_are(&x->info, "rdb_last_bgsave_status", "err");

  if (facts_are(&x->info, "aof_last_write_status", "err")) {
    doctor_add(x, name, DIBS_FINDING_FAIL, ADVICE_DISK,
               "the append-only file cannot be written (MISCONF): no lock can be taken");
    return true;
  }
  if (!is_bad_save)
    return false;
  if (snapshot_stops_writes(x))
    doctor_add(x, name, DIBS_FINDING_FAIL, ADVICE_DISK,
               "the last snapshot failed, and it refuses writes since (MISCONF)");
  else
    doctor_add(x, name, DIBS_FINDING_WARN, ADVICE_DISK,
               "the last snapshot failed");
  return true;
}

static void journal_look(examination *x, const char *name)
{
  char sync[16];
  dibs_status status = setting_read(x, "appendfsync", sync, sizeof(sync));
  int64_t delayed = facts_number(&x->info, "aof_delayed_fsync", 0);

  if (status != DIBS_OK)
    doctor_add(x, name, DIBS_FINDING_UNKNOWN,
               ADVICE_MODE ", or look at appendfsync",
               "appendonly=yes; how often it is synced is unknown without CONFIG GET");
  else if (strcmp(sync, "no") == 0)
    doctor_add(x, name, DIBS_FINDING_WARN, "set appendfsync everysec, or always",
               "appendonly=yes, appendfsync=no: a machine that loses power forgets up to half a "
               "minute of locks");
  else if (x->deployment == DEPLOYMENT_QUORUM && strcmp(sync, "always") != 0 &&
           x->client->names.quarantine_ms == 0)
    doctor_add(x, name, DIBS_FINDING_WARN,
               "set appendfsync always, or quarantine= to at least the longest ttl",
               "appendfsync=%s: a server of a quorum that forgets a grant can break its majority",
               sync);
  else if (strcmp(sync, "everysec") == 0 && delayed > 0)
    doctor_add(x, name, DIBS_FINDING_WARN, "set appendfsync always, or give it a quicker disk",
               "appendonly=yes, appendfsync=everysec, and its disk was too slow %" PRId64
               " times (aof_delayed_fsync): killed while it waits for the disk, it forgets "
               "up to 2 s of locks", delayed);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "appendonly=yes, appendfsync=%s", sync);
}

static void persistence_look(examination *x, const char *name)
{
  char save[128];
  dibs_status status;

  if (x->info.reply == NULL || writing_is_broken(x, name))
    return;
  if (facts_are(&x->info, "aof_enabled", "1")) {
    journal_look(x, name);
    return;
  }
  status = setting_read(x, "save", save, sizeof(save));
  if (x->client->names.quarantine_ms > 0)
    doctor_add(x, name, DIBS_FINDING_PASS, "",
               "appendonly=no; after a restart the quarantine keeps old and new locks apart");
  else if (status == DIBS_OK && save[0] != 0)
    doctor_add(x, name, DIBS_FINDING_WARN, "set appendonly yes, or use quarantine=",
               "snapshots only (save %s): a restart forgets the locks since the last one", save);
  else
    doctor_add(x, name, DIBS_FINDING_WARN, "set appendonly yes, or use quarantine=",
               "appendonly=no: a restart forgets all locks, also those that are held; "
               "fences still increase");
}

const doctor_check doctor_memory_checks[] = {
  { "eviction", eviction_look },
  { "memory", room_look },
  { "persistence", persistence_look },
  { NULL, NULL },
};
