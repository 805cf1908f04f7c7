/* SPDX-License-Identifier: MIT */
/* admin/doctor_server.c - scope, latency, version and known vulnerabilities of the server. */
#include "admin/doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- latency ---- */

#define PINGS 20
#define SLOW_US 50000

static int by_value(const void *a, const void *b)
{
  const int64_t *x = a, *y = b;

  return (*x > *y) - (*x < *y);
}

static void latency_look(examination *x, const char *name)
{
  int64_t us[PINGS], median_us;
  size_t count = 0;
  const char *advice = "";
  dibs_finding_grade grade = DIBS_FINDING_PASS;

  while (count < PINGS) {
    instant begin = drive_now();
    dibs_status status;
    resp_reply *reply = doctor_ask(x, &status, "PING", NULL);

    resp_reply_free(reply);
    if (!doctor_has_replied(status))
      break;
    us[count++] = span_to_us(instant_since(drive_now(), begin));
  }
  if (count < PINGS) {
    doctor_add(x, name, DIBS_FINDING_FAIL, "see the network, and what keeps the server busy",
               "only %zu of %d requests were answered", count, PINGS);
    return;
  }
  qsort(us, count, sizeof(us[0]), by_value);
  median_us = us[PINGS / 2];
  if (median_us > SLOW_US || us[PINGS - 1] > 1000 * (int64_t)x->client->times.command_ms / 4) {
    grade = DIBS_FINDING_WARN;
    advice = "each lock costs such a round trip, each renewal has to be back in time: use a "
             "server nearby, or longer leases";
  }
  doctor_add(x, name, grade, advice, "round trip %.2f ms, least %.2f ms, 99th percentile %.2f ms",
             (double)median_us / 1000, (double)us[0] / 1000, (double)us[PINGS - 1] / 1000);
}

/* ---- scope ---- */

static void scope_look(examination *x, const char *name)
{
  if (x->client->is_private)
    doctor_add(x, name, DIBS_FINDING_WARN, "name a server that all share: DIBS_URL",
               "this is the private server: its locks hold for one user of one machine");
}

/* ---- votes ---- */

/* Two URLs of a quorum may name one server, such as by its name and by its address. */
static void votes_look(examination *x, const char *name)
{
  char *id;
  size_t i = 0;

  if (x->deployment != DEPLOYMENT_QUORUM)
    return;
  id = x->run_ids[x->route];
  facts_copy(&x->info, "run_id", id, sizeof(x->run_ids[0]));
  while (strcmp(x->run_ids[i], id) != 0)
    i++;
  if (id[0] != 0 && i < x->route)
    doctor_add(x, name, DIBS_FINDING_FAIL, "name each server of the quorum once",
               "another URL of the quorum leads to this server, too: it has two votes");
}

/* ---- what it is ---- */

static void server_look(examination *x, const char *name)
{
  char version[48], mode[24];

  if (x->info.reply == NULL) {
    doctor_add(x, name, DIBS_FINDING_UNKNOWN, "give this user +info (dibs acl)",
               "INFO is not allowed: version, memory, persistence and replication are not known");
    return;
  }
  facts_copy(&x->info, x->is_valkey ? "valkey_version" : "redis_version", version,
             sizeof(version));
  facts_copy(&x->info, "redis_mode", mode, sizeof(mode));
  if (mode[0] == 0)
    facts_copy(&x->info, "server_mode", mode, sizeof(mode));
  if (!doctor_is_since(x, 6, 2))
    doctor_add(x, name, DIBS_FINDING_FAIL, "install 6.2 or newer",
               "%s is older than the oldest version that dibs supports", version);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "%s %s, %s", x->is_valkey ? "valkey" : "redis",
               version, mode);
}

