/* SPDX-License-Identifier: MIT */
/* Sentinel: the commands that it has, about one service. */
#include "server/sim_sentinel.h"

#include <string.h>

#include "server/parts.h"

typedef struct peer { char *host; int port; } peer;

struct sentinel {
  char *service, *host;
  int port, quorum;
  int64_t down_after_ms;
  uint64_t epoch;
  peer *peers;
  size_t count;
};

bool sentinel_knows(const command *cmd)
{
  static const char *const known[] = {
    "ping", "sentinel", "subscribe", "unsubscribe", "psubscribe", "punsubscribe", "publish",
    "info", "role", "client", "auth", "hello", "quit", "reset"
  };
  size_t size = strcspn(cmd->name, "|");

  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if (strlen(known[i]) == size && memcmp(known[i], cmd->name, size) == 0)
      return true;
  return false;
}

sentinel *sentinel_free(sentinel *t)
{
  if (t == NULL)
    return NULL;
  for (size_t i = 0; i < t->count; i++)
    sim_free(t->peers[i].host);
  sim_free(t->peers);
  sim_free(t->service);
  sim_free(t->host);
  sim_free(t);
  return NULL;
}

void sim_sentinel_watch(sim_server *s, const char *service, const char *host, int port,
                        int quorum, int64_t down_after_ms)
{
  sentinel *t = sim_zalloc(sizeof(*t));

  t->service = mem_copy_text(sim_memory(), service);
  t->host = mem_copy_text(sim_memory(), host);
  t->port = port;
  t->quorum = quorum;
  t->down_after_ms = down_after_ms;
  s->sentinel = sentinel_free(s->sentinel);
  s->sentinel = t;
}

void sim_sentinel_meet(sim_server *s, const char *host, int port)
{
  sentinel *t = s->sentinel;

  t->peers = sim_realloc(t->peers, (t->count + 1) * sizeof(peer));
  t->peers[t->count++] = (peer){ mem_copy_text(sim_memory(), host), port };
}

uint64_t sim_sentinel_epoch(const sim_server *s) { return s->sentinel->epoch; }

static void add_place(text *t, const char *host, int port)
{
  text_add(t, " ");
  text_add(t, host);
  text_add(t, " ");
  text_add_int(t, port);
}

bool sim_sentinel_switch(sim_server *s, const char *host, int port, uint64_t epoch)
{
  sentinel *t = s->sentinel;
  char bytes[512];
  text reported = text_over(bytes, sizeof(bytes));

  if (epoch <= t->epoch)
    return false;
  t->epoch = epoch;
  if (strcmp(host, t->host) == 0 && port == t->port)
    return true;
  text_add(&reported, t->service);
  add_place(&reported, t->host, t->port);
  add_place(&reported, host, port);
  sim_free(t->host);
  t->host = mem_copy_text(sim_memory(), host);
  t->port = port;
  (void)channels_publish(s, CHANNEL_PLAIN, SLICE("+switch-master"), slice_of(bytes));
  return true;
}

/* ---- commands ---- */

void sentinel_publish(call *c)
{
  reply_error(c->reply, "ERR Only HELLO messages are accepted by Sentinel instances.");
}

void sentinel_role(call *c)
{
  reply_array(c->reply, 2);
  reply_string(c->reply, SLICE("sentinel"));
  reply_array(c->reply, 1);
  reply_string(c->reply, slice_of(c->server->sentinel->service));
}

/* NULL: answered with an error. */
static const sentinel *watching(call *c)
{
  const sentinel *t = c->server->sentinel;

  if (t != NULL && slice_equal(c->words[2], slice_of(t->service)))
    return t;
  reply_error(c->reply, "ERR No such master with that name");
  return NULL;
}

static void add_pair(call *c, const char *name, const char *content)
{
  reply_string(c->reply, slice_of(name));
  reply_string(c->reply, slice_of(content));
}

static void add_number(call *c, const char *name, int64_t n)
{
  char room[SLICE_FORMAT_MAX];

  reply_string(c->reply, slice_of(name));
  reply_string(c->reply, slice_from_integer(n, room));
}

static void run_address(call *c)
{
  const sentinel *t = c->server->sentinel;
  char room[SLICE_FORMAT_MAX];

  if (t == NULL || !slice_equal(c->words[2], slice_of(t->service))) {
    reply_no_array(c->reply);
    return;
  }
  reply_array(c->reply, 2);
  reply_string(c->reply, slice_of(t->host));
  reply_string(c->reply, slice_from_integer(t->port, room));
}

static void run_master(call *c)
{
  const sentinel *t = watching(c);

  if (t == NULL)
    return;
  reply_array(c->reply, 20);
  add_pair(c, "name", t->service);
  add_pair(c, "ip", t->host);
  add_number(c, "port", t->port);
  add_pair(c, "runid", "");
  add_pair(c, "flags", "master");
  add_number(c, "down-after-milliseconds", t->down_after_ms);
  add_pair(c, "role-reported", "master");
  add_number(c, "config-epoch", (int64_t)t->epoch);
  add_number(c, "num-other-sentinels", (int64_t)t->count);
  add_number(c, "quorum", t->quorum);
}

static void run_sentinels(call *c)
{
  const sentinel *t = watching(c);

  if (t == NULL)
    return;
  reply_array(c->reply, t->count);
  for (size_t i = 0; i < t->count; i++) {
    reply_array(c->reply, 10);
    add_pair(c, "name", t->peers[i].host);
    add_pair(c, "ip", t->peers[i].host);
    add_number(c, "port", t->peers[i].port);
    add_pair(c, "runid", "");
    add_pair(c, "flags", "sentinel");
  }
}

const command commands_sentinel[] = {
  { "sentinel", -2, COMMAND_PARENT, NULL },
  { "sentinel|get-master-addr-by-name", 3, COMMAND_NOT_IN_SCRIPT, run_address },
  { "sentinel|master", 3, COMMAND_NOT_IN_SCRIPT, run_master },
  { "sentinel|sentinels", 3, COMMAND_NOT_IN_SCRIPT, run_sentinels },
  { NULL, 0, 0, NULL }
};
