/* SPDX-License-Identifier: MIT */
/* api/effects.c - passes the engine's effects to callers, holds and callbacks. All
 * functions need the mutex. */
#include "api/wait.h"
#include "api/degrade.h"
#include "api/campaign.h"
#include "api/log.h"

#include <string.h>
#include <unistd.h>

static void waiter_done(claim *cl, drive_waiter *waiter, outcome *result)
{
  if (cl->call != NULL)
    blocked_end(cl, result);
  else if (waiter != NULL)
    drive_waiter_done(cl->client->drive, waiter);
}

static void fd_ring(claim *cl)
{
  uint64_t one = 1;
  int fd = cl->hold == NULL ? -1 : atomic_load(&cl->hold->fd);

  if (fd >= 0)
    (void)!write(fd, &one, sizeof(one));      /* full only when it is already readable */
}

/* ---- a request ends ---- */

void claim_lock_ended(claim *cl, dibs_status status)
{
  if (status == DIBS_OK)
    outcome_clear(&cl->asked);
  cl->asked.status = status;
  claim_unwatch(cl);
  claim_end_request(cl);
  if (cl->on_lock != NULL)
    claim_queue(cl, &cl->lock_job);
  if (status != DIBS_OK && cl->taker == NULL)      /* a call that waits frees it itself */
    watch_over(cl);
  waiter_done(cl, cl->taker, &cl->asked);
}

/* Servers of a quorum are counted in the same way, but mean more. */
static uint64_t durability_of(const claim *cl, const effect *e)
{
  dibs_durability_kind kind = DIBS_DURABLE_PRIMARY;

  if (cl->client->servers.kind == DEPLOYMENT_QUORUM)
    kind = DIBS_DURABLE_QUORUM;
  else if (e->has_fsync)
    kind = DIBS_DURABLE_FSYNC;
  else if (e->acknowledged > 0)
    kind = DIBS_DURABLE_REPLICAS;
  return durability_word(kind, e->acknowledged, e->replicas_wanted);
}

/* While its client closes, a hold is over for the program, whatever the engine says. */
static void condition_set(const claim *cl, dibs_hold_condition condition)
{
  fact_set(&cl->hold->condition,
               cl->client->is_closing ? (int)DIBS_HOLD_GONE : (int)condition);
}

/* The engine is about to release them all, and another client may have the name before the
 * replies are here. dibs_release() still finds them, until claims_end(). */
void holds_are_over(client_record *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->hold != NULL)
      condition_set(cl, DIBS_HOLD_GONE);
}

void claim_granted(claim *cl, const effect *e)
{
  handle *h = cl->hold;

  cl->is_held = true;
  fact_set(&h->fence, e->fence);
  fact_set(&h->depth, e->depth);
  fact_set(&h->units, (uint32_t)e->units);
  fact_set(&h->durability, durability_of(cl, e));
  fact_set(&h->valid_until_ns, e->valid_until.ns);
  condition_set(cl, DIBS_HOLD_HELD);
  cl->granted_hold = handle_value(h);
  watch_granted(cl);
  noting_granted(cl, e->fence);
  if (e->depth > 1)
    claim_depths(cl);
  if (!campaign_is_to_report(cl))
    claim_lock_ended(cl, DIBS_OK);
}

void claim_failed(claim *cl, dibs_status status, const char *words)
{
  cl->is_over = true;
  claim_end_hold(cl);
  local_claim_let_go(cl);
  if (status == DIBS_BUSY && cl->may_not_wait)
    status = DIBS_TIMED_OUT;             /* wait_ms 0: a try, its limit expires at once */
  (void)outcome_set(&cl->asked, cl->client, status, words);
  noting_failed(cl);
  claim_lock_ended(cl, status);
  claim_settle(cl);
}

/* ---- a hold lives ---- */

static void renewed(claim *cl, const effect *e)
{
  bool was_suspect;

  if (cl->hold == NULL || cl->is_lost)
    return;
  was_suspect = atomic_load(&cl->hold->condition) == DIBS_HOLD_SUSPECT;
  fact_set(&cl->hold->valid_until_ns, e->valid_until.ns);
  condition_set(cl, DIBS_HOLD_HELD);
  noting_renewed(cl, was_suspect);
  campaign_renewed(cl);
  watch_look(cl);
}