/* Features of newer versions that dibs uses. */
static void features_look(examination *x, const char *name)
{
  bool has_functions = doctor_is_since(x, 7, 0);
  bool has_waitaof = doctor_is_since(x, 7, 2);

  if (x->version[0] == 0)
    return;
  if (!has_functions && x->client->names.uses_functions)
    doctor_add(x, name, DIBS_FINDING_FAIL, "leave out functions=yes, or install 7.0 or newer",
               "functions=yes, and this server has no functions");
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "functions and sharded channels: %s; WAITAOF: %s",
               has_functions ? "yes" : "no", has_waitaof ? "yes" : "no");
}

/* ---- known faults: reliability.md 5.9 ---- */

#define FIXES_MAX 8

typedef struct known_fault {
  const char *number;
  int since;                     /* 100 x major + minor of the first version that had it */
  /* The first fixed version of each branch, newest branch last; later branches have the
   * fix. */
  struct { int major, minor, patch; } fixes[FIXES_MAX];
} known_fault;

static const known_fault redis_faults[] = {
  { "CVE-2022-24735", 0, { { 6, 2, 7 }, { 7, 0, 0 } } },
  { "CVE-2022-24834", 0, { { 6, 0, 20 }, { 6, 2, 13 }, { 7, 0, 12 } } },
  { "CVE-2023-41056", 700, { { 7, 0, 15 }, { 7, 2, 4 } } },
  { "CVE-2024-31449", 0, { { 6, 2, 16 }, { 7, 2, 6 }, { 7, 4, 1 } } },
  { "CVE-2024-46981", 0, { { 6, 2, 17 }, { 7, 2, 7 }, { 7, 4, 2 } } },
  { "CVE-2025-21605", 0, { { 6, 2, 18 }, { 7, 2, 8 }, { 7, 4, 3 } } },
  { "CVE-2025-49844", 0, { { 6, 2, 20 }, { 7, 2, 11 }, { 7, 4, 6 }, { 8, 0, 4 },
                           { 8, 2, 2 } } },
  { "CVE-2026-23631", 0, { { 7, 4, 9 }, { 8, 2, 6 } } },
};
static const known_fault valkey_faults[] = {
  { "CVE-2025-49844", 0, { { 7, 2, 11 }, { 8, 0, 6 }, { 8, 1, 4 } } },
};

static bool version_has(const examination *x, const known_fault *f)
{
  int64_t branch = 100 * x->version[0] + x->version[1];
  bool is_newer = false;

  if (branch < f->since)
    return false;
  for (size_t i = 0; i < FIXES_MAX && f->fixes[i].major != 0; i++) {
    int64_t fixed = 100 * f->fixes[i].major + f->fixes[i].minor;

    if (branch == fixed)
      return x->version[2] < f->fixes[i].patch;
    is_newer = branch > fixed;
  }
  return !is_newer;
}

static void faults_look(examination *x, const char *name)
{
  const known_fault *all = x->is_valkey ? valkey_faults : redis_faults;
  size_t count = x->is_valkey ? sizeof(valkey_faults) / sizeof(valkey_faults[0])
                              : sizeof(redis_faults) / sizeof(redis_faults[0]);
  char words[256] = "";
  text list = text_over(words, sizeof(words));

  if (x->version[0] == 0)
    return;
  for (size_t i = 0; i < count; i++)
    if (version_has(x, &all[i])) {
      text_add(&list, list.used > 0 ? ", " : "");
      text_add(&list, all[i].number);
    }
  if (list.used == 0)
    doctor_add(x, name, DIBS_FINDING_PASS, "", "dibs knows of no fault of this version");
  else
    /* INFO does not show the version of the package, so a backported fix is not visible. */
    doctor_add(x, name, DIBS_FINDING_UNKNOWN,
               "read the change log of the server's package: distributions fix older versions",
               "unless the package has fixes of its own, this version has %s", words);
}

const doctor_check doctor_server_checks[] = {
  { "scope", scope_look },
  { "votes", votes_look },
  { "server", server_look },
  { "latency", latency_look },
  { "features", features_look },
  { "security", faults_look },
  { NULL, NULL },
};
