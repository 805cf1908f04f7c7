/* SPDX-License-Identifier: MIT */
/* admin/doctor_activity.c - what the server counts itself: keys that it removed, its scripts, its
 * memory, and the lag of its replicas. */
#include "admin/doctor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of all clients, since the start or CONFIG RESETSTAT. */
static void scripts_read(examination *x, dibs_server_numbers *n)
{
  static const char *const fields[] = { "cmdstat_evalsha", "cmdstat_eval", "cmdstat_fcall" };
  facts f = facts_ask(x, "INFO", "commandstats");
  const char *words;
  size_t size;

  if (f.reply == NULL)
    return;
  n->script_calls = n->script_us = 0;
  for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
    int64_t calls = -1, us = -1;

    if (facts_find(&f, fields[i], &words, &size)) {
      calls = part_number(words, size, "calls");
      us = part_number(words, size, "usec");
    }
    if (calls > 0 && us >= 0) {
      n->script_calls += calls;
      n->script_us += us;
    }
  }
  facts_deinit(&f);
}

/* `ip=..,port=..,state=online,offset=..,lag=0` of each. */
static int64_t replica_lag(const facts *info, int64_t replicas)
{
  int64_t written = facts_number(info, "master_repl_offset", -1), most = replicas < 0 ? -1 : 0;

  for (int64_t i = 0; i < replicas && written >= 0; i++) {
    const char *words;
    char field[32];
    size_t size;
    int64_t offset = -1;

    (void)snprintf(field, sizeof(field), "slave%" PRId64, i);
    if (facts_find(info, field, &words, &size))
      offset = part_number(words, size, "offset");
    if (offset >= 0 && written - offset > most)
      most = written - offset;
  }
  return most;
}

static void activity_look(examination *x, const char *name)
{
  dibs_server_numbers n = { .script_calls = -1, .script_us = -1 };

  if (x->info.reply == NULL)
    return;                              /* reported by another check */
  n.memory_bytes = facts_number(&x->info, "used_memory", -1);
  n.memory_max_bytes = facts_number(&x->info, "maxmemory", -1);
  n.expired_keys = facts_number(&x->info, "expired_keys", -1);
  n.evicted_keys = facts_number(&x->info, "evicted_keys", -1);
  n.replicas = facts_number(&x->info, "connected_slaves", -1);
  n.replica_lag_bytes = replica_lag(&x->info, n.replicas);
  scripts_read(x, &n);
  x->numbers = &n;
  if (n.evicted_keys > 0)
    doctor_add(x, name, DIBS_FINDING_WARN, "set maxmemory-policy noeviction, or raise maxmemory",
               "%" PRId64 " keys evicted since the start: locks may be among them",
               n.evicted_keys);
  else if (n.script_calls > 0)
    doctor_add(x, name, DIBS_FINDING_PASS, "",
               "%" PRId64 " scripts, %" PRId64 " us on average; no key evicted", n.script_calls,
               n.script_us / n.script_calls);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "no key evicted");
  x->numbers = NULL;
}

const doctor_check doctor_activity_checks[] = {
  { "activity", activity_look },
  { NULL, NULL },
};
