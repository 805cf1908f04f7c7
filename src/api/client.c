/* SPDX-License-Identifier: MIT */
/* api/client.c - going in and out of a client, its faults, counters and its end. */
#include "api/degrade.h"
#include "api/wait.h"
#include "api/leading.h"
#include "api/deadlock.h"
#include "api/writing.h"

#include <string.h>
#include <unistd.h>

/* ---- in and out ---- */

dibs_status client_may_call(const dibs_client *c, bool blocks)
{
  if (c == NULL)
    return DIBS_ERR_ARGUMENT;
  if (c->epoch != fork_epoch())
    return DIBS_ERR_FORKED;              /* before the mutex, which may be locked for ever */
  if (blocks && drive_is_in_callback())
    return DIBS_ERR_WOULD_BLOCK;
  return DIBS_OK;
}

dibs_status client_enter(dibs_client *c, bool blocks)
{
  dibs_status status = client_may_call(c, blocks);

  if (status != DIBS_OK)
    return status;
  drive_lock(c->drive);
  if (c->is_closing) {
    drive_unlock(c->drive);
    return DIBS_ERR_CLOSED;
  }
  c->calls++;
  return DIBS_OK;
}

void client_leave(dibs_client *c)
{
  c->calls--;
  if (c->calls == 0 && c->idle != NULL)
    drive_waiter_done(c->drive, c->idle);
  drive_unlock(c->drive);
}

dibs_status client_pin(dibs_client *c)
{
  dibs_status status = client_enter(c, true);

  if (status == DIBS_OK)
    drive_unlock(c->drive);
  return status;
}

void client_unpin(dibs_client *c)
{
  drive_lock(c->drive);
  client_leave(c);
}

dibs_status claim_enter(const void *value, handle_kind kind, bool blocks, entry *ret_entry)
{
  handle *h = handle_pin(value, kind);
  handle *client_handle;
  dibs_status status;
  claim *cl = NULL;

  if (h == NULL)
    return DIBS_ERR_STALE;
  if (atomic_load(&h->epoch) != fork_epoch()) {
    handle_unpin(h);
    return DIBS_ERR_FORKED;
  }
  client_handle = handle_pin(h->client, HANDLE_CLIENT);
  if (client_handle == NULL) {
    handle_unpin(h);
    return DIBS_ERR_STALE;
  }
  status = client_enter(client_handle->owner, blocks);
  if (status == DIBS_OK && handle_is(h, value, kind))
    cl = h->owner;
  handle_unpin(h);
  *ret_entry = (entry){ client_handle, client_handle->owner, { .claim = cl } };
  if (status == DIBS_OK && cl == NULL) {
    claim_leave(ret_entry);
    return DIBS_ERR_STALE;
  }
  if (status != DIBS_OK)
    handle_unpin(client_handle);
  return status;
}

void claim_leave(const entry *e)
{
  client_leave(e->client);
  handle_unpin(e->client_handle);
}

instant client_give_up_at(const dibs_client *c)
{
  return instant_add(drive_now(),
                     span_ms((int64_t)c->times.connect_ms + c->times.command_ms));
}

/* ---- faults ---- */

/* Of several servers the one that is to blame, as far as anybody can tell. */
static const char *node_of(const dibs_client *c)
{
  return c->servers.kind == DEPLOYMENT_SINGLE ? c->shown : drive_node(c->drive);
}

dibs_status client_fault(dibs_client *c, dibs_status status, const char *words)
{
  text node = text_over(c->last_error.node, sizeof(c->last_error.node));
  text shown;

  if (status >= 0 && status != DIBS_UNKNOWN && status != DIBS_WOULD_DEADLOCK)
    return status;
  shown = text_over(c->last_error.text, sizeof(c->last_error.text));
  c->last_error.status = status;
  if (status != DIBS_ERR_ARGUMENT)
    text_add(&node, node_of(c));
  text_add(&shown, words[0] != 0 ? words : dibs_status_text(status));
  return status;
}

dibs_status client_refuse(dibs_client *c, dibs_status status, const char *words)
{
  if (c == NULL || c->epoch != fork_epoch())
    return status;
  drive_lock(c->drive);
  (void)client_fault(c, status, words);
  drive_unlock(c->drive);
  return status;
}

static void error_write(dibs_error *error, dibs_status status)
{
  text shown = text_over(error->text, sizeof(error->text));

  error->status = status;
  error->node[0] = 0;
  text_add(&shown, dibs_status_text(status));
}

void dibs_last_error(dibs_client *c, dibs_error *ret_error)
{
  if (ret_error == NULL)
    return;
  if (c == NULL || c->epoch != fork_epoch()) {
    error_write(ret_error, c == NULL ? DIBS_ERR_ARGUMENT : DIBS_ERR_FORKED);
    return;
  }
  drive_lock(c->drive);
  *ret_error = c->last_error;
  drive_unlock(c->drive);
}

/* Where several servers have a say: what each said. */
static size_t errors_copy(dibs_client *c, dibs_error *ret_errors, size_t count)
{
  engine *e = drive_engine(c->drive);
  size_t all = engine_route_count(e);

  for (size_t i = 0; i < all && i < count; i++) {
    const char *words = "";
    const server_url *url = engine_route_url(e, i);
    text node, shown;

    ret_errors[i] = (dibs_error){ .status = engine_server_why(e, i, &words) };
    node = text_over(ret_errors[i].node, sizeof(ret_errors[i].node));
    shown = text_over(ret_errors[i].text, sizeof(ret_errors[i].text));
    if (url != NULL)
      server_url_show(url, &node);
    text_add(&shown, words != NULL ? words : "");
  }
  return all;
}

