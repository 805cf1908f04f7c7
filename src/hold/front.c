/* SPDX-License-Identifier: MIT */
/* hold/front.c - the calls of the program: what is the same for all backends. */
#include "hold/claim.h"

#include <assert.h>

void hold_front_add(hold_front *f, hold_backend *b)
{
  assert(f->backend_count < HOLD_BACKENDS_MAX);
  f->backends[f->backend_count++] = b;
}

static hold_backend *backend_for(const hold_front *f, const lock_spec *spec)
{
  size_t i = 0;

  while (f->backends[i]->ops->takes != NULL && !f->backends[i]->ops->takes(f->backends[i], spec))
    i++;
  return f->backends[i];
}

dibs_status hold_claim(hold_front *f, const lock_spec *spec, instant now, uint64_t *ret_id)
{
  hold_backend *b = backend_for(f, spec);
  claim *c = claim_make(f, b, spec, now);
  dibs_status status;

  if (c == NULL)
    return DIBS_ERR_NO_MEMORY;
  *ret_id = c->id;
  status = b->ops->place(b, c, spec, now);
  if (status != DIBS_OK)
    (void)claim_unmake(c);
  return status;
}

bool hold_fail(hold_front *f, uint64_t id, dibs_status status, const char *words, instant now)
{
  claim *c = claim_of(f, id);
  text copy = text_over(f->fault_words, sizeof(f->fault_words));

  if (c == NULL || c->state != CLAIM_WAITING)
    return false;
  text_add(&copy, words);
  c->backend->ops->fail(c, status, f->fault_words, now);
  return true;
}

bool hold_cancel(hold_front *f, uint64_t id, instant now)
{
  return hold_fail(f, id, DIBS_CANCELLED, "cancelled", now);
}

/* A claim that holds, or has lost its hold; NULL: neither. */
static claim *held(const hold_front *f, uint64_t id)
{
  claim *c = claim_of(f, id);

  return c != NULL && (c->state == CLAIM_HELD || c->state == CLAIM_LOST) ? c : NULL;
}

static void end_lost(claim *c, lock_event_kind kind)
{
  acquisition *a = c->of;
  const hold_ops *ops = c->backend->ops;

  claim_end(c, kind, c->status);
  ops->forget(a);
}

const char *hold_refusal(const hold_front *f, uint64_t id)
{
  const claim *c = claim_of(f, id);

  return c != NULL && c->state == CLAIM_RELEASING ? c->words : NULL;
}

void hold_add_why(const hold_front *f, uint64_t id, const char *before, text *out)
{
  const claim *c = held(f, id);

  if (c == NULL)
    return;
  if (c->state == CLAIM_HELD) {
    c->backend->ops->add_why(c, before, out);
  } else if (c->words != NULL) {
    text_add(out, before);
    text_add(out, c->words);
  }
}

dibs_status hold_release(hold_front *f, uint64_t id, instant now)
{
  claim *c = held(f, id);

  if (c == NULL)
    return DIBS_ERR_STALE;
  if (c->state == CLAIM_LOST)
    end_lost(c, LOCK_RELEASED);
  else
    c->backend->ops->release(c, now);
  return DIBS_OK;
}

dibs_status hold_detach(hold_front *f, uint64_t id, instant now)
{
  claim *c = held(f, id);

  if (c == NULL)
    return DIBS_ERR_STALE;
  if (c->backend->ops->detach == NULL)
    return DIBS_ERR_UNSUPPORTED;
  if (c->state == CLAIM_HELD)
    return c->backend->ops->detach(c, now);
  end_lost(c, LOCK_DETACHED);
  return DIBS_OK;
}

dibs_status hold_downgrade(hold_front *f, uint64_t id, instant now)
{
  claim *c = held(f, id);

  if (c == NULL)
    return DIBS_ERR_STALE;
  if (c->spec.kind != LOCK_RWLOCK)
    return DIBS_ERR_ARGUMENT;
  if (c->state == CLAIM_LOST)
    return DIBS_LOST;
  if (c->spec.reads)
    return DIBS_OK;
  if (holders_write(c->of, c))
    return DIBS_ERR_ARGUMENT;
  c->spec.reads = true;
  c->backend->ops->downgrade(c->of, now);
  return DIBS_OK;
}

