/* SPDX-License-Identifier: MIT */
/* api/retake.c - takes a lock whose lease is parked again, and parks it, without the ways of
 * an acquisition: nothing is allocated, sent, or asked of the timers.
 *
 * The claim and its handle stay with the parked lease; only the generation of the handle, the
 * fence and the owner change. Options are not checked twice: they are the bytes with which
 * the claim was made. Whatever is different goes the ordinary way, which finds the lease
 * parked and takes it, too. */
#include "api/api.h"
#include "base/hash.h"

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include <string.h>

/* uthash allocates from the client's memory functions too; `c` is in scope at each use. */
#undef uthash_malloc
#undef uthash_free
#define uthash_malloc(bytes) mem_alloc(&c->memory, (bytes))
#define uthash_free(pointer, bytes) mem_free(&c->memory, (pointer))

/* Of a claim: it is in the table of the client from the first time it is parked. */
struct parking {
  UT_hash_handle by_name;
  claim *claim;
  bool is_listed, has_owner;
  dibs_lock_options options;
};

typedef struct parking parking;

/* Options that refer to memory of the program are read each time; data to be freed belongs to one
 * call. */
static bool may_be_the_same(const dibs_lock_options *o)
{
  return o != NULL && o->size == sizeof(*o) && o->linger_ms != 0 && o->owner == NULL &&
         o->cancel == NULL && o->note == NULL && o->min_replicas == 0 && o->max_hold_ms == 0 &&
         o->on_lost_free == NULL && o->on_change == NULL && o->on_change_free == NULL;
}

void retake_prepare(claim *cl, const lock_call *call, const dibs_lock_options *options)
{
  client_record *c = cl->client;
  parking *p;

  if (!may_be_the_same(options) || call->value != NULL || !spec_is_mutex(&call->spec) ||
      cl->name_count > 0 || c->local != NULL || (c->flags & DIBS_CLIENT_DETECT_DEADLOCK) != 0)
    return;
  p = mem_zalloc(&c->memory, sizeof(*p));
  if (p == NULL)
    return;
  p->claim = cl;
  p->has_owner = call->spec.owner_size > 0;
  p->options = *options;
  cl->parking = p;
  atomic_store(&cl->hold->may_park, true);
}

/* ---- the table ---- */

static parking *find(const client_record *c, const void *name, size_t size)
{
  unsigned hash = hash_in_memory(name, size);
  parking *p = NULL;

  HASH_FIND_BYHASHVALUE(by_name, c->parkings, name, size, hash, p);
  return p;
}

static void unlist(client_record *c, parking *p)
{
  if (!p->is_listed)
    return;
  HASH_DELETE(by_name, c->parkings, p);
  p->is_listed = false;
  atomic_fetch_sub(&c->parking_count, 1);
}

/* false: no memory. An older claim of this name has ended, or is about to. */
static bool list(client_record *c, parking *p)
{
  const claim *cl = p->claim;
  unsigned hash;
  parking *older;

  if (p->is_listed)
    return true;
  hash = hash_in_memory(cl->name, cl->name_size);
  older = find(c, cl->name, cl->name_size);
  if (older != NULL)
    unlist(c, older);
  HASH_ADD_KEYPTR_BYHASHVALUE(by_name, c->parkings, cl->name, cl->name_size, hash, p);
  if (p->by_name.tbl == NULL)
    return false;
  p->is_listed = true;
  atomic_fetch_add(&c->parking_count, 1);
  return true;
}

void retake_forget(claim *cl)
{
  client_record *c = cl->client;

  if (cl->parking == NULL)
    return;
  unlist(c, cl->parking);
  mem_free(&c->memory, cl->parking);
  cl->parking = NULL;
}

/* ---- release ---- */

/* Mutex held. The time is read here, and once: another thread may have had the mutex for long. */
static bool park(claim *cl)
{
  client_record *c = cl->client;
  instant now = drive_now();
  bool sends = false;

  if (cl->parking == NULL || !cl->is_held || cl->is_lost || cl->jobs > 0 ||
      atomic_load(&cl->hold->fd) >= 0 || !handle_has_next(cl->hold) || !list(c, cl->parking) ||
      !engine_park(drive_engine(c->drive), cl->id, now, &sends))
    return false;
  cl->is_held = false;
  noting_ended(cl, &(outcome){ .status = DIBS_OK }, false, now);
  handle_renew(cl->hold);
  if (sends)
    drive_flush(c->drive);
  return true;
}

bool retake_release(const dibs_hold *hold)
{
  handle *client, *h = drive_is_busy() ? NULL : handle_pin_client_if_parks(hold, &client);
  client_record *c;
  bool is_parked = false;

  if (h == NULL)
    return false;
  if (atomic_load(&client->epoch) == fork_epoch()) {
    c = client->owner;
    drive_lock(c->drive);
    is_parked = !c->is_closing && handle_is(h, hold, HANDLE_HOLD) && park(h->owner);
    drive_unlock(c->drive);
    if (is_parked)
      (void)fault_end(c->handle_word, DIBS_OK);
  }
  handle_unpin(client);
  return is_parked;
}

/* ---- lock ---- */

/* Mutex held. */
static bool take(parking *p, dibs_hold **ret_hold)
{
  claim *cl = p->claim;
  handle *h = cl->hold;
  char owner[OWNER_KEY_MAX];
  size_t owner_size = p->has_owner ? owner_of_thread(owner) : 0;
  instant now = drive_now(), valid_until;
  uint64_t fence;

  if (cl->is_held || h == NULL ||
      !engine_retake(drive_engine(cl->client->drive), cl->id, owner, owner_size, now,
                     &fence, &valid_until))
    return false;
  cl->is_held = true;
  noting_retaken(cl, fence, now);
  fact_set(&h->fence, fence);
  fact_set(&h->valid_until_ns, valid_until.ns);
  fact_set(&h->condition, DIBS_HOLD_HELD);
  cl->granted_hold = handle_value(h);
  *ret_hold = cl->granted_hold;
  return true;
}

bool retake(dibs_client *client, const void *name, size_t name_size,
            const dibs_lock_options *options, dibs_hold **ret_hold)
{
  client_record *c;
  parking *p;
  bool is_taken = false;

  if (options == NULL || options->size != sizeof(*options) || options->linger_ms == 0 ||
      name == NULL || name_size > DIBS_NAME_MAX || ret_hold == NULL || drive_is_in_callback() ||
      drive_is_busy() || client_look(client, &c) != DIBS_OK)
    return false;
  if (atomic_load(&c->parking_count) == 0) {
    client_unlook(c);
    return false;
  }
  drive_lock(c->drive);
  p = c->is_closing ? NULL : find(c, name, name_size);
  /* Padding that differs costs the short way only. */
  is_taken = p != NULL && /* NOLINTNEXTLINE(bugprone-suspicious-memory-comparison) */
             memcmp(&p->options, options, sizeof(*options)) == 0 &&
             take(p, ret_hold);
  drive_unlock(c->drive);
  if (is_taken)
    (void)fault_end(c->handle_word, DIBS_OK);
  client_unlook(c);
  return is_taken;
}
