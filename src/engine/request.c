/* SPDX-License-Identifier: MIT */
/* engine/request.c - passes the program's lock requests to its front. */
#include "engine/internal.h"

#include <string.h>

dibs_status engine_lock(engine *e, const lock_spec *spec, instant now, uint64_t *ret_id)
{
  dibs_status status;

  hold_tick(e->front, now);
  status = hold_claim(e->front, spec, now, ret_id);
  engine_advance(e, now);
  return status;
}

bool engine_cancel(engine *e, uint64_t id, instant now)
{
  bool done;

  hold_tick(e->front, now);
  done = hold_cancel(e->front, id, now);
  engine_advance(e, now);
  return done;
}

bool engine_fail(engine *e, uint64_t id, dibs_status status, const char *words, instant now)
{
  bool done;

  hold_tick(e->front, now);
  done = hold_fail(e->front, id, status, words, now);
  engine_advance(e, now);
  return done;
}

bool engine_wait_is_reported(const engine *e, uint64_t id)
{
  return hold_wait_is_reported(e->front, id);
}

/* Deadlines first: an overdue hold must not be released as valid (S7). */
dibs_status engine_release(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  hold_tick(e->front, now);
  status = hold_release(e->front, id, now);
  engine_advance(e, now);
  return status;
}

const char *engine_refusal(const engine *e, uint64_t id)
{
  return hold_refusal(e->front, id);
}

void engine_add_why(const engine *e, uint64_t id, text *out)
{
  hold_add_why(e->front, id, "", out);
}

bool engine_park(engine *e, uint64_t id, instant now, bool *ret_sends)
{
  if (!hold_park(e->front, id, now, ret_sends))
    return false;
  if (*ret_sends)
    engine_advance(e, now);
  return true;
}

bool engine_retake(engine *e, uint64_t id, const void *owner, size_t owner_size, instant now,
                   uint64_t *ret_fence, instant *ret_valid_until)
{
  hold_retaken got;

  if (!hold_retake(e->front, id, owner, owner_size, now, &got))
    return false;
  *ret_fence = got.fence;
  *ret_valid_until = got.valid_until;
  return true;
}

dibs_status engine_detach(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  hold_tick(e->front, now);
  status = hold_detach(e->front, id, now);
  if (status == DIBS_OK)
    presence_extend(e, now);
  engine_advance(e, now);
  return status;
}

dibs_status engine_downgrade(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  hold_tick(e->front, now);
  status = hold_downgrade(e->front, id, now);
  engine_advance(e, now);
  return status;
}

void engine_close(engine *e, instant now)
{
  if (e->is_closing)
    return;
  hold_tick(e->front, now);
  e->is_closing = true;
  asks_close(e);
  observe_close(e, now);
  hold_close(e->front, now);
  engine_advance(e, now);
}

bool engine_keep_alone(engine *e, uint64_t id)
{
  return hold_keep_alone(e->front, id);
}

bool engine_hold_is_one_lease(const engine *e, uint64_t id)
{
  return hold_is_one_lease(e->front, id);
}

bool engine_hold_token(const engine *e, uint64_t id, text *out)
{
  return hold_token(e->front, id, out);
}

size_t engine_route_count(const engine *e)
{
  return e->server_count;
}

const server_url *engine_route_url(const engine *e, size_t number)
{
  return number < e->server_count && e->servers[number]->has_url ? &e->servers[number]->url
                                                                  : NULL;
}

bool engine_route_is_ready(const engine *e, size_t number)
{
  return number < e->server_count && server_is_ready(e->servers[number]);
}

bool engine_route_is_down(const engine *e, size_t number)
{
  const connection *c = number < e->server_count ? e->servers[number]->commands : NULL;

  return c != NULL && c->failures + c->refusals > 0 && !connection_is_ready(c);
}

bool engine_route_serves(const engine *e, size_t number)
{
  return number < e->server_count && !e->servers[number]->is_out;
}

