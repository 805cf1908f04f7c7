/* SPDX-License-Identifier: MIT */
/* The server as others see it: its life, its clock, its connections, and questions to it. */
#include "server/parts.h"

#include <string.h>

sim_server *sim_server_new(const sim_server_settings *settings)
{
  sim_server *s = sim_zalloc(sizeof(*s));

  random_seed(&s->random, settings->seed);
  s->wall_us = s->started_us = settings->wall_us;
  s->password = mem_copy_text(sim_memory(), settings->password);
  s->pause_until_us = INT64_MIN;
  s->host = mem_copy_text(sim_memory(), settings->host == NULL ? "server" : settings->host);
  s->port = settings->port == 0 ? 6379 : settings->port;
  roles_new(s, settings->seed);
  buffer_init(&s->answer, sim_memory());
  buffer_init(&s->reported, sim_memory());
  for (int i = 0; i < 40; i++)
    s->run_id[i] = "0123456789abcdef"[random_below(&s->random, 16)];
  commands_new(s);
  s->has_ifeq = settings->has_ifeq;
  s->is_narrow = settings->is_narrow;
  s->scripting = scripting_new(s);
  return s;
}

sim_server *sim_server_free(sim_server *s)
{
  if (s == NULL)
    return NULL;
  while (s->first != NULL)
    connection_close(s->first);
  s->scripting = scripting_free(s->scripting);
  roles_free(s);
  replica_leave_all(s);
  s->cluster = cluster_free(s->cluster);
  s->sentinel = sentinel_free(s->sentinel);
  keyspace_clear(&s->keys);
  commands_free(s);
  buffer_deinit(&s->answer);
  buffer_deinit(&s->reported);
  sim_free(s->words.all);
  sim_free(s->password);
  sim_free(s->host);
  sim_free(s->unknown);
  sim_free(s);
  return NULL;
}

void server_note_unknown(sim_server *s, const char *what, slice which)
{
  char bytes[256];
  text t = text_over(bytes, sizeof(bytes));

  if (s->unknown != NULL)
    return;
  text_add(&t, what);
  text_add(&t, " ");
  text_add_quoted(&t, which.bytes, which.size);
  s->unknown = mem_copy_text(sim_memory(), bytes);
}

const char *sim_server_unknown(const sim_server *s) { return s->unknown; }

/* ---- time ---- */

bool server_is_paused(const sim_server *s) { return s->wall_us < s->pause_until_us; }

void sim_server_clock(sim_server *s, int64_t wall_us)
{
  int64_t by_us = wall_us - s->wall_us;

  s->wall_us = wall_us;
  replica_clock_moved(s, by_us);
  roles_clock_moved(s, by_us);
}

/* WAIT ends when enough replicas have it, or its time is over. */
static void end_waits(sim_server *s)
{
  for (sim_connection *c = s->waiters == 0 ? NULL : s->first; c != NULL; c = c->next) {
    int64_t count = c->is_waiting ? replica_count(s, c->waits_offset) : 0;
    reply r = reply_to_bytes(&c->output);

    if (!c->is_waiting || (count < c->waits_for && s->wall_us < c->waits_until_us))
      continue;
    c->is_waiting = false;
    s->waiters--;
    reply_integer(&r, count);
  }
}

/* What waited in the inputs runs, as far as it may. */
static void run_inputs(sim_server *s)
{
  for (sim_connection *c = s->first; c != NULL; c = c->next)
    if (buffer_size(&c->input) > 0)
      connection_run(c);
}

void sim_server_tick(sim_server *s)
{
  replica_catch_up(s);
  roles_tick(s);
  end_waits(s);
  if (!server_is_paused(s))
    s->pause_until_us = INT64_MIN;
  run_inputs(s);
  db_expire_some(s);
}

int64_t sim_server_next_tick_us(const sim_server *s)
{
  int64_t next = replica_next_us(s), cron = roles_next_us(s);

  next = cron < next ? cron : next;

  if (s->pause_until_us != INT64_MIN && s->pause_until_us < next)
    next = s->pause_until_us;
  for (const sim_connection *c = s->waiters == 0 ? NULL : s->first; c != NULL; c = c->next)
    if (c->is_waiting && c->waits_until_us < next)
      next = c->waits_until_us;
  return next;
}

