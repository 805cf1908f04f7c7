/* SPDX-License-Identifier: MIT */
/* api/claim.c - acquisitions: their memory, handles and lists. */
#include "api/api.h"
#include "api/degrade.h"
#include "api/campaign.h"

#include <string.h>
#include <utlist.h>

#include "base/descriptor.h"

/* Of several names, which may have any bytes: its size before each, and a zero after it. */
typedef uint16_t stored_size;

static void names_copy(claim *cl, const lock_spec *spec)
{
  char *at = cl->name;

  cl->name_count = spec->name_count;
  for (size_t i = 0; i < spec->name_count; i++) {
    stored_size size = (stored_size)spec->names[i].size;

    memcpy(at, &size, sizeof(size));
    memcpy(at + sizeof(size), spec->names[i].name, size);
    at += sizeof(size) + size + 1;
  }
}

claim *claim_new(client_record *c, const lock_spec *spec)
{
  size_t size = 0;
  claim *cl;

  for (size_t i = 0; spec_is_many(spec) && i < spec->name_count; i++)
    size += sizeof(stored_size) + spec->names[i].size + 1;
  if (!spec_is_many(spec))
    size = spec->name_size + 1;
  cl = mem_zalloc(&c->memory, sizeof(*cl) + size);
  if (cl == NULL)
    return NULL;
  cl->client = c;
  if (spec_is_many(spec)) {
    names_copy(cl, spec);
  } else {
    cl->name_size = spec->name_size;
    memcpy(cl->name, spec->name, spec->name_size);
  }
  /* Created now, so that a granted lease always has a handle. */
  cl->hold = handle_new(HANDLE_HOLD, cl, c->handle_word);
  if (cl->hold == NULL)
    return claim_free(cl);
  return cl;
}

bool claim_name(const claim *cl, size_t index, const char **ret_name, size_t *ret_size)
{
  const char *at = cl->name;
  stored_size size;

  if (index >= (cl->name_count == 0 ? 1 : cl->name_count))
    return false;
  if (cl->name_count == 0) {
    *ret_name = cl->name;
    *ret_size = cl->name_size;
    return true;
  }
  for (size_t i = 0; i < index; i++) {
    memcpy(&size, at, sizeof(size));
    at += sizeof(size) + size + 1;
  }
  memcpy(&size, at, sizeof(size));
  *ret_name = at + sizeof(size);
  *ret_size = size;
  return true;
}

claim *claim_free(claim *cl)
{
  const memory *m;

  if (cl == NULL)
    return NULL;
  claim_end_hold(cl);
  claim_end_request(cl);
  retake_forget(cl);
  m = &cl->client->memory;
  outcome_clear(&cl->asked);
  outcome_clear(&cl->end);
  outcome_clear(&cl->loss);
  cl->campaign = campaign_free(m, cl->campaign);
  local_claim_free(cl);
  mem_free(m, cl);
  return NULL;
}

void claim_end_hold(claim *cl)
{
  int fd;

  if (cl->hold == NULL)
    return;
  fd = atomic_exchange(&cl->hold->fd, -1);
  if (fd >= 0)
    descriptor_close(fd);
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
  client_record *c = cl->client;

  DL_PREPEND2(c->first_claim, cl, previous, next);
}

void claim_fault_add(const client_record *c, dibs_status status, text *why)
{
  if (status == DIBS_ERR_UNSUPPORTED) {
    text_add(why, "a quorum takes one name at a time: several names in one call (--multi), and "
                  "linger_ms, need one server or a Cluster");
  } else if (status != DIBS_ERR_LIMIT) {
    text_add(why, dibs_status_text(status));
  } else {
    text_add(why, "this client has ");
    text_add_uint(why, engine_get_stats(drive_engine(c->drive)).names);
    text_add(why, " names in memory, and its names_max is ");
    text_add_uint(why, c->names_max);
    text_add(why, "; release one, or open the client with more");
  }
}

dibs_status claim_fault(client_record *c, dibs_status status)
{
  char words[160];
  text why = text_over(words, sizeof(words));

  claim_fault_add(c, status, &why);
  return client_fault(c, status, words);
}

static dibs_status cancel_watch(claim *cl, dibs_canceller *cancel)
{
  client_record *c = cl->client;
  dibs_status status;

  if (cancel == NULL)
    return DIBS_OK;
  status = drive_watch(c->drive, cancel);
  if (status != DIBS_OK)
    return client_fault(c, status, "a canceller cannot be watched");
  cl->cancel = cancel;
  if (!canceller_has_fired(cancel))            /* after watching: no gap */
    return DIBS_OK;
  claim_unwatch(cl);
  return DIBS_CANCELLED;
}

static dibs_status claim_ask(claim *cl, lock_spec *spec, instant now)
{
  if (degrade_begin(cl))
    return DIBS_OK;
  return engine_lock(drive_engine(cl->client->drive), spec, now, &cl->id);
}

dibs_status claim_start(claim *cl, lock_call *call)
{
  client_record *c = cl->client;
  lock_spec *spec = &call->spec;
  instant now = drive_now();
  dibs_status status;

  cl->may_not_wait = !spec->is_try && call->wait_ms == 0;
  spec->context = cl;
  spec->is_try = spec->is_try || cl->may_not_wait;
  spec->give_up_at = INSTANT_NEVER;
  if (spec->is_try)
    spec->give_up_at = client_give_up_at(c);
  else if (call->wait_ms != DIBS_FOREVER)
    spec->give_up_at = instant_add(now, span_ms(call->wait_ms));
  status = local_claim_prepare(cl, spec);
  if (status == DIBS_OK) {
    claim_list_join(cl);
    status = claim_ask(cl, spec, now);
    if (status == DIBS_OK) {
      noting_began(cl, spec, now);
      watch_start(cl, call);
      return DIBS_OK;
    }
    DL_DELETE2(cl->client->first_claim, cl, previous, next);
  }
  claim_unwatch(cl);
  drive_flush(c->drive);
  return status;
}

dibs_status claim_begin(claim *cl, lock_call *call)
{
  dibs_status status = cancel_watch(cl, call->cancel);

  if (status != DIBS_OK)
    return status;
  status = claim_start(cl, call);
  return status == DIBS_OK ? DIBS_OK : claim_fault(cl->client, status);
}

void claim_settle(claim *cl)
{
  if (!cl->is_over || cl->jobs > 0 || cl->taker != NULL || cl->releaser != NULL ||
      cl->call != NULL)
    return;
  DL_DELETE2(cl->client->first_claim, cl, previous, next);
  claim_unwatch(cl);
  (void)claim_free(cl);
}

void claim_queue(claim *cl, drive_job *job)
{
  cl->jobs++;
  drive_call_later(cl->client->drive, job);
}

/* Holds of one owner that share a lease have the same fence. */
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
