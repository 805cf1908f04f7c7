/* SPDX-License-Identifier: MIT */
/* api/wait.c - waits on observations: how they begin, end and are told. wait.h says how
 * they are used. */
#include "api/wait.h"

#include <stddef.h>
#include <string.h>

/* ---- checks ---- */

dibs_status wait_check(dibs_client *c, const char *name, const dibs_wait_options *options,
                       bool is_blocking, wait_plan *ret_plan)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  dibs_status status = client_may_call(c, is_blocking);

  if (status != DIBS_OK)
    return status;
  status = name_check(c, name, name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1));
  if (status != DIBS_OK)
    return status;
  status = wait_options_read(options, ret_plan, &why);
  return status == DIBS_OK ? one_place_check(c) : client_refuse(c, status, words);
}

/* ---- memory and list ---- */

static void job_run(drive_job *job);
static void job_finish(drive_job *job);

wait *wait_new(dibs_client *c, const wait_kind *kind, size_t size)
{
  wait *w = mem_zalloc(&c->memory, size);

  if (w == NULL) {
    (void)client_refuse(c, DIBS_ERR_NO_MEMORY, "");
    return NULL;
  }
  w->kind = kind;
  w->client = c;
  w->memory = c->memory;
  w->job = (drive_job){ .run = job_run, .finish = job_finish };
  return w;
}

static void request_end(wait *w)
{
  if (w->request != NULL)
    handle_end(w->request);
  w->request = NULL;
}

wait *wait_free(wait *w)
{
  memory m;

  if (w == NULL)
    return NULL;
  if (w->kind->deinit != NULL)
    w->kind->deinit(w);
  request_end(w);
  m = w->memory;
  mem_free(&m, w);
  return NULL;
}

static void list_join(wait *w)
{
  dibs_client *c = w->client;

  w->is_listed = true;
  w->next = c->first_wait;
  if (w->next != NULL)
    w->next->previous = w;
  c->first_wait = w;
}

static void list_leave(wait *w)
{
  if (!w->is_listed)
    return;
  if (w->previous != NULL)
    w->previous->next = w->next;
  else
    w->client->first_wait = w->next;
  if (w->next != NULL)
    w->next->previous = w->previous;
  w->is_listed = false;
}

/* ---- callbacks ---- */

#define WAIT_OF(part, member) ((wait *)(void *)((char *)(part) - offsetof(wait, member)))

static void job_run(drive_job *job)
{
  wait *w = WAIT_OF(job, job);

  w->kind->tell(w);
}

static void job_finish(drive_job *job)
{
  wait *w = WAIT_OF(job, job);

  w->is_queued = false;
  if (w->waiter != NULL) {               /* of wait_stop(): it frees */
    drive_waiter_done(w->client->drive, w->waiter);
  } else if (!w->is_observer || w->is_stopped) {
    list_leave(w);
    (void)wait_free(w);
  } else if (w->tell_again) {
    wait_tell(w);
  }
}

void wait_tell(wait *w)
{
  if (w->is_stopped)
    return;
  w->tell_again = w->is_queued;
  if (w->is_queued)
    return;
  w->is_queued = true;
  drive_call_later(w->client->drive, &w->job);
}

/* ---- the end ---- */

static void unwatch(wait *w)
{
  if (w->cancel != NULL)
    drive_unwatch(w->client->drive, w->cancel);
  w->cancel = NULL;
}

static void finish(wait *w)
{
  w->is_over = true;
  unwatch(w);
  request_end(w);
  if (w->waiter != NULL)
    drive_waiter_done(w->client->drive, w->waiter);
  if (w->is_async)
    wait_tell(w);
  if (w->is_observer && w->kind->ended != NULL)
    w->kind->ended(w);
}

static void left(dibs_client *c, question *q)
{
  wait *w = WAIT_OF(q, leaving);

  (void)c;
  if (w->kind->left != NULL)
    w->kind->left(w, q->reply);
  question_deinit(q);
  finish(w);
}

