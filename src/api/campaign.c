/* SPDX-License-Identifier: MIT */
/* api/campaign.c - campaigns: a lock with a published value. */
#include "api/campaign.h"

#include <string.h>

#include <dibs/election.h>

#include "api/question.h"
#include "dialect/native/election.h"

#define VALUE_IS_LONG "value is longer than 1024 bytes"
#define TELL_AGAIN span_ms(900000)    /* the server keeps it for an hour */

struct campaign {
  uint64_t publication;                /* publication number of the newest; 0: none yet */
  instant reported_at;
  int64_t ttl_ms;
  claim *claim;
  question question;               /* of an asynchronous campaign */
  bool is_cancelled;               /* while that asked */
  size_t size;
  char value[DIBS_LEADER_VALUE_MAX + 1];
};

static void value_set(campaign *l, const char *value)
{
  l->size = strlen(value);
  memcpy(l->value, value, l->size + 1);
}

campaign *campaign_new(const memory *m, const char *value, int64_t ttl_ms)
{
  campaign *l = mem_zalloc(m, sizeof(*l));

  if (l == NULL)
    return NULL;
  l->ttl_ms = ttl_ms;
  value_set(l, value);
  return l;
}

campaign *campaign_free(const memory *m, campaign *l)
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
  return cl->campaign != NULL && cl->is_held && !cl->is_lost && cl->hold != NULL;
}

/* false: the hold is over, or there is no memory; *ret_status has the reason. */
static bool call_make(const claim *cl, bool is_clear, request *k, dibs_status *ret_status)
{
  const campaign *l = cl->campaign;
  const protocol *names = &cl->client->names;
  bool (*make)(const protocol *, request *, const publish_call *) =
    is_clear ? native_elect_clear : native_elect_publish;
  publish_call call;
  lease_id lease;

  *ret_status = DIBS_LOST;
  if (!leads(cl) || !lease_of(cl, &lease))
    return false;
  call = (publish_call){ .name = cl->name, .name_size = cl->name_size, .lease = &lease,
                         .fence = atomic_load(&cl->hold->fence), .publication = l->publication,
                         .ttl_ms = l->ttl_ms, .value = l->value, .value_size = l->size };
  *ret_status = DIBS_ERR_NO_MEMORY;
  return make(names, k, &call);
}

/* The reply is ignored. */
static void send(claim *cl, bool is_clear)
{
  client_record *c = cl->client;
  dibs_status status;
  request k;

  request_init(&k, &c->memory);
  if (call_make(cl, is_clear, &k, &status))
    engine_send(drive_engine(c->drive), &k, client_give_up_at(c), drive_now());
  request_deinit(&k);
}

/* Publishes the value. When it cannot: `q` is done, and has the reason. */
static void publish_ask(claim *cl, question *q, instant until)
{
  client_record *c = cl->client;
  campaign *l = cl->campaign;
  dibs_status status;
  request k;

  l->publication = ++c->publications;
  l->reported_at = drive_now();
  request_init(&k, &c->memory);
  if (call_make(cl, false, &k, &status)) {
    question_ask(c, q, &k, until);
  } else {
    *q = (question){ .reply = NULL };
    (void)outcome_set(&q->end, c, status, "");
    drive_waiter_init(&q->waiter);
    q->waiter.is_done = true;
  }
  request_deinit(&k);
}

/* The limit of the publication that ends a campaign. */
static instant campaign_until(const client_record *c)
{
  return instant_add(drive_now(), span_ms(c->times.command_ms));
}

/* How a publication ended. */
static dibs_status reported(client_record *c, question *q)
{
  bool is_reported;

  if (q->end.status != DIBS_OK)
    return q->end.status;
  if (!native_elect_publish_answer(q->reply, &is_reported))
    return outcome_set(&q->end, c, DIBS_ERR_PROTOCOL, "unexpected reply to elect_publish");
  return outcome_set(&q->end, c, is_reported ? DIBS_OK : DIBS_LOST, "");
}

