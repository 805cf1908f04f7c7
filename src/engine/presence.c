/* SPDX-License-Identifier: MIT */
/* engine/presence.c - registers the client for people, and checks the server's memory
 * settings. No lock depends on it. */
#include "engine/internal.h"

#include <string.h>

static resp_argument argument(const char *words)
{
  return (resp_argument){ words, strlen(words) };
}

static text client_key(const engine *e, char *bytes, size_t size)
{
  text key = text_over(bytes, size);

  native_client_key(&e->names, e->settings.client_id, &key);
  return key;
}

static void send(engine *e, const server *s, const resp_argument *arguments, size_t count,
                 uint64_t tag, instant now)
{
  if (request_command(&e->scratch, arguments, count))
    (void)connection_send(e, s->commands, &e->scratch, tag, now);
}

/* In Cluster one server has the registration of a client. */
static bool is_reported_here(const engine *e, const server *s)
{
  char key[KEY_TEXT_SIZE];
  text k;

  if (e->topology.slots == NULL)
    return true;
  k = client_key(e, key, sizeof(key));
  return server_of_key(e, key, k.used) == s;
}

/* Milliseconds until the last detached lease ends. */
static int64_t detached_ms(const engine *e, instant now)
{
  instant last = now;

  for (size_t i = 0; e->quorum == NULL && i < e->server_count; i++)
    last = instant_max(last, lock_detached_until(e->servers[i]->locks));
  return span_to_ms(instant_since(last, now));
}

/* How long the registration lasts without a heartbeat: as long as any of its leases. */
static size_t lifetime(const engine *e, int64_t at_least_ms, instant now, char digits[24])
{
  text to = text_over(digits, 24);
  int64_t ms = detached_ms(e, now) + 1000;     /* visible until after the lease's end */

  text_add_int(&to, ms > at_least_ms ? ms : at_least_ms);
  return to.used;
}

static void announce(engine *e, server *s, instant now)
{
  char key[KEY_TEXT_SIZE], pid[24], ms[24];
  text k = client_key(e, key, sizeof(key)), p = text_over(pid, sizeof(pid));
  resp_argument hset[] = { RESP_TEXT("HSET"), { key, k.used },
                           RESP_TEXT("host"), argument(e->host),
                           RESP_TEXT("pid"), { pid, 0 },
                           RESP_TEXT("program"), argument(e->program),
                           RESP_TEXT("version"), argument(e->version),
                           RESP_TEXT("note"), argument(e->note) };
  resp_argument expire[] = { RESP_TEXT("PEXPIRE"), { key, k.used },
                             { ms, lifetime(e, CLIENT_REGISTRATION_MS, now, ms) } };
  resp_argument info[] = { RESP_TEXT("INFO"), RESP_TEXT("memory") };

  text_add_int(&p, e->settings.pid);
  hset[5].size = p.used;
  s->is_announced = true;
  s->announce_again_at = instant_add(now, HEARTBEAT);
  if (is_reported_here(e, s)) {
    send(e, s, hset, sizeof(hset) / sizeof(hset[0]), TAG_IGNORED, now);
    send(e, s, expire, sizeof(expire) / sizeof(expire[0]), TAG_IGNORED, now);
  }
  if (!s->memory_was_checked)
    send(e, s, info, 2, TAG_MEMORY, now);
}

/* Extends it at once if a detached lease outlasts the heartbeat's limit. */
void presence_extend(engine *e, instant now)
{
  char key[KEY_TEXT_SIZE], ms[24];
  text k = client_key(e, key, sizeof(key));
  resp_argument expire[] = { RESP_TEXT("PEXPIRE"), { key, k.used },
                             { ms, lifetime(e, CLIENT_REGISTRATION_MS, now, ms) } };

  for (size_t i = 0; detached_ms(e, now) > CLIENT_REGISTRATION_MS && i < e->server_count; i++) {
    server *s = e->servers[i];

    if (s->is_announced && server_is_ready(s) && is_reported_here(e, s))
      send(e, s, expire, 3, TAG_IGNORED, now);
  }
}

void presence_announce(engine *e, server *s, instant now)
{
  if (!s->is_announced || !instant_before(now, s->announce_again_at))
    announce(e, s, now);
}

bool presence_wants_link(const engine *e, const server *s)
{
  if (e->topology.slots == NULL || e->is_closing || !is_reported_here(e, s))
    return false;
  for (size_t i = 0; i < e->server_count; i++)
    if (lock_wants_link(e->servers[i]->locks, e->servers[i]->route))
      return true;
  return false;
}

bool presence_farewell(engine *e, server *s, instant now)
{
  char key[KEY_TEXT_SIZE], ms[24];
  text k = client_key(e, key, sizeof(key));
  resp_argument del[] = { RESP_TEXT("DEL"), { key, k.used } };
  resp_argument expire[] = { RESP_TEXT("PEXPIRE"), { key, k.used },
                             { ms, lifetime(e, 0, now, ms) } };
  bool stays = detached_ms(e, now) > 0;

  if (!s->is_announced || !server_is_ready(s) || !is_reported_here(e, s))
    return false;
  return request_command(&e->scratch, stays ? expire : del, stays ? 3 : 2) &&
         connection_send(e, s->commands, &e->scratch, TAG_FAREWELL, now);
}

/* A server that evicts keys removes locks without notice. Warns once. */
void presence_memory_answered(engine *e, server *s, const resp_reply *reply)
{
  const resp_node *info = resp_root(reply);
  const char *limit, *policy;
  size_t limit_size, policy_size;
  char words[256];
  text shown = text_over(words, sizeof(words));

  s->memory_was_checked = true;
  if (info->kind != RESP_STRING ||
      !resp_info_field(info->bytes, info->size, "maxmemory", &limit, &limit_size) ||
      !resp_info_field(info->bytes, info->size, "maxmemory_policy", &policy, &policy_size))
    return;
  if ((limit_size == 1 && limit[0] == '0') ||
      (policy_size == 10 && memcmp(policy, "noeviction", 10) == 0))
    return;
  text_add(&shown, "the server may evict locks: its maxmemory-policy is ");
  text_add_bytes(&shown, policy, policy_size);
  text_add(&shown, "; set it to noeviction, or use a server of its own for locks");
  engine_report(e, DIBS_EVENT_WARNING, words);
}
