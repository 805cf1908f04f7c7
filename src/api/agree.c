/* SPDX-License-Identifier: MIT */
/* api/agree.c - the number of permits of a semaphore, set or compared before a claim asks for
 * some of them. */
#include "api/agree.h"

#include <inttypes.h>
#include <string.h>

#include "api/question.h"

typedef struct agreement {
  claim *claim;
  question question;               /* open as long as `is_open` */
  bool is_open, has_time;
  lock_spec spec;                  /* what it points to is copied: the call has returned */
  uint32_t limit;
  instant wait_until;              /* of the whole call */
  instant until;                   /* of both requests */
  char owner[OWNER_KEY_MAX];
  char note[DIBS_NOTE_MAX + 1];
} agreement;

static void agreed(client_record *c, question *q);

static void fail(claim *cl, const outcome *end)
{
  dibs_error room = DIBS_ERROR_INIT;

  claim_failed(cl, end->status, outcome_error(end, &room)->text);
}

static bool ask(agreement *a, const request *k, sync_op how)
{
  question_ask_by(a->claim->client, &a->question, k, how);
  a->is_open = !a->question.waiter.is_done;
  if (a->is_open)
    a->question.then = agreed;
  return a->is_open;
}

static bool time_ask(agreement *a)
{
  client_record *c = a->claim->client;
  request k;
  bool is_asked;

  request_init(&k, &c->memory);
  time_request(&k);
  is_asked = ask(a, &k, time_ask_at(c, a->spec.name, a->spec.name_size, a->until));
  request_deinit(&k);
  return is_asked;
}

static bool number_ask(agreement *a)
{
  const client_record *c = a->claim->client;
  request k;
  bool is_asked;

  request_init(&k, &c->memory);
  (void)c->names.dialect->share_set(&c->names, &k, a->spec.name, a->spec.name_size,
                                    SHARE_SET_IF_ABSENT, a->limit, ESTIMATE_AT_SENDING);
  is_asked = ask(a, &k, (sync_op){ .give_up_at = a->until });
  request_deinit(&k);
  return is_asked;
}

/* The claim's own request; its time began with the call. */
static void go_on(agreement *a)
{
  claim *cl = a->claim;
  client_record *c = cl->client;
  instant now = drive_now();
  char words[160];
  text why = text_over(words, sizeof(words));
  dibs_status status;

  a->spec.give_up_at = instant_max(a->wait_until, instant_add(now, span_ms(1)));
  status = claim_ask(cl, &a->spec, now);
  if (status == DIBS_OK)
    return;
  claim_fault_add(c, status, &why);
  claim_failed(cl, status, words);
}

static void differs(agreement *a, uint64_t limit)
{
  char words[200];
  text why = text_over(words, sizeof(words));

  text_format(&why, "the semaphore has %" PRIu64 " permits, and `limit` is %u; "
                    "dibs_semaphore_set() changes the number for all", limit, a->limit);
  claim_failed(a->claim, DIBS_ERR_ARGUMENT, words);
}

/* An RSemaphore has no number but that of its free permits. 0 permits are a pause. */
static void number_read(agreement *a, const resp_reply *reply)
{
  uint64_t limit = 0;
  bool done;

  if (!native_share_set_answer(reply, &done, &limit))
    claim_failed(a->claim, DIBS_ERR_PROTOCOL, "unexpected reply to the script share_set");
  else if (a->spec.kind != LOCK_COUNTER && limit != 0 && limit != a->limit)
    differs(a, limit);
  else
    go_on(a);
}

static void time_learnt(agreement *a)
{
  a->has_time = true;
  question_deinit(&a->question);         /* the fault of the first one */
  if (!number_ask(a))
    fail(a->claim, &a->question.end);
}

/* Only in a Cluster one server is asked for it. The number is asked for all the same: the slot may
 * have got another server. */
static bool can_do_without_time(const agreement *a)
{
  const question *q = &a->question;

  return q->command.op.is_pinned && q->end.status == DIBS_ERR_UNREACHABLE &&
         instant_before(drive_now(), a->until);
}

static void agreed(client_record *c, question *q)
{
  agreement *a = RECORD_OF(agreement, question, q);
  claim *cl = a->claim;
  resp_reply *reply = q->reply;

  (void)c;
  q->reply = NULL;
  a->is_open = false;
  if (cl->is_over)
    ;                                    /* cancelled meanwhile */
  else if (q->end.status != DIBS_OK && !can_do_without_time(a))
    fail(cl, &q->end);
  else if (a->has_time)
    number_read(a, reply);
  else
    time_learnt(a);
  resp_reply_free(reply);
  if (a->is_open)
    return;
  agreement_free(cl);
  cl->jobs--;
  claim_settle(cl);
}

dibs_status agreement_begin(claim *cl, const lock_call *call)
{
  client_record *c = cl->client;
  agreement *a = mem_zalloc(&c->memory, sizeof(*a));
  dibs_status status;

  if (a == NULL)
    return DIBS_ERR_NO_MEMORY;
  a->claim = cl;
  a->spec = call->spec;
  a->spec.name = cl->name;
  if (call->spec.owner_size != 0)
    memcpy(a->owner, call->spec.owner, call->spec.owner_size);
  a->spec.owner = a->owner;
  if (call->spec.note != NULL) {
    memcpy(a->note, call->spec.note, strnlen(call->spec.note, DIBS_NOTE_MAX));
    a->spec.note = a->note;
  }
  a->limit = call->limit;
  a->wait_until = call->spec.give_up_at;
  a->until = instant_min(client_give_up_at(c), a->wait_until);
  cl->agreement = a;
  if (!time_ask(a)) {
    status = a->question.end.status;
    agreement_free(cl);
    return status;
  }
  cl->jobs++;
  return DIBS_OK;
}

bool agreement_cancel(claim *cl)
{
  if (cl->agreement == NULL || cl->is_over)
    return false;
  claim_failed(cl, DIBS_CANCELLED, "");
  return true;
}

void agreement_free(claim *cl)
{
  if (cl->agreement == NULL)
    return;
  question_deinit(&cl->agreement->question);
  mem_free(&cl->client->memory, cl->agreement);
  cl->agreement = NULL;
}
