/* SPDX-License-Identifier: MIT */
/* api/doctor_settings.c - settings that end connections or hold everybody up. */
#include "api/doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define RIGHTS "give this user the rights of dibs acl --mode doctor, or look yourself"
#define IDLE_LEAST_S 60
#define BUFFER_LEAST_BYTES (1 << 20)

/* False after saying that it cannot be read. One such word is enough for all settings. */
static bool settings_may_be_read(examination *x, const char *name)
{
  char words[32];
  dibs_status status = setting_read(x, "timeout", words, sizeof(words));

  if (status == DIBS_OK || status == DIBS_ERR_UNSUPPORTED)
    return true;
  doctor_tell(x, name, DIBS_FINDING_UNKNOWN, RIGHTS,
              "timeout, tcp-keepalive, client-output-buffer-limit and busy-reply-threshold may not "
              "be read (CONFIG GET)");
  return false;
}

static void idle_tell(examination *x)
{
  int64_t seconds = 0;

  if (setting_number(x, "timeout", &seconds) != DIBS_OK)
    return;
  if (seconds > 0 && seconds < IDLE_LEAST_S)
    doctor_tell(x, "timeout", DIBS_FINDING_WARN, "set timeout 0, or some minutes",
                "timeout=%" PRId64 ": idle connections are cut, the next call begins "
                "with a new one", seconds);
  else
    doctor_tell(x, "timeout", DIBS_FINDING_PASS, "", "timeout=%" PRId64, seconds);
}

static void keepalive_tell(examination *x)
{
  int64_t seconds = 0;

  if (doctor_is_unix(x) || setting_number(x, "tcp-keepalive", &seconds) != DIBS_OK)
    return;
  if (seconds == 0 || seconds > 600)
    doctor_tell(x, "keepalive", DIBS_FINDING_WARN, "set tcp-keepalive 60",
                "tcp-keepalive=%" PRId64 ": a waiter whose machine vanished seems to listen, "
                "and is handed the lock", seconds);
  else
    doctor_tell(x, "keepalive", DIBS_FINDING_PASS, "", "tcp-keepalive=%" PRId64, seconds);
}

/* `normal 0 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60` */
static void buffers_tell(examination *x)
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
    doctor_tell(x, "buffers", DIBS_FINDING_WARN,
                "set client-output-buffer-limit \"pubsub 32mb 8mb 60\"",
                "client-output-buffer-limit pubsub %" PRIu64 ": a burst of messages cuts those who "
                "wait", hard);
  else
    doctor_tell(x, "buffers", DIBS_FINDING_PASS, "", "client-output-buffer-limit pubsub %" PRIu64,
                hard);
}

static void busy_tell(examination *x)
{
  int64_t ms = 0;

  if (setting_number(x, "busy-reply-threshold", &ms) != DIBS_OK &&
      setting_number(x, "lua-time-limit", &ms) != DIBS_OK)
    return;
  if (ms == 0 || ms > 10000)
    doctor_tell(x, "busy", DIBS_FINDING_WARN, "set busy-reply-threshold 5000",
                "busy-reply-threshold=%" PRId64 ": while somebody's long script runs nobody is "
                "told why nothing is answered", ms);
  else
    doctor_tell(x, "busy", DIBS_FINDING_PASS, "", "busy-reply-threshold=%" PRId64 " ms", ms);
}

static void settings_look(examination *x, const char *name)
{
  if (!settings_may_be_read(x, name))
    return;
  idle_tell(x);
  keepalive_tell(x);
  buffers_tell(x);
  busy_tell(x);
}

static void clients_look(examination *x, const char *name)
{
  int64_t now = facts_number(&x->info, "connected_clients", -1);
  int64_t most = facts_number(&x->info, "maxclients", -1);

  if (now < 0 || most <= 0)
    return;
  if (now * 10 > most * 9)
    doctor_tell(x, name, DIBS_FINDING_WARN, "raise maxclients, or close connections",
                "%" PRId64 " of %" PRId64 " connections: each client of dibs has two", now, most);
  else
    doctor_tell(x, name, DIBS_FINDING_PASS, "", "%" PRId64 " of %" PRId64 " connections", now,
                most);
}

const doctor_check doctor_setting_checks[] = {
  { "clients", clients_look },
  { "settings", settings_look },
  { NULL, NULL },
};
