/* SPDX-License-Identifier: MIT */
/* hold/claim_terms.c - what a claim keeps of its spec, and what few claims have besides. */
#include "hold/claim.h"

const claim_extras *extras_of(const claim_terms *terms)
{
  static const claim_extras none;

  return terms->extras != NULL ? terms->extras : &none;
}

claim_extras *claim_extras_reserve(claim *c)
{
  if (c->spec.extras != NULL)
    return c->spec.extras;
  c->spec.extras = mem_zalloc(&c->front->memory, sizeof(*c->spec.extras));
  if (c->spec.extras != NULL)
    c->backend->counts.bytes += sizeof(*c->spec.extras);
  return c->spec.extras;
}

void claim_terms_free(claim *c)
{
  const memory *m = &c->front->memory;

  if (c->spec.extras != NULL)
    c->backend->counts.bytes -= sizeof(*c->spec.extras);
  mem_free(m, c->spec.extras);
  mem_free(m, c->spec.note);
}

bool claim_terms_set(claim *c, const lock_spec *spec)
{
  claim_extras *extras;

  c->spec = (claim_terms){ .ttl = spec->ttl, .linger = spec->linger,
                           .give_up_at = spec->give_up_at, .kind = spec->kind,
                           .note = mem_copy_text(&c->front->memory, spec->note),
                           .reads = spec->reads, .is_try = spec->is_try,
                           .is_fixed = spec->is_fixed, .no_reentry = spec->no_reentry,
                           .is_part = spec->is_part, .blocks = spec->blocks };
  if (spec->note != NULL && c->spec.note == NULL)
    return false;
  if (spec->max_hold.ns == 0 && spec->warn.ns == 0 && spec->min_replicas == 0 &&
      !spec->wants_fsync && !spec->reports_replicas && spec->min_token == 0)
    return true;
  extras = claim_extras_reserve(c);
  if (extras == NULL)
    return false;
  *extras = (claim_extras){ .max_hold = spec->max_hold, .warn = spec->warn,
                            .replicas_wait = spec->replicas_wait, .min_token = spec->min_token,
                            .min_replicas = spec->min_replicas,
                            .wants_fsync = spec->wants_fsync,
                            .reports_replicas = spec->reports_replicas };
  return true;
}

lock_spec waiter_spec(const acquisition *a)
{
  const claim *c = a->waiting;
  const claim_terms *own = &c->spec;
  const claim_extras *extras = extras_of(own);

  return (lock_spec){ .context = c->context, .owner = c->owner, .owner_size = c->owner_size,
                      .units = 1, .ttl = own->ttl, .max_hold = extras->max_hold,
                      .warn = extras->warn, .linger = own->linger,
                      .replicas_wait = extras->replicas_wait, .give_up_at = own->give_up_at,
                      .min_token = extras->min_token, .note = own->note,
                      .min_replicas = extras->min_replicas, .kind = own->kind,
                      .reads = own->reads, .is_try = own->is_try, .is_fixed = own->is_fixed,
                      .no_reentry = own->no_reentry, .is_part = own->is_part,
                      .blocks = own->blocks, .wants_fsync = extras->wants_fsync,
                      .reports_replicas = extras->reports_replicas };
}
