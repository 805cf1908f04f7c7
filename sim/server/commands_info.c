/* SPDX-License-Identifier: MIT */
/* Commands: what a server says about itself, and about its replicas. */
#include "server/parts.h"

#include <string.h>

#define MAXMEMORY_WHEN_FULL 1048576

/* ---- WAIT, ROLE ---- */

static void run_wait(call *c)
{
  sim_server *s = c->server;
  int64_t replicas, timeout_ms, have;

  if (server_is_replica(s)) {
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

static void role_of_replica(call *c)
{
  const sim_server *s = c->server;
  bool is_reported = s->is_follower;

  reply_array(c->reply, 5);
  reply_string(c->reply, SLICE("slave"));
  reply_string(c->reply, is_reported ? slice_of(s->primary_host) : SLICE("primary"));
  reply_integer(c->reply, is_reported ? s->primary_port : 6379);
  reply_string(c->reply, is_reported && s->primary == NULL ? SLICE("connect")
                                                       : SLICE("connected"));
  reply_integer(c->reply, (int64_t)s->offset);
}

static void run_role(call *c)
{
  const sim_server *s = c->server;
  char room[SLICE_FORMAT_MAX];
  replica_view v;

  if (s->sentinel != NULL) {
    sentinel_role(c);
    return;
  }
  if (server_is_replica(s)) {
    role_of_replica(c);
    return;
  }
  reply_array(c->reply, 3);
  reply_string(c->reply, SLICE("master"));
  reply_integer(c->reply, (int64_t)s->offset);
  reply_array(c->reply, replica_connected(s));
  for (size_t i = 0; replica_report(s, i, &v); i++) {
    reply_array(c->reply, 3);
    reply_string(c->reply, slice_of(v.host));
    reply_string(c->reply, slice_from_integer(v.port, room));
    reply_string(c->reply, slice_from_integer((int64_t)v.offset, room));
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
  add_field(out, "redis_mode", s->sentinel != NULL  ? "sentinel"
                               : s->cluster != NULL ? "cluster" : "standalone");
  add_field(out, "run_id", s->run_id);
  add_number(out, "uptime_in_seconds", s->wall_us / 1000000 - s->started_us / 1000000);
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

static void add_primary(buffer *out, const sim_server *s)
{
  add_field(out, "master_host", s->primary_host);
  add_number(out, "master_port", s->primary_port);
  add_field(out, "master_link_status", s->primary == NULL ? "down" : "up");
  add_number(out, "slave_repl_offset", (int64_t)s->offset);
  add_number(out, "slave_read_only", 1);
}

static void add_replicas(buffer *out, const sim_server *s)
{
  replica_view v;

  for (size_t i = 0; replica_report(s, i, &v); i++) {
    char name[32], reported[384];
    text n = text_over(name, sizeof(name)), t = text_over(reported, sizeof(reported));

    text_add(&n, "slave");
    text_add_int(&n, (int64_t)i);
    text_add(&t, "ip=");
    text_add(&t, v.host);
    text_add(&t, ",port=");
    text_add_int(&t, v.port);
    text_add(&t, ",state=online,offset=");
    text_add_int(&t, (int64_t)v.offset);
    text_add(&t, ",lag=");
    text_add_int(&t, v.lag_s);
    add_field(out, name, reported);
  }
}

static void add_replication(buffer *out, const sim_server *s)
{
  add_section(out, "Replication");
  add_field(out, "role", server_is_replica(s) ? "slave" : "master");
  if (s->is_follower)
    add_primary(out, s);
  add_number(out, "connected_slaves", (int64_t)replica_connected(s));
  if (s->min_replicas > 0)
    add_number(out, "min_slaves_good_slaves", s->good_replicas);
  add_replicas(out, s);
  add_field(out, "master_failover_state", "no-failover");
  add_field(out, "master_replid", s->replid);
  add_field(out, "master_replid2", s->replid2);
  add_number(out, "master_repl_offset", (int64_t)s->offset);
  add_number(out, "second_repl_offset", s->second_offset);
}

static void add_cluster(buffer *out, const sim_server *s)
{
  add_section(out, "Cluster");
  add_number(out, "cluster_enabled", s->cluster != NULL);
}

static void run_info(call *c)
{
  static const struct {
    const char *name;
    void (*add)(buffer *out, const sim_server *s);
  } sections[] = {
    { "server", add_server }, { "clients", add_clients }, { "memory", add_memory },
    { "replication", add_replication }, { "cluster", add_cluster }
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

const command commands_info[] = {
  { "wait", 3, COMMAND_NOT_IN_SCRIPT, run_wait },
  { "role", 1, COMMAND_NOT_IN_SCRIPT | COMMAND_WHILE_LOADING, run_role },
  { "info", -1, COMMAND_WHILE_LOADING, run_info },
  { NULL, 0, 0, NULL }
};