/* Asks the server to forget what we did there. After a fault nobody waits for the answer:
 * the fault has taken its time already. true: left() will follow. */
static bool leave(wait *w)
{
  dibs_client *c = w->client;
  instant now = drive_now(), until = instant_add(now, span_ms(c->times.command_ms));
  script_command k;
  bool is_begun = false;

  if (w->kind->leave == NULL || w->status == DIBS_ERR_CLOSED)
    return false;
  script_command_init(&k, c);
  if (w->kind->leave(w, &k.by_digest, &k.by_text) && buffer_size(&k.by_digest) > 0) {
    if (w->status < 0) {
      (void)engine_ask(drive_engine(c->drive), &k.by_digest, &k.by_text, NULL, until, now);
    } else {
      question_ask(c, &w->leaving, &k.by_digest, &k.by_text, until);
      is_begun = !w->leaving.waiter.is_done;
      w->leaving.then = left;
    }
  }
  script_command_deinit(&k);
  return is_begun;
}

/* Ended otherwise than by an answer. */
static void ended(wait *w, dibs_status status, const char *words)
{
  w->is_observing = false;
  w->status = client_fault(w->client, status, words);
  request_end(w);                        /* there is nothing left to cancel */
  if (!leave(w))
    finish(w);
}

static bool cancel(wait *w)
{
  if (!w->is_observing)
    return false;
  (void)engine_observe_end(drive_engine(w->client->drive), w->id, drive_now());
  ended(w, DIBS_CANCELLED, "");
  return true;
}

void wait_observed(dibs_client *c, const effect *e)
{
  wait *w = e->context;
  bool is_over;

  if (e->is_over) {
    ended(w, e->status, e->text);
    return;
  }
  is_over = w->kind->look(w, e->reply);
  (void)resp_reply_free(e->reply);
  if (!is_over)
    return;
  (void)engine_observe_end(drive_engine(c->drive), w->id, drive_now());
  w->is_observing = false;
  finish(w);
}

void wait_look_at(wait *w, instant at)
{
  if (w->is_observing)
    engine_observe_at(drive_engine(w->client->drive), w->id, at, drive_now());
}

void wait_cancelled(dibs_client *c, const dibs_canceller *canceller)
{
  for (wait *w = c->first_wait; w != NULL; w = w->next)
    if (w->cancel == canceller)
      (void)cancel(w);
}

dibs_status wait_request_cancel(dibs_request *request)
{
  entry in;
  dibs_status status = claim_enter(request, HANDLE_WAIT, false, &in);

  if (status != DIBS_OK)
    return status;
  if (!cancel(in.wait))
    status = DIBS_ERR_STALE;
  drive_settle(in.client->drive);
  claim_leave(&in);
  return status;
}

/* The engine has told most of them by now; their jobs run when the drive ends. */
void waits_end(dibs_client *c)
{
  for (wait *w = c->first_wait; w != NULL; w = w->next) {
    if (!w->is_over) {
      w->is_observing = false;
      w->status = DIBS_ERR_CLOSED;
      finish(w);
    }
  }
}

void waits_free(dibs_client *c)
{
  while (c->first_wait != NULL) {
    wait *w = c->first_wait;

    list_leave(w);
    (void)wait_free(w);
  }
}

/* ---- the beginning ---- */

/* Mutex held. On a fault nothing was begun. */
static dibs_status begin(wait *w, const wait_plan *plan, const wait_question *q)
{
  dibs_client *c = w->client;
  instant now = drive_now();
  observe_request r = { .context = w, .channel = q->channel,
                        .channel_size = q->channel_size, .command = q->by_digest,
                        .with_text = q->by_text, .every = q->every,
                        .give_up_at = INSTANT_NEVER, .is_patient = q->is_patient };
  dibs_status status;

  if (buffer_size(q->by_digest) == 0)
    return client_fault(c, DIBS_ERR_NO_MEMORY, "");
  if (plan->cancel != NULL) {
    status = drive_watch(c->drive, plan->cancel);
    if (status != DIBS_OK)
      return client_fault(c, status, "a canceller cannot be watched");
    w->cancel = plan->cancel;
  }
  if (canceller_has_fired(plan->cancel)) {     /* after watching: no gap in between */
    unwatch(w);
    return DIBS_CANCELLED;
  }
  if (plan->wait_ms > 0)
    r.give_up_at = instant_add(now, span_ms(plan->wait_ms));
  status = engine_observe(drive_engine(c->drive), &r, now, &w->id);
  if (status != DIBS_OK) {
    unwatch(w);
    return client_fault(c, status, "the wait could not be begun");
  }
  w->is_observing = true;
  list_join(w);
  return DIBS_OK;
}

