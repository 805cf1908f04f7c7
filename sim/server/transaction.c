/* SPDX-License-Identifier: MIT */
/* MULTI, EXEC, WATCH. */
#include "server/parts.h"

#include <string.h>

/* A command that waits for EXEC: its words, and their bytes behind them. */
struct queued {
  size_t count;
  slice *words;
};

struct watched {
  watched *next;
  bool was_over;
  blob *name;
};

void transaction_queue(sim_connection *c, const command *cmd, const slice *all, size_t count)
{
  size_t size = count * sizeof(slice);
  slice *words;
  char *to;

  if (c->queue_has_failed || c->watched_has_changed)
    return;                             /* it will not be run */
  for (size_t i = 0; i < count; i++)
    size += all[i].size;
  words = sim_alloc(size);
  to = (char *)(words + count);
  for (size_t i = 0; i < count; i++) {
    memcpy(to, all[i].bytes, all[i].size);
    words[i] = (slice){ to, all[i].size };
    to += all[i].size;
  }
  if (c->queue_count == c->queue_capacity) {
    c->queue_capacity = c->queue_capacity * 2 + 4;
    c->queue = sim_realloc(c->queue, c->queue_capacity * sizeof(queued));
  }
  c->queue_flags |= cmd->flags & (COMMAND_WRITES | COMMAND_ALLOCATES);
  c->queue[c->queue_count++] = (queued){ count, words };
}

static void unwatch(sim_connection *c)
{
  watched *w = c->watched, *next;

  if (w != NULL)
    c->server->watchers--;
  for (; w != NULL; w = next) {
    next = w->next;
    sim_free(w->name);
    sim_free(w);
  }
  c->watched = NULL;
  c->watched_has_changed = false;
}

static void forget_queue(sim_connection *c)
{
  for (size_t i = 0; i < c->queue_count; i++)
    sim_free(c->queue[i].words);
  c->queue_count = 0;
  c->is_queueing = false;
  c->queue_has_failed = false;
  c->queue_flags = 0;
}

void transaction_forget(sim_connection *c)
{
  forget_queue(c);
  unwatch(c);
}

void transaction_abort(sim_connection *c, reply *r, const char *why)
{
  char room[768];
  text t = text_over(room, sizeof(room));

  text_add(&t, "EXECABORT Transaction discarded because of: ");
  text_add(&t, why);
  transaction_forget(c);
  reply_error(r, room);
}

void transaction_key_changed(sim_server *s, slice name)
{
  const key *entry = keyspace_find(&s->keys, name);

  for (sim_connection *c = s->first; c != NULL; c = c->next)
    for (watched *w = c->watched; w != NULL; w = w->next) {
      if (!slice_equal(blob_slice(w->name), name))
        continue;
      if (!w->was_over)
        c->watched_has_changed = true;
      else                              /* that it is removed now is no change */
        w->was_over = entry != NULL && !db_is_over(s, entry);
    }
}

/* ---- commands ---- */

static bool has_connection(call *c)
{
  if (c->connection == NULL)
    reply_error(c->reply, "ERR nobody has no transactions");
  return c->connection != NULL;
}

static void run_multi(call *c)
{
  if (!has_connection(c))
    return;
  if (c->connection->is_queueing) {
    reply_error(c->reply, "ERR MULTI calls can not be nested");
    return;
  }
  c->connection->is_queueing = true;
  reply_ok(c->reply);
}

static void run_discard(call *c)
{
  if (!has_connection(c))
    return;
  if (!c->connection->is_queueing) {
    reply_error(c->reply, "ERR DISCARD without MULTI");
    return;
  }
  transaction_forget(c->connection);
  reply_ok(c->reply);
}

static bool watched_are_unchanged(const sim_connection *c)
{
  for (const watched *w = c->watched; w != NULL; w = w->next) {
    const key *entry = keyspace_find(&c->server->keys, blob_slice(w->name));

    if (entry != NULL && !w->was_over && db_is_over(c->server, entry))
      return false;
  }
  return !c->watched_has_changed;
}

static void run_all(call *c, const queued *queue, size_t count)
{
  reply_array(c->reply, count);
  for (size_t i = 0; i < count; i++) {
    const slice *words = queue[i].words;
    const command *cmd = command_find(c->server, words[0]);
    call one = *c;

    if ((cmd->flags & COMMAND_PARENT) != 0)
      cmd = command_find_part(c->server, cmd, words[1]);
    one.command = cmd;
    one.words = words;
    one.count = queue[i].count;
    cmd->run(&one);
  }
}

static void run_exec(call *c)
{
  sim_connection *own = c->connection;
  queued *queue;
  size_t count;

  if (!has_connection(c))
    return;
  if (!own->is_queueing) {
    reply_error(c->reply, "ERR EXEC without MULTI");
    return;
  }
  if (own->queue_has_failed) {
    reply_error(c->reply, "EXECABORT Transaction discarded because of previous errors.");
    transaction_forget(own);
    return;
  }
  if (!watched_are_unchanged(own)) {
    reply_no_array(c->reply);
    transaction_forget(own);
    return;
  }
  unwatch(own);
  /* Taken away first: what runs may end the connection. */
  queue = own->queue;
  count = own->queue_count;
  own->queue = NULL;
  own->queue_count = own->queue_capacity = 0;
  own->is_queueing = false;
  own->queue_flags = 0;
  own->is_in_exec = true;
  run_all(c, queue, count);
  own->is_in_exec = false;
  for (size_t i = 0; i < count; i++)
    sim_free(queue[i].words);
  sim_free(queue);
}

static void run_watch(call *c)
{
  if (!has_connection(c))
    return;
  if (c->connection->is_queueing) {
    reply_error(c->reply, "ERR WATCH inside MULTI is not allowed");
    return;
  }
  for (size_t i = 1; i < c->count; i++) {
    const key *entry = keyspace_find(&c->server->keys, c->words[i]);
    watched *w = sim_zalloc(sizeof(*w));

    w->was_over = entry != NULL && db_is_over(c->server, entry);
    w->name = blob_new(c->words[i]);
    w->next = c->connection->watched;
    if (w->next == NULL)
      c->server->watchers++;
    c->connection->watched = w;
  }
  reply_ok(c->reply);
}

static void run_unwatch(call *c)
{
  if (!has_connection(c))
    return;
  unwatch(c->connection);
  reply_ok(c->reply);
}

#define CONTROL (COMMAND_NOT_IN_SCRIPT | COMMAND_WHILE_LOADING)

const command commands_transaction[] = {
  { "multi", 1, CONTROL | COMMAND_WHILE_BUSY | COMMAND_AT_ONCE | COMMAND_NO_NESTING,
    run_multi },
  { "exec", 1, CONTROL | COMMAND_AT_ONCE | COMMAND_RUNS_QUEUE, run_exec },
  { "discard", 1, CONTROL | COMMAND_WHILE_BUSY | COMMAND_AT_ONCE, run_discard },
  { "watch", -2, CONTROL | COMMAND_WHILE_BUSY | COMMAND_AT_ONCE | COMMAND_NO_NESTING,
    run_watch },
  { "unwatch", 1, CONTROL | COMMAND_WHILE_BUSY, run_unwatch },
  { NULL, 0, 0, NULL }
};
