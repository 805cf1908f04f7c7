/* SPDX-License-Identifier: MIT */
/* Commands: the server itself. */
#include "server/parts.h"

static void run_ping(call *c)
{
  if (c->connection != NULL && channels_are_subscribed(c->connection)) {
    reply_array(c->reply, 2);
    reply_string(c->reply, SLICE("pong"));
    reply_string(c->reply, c->count == 2 ? c->words[1] : SLICE(""));
  } else if (c->count == 2) {
    reply_string(c->reply, c->words[1]);
  } else if (c->count == 1) {
    reply_status(c->reply, "PONG");
  } else {
    reply_wrong_count(c->reply, "ping");
  }
}

static void run_echo(call *c) { reply_string(c->reply, c->words[1]); }

static void run_time(call *c)
{
  char room[SLICE_FORMAT_MAX];

  reply_array(c->reply, 2);
  reply_string(c->reply, slice_from_integer(c->server->wall_us / 1000000, room));
  reply_string(c->reply, slice_from_integer(c->server->wall_us % 1000000, room));
}

static void run_dbsize(call *c)
{
  reply_integer(c->reply, (int64_t)c->server->keys.count);
}

static void run_flush(call *c)
{
  if (c->count > 2 || (c->count == 2 && !slice_is(c->words[1], "async") &&
                       !slice_is(c->words[1], "sync"))) {
    reply_syntax_error(c->reply);
    return;
  }
  db_flush(c->server);
  reply_ok(c->reply);
}

static slice number_to(int n, char room[SLICE_FORMAT_MAX + 1])
{
  slice s = slice_from_integer(n, room);

  room[s.size] = 0;
  return s;
}

static void run_config_get(call *c)
{
  char least[SLICE_FORMAT_MAX + 1], lag[SLICE_FORMAT_MAX + 1];
  const char *const all[][2] = {
    { "maxmemory", "0" }, { "maxmemory-policy", "noeviction" },
    { "notify-keyspace-events", "" }, { "save", "" }, { "appendonly", "no" },
    { "min-replicas-to-write", number_to(c->server->min_replicas, least).bytes },
    { "min-replicas-max-lag", number_to(c->server->max_lag_s, lag).bytes },
    { "timeout", "0" }, { "databases", "16" }
  };
  const size_t total = sizeof(all) / sizeof(all[0]);
  bool is_wanted[sizeof(all) / sizeof(all[0])] = { false };
  size_t count = 0;

  for (size_t i = 0; i < total; i++) {
    for (size_t w = 2; w < c->count; w++)
      is_wanted[i] = is_wanted[i] || slice_matches(c->words[w], slice_of(all[i][0]));
    count += is_wanted[i];
  }
  reply_array(c->reply, 2 * count);
  for (size_t i = 0; i < total; i++)
    if (is_wanted[i]) {
      reply_string(c->reply, slice_of(all[i][0]));
      reply_string(c->reply, slice_of(all[i][1]));
    }
}

#define ALWAYS COMMAND_WHILE_LOADING
#define ALONE COMMAND_NOT_IN_SCRIPT

const command commands_server[] = {
  { "ping", -1, COMMAND_SUBSCRIBED, run_ping },
  { "echo", 2, ALWAYS, run_echo },
  { "time", 1, ALWAYS, run_time },
  { "dbsize", 1, 0, run_dbsize },
  { "flushall", -1, COMMAND_WRITES, run_flush },
  { "flushdb", -1, COMMAND_WRITES, run_flush },
  { "config", -2, COMMAND_PARENT, NULL },
  { "config|get", -3, ALONE | ALWAYS, run_config_get },
  { NULL, 0, 0, NULL }
};