/* ---- connections ---- */

sim_connection *sim_server_accept(sim_server *s) { return connection_open(s); }

void sim_server_receive(sim_server *s, sim_connection *c, const void *bytes, size_t size)
{
  replica_catch_up(s);
  end_waits(s);
  if (c->is_closed)
    return;
  (void)buffer_append(&c->input, bytes, size);
  connection_run(c);
}

void sim_server_hang_up(sim_server *s, sim_connection *c)
{
  (void)s;
  connection_close(c);
}

sim_connection *sim_server_next_to_send(const sim_server *s, const sim_connection *after)
{
  sim_connection *c = after == NULL ? s->first : after->next;

  while (c != NULL && !c->is_closed && buffer_size(&c->output) == 0)
    c = c->next;
  return c;
}

const char *sim_connection_output(const sim_connection *c, size_t *ret_size)
{
  *ret_size = buffer_size(&c->output);
  return buffer_bytes(&c->output);
}

void sim_connection_sent(sim_connection *c, size_t size)
{
  buffer_consume(&c->output, size);
}

bool sim_connection_is_closed(const sim_connection *c) { return c->is_closed; }

void *sim_connection_data(const sim_connection *c) { return c->data; }

void sim_connection_set_data(sim_connection *c, void *data) { c->data = data; }

/* ---- what happens to servers ---- */

void sim_server_restart(sim_server *s, bool keeps_data)
{
  connections_end_all(s);
  roles_restart(s, keeps_data);
  s->started_us = s->wall_us;
  scripting_forget(s->scripting);
  s->pause_until_us = INT64_MIN;
  if (!keeps_data)
    db_flush(s);
}

void sim_server_flush(sim_server *s)
{
  db_flush(s);
  execute_end(s);
}

void sim_server_forget_scripts(sim_server *s) { scripting_forget(s->scripting); }

void sim_server_disconnect_all(sim_server *s, bool only_subscribed)
{
  for (sim_connection *c = s->first; c != NULL; c = c->next)
    if (!only_subscribed || channels_are_subscribed(c))
      connection_finish(c);
}

bool sim_server_evict(sim_server *s)
{
  key *entry = keyspace_draw(&s->keys, &s->random);

  if (entry == NULL)
    return false;
  s->counts.evicted++;
  db_remove(s, entry);
  execute_end(s);
  return true;
}

void sim_server_set(sim_server *s, sim_condition condition, bool is_on)
{
  s->conditions[condition] = is_on;
}

/* ---- truth ---- */

const char *sim_server_ask(sim_server *s, const void *bytes, size_t size,
                           size_t *ret_size)
{
  reply r = reply_to_bytes(&s->answer);
  word_list all = { NULL, 0, 0 };
  char room[128];
  text fault = text_over(room, sizeof(room));
  size_t used;

  buffer_clear(&s->answer);
  s->is_looking = true;
  if (read_command((slice){ bytes, size }, &all, &used, &fault) != READ_COMMAND ||
      all.count == 0) {
    reply_error(&r, "ERR the command is not whole");
  } else {
    execute(s, NULL, all.all, all.count);
  }
  s->is_looking = false;
  sim_free(all.all);
  *ret_size = buffer_size(&s->answer);
  return buffer_bytes(&s->answer);
}

const char *sim_server_key_text(sim_server *s, const char *name, size_t size)
{
  key *entry = keyspace_find(&s->keys, (slice){ name, size });

  if (entry == NULL || db_is_over(s, entry))
    return NULL;
  buffer_clear(&s->reported);
  report_key(entry, &s->reported);
  return buffer_bytes(&s->reported);
}

size_t sim_server_key_count(const sim_server *s) { return db_count(s); }

uint64_t sim_server_version(const sim_server *s) { return s->version; }

sim_server_counts sim_server_get_counts(const sim_server *s) { return s->counts; }