/* ---- the end of a campaign ---- */

/* The result is in cl->asked. Nothing was reported of the hold until now, and nothing will be if
 * the program does not get it. */
static dibs_status campaign_end(client_record *c, claim *cl, question *q)
{
  dibs_status status = reported(c, q);

  outcome_move(&cl->asked, &q->end);
  if (cl->is_lost)
    status = outcome_set(&cl->asked, c, DIBS_LOST, "");
  if (cl->is_over)                       /* released by a dibs_close() since */
    status = outcome_set(&cl->asked, c, DIBS_ERR_CLOSED, "");
  if (status == DIBS_OK && cl->campaign->is_cancelled)
    status = outcome_set(&cl->asked, c, DIBS_CANCELLED, "");
  question_deinit(q);
  cl->watch.is_quiet = status != DIBS_OK;
  return status;
}

/* ---- an asynchronous campaign ---- */

/* The program did not get this hold: releases it. */
static void give_back(claim *cl)
{
  client_record *c = cl->client;

  campaign_clear(cl);
  cl->is_held = false;
  claim_end_hold(cl);
  if (!c->is_closing &&                  /* otherwise dibs_close() releases it */
      engine_release(drive_engine(c->drive), cl->id, drive_now()) != DIBS_OK)
    cl->is_over = true;
}

static void campaign_reported(client_record *c, question *q)
{
  campaign *l = RECORD_OF(campaign, question, q);
  claim *cl = l->claim;
  dibs_status status = campaign_end(c, cl, q);

  if (status != DIBS_OK && !cl->is_over)
    give_back(cl);
  cl->jobs--;
  claim_lock_ended(cl, status);
  watch_look(cl);
  claim_settle(cl);
}

bool campaign_is_to_report(claim *cl)
{
  campaign *l = cl->campaign;

  if (l == NULL)
    return false;
  cl->watch.is_quiet = true;
  if (cl->on_lock == NULL)               /* campaign_blocking() publishes */
    return false;
  l->claim = cl;
  cl->jobs++;
  publish_ask(cl, &l->question, campaign_until(cl->client));
  if (l->question.waiter.is_done)
    campaign_reported(cl->client, &l->question);
  else
    l->question.then = campaign_reported;
  return true;
}

bool campaign_cancel(claim *cl)
{
  if (cl->campaign == NULL || !cl->is_held)
    return false;
  cl->campaign->is_cancelled = true;
  return true;
}

/* ---- while it leads, and its end ---- */

void campaign_renewed(claim *cl)
{
  if (!leads(cl) || cl->campaign->publication == 0 ||
      instant_since(drive_now(), cl->campaign->reported_at).ns < TELL_AGAIN.ns)
    return;
  cl->campaign->reported_at = drive_now();
  send(cl, false);
}

/* The campaign of the same owner, nested or around it, that has published last of those that
 * continue; NULL: it is the only one. */
static claim *other_that_leads(const claim *cl)
{
  uint64_t fence = atomic_load(&cl->hold->fence);
  claim *last = NULL;

  for (claim *other = cl->client->first_claim; other != NULL; other = other->next)
    if (other != cl && leads(other) && atomic_load(&other->hold->fence) == fence &&
        other->name_size == cl->name_size &&
        memcmp(other->name, cl->name, cl->name_size) == 0 &&
        (last == NULL || other->campaign->publication > last->campaign->publication))
      last = other;
  return last;
}

/* The newest publication counts: without a new number its value would be ignored. */
static void publish_again(claim *cl)
{
  cl->campaign->publication = ++cl->client->publications;
  cl->campaign->reported_at = drive_now();
  send(cl, false);
}

