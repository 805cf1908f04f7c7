/* SPDX-License-Identifier: MIT */
/* api/local_claim.c - see local_claim.h. */
#include "api/local_claim.h"

#include <string.h>

#include "api/degrade.h"
#include "topo/topo.h"

/* ---- its parts ---- */

/* A request that needs replicas must not become a lock of this machine. */
static bool may_be_local(const claim *cl, const lock_spec *spec)
{
  return spec_is_mutex(spec) && cl->campaign == NULL &&
         (spec->min_replicas == 0 || spec->reports_replicas);
}

static uint16_t slot_of(const claim *cl)
{
  const protocol *names = &cl->client->names;
  char bytes[KEY_TEXT_SIZE];
  text key = text_over(bytes, sizeof(bytes));

  if (cl->client->servers.kind != DEPLOYMENT_CLUSTER)
    return 0;
  names->dialect->key(names, cl->name, cl->name_size, &key);
  return slot_of_key(key.at, key.used);
}

/* Names of the caller are borrowed for the call only. */
static void texts_copy(const claim *cl, local_claim *l, const lock_spec *spec)
{
  text note = text_over(l->note, sizeof(l->note));

  l->spec = *spec;
  l->spec.name = cl->name;
  l->spec.names = cl->name_count > 0 ? l->names : NULL;
  for (size_t i = 0; i < cl->name_count; i++) {
    const char *name;

    (void)claim_name(cl, i, &name, &l->names[i].size);
    l->names[i].name = name;
  }
  if (spec->owner_size > 0)
    memcpy(l->owner, spec->owner, spec->owner_size);
  l->spec.owner = l->owner;
  if (spec->note != NULL) {
    text_add(&note, spec->note);
    l->spec.note = l->note;
  }
}

dibs_status local_claim_prepare(claim *cl, const lock_spec *spec)
{
  size_t files = cl->name_count == 0 ? 1 : cl->name_count;
  local_claim *l;

  if (cl->client->local == NULL)
    return DIBS_OK;
  l = mem_zalloc(&cl->client->memory, sizeof(*l) + cl->name_count * sizeof(l->names[0]) +
                                      files * sizeof(local_lock));
  if (l == NULL)
    return DIBS_ERR_NO_MEMORY;
  lock_files_init(&l->files, (local_lock *)(void *)(l->names + cl->name_count), files);
  texts_copy(cl, l, spec);
  l->may_be_local = may_be_local(cl, spec);
  l->slot = l->may_be_local ? slot_of(cl) : 0;
  cl->local = l;
  return DIBS_OK;
}

void local_claim_free(claim *cl)
{
  if (cl->local == NULL)
    return;
  lock_files_end(cl, &cl->local->files, false);
  mem_free(&cl->client->memory, cl->local);
  cl->local = NULL;
}

void local_claim_let_go(claim *cl)
{
  if (!local_claim_is(cl, LOCAL_NOT))
    return;
  lock_files_end(cl, &cl->local->files, false);
  cl->local->lacks_files = false;
}

void local_claims_forked(client_record *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (cl->local != NULL)
      lock_files_end(cl, &cl->local->files, true);
}

/* ---- among the claims of the client ---- */

bool local_claim_is(const claim *cl, local_state state)
{
  return cl->local != NULL && cl->local->state == state;
}

bool local_claim_holds(const claim *cl, local_state state)
{
  return local_claim_is(cl, state) && cl->is_held && !cl->is_lost;
}

static bool same_name(const claim *a, const claim *b)
{
  return a->name_size == b->name_size && memcmp(a->name, b->name, a->name_size) == 0;
}

static bool same_owner(const claim *a, const claim *b)
{
  size_t size = a->local->spec.owner_size;

  return size > 0 && size == b->local->spec.owner_size &&
         memcmp(a->local->owner, b->local->owner, size) == 0;
}

claim *local_claim_outer(const claim *cl, local_state state)
{
  for (claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && local_claim_holds(other, state) && same_name(cl, other) &&
        same_owner(cl, other))
      return other;
  return NULL;
}

/* Inner and outer holds have copies of one descriptor. */
static bool has_copy(const claim *cl)
{
  for (const claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && local_claim_is(other, LOCAL_HELD) &&
        lock_files_are_open(&other->local->files) && same_name(cl, other))
      return true;
  return false;
}

void local_claim_end_files(claim *cl)
{
  lock_files_end(cl, &cl->local->files, cl->local->state == LOCAL_HELD && has_copy(cl));
}

void local_claim_lose(claim *cl, const char *message)
{
  effect e = { .status = DIBS_LOST, .text = message };
  char words[512];
  text shown = text_over(words, sizeof(words));
  const char *name;
  size_t size;

  if (claim_name(cl, 0, &name, &size))
    text_add_quoted(&shown, name, size);
  text_format(&shown, ": %s", message);
  cl->client->local->lost += cl->local->state == LOCAL_HELD;
  claim_lost(cl, &e);
  client_event(cl->client, DIBS_EVENT_LOST, "", words);
}