dibs_status wait_blocking(wait *w, const wait_plan *plan, const wait_question *q)
{
  dibs_client *c = w->client;
  dibs_status status = client_enter(c, true);
  drive_waiter waiter;

  if (status != DIBS_OK)
    return status;
  status = begin(w, plan, q);
  if (status == DIBS_OK) {
    drive_waiter_init(&waiter);
    w->waiter = &waiter;
    (void)drive_wait(c->drive, &waiter, INSTANT_NEVER);
    w->waiter = NULL;
    list_leave(w);
    status = w->status;
  }
  client_leave(c);
  return status;
}

/* Mutex held. */
static dibs_status start_async(wait *w, const wait_plan *plan, const wait_question *q)
{
  dibs_status status = drive_callbacks_prepare(w->client->drive);

  if (status == DIBS_OK)
    status = begin(w, plan, q);
  if (status != DIBS_CANCELLED)
    return status;
  w->status = DIBS_CANCELLED;            /* fired before: an ending like any other */
  list_join(w);
  finish(w);
  return DIBS_OK;
}

dibs_status wait_async(wait *w, const wait_plan *plan, const wait_question *q,
                       dibs_request **ret_request)
{
  dibs_client *c = w->client;
  dibs_request *request;
  dibs_status status;

  w->is_async = true;
  w->request = handle_new(HANDLE_WAIT, w, c->handle_word);
  if (w->request == NULL) {
    (void)wait_free(w);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  request = handle_value(w->request);
  status = client_enter(c, false);
  if (status != DIBS_OK) {
    (void)wait_free(w);
    return status;
  }
  status = start_async(w, plan, q);
  if (status != DIBS_OK)
    (void)wait_free(w);
  else if (ret_request != NULL)
    *ret_request = request;
  drive_settle(c->drive);
  client_leave(c);
  return status;
}

/* ---- observers ---- */

dibs_status wait_start(wait *w, const wait_question *q)
{
  static const wait_plan for_ever = { 0 };
  dibs_client *c = w->client;
  dibs_status status = client_enter(c, false);

  if (status != DIBS_OK)
    return status;
  w->is_observer = true;
  status = drive_callbacks_prepare(c->drive);
  if (status == DIBS_OK)
    status = begin(w, &for_ever, q);
  drive_settle(c->drive);
  client_leave(c);
  return status;
}

void wait_stop(wait *w)
{
  dibs_client *c = w->client;
  bool is_own = drive_running_job() == &w->job;
  drive_waiter waiter;

  if (c->epoch != fork_epoch()) {
    list_leave(w);
    (void)wait_free(w);
    return;
  }
  drive_lock(c->drive);
  c->calls++;                            /* dibs_close() waits for us */
  w->is_stopped = true;
  if (w->is_observing)
    (void)engine_observe_end(drive_engine(c->drive), w->id, drive_now());
  w->is_observing = false;
  if (w->is_queued && drive_call_withdraw(c->drive, &w->job))
    w->is_queued = false;
  if (w->is_queued && !is_own) {         /* it runs now, in another thread */
    drive_waiter_init(&waiter);
    w->waiter = &waiter;
    (void)drive_wait(c->drive, &waiter, INSTANT_NEVER);
    w->waiter = NULL;
  }
  drive_settle(c->drive);
  if (!w->is_queued) {
    list_leave(w);
    (void)wait_free(w);
  }
  client_leave(c);
}
