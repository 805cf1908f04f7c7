/* SPDX-License-Identifier: MIT */
/* api/inspect.c - what the server stores about a name: its holders and its queue. */
#include "api/question.h"

#include <string.h>

#include "api/party_info.h"
#include "base/fence.h"

/* Begins with the program's dibs_inspection. Has its own memory functions: it is freed without a
 * client. */
typedef struct inspection_box {
  dibs_inspection inspection;
  memory memory;
  dibs_party no_holder;            /* of a free name */
  dibs_party *parties;             /* of the holders shown, then of the waiters shown */
  dibs_holder *holders;
  const dibs_holder **shown_holders;
  const dibs_party **shown_waiters;
} inspection_box;

dibs_inspection *dibs_inspection_free(dibs_inspection *inspection)
{
  inspection_box *box = (inspection_box *)(void *)inspection;
  const memory *m;

  if (box == NULL)
    return NULL;
  m = &box->memory;
  mem_free(m, box->parties);
  mem_free(m, box->holders);
  mem_free(m, box->shown_holders);
  mem_free(m, box->shown_waiters);
  mem_free(m, inspection->name);
  mem_free(m, box);
  return NULL;
}

/* ---- holders and waiters ---- */

#define UNKNOWN_FORM "unexpected reply to the script inspect"

static bool reply_read(const client_record *c, const question *q, inspect_answer *ret_answer)
{
  bool is_read = c->names.dialect->inspect_answer(q->reply, ret_answer);

  ret_answer->wall_us = q->wall_us;
  return is_read;
}

static dibs_status answer_read(client_record *c, question *q, dibs_status status,
                               inspect_answer *ret_answer)
{
  if (status == DIBS_OK && !reply_read(c, q, ret_answer))
    status = client_refuse(c, DIBS_ERR_PROTOCOL, UNKNOWN_FORM);
  question_deinit(q);
  return status;
}

/* In dialects whose holders may have another owner at each server. */
static void first_with_holder(const inspect_answer *answers, size_t count,
                              inspect_answer *ret_answer)
{
  size_t i = 0;

  while (i + 1 < count && answers[i].holder_count == 0)
    i++;
  *ret_answer = answers[i];
}

static dibs_status quorum_answers_read(client_record *c, const question *questions, size_t count,
                                       inspect_answer *answers, inspect_answer *ret_answer)
{
  size_t answered = 0;

  for (size_t i = 0; i < count; i++) {
    if (questions[i].reply == NULL)
      continue;
    if (!reply_read(c, &questions[i], &answers[answered]))
      return client_refuse(c, DIBS_ERR_PROTOCOL, UNKNOWN_FORM);
    answered++;
  }
  if (c->names.dialect == &native_dialect)
    inspect_majority(answers, answered, count - answered, ret_answer);
  else
    first_with_holder(answers, answered, ret_answer);
  return DIBS_OK;
}

static dibs_status quorum_read(client_record *c, const request *k, instant until,
                               inspect_answer *ret_answer)
{
  question *questions;
  size_t count;
  dibs_status status = quorum_ask(c, k, until, &questions, &count);
  inspect_answer *answers = NULL;

  if (status == DIBS_OK) {
    answers = mem_alloc(&c->memory, count * sizeof(*answers));
    status = answers == NULL ? client_refuse(c, DIBS_ERR_NO_MEMORY, "")
                             : quorum_answers_read(c, questions, count, answers, ret_answer);
  }
  mem_free(&c->memory, answers);
  quorum_ask_end(c, questions, count);
  return status;
}

typedef bool inspect_encoder(const protocol *n, request *out, const void *name, size_t size);

static dibs_status answer_ask_as(client_record *c, inspect_encoder *encode, const void *name,
                                 size_t size, instant until, inspect_answer *ret_answer)
{
  request k;
  question q;
  dibs_status status;

  request_init(&k, &c->memory);
  if (encode(&c->names, &k, name, size) && c->servers.kind == DEPLOYMENT_QUORUM) {
    status = quorum_read(c, &k, until, ret_answer);
  } else {
    status = question_run_until(c, &q, &k, until);
    status = answer_read(c, &q, status, ret_answer);
  }
  request_deinit(&k);
  return question_read_only(status);
}

