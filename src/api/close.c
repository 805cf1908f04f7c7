/* SPDX-License-Identifier: MIT */
/* api/close.c - the end of a client: dibs_close(), and what a child of fork() closes. */
#include "api/api.h"

#include "api/campaign.h"
#include "api/deadlock.h"
#include "api/degrade.h"
#include "api/log.h"
#include "api/wait.h"
#include "api/writing.h"
#include "base/descriptor.h"

/* ---- a child of fork() ---- */

static void local_use_end(client_record *c)
{
  if (c->local_use_fd >= 0)
    descriptor_close(c->local_use_fd);
  c->local_use_fd = -1;
}

void client_forked(void *client)
{
  client_record *c = client;

  local_claims_forked(c);
  local_use_end(c);
}

/* ---- what has not ended ---- */

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

/* Ends claims that the engine still has; their leases expire on the server. A reply that comes
 * later must not end them again: drive_end_effects(). */
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

client_record *client_free(client_record *c)
{
  callback_data over;

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
  outages_free(c);
  mem_free(&c->memory, c->local);
  mem_free(&c->memory, c);
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
  drive_end_effects(c->drive);
  claims_end(c);
  log_close(c);
  drive_unlock(c->drive);
}

/* Makes the handle stale, and waits for calls that pinned it before. They have left the
 * mutex, or find the client closing. One may be in a visitor, for as long as that takes. */
static void handle_close(client_record *c)
{
  handle_end(c->handle);
  handle_unpin(c->handle);
  handle_wait(c->handle);
  c->handle = NULL;
}

/* In a child. */
static void close_copy(client_record *c, handle *h)
{
  handle_unpin(h);
  if (drive_is_whole(c->drive))
    (void)client_free(c);
}

static dibs_status close_handle(const dibs_client *client)
{
  handle *h = handle_pin(client, HANDLE_CLIENT);
  client_record *c;
  bool is_forked;
  int ending;

  if (h == NULL)
    return client == NULL ? DIBS_OK : DIBS_ERR_STALE;
  c = h->owner;
  is_forked = c->epoch != fork_epoch();
  ending = is_forked ? ENDING_IN_CHILD : ENDING;
  if (atomic_exchange(&c->ending, ending) == ending) {
    client_unlook(c);                    /* another thread closes it */
    return DIBS_ERR_CLOSED;
  }
  if (is_forked) {
    close_copy(c, h);
    return DIBS_OK;
  }
  close_all(c);
  drive_stop(c->drive);                  /* a callback finds the client closing, not closed */
  if (c->epoch != fork_epoch()) {        /* a callback has made this child */
    close_copy(c, h);
    return DIBS_OK;
  }
  handle_close(c);
  (void)client_free(c);
  return DIBS_OK;
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
  (void)fault_end(client, close_handle(client));     /* after what callbacks in it have called */
  drive_leave_call();
  return NULL;
}
