/* SPDX-License-Identifier: MIT */
/* Connections: bytes in, commands in order, bytes out. */
#include "server/parts.h"

sim_connection *connection_open(sim_server *s)
{
  sim_connection *c = sim_zalloc(sizeof(*c));

  c->server = s;
  c->id = ++s->last_id;
  c->is_authenticated = s->password == NULL;
  buffer_init(&c->input, sim_memory());
  buffer_init(&c->output, sim_memory());
  c->previous = s->last;
  if (s->last == NULL)
    s->first = c;
  else
    s->last->next = c;
  s->last = c;
  return c;
}

void connection_close(sim_connection *c)
{
  sim_server *s = c->server;

  connection_finish(c);
  if (c->previous == NULL)
    s->first = c->next;
  else
    c->previous->next = c->next;
  if (c->next == NULL)
    s->last = c->previous;
  else
    c->next->previous = c->previous;
  buffer_deinit(&c->input);
  buffer_deinit(&c->output);
  sim_free(c->name);
  sim_free(c->queue);
  sim_free(c);
}

void connection_finish(sim_connection *c)
{
  c->is_closed = true;
  c->server->waiters -= c->is_waiting;
  c->is_waiting = false;
  channels_leave_all(c);
  transaction_forget(c);
  buffer_clear(&c->input);
}

void connections_end_all(sim_server *s)
{
  for (sim_connection *c = s->first; c != NULL; c = c->next) {
    connection_finish(c);
    buffer_clear(&c->output);
  }
}

static void end_with_fault(sim_connection *c, const char *fault)
{
  reply r = reply_to_bytes(&c->output);
  char bytes[128];
  text t = text_over(bytes, sizeof(bytes));

  server_note_unknown(c->server, "bytes that are no command", slice_of(fault));
  text_add(&t, "ERR ");
  text_add(&t, fault);
  reply_error(&r, bytes);
  c->server->counts.errors++;
  connection_finish(c);
}

void connection_run(sim_connection *c)
{
  sim_server *s = c->server;

  while (!c->is_closed && !c->is_waiting) {
    slice bytes = { buffer_bytes(&c->input), buffer_size(&c->input) };
    char room[128];
    text fault = text_over(room, sizeof(room));
    size_t used = 0;
    read_result got = read_command(bytes, &s->words, &used, &fault);

    if (got == READ_MORE)
      return;
    if (got == READ_FAULT) {
      end_with_fault(c, room);
      return;
    }
    if (s->words.count > 0) {
      if (execute_must_wait(s, c, s->words.all, s->words.count))
        return;
      execute(s, c, s->words.all, s->words.count);
    }
    /* A connection that ended has thrown its input away. */
    if (!c->is_closed)
      buffer_consume(&c->input, used);
  }
}