/* A client that doubts the server's clock takes no lease by its deadline, and sees it as held. */
static dibs_status answer_ask(client_record *c, const void *name, size_t size, instant until,
                              inspect_answer *ret_answer)
{
  dibs_status status = answer_ask_as(c, c->names.dialect->inspect, name, size, until, ret_answer);

  if (status == DIBS_OK && c->names.dialect == &native_dialect &&
      !client_agrees(ret_answer->server_us, ret_answer->wall_us))
    status = answer_ask_as(c, native_inspect_in_doubt, name, size, until, ret_answer);
  return status;
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

static void holder_fill(dibs_holder *h, dibs_party *party, const inspect_holder *seen,
                        int64_t now_us)
{
  text lease = text_over(h->lease, sizeof(h->lease));
  bool reports_grant = seen->lease.token > 1;         /* tokens are times of grants */

  h->size = sizeof(*h);
  lease_id_write(&seen->lease, &lease);
  h->fence = reports_grant ? fence_of_token(seen->lease.token, 0) : 0;
  h->remaining_ms = seen->remaining_ms;
  h->ttl_ms = seen->lease_ms;
  h->renewals = seen->renewals;
  h->since_unix_us = reports_grant ? (int64_t)seen->lease.token : 0;
  h->party = party;
  party_fill(party, seen->lease.client, seen->mode, seen->units,
             reports_grant ? h->since_unix_us : now_us, now_us);
}

/* Older fields of the struct, made for one holder, describe the first. */
static void first_holder_show(dibs_inspection *in)
{
  const dibs_holder *first;

  if (in->shown_holders == 0)
    return;
  first = in->holders[0];
  in->is_held = true;
  in->remaining_ms = first->remaining_ms;
  in->ttl_ms = first->ttl_ms;
  in->renewals = first->renewals;
  in->since_unix_us = first->since_unix_us;
  memcpy(in->lease, first->lease, sizeof(in->lease));
  in->holder = first->party;
}

static uint64_t fence_shown(const protocol *n, uint64_t token)
{
  return n->dialect->traits.token_is_fence ? token : fence_of_token(token, 0);
}

static void counts_show(const protocol *n, dibs_inspection *in, const inspect_answer *a)
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

/* Allocates all that is shown; false: no memory. */
static bool room_make(inspection_box *box, const inspect_answer *a)
{
  const memory *m = &box->memory;
  size_t parties = a->shown_holders + a->shown;

  if (parties > 0)
    box->parties = mem_zalloc(m, parties * sizeof(*box->parties));
  if (a->shown_holders > 0) {
    box->holders = mem_zalloc(m, a->shown_holders * sizeof(*box->holders));
    box->shown_holders = mem_zalloc(m, a->shown_holders * sizeof(*box->shown_holders));
  }
  if (a->shown > 0)
    box->shown_waiters = mem_zalloc(m, a->shown * sizeof(*box->shown_waiters));
  return (parties == 0 || box->parties != NULL) &&
         (a->shown_holders == 0 || (box->holders != NULL && box->shown_holders != NULL)) &&
         (a->shown == 0 || box->shown_waiters != NULL);
}

static void parties_fill(inspection_box *box, const inspect_answer *a)
{
  dibs_inspection *in = &box->inspection;
  size_t holders = a->shown_holders;

  for (size_t i = 0; i < holders; i++) {
    holder_fill(&box->holders[i], &box->parties[i], &a->holders[i], a->server_us);
    box->shown_holders[i] = &box->holders[i];
  }
  for (size_t i = 0; i < a->shown; i++) {
    const inspect_waiter *w = &a->waiters[i];

    party_fill(&box->parties[holders + i], w->client, w->mode, w->units, w->queued_us,
               a->server_us);
    box->shown_waiters[i] = &box->parties[holders + i];
  }
  in->shown_holders = holders;
  in->holders = box->shown_holders;
  in->party_count = a->shown;
  in->waiters = box->shown_waiters;
}

/* Programs of other libraries register nothing: shows the owner that they wrote. */
static void owner_show(const protocol *n, dibs_party *p, uint64_t ask)
{
  text owner;

  if (p->host[0] != 0 || p->note[0] != 0 || n->dialect->owner_show == NULL)
    return;
  owner = text_over(p->note, sizeof(p->note));
  n->dialect->owner_show(p->client, ask, &owner);
}

static void owners_show(const protocol *n, inspection_box *box, const inspect_answer *a)
{
  for (size_t i = 0; i < a->shown_holders; i++)
    owner_show(n, &box->parties[i], a->holders[i].lease.ask);
  for (size_t i = 0; i < a->shown; i++)
    owner_show(n, &box->parties[a->shown_holders + i], a->waiters[i].ask);
}

static inspection_box *box_new(client_record *c, const void *name, size_t size,
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
  box->no_holder.size = sizeof(box->no_holder);
  in->holder = &box->no_holder;
  if (!room_make(box, a) || in->name == NULL) {
    (void)dibs_inspection_free(in);
    return NULL;
  }
  counts_show(&c->names, in, a);
  parties_fill(box, a);
  return box;
}

/* ---- all ---- */

dibs_status inspect_name(client_record *c, const void *name, size_t size, instant until,
                         dibs_inspection **ret_inspection)
{
  inspect_answer *answer = mem_alloc(&c->memory, sizeof(*answer));
  inspection_box *box = NULL;
  dibs_status status;

  if (answer == NULL)
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  status = answer_ask(c, name, size, until, answer);
  if (status == DIBS_OK) {
    box = box_new(c, name, size, answer);
    if (box == NULL)
      status = client_refuse(c, DIBS_ERR_NO_MEMORY, "");
    else
      party_info_add(c, &box->inspection, box->parties, answer, until);
    if (box != NULL)
      owners_show(&c->names, box, answer);
  }
  if (box != NULL) {
    first_holder_show(&box->inspection);
    hindrance_add(c, &box->inspection, answer->server_us, until);
  }
  mem_free(&c->memory, answer);
  if (box == NULL)
    return status;
  *ret_inspection = &box->inspection;
  return DIBS_OK;
}

dibs_status dibs_inspect(dibs_client *client, dibs_bytes name, dibs_inspection **ret_inspection)
{
  client_record *c;
  dibs_status status = client_begin(client, true, &c);
  const char *fault;

  if (status != DIBS_OK)
    return status;
  fault = name.bytes == NULL ? "name is NULL"
                             : dialect_name_fault(&c->names, name.bytes, name.size);
  if (fault == NULL && ret_inspection == NULL)
    fault = "ret_inspection is NULL";
  status = fault != NULL ? client_refuse(c, DIBS_ERR_ARGUMENT, fault)
                         : inspect_name(c, name.bytes, name.size, client_give_up_at(c),
                                        ret_inspection);
  return client_end(c, status);
}
