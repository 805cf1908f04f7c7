/* SPDX-License-Identifier: MIT */
/* api/effects.c - what the engine decided, told to callers, holds and callbacks. All of it
 * runs with the mutex held. */
#include "api/wait.h"
#include "api/degrade.h"
#include "api/leading.h"

#include <string.h>
#include <unistd.h>

static void waiter_done(claim *cl)
{
  if (cl->waiter != NULL)
    drive_waiter_done(cl->client->drive, cl->waiter);
}

static void fd_ring(claim *cl)
{
  uint64_t one = 1;
  int fd = cl->hold == NULL ? -1 : atomic_load(&cl->hold->fd);

  if (fd >= 0)
    (void)!write(fd, &one, sizeof(one));      /* it is full only if it rang before */
}

/* ---- a request ends ---- */

void claim_lock_ended(claim *cl, dibs_status status)
{
  cl->status = cl->lock_status = status;
  claim_unwatch(cl);
  claim_end_request(cl);
  if (cl->on_lock != NULL)
    claim_queue(cl, &cl->lock_job);
  waiter_done(cl);
}

/* Servers of a quorum are counted likewise, but mean more. */
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

void claim_granted(claim *cl, const effect *e)
{
  handle *h = cl->hold;

  cl->is_held = true;
  atomic_store(&h->fence, e->fence);
  atomic_store(&h->depth, e->depth);
  atomic_store(&h->units, (uint32_t)e->units);
  atomic_store(&h->durability, durability_of(cl, e));
  atomic_store(&h->valid_until_ns, e->valid_until.ns);
  atomic_store(&h->condition, DIBS_HELD);
  cl->granted_hold = handle_value(h);
  if (e->depth > 1)
    claim_depths(cl);
  if (!leading_is_to_tell(cl))
    claim_lock_ended(cl, DIBS_OK);
}

void claim_failed(claim *cl, dibs_status status, const char *words)
{
  cl->is_over = true;
  claim_end_hold(cl);
  claim_lock_ended(cl, client_fault(cl->client, status, words));
  claim_settle(cl);
}

/* ---- a hold lives ---- */

static void renewed(claim *cl, const effect *e)
{
  if (cl->hold == NULL || cl->is_lost)
    return;
  atomic_store(&cl->hold->valid_until_ns, e->valid_until.ns);
  atomic_store(&cl->hold->condition, DIBS_HELD);
  leading_renewed(cl);
}

static void suspect(const claim *cl)
{
  if (cl->hold != NULL && !cl->is_lost)
    atomic_store(&cl->hold->condition, DIBS_SUSPECT);
}

void claim_lost(claim *cl, const effect *e)
{
  cl->is_lost = true;
  cl->lost_why = e->status;
  if (cl->hold == NULL)
    return;                              /* being released: told by that */
  atomic_store(&cl->hold->condition, DIBS_GONE);
  fd_ring(cl);
  if (cl->on_lost != NULL) {
    cl->lost_hold = handle_value(cl->hold);
    claim_queue(cl, &cl->lost_job);
  }
}

void claim_released(claim *cl, const effect *e)
{
  cl->is_over = true;
  cl->status = client_fault(cl->client, e->status, e->text);
  claim_end_hold(cl);                    /* no effect after a release; a detach may be first */
  if (cl->on_release != NULL)
    claim_queue(cl, &cl->release_job);
  waiter_done(cl);
  claim_settle(cl);
}

/* ---- events ---- */

typedef struct event_job {
  drive_job job;
  dibs_client *client;
  int kind;
  char text[256];
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

void client_event(dibs_client *c, dibs_event_kind kind, const char *words)
{
  event_job *job;
  text shown;

  if (c->on_event == NULL)
    return;
  job = mem_alloc(&c->memory, sizeof(*job));
  if (job == NULL)
    return;                              /* events inform; nothing depends on them */
  *job = (event_job){ .job = { .run = event_run, .finish = event_finish },
                      .client = c, .kind = (int)kind };
  shown = text_over(job->text, sizeof(job->text));
  text_add(&shown, words);
  drive_call_later(c->drive, &job->job);
}

/* ---- all ---- */

void api_effect(void *client, const effect *e)
{
  dibs_client *c = client;

  switch (e->kind) {
  case EFFECT_LOCK_GRANTED:
    claim_granted(e->context, e);
    break;
  case EFFECT_LOCK_FAILED:
    if (!degrade_takes_over(e->context, e->status))
      claim_failed(e->context, e->status, e->text);
    break;
  case EFFECT_HOLD_RENEWED:
    renewed(e->context, e);
    break;
  case EFFECT_HOLD_SUSPECT:
    suspect(e->context);
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
  case EFFECT_OBSERVED:
    wait_observed(c, e);
    break;
  case EFFECT_EVENT:
    client_event(c, (dibs_event_kind)e->event, e->text);
    break;
  case EFFECT_CONNECT:
  case EFFECT_DISCONNECT:
  case EFFECT_CLOSED:
    break;
  }
}

void api_cancelled(void *client, const dibs_canceller *canceller)
{
  dibs_client *c = client;

  /* The effects come later, from drive_settle(), so that the list stays as it is. */
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->cancel == canceller && !degrade_cancel(cl))
      (void)engine_cancel(drive_engine(c->drive), cl->id, drive_now());
  wait_cancelled(c, canceller);
}
