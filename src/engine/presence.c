/* SPDX-License-Identifier: MIT */
/* Presence: what people see of this client, and what this client sees of the server's
 * memory settings. Nothing here decides over a lock. */
#include "engine/parts.h"

#include <string.h>

#define PRESENCE_TTL "180000"    /* three heartbeats */

static resp_argument argument(const char *words)
{
  return (resp_argument){ words, strlen(words) };
}

static text client_key(const engine *e, char *bytes, size_t size)
{
  native names;
  text prefix = text_over(names.prefix, sizeof(names.prefix));
  text key = text_over(bytes, size);

  text_add(&prefix, e->prefix);
  native_client_key(&names, e->settings.client_id, &key);
  return key;
}

static void send(engine *e, const server *s, const resp_argument *arguments, size_t count,
                 uint64_t tag, instant now)
{
  buffer_clear(&e->scratch);
  if (resp_command(&e->scratch, arguments, count))
    (void)connection_send(e, s->commands, &e->scratch, tag, now);
}

/* In Cluster the key of a client lives on one server only. */
static bool is_told_here(const engine *e, const server *s)
{
  char key[KEY_TEXT_SIZE];
  text k;

  if (e->topology.slots == NULL)
    return true;
  k = client_key(e, key, sizeof(key));
  return server_of_key(e, key, k.used) == s;
}

static void announce(engine *e, server *s, instant now)
{
  char key[KEY_TEXT_SIZE], pid[24];
  text k = client_key(e, key, sizeof(key)), p = text_over(pid, sizeof(pid));
  resp_argument hset[] = { RESP_TEXT("HSET"), { key, k.used },
                           RESP_TEXT("host"), argument(e->host),
                           RESP_TEXT("pid"), { pid, 0 },
                           RESP_TEXT("program"), argument(e->program),
                           RESP_TEXT("version"), argument(e->version),
                           RESP_TEXT("note"), argument(e->note) };
  resp_argument expire[] = { RESP_TEXT("PEXPIRE"), { key, k.used },
                             RESP_TEXT(PRESENCE_TTL) };
  resp_argument info[] = { RESP_TEXT("INFO"), RESP_TEXT("memory") };

  text_add_int(&p, e->settings.pid);
  hset[5].size = p.used;
  s->is_announced = true;
  s->announce_again_at = instant_add(now, HEARTBEAT);
  if (is_told_here(e, s)) {
    send(e, s, hset, sizeof(hset) / sizeof(hset[0]), TAG_IGNORED, now);
    send(e, s, expire, sizeof(expire) / sizeof(expire[0]), TAG_IGNORED, now);
  }
  if (!s->memory_was_checked)
    send(e, s, info, 2, TAG_MEMORY, now);
}

void presence_announce(engine *e, server *s, instant now)
{
  if (!s->is_announced || !instant_before(now, s->announce_again_at))
    announce(e, s, now);
}

bool presence_wants_link(const engine *e, const server *s)
{
  if (e->topology.slots == NULL || e->is_closing || !is_told_here(e, s))
    return false;
  for (size_t i = 0; i < e->server_count; i++)
    if (lock_wants_link(e->servers[i]->locks, e->servers[i]->route))
      return true;
  return false;
}

bool presence_farewell(engine *e, server *s, instant now)
{
  char key[KEY_TEXT_SIZE];
  text k = client_key(e, key, sizeof(key));
  resp_argument del[] = { RESP_TEXT("DEL"), { key, k.used } };

  if (!s->is_announced || !server_is_ready(s) || !is_told_here(e, s))
    return false;
  buffer_clear(&e->scratch);
  return resp_command(&e->scratch, del, 2) &&
         connection_send(e, s->commands, &e->scratch, TAG_FAREWELL, now);
}

/* Theme 38: a server that evicts keys takes locks away without a word. Warned once. */
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
  engine_tell(e, DIBS_EVENT_WARNING, words);
}