size_t engine_route_of_key(const engine *e, const char *key, size_t size)
{
  const server *s = e->topology.slots != NULL ? server_of_key(e, key, size) : NULL;

  return s != NULL ? s->number : SIZE_MAX;
}

size_t engine_unserved_slots(const engine *e)
{
  size_t count = 0;

  for (size_t i = 0; e->topology.slots != NULL && i < SLOT_COUNT; i++)
    count += e->topology.slots[i] >= e->server_count;
  return count;
}

dibs_status engine_server_why(const engine *e, size_t number, const char **ret_words)
{
  *ret_words = "";
  return e->quorum == NULL ? DIBS_OK : quorum_server_why(e->quorum, number, ret_words);
}

/* A link that has not begun its next attempt would read them before. */
static void files_are_not_asked(engine *e)
{
  for (int i = 0; i < e->link_count; i++) {
    connection *c = e->links[i];

    if (c != NULL && c->refusal == DIBS_ERR_AUTH && connection_has_program_login(e, c))
      c->refusal = DIBS_OK;
  }
}

/* All links get them, also those of a search, or none. */
static bool set_credentials_of_links(engine *e, const char *user, const char *password)
{
  bool is_done = true;

  for (int i = 0; i < e->link_count && is_done; i++)
    if (e->links[i] != NULL && connection_has_login_of_servers(e, e->links[i]->purpose))
      is_done = link_keep_credentials(e->links[i]->link, user, password);
  for (int i = 0; i < e->link_count; i++) {
    connection *c = e->links[i];

    if (c == NULL || !connection_has_login_of_servers(e, c->purpose))
      continue;
    if (is_done)
      link_take_credentials(c->link);
    else
      link_drop_credentials(c->link);
  }
  return is_done;
}

bool engine_set_credentials(engine *e, const char *user, const char *password)
{
  char *user_copy = mem_copy_text(&e->memory, user);
  char *password_copy = mem_copy_text(&e->memory, password);

  if ((user != NULL && user_copy == NULL) || (password != NULL && password_copy == NULL) ||
      !set_credentials_of_links(e, user, password)) {
    mem_free_secret(&e->memory, user_copy);
    mem_free_secret(&e->memory, password_copy);
    return false;
  }
  mem_free_secret(&e->memory, e->user);
  mem_free_secret(&e->memory, e->password);
  e->user = user_copy;
  e->password = password_copy;
  e->has_credentials = true;
  files_are_not_asked(e);
  return true;
}

bool engine_set_file_password(engine *e, const char *file, password_place place,
                              const char *password)
{
  bool is_done = true;

  for (int i = 0; i < e->link_count; i++) {
    connection *c = connection_of(e, i);

    /* A file whose reading began before the program gave a password comes too late. */
    if (c != NULL && password_is_of(c->url, file, place) && !connection_has_program_login(e, c))
      is_done = link_set_password(c->link, password) && is_done;
  }
  return is_done;
}

bool engine_next_name(const engine *e, lock_name_at *at, lock_name *ret_name)
{
  return hold_next_name(e->front, at, ret_name);
}

size_t engine_expire(engine *e, span age, instant now)
{
  size_t count;

  hold_tick(e->front, now);
  count = e->quorum != NULL ? 0 : lock_expire(engine_locks(e), age, now);
  engine_advance(e, now);
  return count;
}

engine_stats engine_get_stats(const engine *e)
{
  lock_counts c = hold_counts(e->front);
  engine_stats s = { .granted = c.granted, .granted_local = c.granted_local,
                     .released = c.released, .lost = c.lost, .renewed = c.renewed,
                     .renew_failed = c.renew_failed, .commands = e->commands,
                     .messages = e->messages, .connects = e->connects,
                     .reconnects = e->reconnects, .holds = c.holds, .waiting = c.waiting,
                     .names = c.names, .table_bytes = c.bytes };

  memcpy(s.handovers, c.handovers, sizeof(s.handovers));
  return s;
}

int32_t engine_lease_slack(const engine *e, instant now)
{
  lock_counts c = hold_counts(e->front);

  return slack_least(&c.slack, now);
}
