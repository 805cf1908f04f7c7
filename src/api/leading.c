/* SPDX-License-Identifier: MIT */
/* api/leading.c - campaigns: a lock, and a value beside it. */
#include "api/leading.h"

#include <stddef.h>
#include <string.h>

#include <dibs/election.h>

#include "dialect/native_election.h"

#define TELL_AGAIN span_ms(900000)    /* the server remembers for an hour */

struct leading {
  uint64_t telling;                /* number of the newest; 0: none yet */
  instant told_at;
  int64_t ttl_ms;
  claim *claim;
  question question;               /* of an asynchronous campaign */
  dibs_lost_callback on_lost;      /* of that too: nobody has the hold yet */
  size_t size;
  char value[DIBS_VALUE_MAX + 1];
};

static void value_set(leading *l, const char *value)
{
  l->size = strlen(value);
  memcpy(l->value, value, l->size + 1);
}

leading *leading_new(const memory *m, const char *value, int64_t ttl_ms)
{
  leading *l = mem_zalloc(m, sizeof(*l));

  if (l == NULL)
    return NULL;
  l->ttl_ms = ttl_ms;
  value_set(l, value);
  return l;
}

leading *leading_free(const memory *m, leading *l)
{
  if (l != NULL)
    question_deinit(&l->question);
  mem_free(m, l);
  return NULL;
}

/* ---- commands ---- */

/* The lease of a hold; false when the engine knows none. */
static bool lease_of(const claim *cl, lease_id *ret_lease)
{
  char words[DIBS_TOKEN_SIZE];
  text token = text_over(words, sizeof(words));
  token_parts parts;

  if (!engine_hold_token(drive_engine(cl->client->drive), cl->id, &token) ||
      !token_read(words, &parts))
    return false;
  *ret_lease = parts.lease;
  return true;
}

static bool leads(const claim *cl)
{
  return cl->leading != NULL && cl->is_held && !cl->is_lost && cl->hold != NULL;
}

/* false: the hold is over, or there is no memory; *ret_status says which. */
static bool call_make(const claim *cl, bool is_clear, script_command *k, dibs_status *ret_status)
{
  const leading *l = cl->leading;
  const native *names = &cl->client->names;
  bool (*make)(const native *, buffer *, bool, const publish_call *) =
    is_clear ? native_elect_clear : native_elect_publish;
  publish_call call;
  lease_id lease;

  *ret_status = DIBS_LOST;
  if (!leads(cl) || !lease_of(cl, &lease))
    return false;
  call = (publish_call){ .name = cl->name, .name_size = cl->name_size, .lease = &lease,
                         .fence = atomic_load(&cl->hold->fence), .telling = l->telling,
                         .ttl_ms = l->ttl_ms, .value = l->value, .value_size = l->size };
  *ret_status = DIBS_ERR_NO_MEMORY;
  return make(names, &k->by_digest, false, &call) && make(names, &k->by_text, true, &call);
}

/* Nobody waits for the answer. */
static void send(claim *cl, bool is_clear)
{
  dibs_client *c = cl->client;
  dibs_status status;
  script_command k;

  script_command_init(&k, c);
  if (call_make(cl, is_clear, &k, &status))
    (void)engine_ask(drive_engine(c->drive), &k.by_digest, &k.by_text, NULL,
                     client_give_up_at(c), drive_now());
  script_command_deinit(&k);
}

/* Sends the value, as a new telling. When it cannot: `q` is done, and says why. */
static void publish_ask(claim *cl, question *q)
{
  dibs_client *c = cl->client;
  leading *l = cl->leading;
  dibs_status status;
  script_command k;

  l->telling = ++c->tellings;
  l->told_at = drive_now();
  script_command_init(&k, c);
  if (call_make(cl, false, &k, &status)) {
    question_ask(c, q, &k.by_digest, &k.by_text,
                 instant_add(l->told_at, span_ms(c->times.command_ms)));
  } else {
    *q = (question){ .status = status };
    drive_waiter_init(&q->waiter);
    q->waiter.is_done = true;
  }
  script_command_deinit(&k);
}

/* How a telling ended. */
static dibs_status told(dibs_client *c, const question *q)
{
  bool is_told;

  if (q->status != DIBS_OK)
    return q->status;
  if (!native_elect_publish_answer(q->reply, &is_told))
    return client_fault(c, DIBS_ERR_PROTOCOL, "an answer to elect_publish of no known form");
  return is_told ? DIBS_OK : DIBS_LOST;
}

/* ---- an asynchronous campaign ---- */

/* Nobody has got this hold: it goes back. */
static void give_back(claim *cl)
{
  dibs_client *c = cl->client;

  leading_clear(cl);
  cl->is_held = false;
  claim_end_hold(cl);
  if (!c->is_closing &&                  /* else that releases it */
      engine_release(drive_engine(c->drive), cl->id, drive_now()) != DIBS_OK)
    cl->is_over = true;
}

