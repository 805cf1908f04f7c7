/* SPDX-License-Identifier: MIT */
/* api/client.c - entering and leaving a client, its counters and its close. */
#include "api/degrade.h"
#include "api/wait.h"
#include "api/campaign.h"
#include "api/deadlock.h"
#include "api/log.h"
#include "api/writing.h"

#include <string.h>
#include <unistd.h>

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
  drive_lock(c->drive);
  if (c->is_closing) {
    drive_unlock(c->drive);
    return DIBS_ERR_CLOSED;
  }
  c->calls++;
  return DIBS_OK;
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

/* ---- a child of fork() ---- */

static void local_use_end(client_record *c)
{
  if (c->local_use_fd >= 0)
    (void)close(c->local_use_fd);
  c->local_use_fd = -1;
}

void client_forked(void *client)
{
  client_record *c = client;

  local_claims_forked(c);
  local_use_end(c);
}

/* ---- settings ---- */

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

dibs_status dibs_client_set_credentials(dibs_client *client, const char *user,
                                        const char *password)
{
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  status = client_enter(c, false);
  if (status == DIBS_OK) {
    if (!engine_set_credentials(drive_engine(c->drive), user, password))
      status = client_fault(c, DIBS_ERR_NO_MEMORY, "");
    client_leave(c);
  }
  return client_end(c, status);
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

/* ---- facts ---- */

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

const char *dibs_client_id(const dibs_client *client)
{
  const char *id;
  client_record *c;

  if (client_look(client, &c) != DIBS_OK)
    return "";
  id = c->names.client;
  client_unlook(c);
  return id;
}

/* Mutex held. */
static bool is_connected(client_record *c)
{
  engine *e = drive_engine(c->drive);
  size_t all = engine_route_count(e), ready = 0;

  for (size_t i = 0; i < all; i++)
    ready += engine_route_is_ready(e, i);
  return c->servers.kind == DEPLOYMENT_QUORUM ? ready > all / 2 : ready > 0;
}

bool dibs_is_connected(const dibs_client *client)
{
  client_record *c;
  bool is_so;

  if (drive_is_busy() || client_look(client, &c) != DIBS_OK)
    return false;
  drive_lock(c->drive);
  is_so = !c->is_closing && is_connected(c);
  drive_unlock(c->drive);
  client_unlook(c);
  return is_so;
}

int dibs_fd(dibs_client *client)
{
  client_record *c;
  int fd;

  if (client_look(client, &c) != DIBS_OK)
    return -1;
  fd = drive_fd(c->drive);
  client_unlook(c);
  return fd;
}

/* Counted as a call, so that dibs_close() waits for the callbacks that run in it. */
static dibs_status process(client_record *c, int64_t *ret_wait_ms)
{
  dibs_status status = client_enter(c, true);
  int64_t left;

  if (status != DIBS_OK)
    return status;
  if (drive_fd(c->drive) < 0) {
    status = client_fault(c, DIBS_ERR_UNSUPPORTED,
                          "this client has its own threads; open it with "
                          "DIBS_CLIENT_NO_THREAD or DIBS_CLIENT_PROCESS_CALLBACKS");
    client_leave(c);
    return status;
  }
  drive_unlock(c->drive);
  left = drive_process(c->drive);
  drive_lock(c->drive);
  client_leave(c);
  if (ret_wait_ms != NULL)
    *ret_wait_ms = left;
  return DIBS_OK;
}

dibs_status dibs_process(dibs_client *client, int64_t *ret_wait_ms)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  return status == DIBS_OK ? client_end(c, process(c, ret_wait_ms)) : status;
}

static void servers_count(client_record *c, dibs_client_info *info)
{
  engine *e = drive_engine(c->drive);
  text shown = text_over(info->server_down, sizeof(info->server_down));
  /* A Cluster leaves a node that has failed out, and its slots are without one. */
  bool is_missed = engine_unserved_slots(e) > 0;

  for (size_t i = 0; i < engine_route_count(e); i++) {
    const server_url *url = engine_route_url(e, i);
    bool serves = engine_route_serves(e, i);

    if (!serves && !is_missed)
      continue;
    info->servers++;
    if ((serves && !engine_route_is_down(e, i)) || info->servers_down++ > 0)
      continue;
    if (url != NULL)
      server_url_show(url, &shown);
    else
      text_add(&shown, c->shown);
  }
}

static dibs_client_info info_of(client_record *c)
{
  engine_stats s = engine_get_stats(drive_engine(c->drive));
  const char *classes = c->servers.data.classes;

  return (dibs_client_info){ .size = sizeof(dibs_client_info), .url = c->shown,
                             .is_private = c->is_private, .granted = s.granted,
                       .granted_local = s.granted_local, .released = s.released,
                       .lost = s.lost, .renewed = s.renewed,
                       .renew_failed = s.renew_failed, .commands = s.commands,
                       .messages = s.messages, .connects = s.connects, .holds = s.holds,
                       .waiting = s.waiting, .names = s.names,
                       .table_bytes = s.table_bytes,
                       .classes = classes != NULL ? classes : "" };
}