static void suspect(claim *cl)
{
  if (cl->hold == NULL || cl->is_lost)
    return;
  condition_set(cl, DIBS_HOLD_SUSPECT);
  noting_suspect(cl);
  watch_look(cl);
}

void claim_lost(claim *cl, const effect *e)
{
  if (cl->is_lost)
    return;                              /* by degrade.c; the engine may lose its lease later */
  cl->is_lost = true;
  cl->was_let_go = e->was_let_go;
  degrade_lost(cl);
  (void)outcome_set(&cl->loss, cl->client, e->status, e->text);
  noting_ended(cl, &cl->loss, false, drive_now());
  if (cl->hold == NULL)
    return;                              /* being released: the release reports the loss */
  condition_set(cl, DIBS_HOLD_GONE);
  fd_ring(cl);
  watch_look(cl);
}

void claim_released(claim *cl, const effect *e)
{
  dibs_status status = cl->is_lost && e->status == DIBS_OK ? DIBS_LOST : e->status;

  cl->is_over = true;
  cl->was_let_go |= e->was_let_go;
  (void)outcome_set(&cl->end, cl->client, status, e->text);
  noting_ended(cl, &cl->end, e->kind == EFFECT_DETACHED, drive_now());
  claim_end_hold(cl);                    /* no effect after a release; a detach may come first */
  if (cl->on_release != NULL)
    claim_queue(cl, &cl->release_job);
  watch_over(cl);
  waiter_done(cl, cl->releaser, &cl->end);
  claim_settle(cl);
}

/* ---- events ---- */

typedef struct event_job {
  drive_job job;
  client_record *client;
  int kind;
  char text[512];
} event_job;

static void event_run(drive_job *job)
{
  event_job *e = (event_job *)(void *)job;
  dibs_event event = { sizeof(event), (dibs_event_kind)e->kind, e->text };

  e->client->on_event(&event, e->client->on_event_data);
}

static void event_finish(drive_job *job)
{
  event_job *e = (event_job *)(void *)job;

  mem_free(&e->client->memory, e);
}

void client_event(client_record *c, dibs_event_kind kind, const char *node, const char *words)
{
  event_job *job;
  text shown;

  log_client(c, kind, node, words);
  if (c->on_event == NULL)
    return;
  job = mem_alloc(&c->memory, sizeof(*job));
  if (job == NULL)
    return;                              /* nothing depends on events */
  *job = (event_job){ .job = { .run = event_run, .finish = event_finish },
                      .client = c, .kind = (int)kind };
  shown = text_over(job->text, sizeof(job->text));
  text_add(&shown, words);
  drive_call_later(c->drive, &job->job);
}

/* ---- all ---- */

void api_effect(void *client, const effect *e)
{
  client_record *c = client;

  switch (e->kind) {
  case EFFECT_LOCK_GRANTED:
    outages_are_past(c);
    claim_granted(e->context, e);
    break;
  case EFFECT_LOCK_FAILED:
    if (e->is_late || !degrade_takes_over(e->context, e->status))
      claim_failed(e->context, e->status, e->text);
    break;
  case EFFECT_HOLD_RENEWED:
    outages_are_past(c);
    renewed(e->context, e);
    break;
  case EFFECT_HOLD_SUSPECT:
    suspect(e->context);
    break;
  case EFFECT_HOLD_ENDS_SOON:
    watch_look(e->context);
    break;
  case EFFECT_HOLD_LOST:
    claim_lost(e->context, e);
    break;
  case EFFECT_RELEASED:
  case EFFECT_DETACHED:
    claim_released(e->context, e);
    break;
  case EFFECT_ANSWERED:
    question_answered(c, e->context, e);
    break;
  case EFFECT_OP_NEWS:
    wait_op_news(e);
    break;
  case EFFECT_OP_OVER:
    wait_op_over(e);
    break;
  case EFFECT_EVENT:
    client_event(c, (dibs_event_kind)e->event, e->node, e->text);
    break;
  case EFFECT_CONNECT:
  case EFFECT_DISCONNECT:
  case EFFECT_CLOSED:
    break;
  }
}

void api_cancelled(void *client, const dibs_canceller *canceller)
{
  client_record *c = client;

  /* Their effects follow from drive_flush(), so that the list does not change here. */
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->cancel == canceller && !degrade_cancel(cl) && !campaign_cancel(cl))
      (void)engine_cancel(drive_engine(c->drive), cl->id, drive_now());
  wait_cancelled(c, canceller);
}