static void campaign_told(dibs_client *c, question *q)
{
  leading *l = (leading *)(void *)((char *)q - offsetof(leading, question));
  claim *cl = l->claim;
  dibs_status status = cl->is_lost ? DIBS_LOST : told(c, q);

  if (cl->is_over)
    status = DIBS_ERR_CLOSED;            /* given back by a dibs_close() since */
  question_deinit(q);
  cl->on_lost = l->on_lost;
  if (status != DIBS_OK && !cl->is_over)
    give_back(cl);
  cl->jobs--;
  claim_lock_ended(cl, status);
  claim_settle(cl);
}

bool leading_is_to_tell(claim *cl)
{
  leading *l = cl->leading;

  if (l == NULL || cl->on_lock == NULL)
    return false;
  l->claim = cl;
  l->on_lost = cl->on_lost;
  cl->on_lost = NULL;                    /* till it is told, a loss is told by on_lock */
  cl->jobs++;
  publish_ask(cl, &l->question);
  if (l->question.waiter.is_done)
    campaign_told(cl->client, &l->question);
  else
    l->question.then = campaign_told;
  return true;
}

/* ---- while it leads, and its end ---- */

void leading_renewed(claim *cl)
{
  if (!leads(cl) || cl->leading->telling == 0 ||
      instant_since(drive_now(), cl->leading->told_at).ns < TELL_AGAIN.ns)
    return;
  cl->leading->told_at = drive_now();
  send(cl, false);
}

/* A nested campaign of the same owner goes on. */
static bool others_lead(const claim *cl)
{
  uint64_t fence = atomic_load(&cl->hold->fence);

  for (const claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && leads(other) && atomic_load(&other->hold->fence) == fence &&
        other->name_size == cl->name_size &&
        memcmp(other->name, cl->name, cl->name_size) == 0)
      return true;
  return false;
}

void leading_clear(claim *cl)
{
  if (leads(cl) && cl->leading->telling > 0 && !others_lead(cl))
    send(cl, true);
}

void leading_clear_all(dibs_client *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    leading_clear(cl);
}

/* ---- calls ---- */

static dibs_status value_check(dibs_client *c, const char *value)
{
  if (value == NULL || strnlen(value, DIBS_VALUE_MAX + 1) <= DIBS_VALUE_MAX)
    return one_place_check(c);
  return client_refuse(c, DIBS_ERR_ARGUMENT, "value is longer than 1024 bytes");
}

/* NULL: the value it has. */
static dibs_status publish(dibs_hold *hold, const char *value)
{
  entry in;
  question q;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, true, &in);

  if (status != DIBS_OK)
    return status;
  if (in.claim->leading == NULL) {
    status = client_fault(in.client, DIBS_ERR_ARGUMENT, "not a hold of dibs_campaign()");
  } else {
    if (value != NULL)
      value_set(in.claim->leading, value);
    publish_ask(in.claim, &q);
    (void)question_wait(in.client, &q);
    status = told(in.client, &q);
    question_deinit(&q);
  }
  claim_leave(&in);
  return status;
}

static lock_target target_of(const char *name, const char *value)
{
  lock_target target = lock_target_of(LOCK_MUTEX, name);

  target.value = value != NULL ? value : "";
  return target;
}

static dibs_status campaign(dibs_client *c, const char *name, const char *value,
                            const dibs_lock_options *options, bool is_try,
                            dibs_hold **ret_hold)
{
  lock_target target = target_of(name, value);
  dibs_hold *hold = NULL;
  dibs_status status = value_check(c, value);

  if (ret_hold == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "ret_hold is NULL");
  if (status == DIBS_OK)
    status = lock_blocking(c, &target, options, is_try, &hold);
  if (status != DIBS_OK)
    return status;
  status = publish(hold, NULL);
  if (status == DIBS_OK)
    *ret_hold = hold;
  else
    (void)dibs_release(hold);
  return status == DIBS_ERR_STALE ? DIBS_ERR_CLOSED : status;
}

dibs_status dibs_campaign(dibs_client *client, const char *name, const char *value,
                          const dibs_lock_options *options, dibs_hold **ret_hold)
{
  return campaign(client, name, value, options, false, ret_hold);
}

dibs_status dibs_try_campaign(dibs_client *client, const char *name, const char *value,
                              const dibs_lock_options *options, dibs_hold **ret_hold)
{
  return campaign(client, name, value, options, true, ret_hold);
}

dibs_status dibs_campaign_async(dibs_client *client, const char *name, const char *value,
                                const dibs_lock_options *options,
                                dibs_lock_callback callback, void *data,
                                dibs_request **ret_request)
{
  lock_target target = target_of(name, value);
  dibs_status status = value_check(client, value);

  return status != DIBS_OK ? status
                           : lock_async(client, &target, options, false, callback, data,
                                        ret_request);
}

dibs_status dibs_publish(dibs_hold *hold, const char *value)
{
  handle_view v;

  if (value != NULL && strnlen(value, DIBS_VALUE_MAX + 1) > DIBS_VALUE_MAX)
    return handle_look(hold, HANDLE_HOLD, &v) ? DIBS_ERR_ARGUMENT : DIBS_ERR_STALE;
  return publish(hold, value != NULL ? value : "");
}

dibs_status dibs_resign(dibs_hold *hold)
{
  return dibs_release(hold);
}