dibs_status dibs_client_get_info(dibs_client *client, dibs_client_info *ret_info)
{
  client_record *c;
  dibs_client_info info;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return status;
  if (ret_info == NULL || !record_size_is_set(ret_info->size))
    return client_end(c, client_refuse(c, DIBS_ERR_ARGUMENT, "dibs_client_info.size is not set: "
                                                           "start from DIBS_CLIENT_INFO_INIT"));
  status = client_enter(c, false);
  if (status == DIBS_OK) {
    info = info_of(c);
    servers_count(c, &info);
    client_leave(c);
    record_give(ret_info, &info, sizeof(info));
  }
  return client_end(c, status);
}

/* ---- the end ---- */

static void waiter_end(client_record *c, drive_waiter *w, outcome *from, dibs_status status)
{
  if (w == NULL || w->is_done)
    return;
  (void)outcome_set(from, c, status, "");
  drive_waiter_done(c->drive, w);
}

/* The server did not confirm these releases in time: ends the calls that wait for them. */
static void waiters_end(client_record *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next) {
    dibs_status status = cl->is_held ? DIBS_UNKNOWN : DIBS_ERR_CLOSED;

    waiter_end(c, cl->taker, &cl->asked, status);
    waiter_end(c, cl->releaser, &cl->end, status);
    if (cl->call == NULL)
      continue;
    (void)outcome_set(&cl->end, c, status, "");
    blocked_end(cl, &cl->end);
  }
}

static void calls_await(client_record *c)
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

/* Ends claims that the engine still has; their leases expire on the server. */
static void claims_end(client_record *c)
{
  claim *next;

  for (claim *cl = c->first_claim; cl != NULL; cl = next) {
    next = cl->next;
    cl->cancel = NULL;                   /* may have been freed; the drive forgets it too */
    if (!cl->is_over && cl->on_release != NULL) {
      (void)outcome_set(&cl->end, c, DIBS_UNKNOWN, "");
      claim_queue(cl, &cl->release_job);
    }
    claim_end_hold(cl);
    claim_end_request(cl);
  }
}

static void claims_free(client_record *c)
{
  while (c->first_claim != NULL) {
    claim *cl = c->first_claim;
    watch_data over = cl->watch.over, freeing = cl->watch.freeing;

    c->first_claim = cl->next;
    (void)claim_free(cl);
    (void)watch_data_end(&over, DIBS_OK);
    (void)watch_data_end(&freeing, DIBS_OK);           /* in a child: its job is the parent's */
  }
}

/* Frees a client in any state of construction. */
client_record *client_free(client_record *c)
{
  callback_data over;
  memory m;

  if (c == NULL)
    return NULL;
  over = c->event_over;
  c->drive = drive_free(c->drive);
  logs_free(c);
  claims_free(c);
  waits_free(c);
  writings_free(c);
  deadlocks_free(c);
  fault_servers_free(c);
  if (c->handle != NULL)
    handle_end(c->handle);
  local_use_end(c);
  deployment_deinit(&c->servers);
  mem_free(&c->memory, c->shown);
  m = c->memory;
  mem_free(&m, c->local);
  mem_free(&m, c);
  (void)callback_data_end(&over, DIBS_OK);
  return NULL;
}

static void close_all(client_record *c)
{
  instant until = instant_add(drive_now(), span_ms(c->times.close_ms));

  drive_lock(c->drive);
  campaign_clear_all(c);
  c->is_closing = true;
  holds_are_over(c);
  degrade_close(c);
  drive_close(c->drive, until);
  calls_await(c);
  claims_end(c);
  log_close(c);
  drive_unlock(c->drive);
}

/* Makes the handle stale, and waits for calls that pinned it before. They have left the
 * mutex, or find the client closing. */
static void handle_close(client_record *c)
{
  handle_end(c->handle);
  handle_unpin(c->handle);
  handle_wait(c->handle);
  c->handle = NULL;
}

static void close_handle(dibs_client *client)
{
  handle *h = handle_pin(client, HANDLE_CLIENT);
  client_record *c;
  bool is_forked;
  int ending;

  if (h == NULL) {
    (void)fault_end(client, client == NULL ? DIBS_OK : DIBS_ERR_STALE);
    return;
  }
  c = h->owner;
  is_forked = c->epoch != fork_epoch();
  ending = is_forked ? ENDING_IN_CHILD : ENDING;
  if (atomic_exchange(&c->ending, ending) == ending) {
    (void)client_end(c, DIBS_ERR_CLOSED);  /* another thread closes it */
    return;
  }
  (void)fault_end(client, DIBS_OK);
  if (is_forked) {
    handle_unpin(h);
    if (drive_is_whole(c->drive))
      (void)client_free(c);
    return;
  }
  close_all(c);
  drive_stop(c->drive);                  /* a callback finds the client closing, not closed */
  handle_close(c);
  (void)client_free(c);
}

/* The client is freed when its pin is over. */
dibs_client *dibs_close(dibs_client *client)
{
  /* A callback cannot wait for its own end, nor the exit() of a signal handler for the call that
   * it interrupted. */
  if (client != NULL && (drive_is_in_callback() || drive_is_in_call())) {
    (void)fault_end(client, DIBS_ERR_WOULD_BLOCK);
    return client;
  }
  drive_enter_call();
  close_handle(client);
  drive_leave_call();
  return NULL;
}