size_t dibs_last_errors(dibs_client *c, dibs_error *ret_errors, size_t count)
{
  size_t all;

  if (c == NULL || c->epoch != fork_epoch() || c->servers.kind != DEPLOYMENT_QUORUM)
    return 0;
  drive_lock(c->drive);
  all = errors_copy(c, ret_errors, ret_errors == NULL ? 0 : count);
  drive_unlock(c->drive);
  return all;
}

dibs_status dibs_set_credentials(dibs_client *c, const char *user, const char *password)
{
  dibs_status status = client_enter(c, false);

  if (status != DIBS_OK)
    return status;
  if (!engine_set_credentials(drive_engine(c->drive), user, password))
    status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
  client_leave(c);
  return status;
}

/* ---- facts ---- */

const char *dibs_url(const dibs_client *c)
{
  return c == NULL ? "" : c->shown;
}

bool dibs_is_private(const dibs_client *c)
{
  return c != NULL && c->is_private;
}

int dibs_fd(dibs_client *c)
{
  return c == NULL || c->epoch != fork_epoch() ? -1 : drive_fd(c->drive);
}

int64_t dibs_process(dibs_client *c)
{
  dibs_status status = client_enter(c, true);
  int64_t left;

  if (status != DIBS_OK)
    return status < -1 ? status : DIBS_ERR_SYSTEM;   /* -1 has another meaning here */
  if (drive_fd(c->drive) < 0) {
    client_leave(c);
    return DIBS_ERR_UNSUPPORTED;
  }
  drive_unlock(c->drive);
  left = drive_process(c->drive);
  drive_lock(c->drive);
  client_leave(c);
  return left;
}

static dibs_stats stats_of(dibs_client *c)
{
  engine_stats s = engine_get_stats(drive_engine(c->drive));

  return (dibs_stats){ .size = sizeof(dibs_stats), .granted = s.granted,
                       .granted_local = s.granted_local, .released = s.released,
                       .lost = s.lost, .renewed = s.renewed,
                       .renew_failed = s.renew_failed, .commands = s.commands,
                       .messages = s.messages, .connects = s.connects, .holds = s.holds,
                       .waiting = s.waiting, .names = s.names,
                       .table_bytes = s.table_bytes };
}

dibs_status dibs_get_stats(dibs_client *c, dibs_stats *ret_stats)
{
  dibs_stats stats;
  dibs_status status;
  size_t size;

  if (ret_stats == NULL || ret_stats->size < sizeof(size_t))
    return client_refuse(c, DIBS_ERR_ARGUMENT,
                         "dibs_stats.size must be set to sizeof(dibs_stats) before");
  status = client_enter(c, false);
  if (status != DIBS_OK)
    return status;
  stats = stats_of(c);
  client_leave(c);
  size = ret_stats->size;
  /* Fields that a newer program knows and this library does not are zero. */
  memset(ret_stats, 0, size);
  memcpy(ret_stats, &stats, size < sizeof(stats) ? size : sizeof(stats));
  ret_stats->size = size;
  return DIBS_OK;
}

/* ---- the end ---- */

/* Releases that the server did not confirm in time: whoever waits for one is told so. */
static void waiters_end(dibs_client *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->waiter != NULL && !cl->waiter->is_done) {
      cl->status = cl->is_held ? DIBS_UNKNOWN : DIBS_ERR_CLOSED;
      drive_waiter_done(c->drive, cl->waiter);
    }
}

static void calls_await(dibs_client *c)
{
  drive_waiter idle;

  drive_waiter_init(&idle);
  idle.is_done = c->calls == 0;
  c->idle = &idle;
  waiters_end(c);
  waits_end(c);
  (void)drive_wait(c->drive, &idle, INSTANT_NEVER);
  c->idle = NULL;
}

/* What the engine still knows ends without it; on the server it runs out by itself. */
static void claims_end(dibs_client *c)
{
  claim *next;

  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    cl->cancel = NULL;                   /* perhaps freed by now; the drive forgets it too */
    claim_end_hold(cl);
    claim_end_request(cl);
  }
}

static void claims_free(dibs_client *c)
{
  while (c->first_claim != NULL) {
    claim *cl = c->first_claim;

    c->first_claim = cl->next;
    (void)claim_free(cl);
  }
}

/* From now on no hold leads here; waits for those that one led here before. */
static void handle_close(dibs_client *c)
{
  handle *h = c->handle;

  c->handle = NULL;
  handle_end(h);
  handle_wait(h);
}

/* Frees a client in any state of construction. */
dibs_client *client_free(dibs_client *c)
{
  memory m;

  if (c == NULL)
    return NULL;
  c->drive = drive_free(c->drive);       /* runs the last callbacks */
  claims_free(c);
  waits_free(c);
  writings_free(c);
  deadlocks_free(c);
  if (c->handle != NULL)
    handle_end(c->handle);
  if (c->local_use_fd >= 0)
    (void)close(c->local_use_fd);
  deployment_deinit(&c->servers);
  mem_free(&c->memory, c->shown);
  m = c->memory;
  mem_free(&m, c->outage);
  mem_free(&m, c);
  return NULL;
}

dibs_client *dibs_close(dibs_client *c)
{
  instant until;

  if (c == NULL || drive_is_in_callback())
    return c;                            /* a callback cannot wait for its own end */
  if (c->epoch != fork_epoch())
    return drive_is_whole(c->drive) ? client_free(c) : NULL;
  until = instant_add(drive_now(), span_ms(c->times.close_ms));
  drive_lock(c->drive);
  leading_clear_all(c);
  c->is_closing = true;
  degrade_close(c);
  drive_close(c->drive, until);
  calls_await(c);
  claims_end(c);
  drive_unlock(c->drive);
  handle_close(c);
  return client_free(c);
}