void campaign_clear(claim *cl)
{
  claim *other;

  if (!leads(cl) || cl->campaign->publication == 0)
    return;
  other = other_that_leads(cl);
  if (other == NULL)
    send(cl, true);
  else if (other->campaign->publication > 0 &&
           other->campaign->publication < cl->campaign->publication)
    publish_again(other);
}

void campaign_clear_all(client_record *c)
{
  for (claim *cl = c->first_claim; cl != NULL; cl = cl->next)
    if (leads(cl) && cl->campaign->publication > 0)
      send(cl, true);
}

/* ---- calls ---- */

static dibs_status publish(dibs_hold *hold, const char *value)
{
  entry in;
  question q;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, true, &in);

  if (status != DIBS_OK)
    return status;
  if (in.claim->campaign == NULL) {
    status = client_fault(in.client, DIBS_ERR_ARGUMENT, "not the hold of a leader");
  } else {
    value_set(in.claim->campaign, value);
    publish_ask(in.claim, &q, client_give_up_at(in.client));
    (void)question_wait(in.client, &q);
    status = reported(in.client, &q);
    (void)outcome_note(&q.end, in.client);
    question_deinit(&q);
  }
  return claim_leave(&in, status);
}

/* Publishes the value of the call, as the end of a campaign. */
static dibs_status publish_first(dibs_hold *hold, const dibs_canceller *cancel)
{
  entry in;
  question q;
  claim *cl;
  dibs_status status = claim_enter(hold, HANDLE_HOLD, true, &in);

  if (status != DIBS_OK)
    return status;
  cl = in.claim;
  cl->jobs++;                            /* a dibs_close() may release it meanwhile */
  publish_ask(cl, &q, campaign_until(in.client));
  (void)question_wait(in.client, &q);
  cl->campaign->is_cancelled = canceller_has_fired(cancel);    /* as campaign_cancel() */
  (void)campaign_end(in.client, cl, &q);
  status = outcome_note(&cl->asked, in.client);
  cl->jobs--;
  watch_look(cl);
  claim_settle(cl);
  return claim_leave(&in, status);
}

/* Elected, but not published: releases the hold, and keeps the publication's error. A server that
 * has not answered is not waited for again: the release is confirmed in the background. */
static void resign_unreported(dibs_hold *hold, dibs_status status)
{
  dibs_error why = DIBS_ERROR_INIT;

  (void)dibs_client_error(NULL, 0, &why);
  if (status == DIBS_UNKNOWN || status == DIBS_ERR_UNREACHABLE || status == DIBS_LOST)
    (void)dibs_release_async(hold, NULL, NULL);
  else
    (void)dibs_release(hold);
  fault_again(&why);
}

dibs_status campaign_blocking(dibs_client *client, lock_call *call,
                              const dibs_lock_options *options, bool is_try,
                              dibs_hold **ret_hold)
{
  dibs_hold *hold = NULL;
  dibs_status status = take_blocking(client, call, options, is_try,
                                     ret_hold == NULL ? NULL : &hold);

  if (status != DIBS_OK || ret_hold == NULL)
    return status;
  status = publish_first(hold, call->cancel);
  if (status == DIBS_OK) {
    *ret_hold = hold;
    return DIBS_OK;
  }
  resign_unreported(hold, status);
  /* Stale: released by a dibs_close() since. */
  return fault_end(client, status == DIBS_ERR_STALE ? DIBS_ERR_CLOSED : status);
}

dibs_status dibs_publish(dibs_hold *hold, const char *value)
{
  entry in;
  dibs_status status;

  if (value == NULL || strnlen(value, DIBS_LEADER_VALUE_MAX + 1) <= DIBS_LEADER_VALUE_MAX)
    return publish(hold, value != NULL ? value : "");
  status = claim_enter(hold, HANDLE_HOLD, true, &in);
  if (status != DIBS_OK)
    return status;
  return claim_leave(&in, client_fault(in.client, DIBS_ERR_ARGUMENT, VALUE_IS_LONG));
}
