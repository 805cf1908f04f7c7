/* SPDX-License-Identifier: MIT */
/* api/blocked.c - blocking locks and releases that any thread begins and ends: their own thread
 * takes the client's mutex only where no other thread has it. */
#include "api/api.h"

typedef struct lock_op {
  blocked_call call;
  lock_call *what;
} lock_op;

typedef struct release_op {
  blocked_call call;
  const void *value;               /* of the hold */
  handle *hold;                    /* pinned */
  watch_data over;
} release_op;

/* ---- mutex held, in any thread ---- */

static void begun(blocked_call *b, claim *cl)
{
  b->claim = cl;
  cl->call = b;
  b->client->calls++;
}

static void call_over(client_record *c)
{
  c->calls--;
  if (c->calls == 0 && c->idle != NULL)
    drive_waiter_done(c->drive, c->idle);
}

static void refused(blocked_call *b, dibs_status status)
{
  b->refused = status;
  drive_waiter_done(b->client->drive, &b->op.waiter);
}

void blocked_end(claim *cl, outcome *from)
{
  blocked_call *b = cl->call;

  cl->call = NULL;
  outcome_move(&b->end, from);
  b->hold = cl->granted_hold;
  call_over(cl->client);
  drive_waiter_done(cl->client->drive, &b->op.waiter);
}

static void lock_begin(drive_op *op)
{
  lock_op *o = (lock_op *)(void *)op;
  client_record *c = o->call.client;
  claim *cl = o->call.claim;
  dibs_status status = c->is_closing ? DIBS_ERR_CLOSED : claim_start(cl, o->what);

  if (status == DIBS_OK)
    begun(&o->call, cl);
  else
    refused(&o->call, status);
}

static void release_begin(drive_op *op)
{
  release_op *o = (release_op *)(void *)op;
  client_record *c = o->call.client;
  dibs_status status = c->is_closing ? DIBS_ERR_CLOSED : DIBS_OK;
  claim *cl;

  if (status == DIBS_OK && !handle_is(o->hold, o->value, HANDLE_HOLD))
    status = DIBS_ERR_STALE;
  if (status != DIBS_OK) {
    refused(&o->call, status);
    return;
  }
  cl = o->hold->owner;
  begun(&o->call, cl);
  o->over = watch_take(cl);
  status = release_start(cl);
  if (status == DIBS_OK)
    return;
  cl->call = NULL;
  call_over(c);
  claim_settle(cl);
  refused(&o->call, status);
}

/* ---- the thread of the call ---- */

/* Only a fault without a text needs the mutex: the name of its server. */
static dibs_status note(blocked_call *b)
{
  bool needs_server = b->end.status != DIBS_OK && b->end.detail == NULL;
  dibs_status status;

  if (needs_server)
    drive_lock(b->client->drive);
  status = outcome_note(&b->end, b->client);
  if (needs_server)
    drive_unlock(b->client->drive);
  outcome_clear(&b->end);
  return status;
}

/* What a call that enters a closing client returns has no text. */
static dibs_status note_refusal(const blocked_call *b,
                                dibs_status (*fault)(client_record *c, dibs_status status))
{
  dibs_status status = b->refused;

  if (status == DIBS_ERR_CLOSED)
    return status;
  drive_lock(b->client->drive);
  status = fault(b->client, status);
  drive_unlock(b->client->drive);
  return status;
}

dibs_status blocked_lock(claim *cl, lock_call *call, dibs_hold **ret_hold)
{
  lock_op o = { .call = { .op = { .run = lock_begin }, .client = cl->client, .claim = cl },
                .what = call };
  dibs_status status;

  (void)drive_call(cl->client->drive, &o.call.op, INSTANT_NEVER);
  if (o.call.refused != DIBS_OK) {
    status = note_refusal(&o.call, claim_fault);
    (void)claim_free(cl);
    return status;
  }
  status = note(&o.call);
  if (status == DIBS_OK)
    *ret_hold = o.call.hold;
  return status;
}

static dibs_status release_fault(client_record *c, dibs_status status)
{
  return status == DIBS_ERR_STALE ? status : client_fault(c, status, "");
}

static dibs_status release_result(release_op *o, bool is_done)
{
  client_record *c = o->call.client;
  dibs_status status;

  if (!is_done) {                        /* the mutex is held */
    o->call.claim->call = NULL;
    status = release_unconfirmed(o->call.claim);
    client_leave(c);
    return status;
  }
  return o->call.refused != DIBS_OK ? note_refusal(&o->call, release_fault) : note(&o->call);
}

dibs_status blocked_release(const dibs_hold *hold)
{
  release_op o = { .call = { .op = { .run = release_begin } }, .value = hold };
  handle *client_handle;
  dibs_status status = claim_pin(hold, HANDLE_HOLD, &o.hold, &client_handle);
  client_record *c;
  bool is_done;

  if (status != DIBS_OK)
    return fault_end(NULL, status);
  c = o.call.client = client_handle->owner;
  is_done = drive_call(c->drive, &o.call.op,
                       instant_add(drive_now(), span_ms(c->times.command_ms)));
  handle_unpin(o.hold);
  status = client_end(c, release_result(&o, is_done));
  return watch_data_end(&o.over, status);
}
