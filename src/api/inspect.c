/* SPDX-License-Identifier: MIT */
/* api/inspect.c - what the server knows of a name: its holders and its queue. */
#include "api/api.h"

#include <stddef.h>
#include <string.h>

#include "api/people.h"

/* Freed without a client, so that it carries its memory along. */
typedef struct inspection_box {
  memory memory;
  dibs_inspection inspection;
} inspection_box;

static inspection_box *box_of(dibs_inspection *inspection)
{
  return (inspection_box *)(void *)((char *)inspection -
                                    offsetof(inspection_box, inspection));
}

dibs_inspection *dibs_inspection_free(dibs_inspection *inspection)
{
  inspection_box *box;
  memory m;

  if (inspection == NULL)
    return NULL;
  box = box_of(inspection);
  m = box->memory;
  mem_free(&m, inspection->holders);
  mem_free(&m, inspection->waiters);
  mem_free(&m, inspection->name);
  mem_free(&m, box);
  return NULL;
}

/* ---- holders and waiters ---- */

static dibs_status answer_read(dibs_client *c, question *q, dibs_status status,
                               inspect_answer *ret_answer)
{
  if (status == DIBS_OK && !dialect_inspect_answer(&c->names, q->reply, ret_answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, "an answer to inspect of no known form");
  question_deinit(q);
  return status;
}

/* Some servers of a quorum may not have it: shown is what one says who knows a holder. */
static dibs_status others_ask(dibs_client *c, const script_command *k, inspect_answer *answer)
{
  for (size_t route = quorum_route_next(c, 0); route != SIZE_MAX && answer->holder_count == 0;
       route = quorum_route_next(c, route + 1)) {
    question q;
    dibs_status status = question_run_at(c, &q, route, &k->by_digest, &k->by_text);

    status = answer_read(c, &q, status, answer);
    if (status != DIBS_OK)
      return status;
  }
  return DIBS_OK;
}

static dibs_status answer_ask(dibs_client *c, const void *name, size_t size,
                              inspect_answer *ret_answer)
{
  script_command k;
  question q;
  dibs_status status;

  script_command_init(&k, c);
  status = script_command_run(c, &q, &k,
                       dialect_inspect(&c->names, &k.by_digest, false, name, size) &&
                         dialect_inspect(&c->names, &k.by_text, true, name, size));
  status = answer_read(c, &q, status, ret_answer);
  if (status == DIBS_OK && c->servers.kind == DEPLOYMENT_QUORUM)
    status = others_ask(c, &k, ret_answer);
  script_command_deinit(&k);
  return question_read_only(status);
}

static void party_fill(dibs_party *p, const char *client, char mode, uint64_t units,
                       int64_t since_us, int64_t now_us)
{
  text shown = text_over(p->client, sizeof(p->client));

  p->size = sizeof(*p);
  text_add(&shown, client);
  p->waited_ms = now_us > since_us ? (now_us - since_us) / 1000 : 0;
  p->mode = mode == 'r' ? DIBS_MODE_READ : mode == 'p' ? DIBS_MODE_PERMITS : DIBS_MODE_EXCLUSIVE;
  p->units = units <= UINT32_MAX ? (uint32_t)units : UINT32_MAX;
}

static void holder_fill(dibs_holder *h, const inspect_holder *seen, int64_t now_us)
{
  text lease = text_over(h->lease, sizeof(h->lease));
  bool tells_grant = seen->lease.token > 1;         /* tokens are times of grants */

  h->size = sizeof(*h);
  lease_id_write(&seen->lease, &lease);
  h->fence = tells_grant ? seen->lease.token * 1024 : 0;
  h->remaining_ms = seen->remaining_ms;
  h->lease_ms = seen->lease_ms;
  h->renewals = seen->renewals;
  h->since_unix_us = tells_grant ? (int64_t)seen->lease.token : 0;
  party_fill(&h->party, seen->lease.client, seen->mode, seen->units,
             tells_grant ? h->since_unix_us : now_us, now_us);
}

/* What was there before a name could have several holders tells of the first. */
static void first_holder_show(dibs_inspection *in)
{
  const dibs_holder *first = in->holders;

  in->holder.size = sizeof(in->holder);
  if (in->shown_holders == 0)
    return;
  in->is_held = true;
  in->remaining_ms = first->remaining_ms;
  in->lease_ms = first->lease_ms;
  in->renewals = first->renewals;
  in->since_unix_us = first->since_unix_us;
  memcpy(in->lease, first->lease, sizeof(in->lease));
  in->holder = first->party;
}

/* Redisson's fenced locks have tokens that are fences as they are. */
static uint64_t fence_shown(const native *n, uint64_t token)
{
  return n->dialect == DIALECT_REDISSON ? token : token * 1024;
}

static void counts_show(const native *n, dibs_inspection *in, const inspect_answer *a)
{
  static const dibs_kind kinds[] = {
    [NATIVE_MUTEX] = DIBS_KIND_MUTEX, [NATIVE_RWLOCK] = DIBS_KIND_RWLOCK,
    [NATIVE_SEMAPHORE] = DIBS_KIND_SEMAPHORE,
  };

  in->kind = kinds[a->kind];
  in->fence = fence_shown(n, a->last_token);
  in->limit = (uint32_t)a->limit;
  in->used = (uint32_t)a->used;
  in->generation = a->generation;
  in->holder_count = a->holder_count;
  in->waiter_count = a->waiter_count;
}

/* Room for all that is shown; false when memory is refused. */
static bool room_make(const memory *m, dibs_inspection *in, const inspect_answer *a)
{
  if (a->shown_holders > 0)
    in->holders = mem_zalloc(m, a->shown_holders * sizeof(*in->holders));
  if (a->shown > 0)
    in->waiters = mem_zalloc(m, a->shown * sizeof(*in->waiters));
  return (a->shown_holders == 0 || in->holders != NULL) &&
         (a->shown == 0 || in->waiters != NULL);
}

/* Programs of other libraries tell nothing of themselves: what they wrote is shown. */
static void owner_show(const native *n, dibs_party *p, uint64_t ask)
{
  text owner;

  if (p->host[0] != 0 || p->note[0] != 0)
    return;
  owner = text_over(p->note, sizeof(p->note));
  dialect_owner_show(n, p->client, ask, &owner);
}

static void owners_show(const native *n, dibs_inspection *in, const inspect_answer *a)
{
  for (size_t i = 0; i < in->shown_holders; i++)
    owner_show(n, &in->holders[i].party, a->holders[i].lease.ask);
  for (size_t i = 0; i < in->party_count; i++)
    owner_show(n, &in->waiters[i], a->waiters[i].ask);
}

static inspection_box *box_new(dibs_client *c, const void *name, size_t size,
                               const inspect_answer *a)
{
  const memory *m = &c->memory;
  inspection_box *box = mem_zalloc(m, sizeof(*box));
  dibs_inspection *in;

  if (box == NULL)
    return NULL;
  box->memory = *m;
  in = &box->inspection;
  in->size = sizeof(*in);
  in->name = mem_copy(m, name, size);
  in->name_size = size;
  if (!room_make(m, in, a) || in->name == NULL) {
    (void)dibs_inspection_free(in);
    return NULL;
  }
  counts_show(&c->names, in, a);
  for (size_t i = 0; i < a->shown_holders; i++)
    holder_fill(&in->holders[i], &a->holders[i], a->server_us);
  in->shown_holders = a->shown_holders;
  for (size_t i = 0; i < a->shown; i++)
    party_fill(&in->waiters[i], a->waiters[i].client, a->waiters[i].mode,
               a->waiters[i].units, a->waiters[i].queued_us, a->server_us);
  in->party_count = a->shown;
  return box;
}

/* ---- all ---- */

dibs_status inspect_name(dibs_client *c, const void *name, size_t size,
                         dibs_inspection **ret_inspection)
{
  inspect_answer *answer = mem_alloc(&c->memory, sizeof(*answer));
  inspection_box *box = NULL;
  dibs_status status;

  if (answer == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = answer_ask(c, name, size, answer);
  if (status == DIBS_OK) {
    box = box_new(c, name, size, answer);
    if (box == NULL)
      status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
    else
      people_add(c, &box->inspection, answer);
    if (box != NULL)
      owners_show(&c->names, &box->inspection, answer);
  }
  mem_free(&c->memory, answer);
  if (box == NULL)
    return status;
  first_holder_show(&box->inspection);
  *ret_inspection = &box->inspection;
  return DIBS_OK;
}

dibs_status dibs_inspect_bytes(dibs_client *c, const void *name, size_t name_size,
                               dibs_inspection **ret_inspection)
{
  dibs_status status = client_pin(c);
  const char *fault;

  if (status != DIBS_OK)
    return status;
  fault = name == NULL ? "name is NULL" : dialect_name_fault(&c->names, name, name_size);
  if (fault == NULL && ret_inspection == NULL)
    fault = "ret_inspection is NULL";
  status = fault != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, fault)
                         : inspect_name(c, name, name_size, ret_inspection);
  client_unpin(c);
  return status;
}

dibs_status dibs_inspect(dibs_client *c, const char *name, dibs_inspection **ret_inspection)
{
  return dibs_inspect_bytes(c, name, name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1),
                            ret_inspection);
}