static claim *holding(const hold_front *f, uint64_t id)
{
  claim *c = claim_of(f, id);

  return c != NULL && c->state == CLAIM_HELD ? c : NULL;
}

/* A claim that holds nothing has no token that could be given out. */
bool hold_keep_alone(hold_front *f, uint64_t id)
{
  claim *c = holding(f, id);

  if (c == NULL)
    return true;
  return c->backend->ops->keep_alone != NULL && c->backend->ops->keep_alone(c);
}

bool hold_token(const hold_front *f, uint64_t id, text *out)
{
  const claim *c = holding(f, id);

  return c != NULL && c->backend->ops->token != NULL && c->backend->ops->token(c, out);
}

bool hold_is_one_lease(const hold_front *f, uint64_t id)
{
  const claim *c = claim_of(f, id);
  const hold_backend *b = c != NULL ? c->backend : f->backends[f->backend_count - 1];

  return b->ops->token != NULL;
}

dibs_status hold_raise(hold_front *f, uint64_t id, uint64_t token, instant now)
{
  claim *c = holding(f, id);

  return c != NULL ? c->backend->ops->raise(c, token, now) : DIBS_ERR_STALE;
}

void hold_limit(hold_front *f, uint64_t id, instant limit, bool is_fixed)
{
  claim *c = holding(f, id);

  if (c != NULL)
    c->backend->ops->limit(c, limit, is_fixed);
}

void hold_check_now(hold_front *f, uint64_t id)
{
  claim *c = holding(f, id);

  if (c != NULL && c->backend->ops->check != NULL)
    c->backend->ops->check(c);
}

bool hold_park(hold_front *f, uint64_t id, instant now, bool *ret_sends)
{
  claim *c = holding(f, id);

  return c != NULL && c->backend->ops->park != NULL && c->backend->ops->park(c, now, ret_sends);
}

bool hold_retake(hold_front *f, uint64_t id, const void *owner, size_t owner_size, instant now,
                 hold_retaken *ret)
{
  claim *c = claim_of(f, id);

  return c != NULL && c->state == CLAIM_PARKED &&
         c->backend->ops->retake(c, owner, owner_size, now, ret);
}

bool hold_wait_is_reported(const hold_front *f, uint64_t id)
{
  const claim *c = claim_of(f, id);

  return c != NULL && c->state == CLAIM_WAITING && c->is_reported;
}

/* ---- the backends ---- */

instant hold_deadline(const hold_front *f)
{
  instant first = INSTANT_NEVER;

  for (size_t i = 0; i < f->backend_count; i++)
    if (f->backends[i]->ops->tick != NULL)
      first = instant_min(first, f->backends[i]->ops->deadline(f->backends[i]));
  return first;
}

void hold_tick(hold_front *f, instant now)
{
  for (size_t i = 0; i < f->backend_count; i++)
    if (f->backends[i]->ops->tick != NULL)
      f->backends[i]->ops->tick(f->backends[i], now);
}

void hold_close(hold_front *f, instant now)
{
  for (size_t i = 0; i < f->backend_count; i++)
    f->backends[i]->ops->close(f->backends[i], now);
}

bool hold_is_quiet(const hold_front *f)
{
  for (size_t i = 0; i < f->backend_count; i++)
    if (!f->backends[i]->ops->is_quiet(f->backends[i]))
      return false;
  return true;
}

/* The last backend takes all kinds of claims; those before it get their leases from it. */
static const hold_backend *last(const hold_front *f)
{
  return f->backends[f->backend_count - 1];
}

bool hold_next_name(const hold_front *f, lock_name_at *at, lock_name *ret_name)
{
  return last(f)->ops->next_name(last(f), at, ret_name);
}

lock_counts hold_counts(const hold_front *f)
{
  return last(f)->counts;
}
