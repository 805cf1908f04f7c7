/* SPDX-License-Identifier: MIT */
/* admin/doctor_settings.c - settings that close connections or delay all clients. */
#include "admin/doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_LEAST_S 60
#define BUFFER_LEAST_BYTES (1 << 20)

/* False after it reported that settings cannot be read. One report is enough for all
 * settings. */
static bool settings_may_be_read(examination *x, const char *name)
{
  char words[32];
  dibs_status status = setting_read(x, "timeout", words, sizeof(words));

  if (status == DIBS_OK || status == DIBS_ERR_UNSUPPORTED)
    return true;
  doctor_add(x, name, DIBS_FINDING_UNKNOWN,
             ADVICE_MODE ", or read the settings on the server",
             "timeout, tcp-keepalive, client-output-buffer-limit and busy-reply-threshold unknown "
             "without CONFIG GET");
  return false;
}

static void idle_report(examination *x)
{
  int64_t seconds = 0;

  if (setting_number(x, "timeout", &seconds) == DIBS_OK)
    doctor_add_number(x, "timeout", "timeout", seconds,
                      seconds == 0 || seconds >= IDLE_LEAST_S, "set timeout 0, or some minutes",
                      "idle connections are cut, the next call begins with a new one");
}

static void keepalive_report(examination *x)
{
  int64_t seconds = 0;

  if (!doctor_is_unix(x) && setting_number(x, "tcp-keepalive", &seconds) == DIBS_OK)
    doctor_add_number(x, "keepalive", "tcp-keepalive", seconds, seconds > 0 && seconds <= 600,
                      "set tcp-keepalive 60",
                      "a waiter whose machine vanished counts as subscribed, and is granted "
                      "the lock");
}

/* `normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60` */
static void buffers_report(examination *x)
{
  char words[256];
  const char *at;
  uint64_t hard = 0;
  size_t size;

  if (setting_read(x, "client-output-buffer-limit", words, sizeof(words)) != DIBS_OK)
    return;
  at = strstr(words, "pubsub ");
  if (at == NULL)
    return;
  at += strlen("pubsub ");
  size = strcspn(at, " ");
  if (!text_to_uint(at, size, &hard))
    return;
  if (hard > 0 && hard < BUFFER_LEAST_BYTES)
    doctor_add(x, "buffers", DIBS_FINDING_WARN,
               "set client-output-buffer-limit \"pubsub 32mb 8mb 60\"",
               "client-output-buffer-limit pubsub %" PRIu64 ": a burst of messages disconnects "
               "waiters", hard);
  else
    doctor_add(x, "buffers", DIBS_FINDING_PASS, "", "client-output-buffer-limit pubsub %" PRIu64,
               hard);
}

/* Servers before 7.0 have it by its older name only. */
static void busy_report(examination *x)
{
  const char *name = "busy-reply-threshold", *advice = "set busy-reply-threshold 5000";
  dibs_status status;
  int64_t ms = 0;

  status = setting_number(x, name, &ms);
  if (status != DIBS_OK) {
    name = "lua-time-limit";
    advice = "set lua-time-limit 5000";
    status = setting_number(x, name, &ms);
  }
  if (status != DIBS_OK)
    return;
  if (ms == 0 || ms > 10000)
    doctor_add(x, "busy", DIBS_FINDING_WARN, advice,
               "%s=%" PRId64 ": while a long script runs, clients do not learn why the "
               "server does not reply", name, ms);
  else
    doctor_add(x, "busy", DIBS_FINDING_PASS, "", "%s=%" PRId64 " ms", name, ms);
}

static void settings_look(examination *x, const char *name)
{
  if (!settings_may_be_read(x, name))
    return;
  idle_report(x);
  keepalive_report(x);
  buffers_report(x);
  busy_report(x);
}

static void clients_look(examination *x, const char *name)
{
  int64_t now = facts_number(&x->info, "connected_clients", -1);
  int64_t most = facts_number(&x->info, "maxclients", -1);

  if (now < 0 || most <= 0)
    return;
  if (now * 10 > most * 9)
    doctor_add(x, name, DIBS_FINDING_WARN, "raise maxclients, or close connections",
               "%" PRId64 " of %" PRId64 " connections: each client of dibs has two", now, most);
  else
    doctor_add(x, name, DIBS_FINDING_PASS, "", "%" PRId64 " of %" PRId64 " connections", now,
               most);
}

const doctor_check doctor_setting_checks[] = {
  { "clients", clients_look },
  { "settings", settings_look },
  { NULL, NULL },
};
