/* SPDX-License-Identifier: MIT */
/* Requests: what the program wants of its locks, given to the table or the quorum. */
#include "engine/parts.h"

dibs_status engine_lock(engine *e, const lock_request *r, instant now, uint64_t *ret_id)
{
  lock_wish w = { .context = r->context, .kind = r->kind, .names = r->names,
                  .name_count = r->name_count, .units = r->units, .linger = r->linger,
                  .flavour = r->flavour,
                  .name = r->name, .name_size = r->name_size,
                  .owner = r->owner, .owner_size = r->owner_size, .is_try = r->is_try,
                  .is_fixed = r->is_fixed, .no_reentry = r->no_reentry,
                  .blocks = r->blocks, .ttl = r->ttl,
                  .max_hold = r->max_hold, .give_up_at = r->give_up_at, .note = r->note,
                  .min_replicas = r->min_replicas, .replicas_wait = r->replicas_wait,
                  .wants_fsync = r->wants_fsync, .reports_replicas = r->reports_replicas };
  dibs_status status;

  engine_locks_tick(e, now);
  if (e->quorum != NULL)
    status = quorum_claim(e->quorum, &w, now, ret_id);
  else if (e->spread != NULL && w.kind == LOCK_MANY &&
           spread_is_needed(e->spread, w.names, w.name_count))
    status = spread_claim(e->spread, &w, now, ret_id);
  else
    status = lock_claim(engine_locks(e), &w, now, ret_id);
  engine_pump(e, now);
  return status;
}

bool engine_cancel(engine *e, uint64_t id, instant now)
{
  bool done;

  engine_locks_tick(e, now);
  if (e->quorum != NULL)
    done = quorum_cancel(e->quorum, id, now);
  else if ((id & SPREAD_ID) != 0)
    done = spread_fail(e->spread, id, DIBS_CANCELLED, "cancelled", now);
  else
    done = lock_cancel(engine_locks(e), id, now);
  engine_pump(e, now);
  return done;
}

bool engine_fail(engine *e, uint64_t id, dibs_status status, const char *words, instant now)
{
  bool done;

  engine_locks_tick(e, now);
  if (e->quorum != NULL)
    done = quorum_fail(e->quorum, id, status, words, now);
  else if ((id & SPREAD_ID) != 0)
    done = spread_fail(e->spread, id, status, words, now);
  else
    done = lock_fail(engine_locks(e), id, status, words, now);
  engine_pump(e, now);
  return done;
}

bool engine_wait_is_told(const engine *e, uint64_t id)
{
  return e->quorum == NULL && lock_wait_is_told(engine_locks(e), id);
}

/* Deadlines first: a hold that is over must not be released as if it were not (S7). */
dibs_status engine_release(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  engine_locks_tick(e, now);
  if (e->quorum != NULL)
    status = quorum_release(e->quorum, id, now);
  else if ((id & SPREAD_ID) != 0)
    status = spread_release(e->spread, id, now);
  else
    status = lock_release(engine_locks(e), id, now);
  engine_pump(e, now);
  return status;
}

dibs_status engine_detach(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  engine_locks_tick(e, now);
  if (e->quorum != NULL)
    status = quorum_detach(e->quorum, id, now);
  else if ((id & SPREAD_ID) != 0)
    status = DIBS_ERR_UNSUPPORTED;
  else
    status = lock_detach(engine_locks(e), id, now);
  engine_pump(e, now);
  return status;
}

dibs_status engine_downgrade(engine *e, uint64_t id, instant now)
{
  dibs_status status;

  engine_locks_tick(e, now);
  if ((id & SPREAD_ID) != 0)
    status = DIBS_ERR_ARGUMENT;
  else
    status = e->quorum != NULL ? quorum_downgrade(e->quorum, id, now)
                               : lock_downgrade(engine_locks(e), id, now);
  engine_pump(e, now);
  return status;
}

void engine_close(engine *e, instant now)
{
  if (e->is_closing)
    return;
  engine_locks_tick(e, now);
  e->is_closing = true;
  asks_close(e);
  observe_close(e, now);
  if (e->quorum != NULL)
    quorum_close(e->quorum, now);
  if (e->spread != NULL)
    spread_close(e->spread, now);
  for (size_t i = 0; i < engine_table_count(e) && e->quorum == NULL; i++)
    lock_close(engine_table(e, i), now);
  engine_pump(e, now);
}

bool engine_keep_alone(engine *e, uint64_t id)
{
  return e->quorum == NULL && lock_keep_alone(engine_locks(e), id);
}

bool engine_hold_is_one_lease(const engine *e, uint64_t id)
{
  return e->quorum == NULL && (id & SPREAD_ID) == 0;
}

bool engine_hold_token(const engine *e, uint64_t id, text *out)
{
  return e->quorum != NULL ? quorum_token(e->quorum, id, out)
                           : lock_token(engine_locks(e), id, out);
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

bool engine_route_serves(const engine *e, size_t number)
{
  return number < e->server_count && !e->servers[number]->is_out;
}

dibs_status engine_server_why(const engine *e, size_t number, const char **ret_words)
{
  *ret_words = "";
  return e->quorum == NULL ? DIBS_OK : quorum_server_why(e->quorum, number, ret_words);
}

bool engine_set_credentials(engine *e, const char *user, const char *password)
{
  char *user_copy = mem_copy_text(&e->memory, user);
  char *password_copy = mem_copy_text(&e->memory, password);
  bool is_done = (user == NULL || user_copy != NULL) &&
                 (password == NULL || password_copy != NULL);

  for (int i = 0; i < e->link_count && is_done; i++)
    if (e->links[i] != NULL && e->links[i]->server != NULL)
      is_done = link_set_credentials(e->links[i]->link, user, password);
  if (!is_done) {
    mem_free_secret(&e->memory, user_copy);
    mem_free_secret(&e->memory, password_copy);
    return false;
  }
  mem_free_secret(&e->memory, e->user);
  mem_free_secret(&e->memory, e->password);
  e->user = user_copy;
  e->password = password_copy;
  e->has_credentials = true;
  return true;
}

bool engine_next_name(const engine *e, lock_name_at *at, lock_name *ret_name)
{
  return e->quorum != NULL ? quorum_next_name(e->quorum, at, ret_name)
                           : lock_next_name(engine_locks(e), at, ret_name);
}

size_t engine_expire(engine *e, span age, instant now)
{
  size_t count;

  engine_locks_tick(e, now);
  count = e->quorum != NULL ? 0 : lock_expire(engine_locks(e), age, now);
  engine_pump(e, now);
  return count;
}

engine_stats engine_get_stats(const engine *e)
{
  lock_counts c = engine_counts(e);

  return (engine_stats){ .granted = c.granted, .granted_local = c.granted_local,
                         .released = c.released, .lost = c.lost, .renewed = c.renewed,
                         .renew_failed = c.renew_failed, .commands = e->commands,
                         .messages = e->messages, .connects = e->connects,
                         .holds = c.holds, .waiting = c.waiting, .names = c.names,
                         .table_bytes = c.bytes };
}
