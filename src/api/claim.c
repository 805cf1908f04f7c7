/* SPDX-License-Identifier: MIT */
/* api/claim.c - acquisitions: their memory, handles and lists. */
#include "api/api.h"
#include "api/degrade.h"
#include "api/leading.h"

#include <string.h>
#include <unistd.h>

claim *claim_new(dibs_client *c, const void *name, size_t name_size)
{
  claim *cl = mem_zalloc(&c->memory, sizeof(*cl) + name_size);

  if (cl == NULL)
    return NULL;
  cl->client = c;
  cl->name_size = name_size;
  memcpy(cl->name, name, name_size);
  /* Made now, so that a granted lease never lacks one. */
  cl->hold = handle_new(HANDLE_HOLD, cl, c->handle_word);
  if (cl->hold == NULL)
    return claim_free(cl);
  return cl;
}

claim *claim_free(claim *cl)
{
  memory m;

  if (cl == NULL)
    return NULL;
  claim_end_hold(cl);
  claim_end_request(cl);
  m = cl->client->memory;
  cl->leading = leading_free(&m, cl->leading);
  degrade_free(cl);
  mem_free(&m, cl);
  return NULL;
}

void claim_end_hold(claim *cl)
{
  int fd;

  if (cl->hold == NULL)
    return;
  fd = atomic_exchange(&cl->hold->fd, -1);
  if (fd >= 0)
    (void)close(fd);
  handle_end(cl->hold);
  cl->hold = NULL;
}

void claim_end_request(claim *cl)
{
  if (cl->request != NULL)
    handle_end(cl->request);
  cl->request = NULL;
}

void claim_unwatch(claim *cl)
{
  if (cl->cancel != NULL)
    drive_unwatch(cl->client->drive, cl->cancel);
  cl->cancel = NULL;
}

void claim_list_join(claim *cl)
{
  dibs_client *c = cl->client;

  cl->next = c->first_claim;
  if (cl->next != NULL)
    cl->next->previous = cl;
  c->first_claim = cl;
}

static void list_leave(claim *cl)
{
  if (cl->previous != NULL)
    cl->previous->next = cl->next;
  else
    cl->client->first_claim = cl->next;
  if (cl->next != NULL)
    cl->next->previous = cl->previous;
}

static dibs_status begin_fault(dibs_client *c, dibs_status status)
{
  char words[160];
  text why = text_over(words, sizeof(words));

  if (status != DIBS_ERR_LIMIT)
    return client_fault(c, status, "the request could not be begun");
  text_add(&why, "this client has ");
  text_add_uint(&why, engine_get_stats(drive_engine(c->drive)).names);
  text_add(&why, " names in memory, and its names_max is ");
  text_add_uint(&why, c->names_max);
  text_add(&why, "; release one, or open the client with more");
  return client_fault(c, status, words);
}

dibs_status claim_begin(claim *cl, const lock_target *target, const lock_plan *plan,
                        bool is_try)
{
  dibs_client *c = cl->client;
  instant now = drive_now();
  lock_request r = { .context = cl, .kind = target->kind, .name = cl->name,
                     .name_size = cl->name_size, .names = target->names,
                     .name_count = target->name_count, .units = target->units,
                     .linger = plan->linger_ms == DIBS_LINGER_AUTO ? LINGER_AUTO
                                                                   : span_ms(plan->linger_ms),
                     .flavour = plan->flavour,
                     .owner = plan->owner, .owner_size = plan->owner_size,
                     .is_try = is_try, .is_fixed = plan->is_fixed,
                     .no_reentry = plan->no_reentry,
                     .blocks = cl->on_lock == NULL, .ttl = span_ms(plan->ttl_ms),
                     .max_hold = span_ms(plan->max_hold_ms), .give_up_at = INSTANT_NEVER,
                     .note = plan->note, .min_replicas = plan->min_replicas,
                     .replicas_wait = span_ms(plan->replicas_wait_ms),
                     .wants_fsync = plan->wants_fsync,
                     .reports_replicas = plan->reports_replicas };
  dibs_status status;

  if (plan->cancel != NULL) {
    status = drive_watch(c->drive, plan->cancel);
    if (status != DIBS_OK)
      return client_fault(c, status, "a canceller cannot be watched");
    cl->cancel = plan->cancel;
  }
  if (canceller_has_fired(plan->cancel)) {     /* after watching: no gap in between */
    claim_unwatch(cl);
    return DIBS_CANCELLED;
  }
  if (plan->wait_ms > 0 && !is_try)
    r.give_up_at = instant_add(now, span_ms(plan->wait_ms));
  cl->on_lost = plan->on_lost;
  cl->on_lost_data = plan->on_lost_data;
  status = degrade_prepare(cl, &r);
  if (status == DIBS_OK) {
    claim_list_join(cl);
    if (degrade_begin(cl))
      return DIBS_OK;
    status = engine_lock(drive_engine(c->drive), &r, now, &cl->id);
    if (status == DIBS_OK)
      return DIBS_OK;
    list_leave(cl);
  }
  claim_unwatch(cl);
  drive_settle(c->drive);
  return begin_fault(c, status);
}

void claim_settle(claim *cl)
{
  if (!cl->is_over || cl->jobs > 0 || cl->waiter != NULL)
    return;
  list_leave(cl);
  claim_unwatch(cl);
  (void)claim_free(cl);
}

void claim_queue(claim *cl, drive_job *job)
{
  cl->jobs++;
  drive_call_later(cl->client->drive, job);
}

/* Holds of one owner that share a lease have its fence. */
static bool shares(const claim *a, const claim *b, uint64_t fence)
{
  return b->is_held && b->hold != NULL && atomic_load(&b->hold->fence) == fence &&
         a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0;
}

void claim_depths(claim *cl)
{
  uint64_t fence;
  int count = 0;

  if (cl->hold == NULL)
    return;
  fence = atomic_load(&cl->hold->fence);
  for (const claim *other = cl->client->first_claim; other != NULL; other = other->next)
    count += shares(cl, other, fence);
  for (claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (shares(cl, other, fence))
      atomic_store(&other->hold->depth, count);
}
