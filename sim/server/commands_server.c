/* SPDX-License-Identifier: MIT */
/* Commands: the server itself. */
#include "server/parts.h"

#include <string.h>

#define MAXMEMORY_WHEN_FULL 1048576

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
    reply_error(c->reply, "ERR wrong number of arguments for 'ping' command");
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

static void run_wait(call *c)
{
  sim_server *s = c->server;
  int64_t replicas, timeout_ms, have;

  if (s->conditions[SIM_READ_ONLY]) {
    reply_error(c->reply,
                "ERR WAIT cannot be used with replica instances. Please also note that "
                "since Redis 4.0 if a replica is configured to be writable (which is not "
                "the default) writes to replicas are just local and are not propagated.");
    return;
  }
  if (!slice_to_integer(c->words[1], &replicas)) {
    reply_not_integer(c->reply);
    return;
  }
  if (!slice_to_integer(c->words[2], &timeout_ms)) {
    reply_error(c->reply, "ERR timeout is not an integer or out of range");
    return;
  }
  if (timeout_ms < 0) {
    reply_error(c->reply, "ERR timeout is negative");
    return;
  }
  have = replica_count(s, c->connection == NULL ? 0 : c->connection->written_offset);
  if (have >= replicas || c->connection == NULL || c->connection->is_in_exec) {
    reply_integer(c->reply, have);
    return;
  }
  c->connection->is_waiting = true;
  s->waiters++;
  c->connection->waits_for = replicas;
  c->connection->waits_offset = c->connection->written_offset;
  c->connection->waits_until_us =
    timeout_ms == 0 || timeout_ms > (INT64_MAX - s->wall_us) / 1000
      ? INT64_MAX : s->wall_us + timeout_ms * 1000;
}

static void run_role(call *c)
{
  sim_server *s = c->server;

  if (s->conditions[SIM_READ_ONLY]) {
    reply_array(c->reply, 5);
    reply_string(c->reply, SLICE("slave"));
    reply_string(c->reply, SLICE("primary"));
    reply_integer(c->reply, 6379);
    reply_string(c->reply, SLICE("connected"));
    reply_integer(c->reply, (int64_t)s->offset);
    return;
  }
  reply_array(c->reply, 3);
  reply_string(c->reply, SLICE("master"));
  reply_integer(c->reply, (int64_t)s->offset);
  reply_array(c->reply, s->replica == NULL ? 0 : 1);
  if (s->replica != NULL) {
    reply_array(c->reply, 3);
    reply_string(c->reply, SLICE("replica"));
    reply_string(c->reply, SLICE("6379"));
    reply_string(c->reply, SLICE("0"));
  }
}

/* ---- INFO: the fields that clients look at ---- */

static void add_field(buffer *out, const char *name, const char *content)
{
  (void)buffer_append(out, name, strlen(name));
  (void)buffer_append(out, ":", 1);
  (void)buffer_append(out, content, strlen(content));
  (void)buffer_append(out, "\r\n", 2);
}

static void add_section(buffer *out, const char *title)
{
  if (buffer_size(out) > 0)
    (void)buffer_append(out, "\r\n", 2);
  (void)buffer_append(out, "# ", 2);
  (void)buffer_append(out, title, strlen(title));
  (void)buffer_append(out, "\r\n", 2);
}

static void add_number(buffer *out, const char *name, int64_t n)
{
  char room[SLICE_FORMAT_MAX + 1];
  slice s = slice_from_integer(n, room);

  room[s.size] = 0;
  add_field(out, name, room);
}

static void add_server(buffer *out, const sim_server *s)
{
  add_section(out, "Server");
  add_field(out, "redis_version", "7.0.15");
  add_field(out, "redis_mode", "standalone");
  add_field(out, "run_id", s->run_id);
}

static void add_clients(buffer *out, const sim_server *s)
{
  int64_t count = 0;

  for (const sim_connection *c = s->first; c != NULL; c = c->next)
    count += !c->is_closed;
  add_section(out, "Clients");
  add_number(out, "connected_clients", count);
}

static void add_memory(buffer *out, const sim_server *s)
{
  add_section(out, "Memory");
  add_number(out, "maxmemory",
             s->conditions[SIM_OUT_OF_MEMORY] ? MAXMEMORY_WHEN_FULL : 0);
  add_field(out, "maxmemory_policy", "noeviction");
}

static void add_replication(buffer *out, const sim_server *s)
{
  add_section(out, "Replication");
  add_field(out, "role", s->conditions[SIM_READ_ONLY] ? "slave" : "master");
  add_number(out, "connected_slaves", s->replica == NULL ? 0 : 1);
  add_field(out, "master_replid", s->run_id);
  add_number(out, "master_repl_offset", (int64_t)s->offset);
}

static void run_info(call *c)
{
  static const struct {
    const char *name;
    void (*add)(buffer *out, const sim_server *s);
  } sections[] = {
    { "server", add_server }, { "clients", add_clients }, { "memory", add_memory },
    { "replication", add_replication }
  };
  buffer out;

  buffer_init(&out, sim_memory());
  for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
    bool is_wanted = c->count == 1;

    for (size_t w = 1; w < c->count; w++)
      is_wanted = is_wanted || slice_is(c->words[w], sections[i].name) ||
                  slice_is(c->words[w], "all") || slice_is(c->words[w], "default") ||
                  slice_is(c->words[w], "everything");
    if (is_wanted)
      sections[i].add(&out, c->server);
  }
  reply_string(c->reply, (slice){ buffer_bytes(&out), buffer_size(&out) });
  buffer_deinit(&out);
}

static void run_config_get(call *c)
{
  static const char *const all[][2] = {
    { "maxmemory", "0" }, { "maxmemory-policy", "noeviction" },
    { "notify-keyspace-events", "" }, { "save", "" }, { "appendonly", "no" },
    { "min-replicas-to-write", "0" }, { "timeout", "0" }, { "databases", "16" }
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
  { "wait", 3, ALONE, run_wait },
  { "role", 1, ALONE | ALWAYS, run_role },
  { "info", -1, ALWAYS, run_info },
  { "config", -2, COMMAND_PARENT, NULL },
  { "config|get", -3, ALONE | ALWAYS, run_config_get },
  { NULL, 0, 0, NULL }
};
