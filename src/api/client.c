/* SPDX-License-Identifier: MIT */
/* api/client.c - every call of a client: its begin and end, its time limit; the client's alarm. */
#include "api/degrade.h"
#include "api/log.h"

/* ---- in and out ---- */

dibs_status client_look(const dibs_client *client, client_record **ret_client)
{
  handle *h = handle_pin(client, HANDLE_CLIENT);

  if (h == NULL)
    return client == NULL ? DIBS_ERR_ARGUMENT : DIBS_ERR_STALE;
  if (atomic_load(&h->epoch) != fork_epoch()) {
    handle_unpin(h);                     /* its mutex may be locked for ever */
    return DIBS_ERR_FORKED;
  }
  *ret_client = h->owner;
  return DIBS_OK;
}

void client_unlook(client_record *c)
{
  handle_unpin(c->handle);
}

dibs_status client_begin(dibs_client *client, bool blocks, client_record **ret_client)
{
  bool is_busy = drive_is_busy();        /* before the client is pinned */
  dibs_status status;

  *ret_client = NULL;
  /* First: a client that another thread is closing has no handle any more. */
  if (client != NULL && blocks && drive_is_in_callback()) {
    (void)fault_end(client, DIBS_ERR_WOULD_BLOCK);
    return DIBS_ERR_WOULD_BLOCK;
  }
  status = client_look(client, ret_client);
  if (status == DIBS_OK && is_busy) {
    client_unlook(*ret_client);
    status = DIBS_ERR_WOULD_BLOCK;
  }
  if (status == DIBS_ERR_ARGUMENT)
    (void)fault_end_with(client, status, "the client is NULL");
  else if (status == DIBS_ERR_STALE)
    (void)fault_end_with(client, status, "the client was closed, or is no client");
  else if (status != DIBS_OK)
    (void)fault_end(client, status);
  return status;
}

dibs_status client_end(client_record *c, dibs_status status)
{
  (void)fault_end(c->handle_word, status);
  client_unlook(c);
  return status;
}

dibs_status client_enter(client_record *c, bool blocks)
{
  if (blocks && drive_is_in_callback())
    return DIBS_ERR_WOULD_BLOCK;
  if (c->epoch != fork_epoch())          /* a visitor has made this child, inside a call */
    return DIBS_ERR_FORKED;
  drive_lock(c->drive);
  if (c->is_closing) {
    drive_unlock(c->drive);
    return DIBS_ERR_CLOSED;
  }
  c->calls++;
  return DIBS_OK;
}

dibs_status client_callbacks(client_record *c)
{
  dibs_status status = drive_callbacks_prepare(c->drive);

  if (status == DIBS_OK)
    return status;
  return client_fault(c, status, "the thread dibs-callback" THREAD_REFUSED);
}

void client_leave(client_record *c)
{
  c->calls--;
  if (c->calls == 0 && c->idle != NULL)
    drive_waiter_done(c->drive, c->idle);
  drive_unlock(c->drive);
}

dibs_status claim_pin(const void *value, handle_kind kind, handle **ret_handle,
                      handle **ret_client)
{
  bool is_busy = drive_is_busy(), is_forked;
  handle *h = handle_pin(value, kind);

  if (h == NULL)
    return DIBS_ERR_STALE;
  is_forked = atomic_load(&h->epoch) != fork_epoch();
  *ret_handle = h;
  *ret_client = is_forked ? NULL : handle_pin(h->client, HANDLE_CLIENT);
  if (*ret_client != NULL && !is_busy)
    return DIBS_OK;
  handle_unpin(h);
  if (*ret_client == NULL)
    return is_forked ? DIBS_ERR_FORKED : DIBS_ERR_STALE;
  handle_unpin(*ret_client);
  return DIBS_ERR_WOULD_BLOCK;
}

dibs_status claim_enter(const void *value, handle_kind kind, bool blocks, entry *ret_entry)
{
  handle *h, *client_handle;
  client_record *c;
  claim *cl = NULL;
  dibs_status status = claim_pin(value, kind, &h, &client_handle);

  if (status != DIBS_OK)
    return fault_end(NULL, status);
  c = client_handle->owner;
  status = client_enter(c, blocks);
  if (status == DIBS_OK && handle_is(h, value, kind))
    cl = h->owner;
  handle_unpin(h);
  *ret_entry = (entry){ c, { .claim = cl } };
  if (status != DIBS_OK)
    return client_end(c, status);
  return cl != NULL ? DIBS_OK : claim_leave(ret_entry, DIBS_ERR_STALE);
}

dibs_status claim_leave(const entry *e, dibs_status status)
{
  client_leave(e->client);
  return client_end(e->client, status);
}

/* ---- the alarm ---- */

void client_alarm_set(client_record *c)
{
  drive_alarm(c->drive, instant_min(c->degrade_alarm_at, c->log_alarm_at));
}

void client_alarm(void *client)
{
  client_record *c = client;

  c->log_alarm_at = INSTANT_NEVER;
  degrade_alarm(c);                      /* may come too early */
  log_alarm(c);
}

/* ---- the limit of a call ---- */

static int32_t call_timeout_ms(const client_record *c)
{
  int32_t call_ms = atomic_load(&c->call_ms);
  int32_t longer = c->times.connect_ms > c->times.command_ms ? c->times.connect_ms
                                                             : c->times.command_ms;

  return call_ms > 0 ? call_ms : longer;
}

instant client_give_up_at(const client_record *c)
{
  return instant_add(drive_now(), span_ms(call_timeout_ms(c)));
}

dibs_status dibs_client_set_call_timeout(dibs_client *client, int32_t ms)
{
  char words[128];
  text why = text_over(words, sizeof(words));
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  if (options_ms_check("ms", ms, &why))
    atomic_store(&c->call_ms, ms);
  else
    status = client_refuse(c, DIBS_ERR_ARGUMENT, words);
  return client_end(c, status);
}

int32_t dibs_client_call_timeout(const dibs_client *client)
{
  client_record *c;
  int32_t ms;

  if (client_look(client, &c) != DIBS_OK)
    return 0;
  ms = call_timeout_ms(c);
  client_unlook(c);
  return ms;
}
