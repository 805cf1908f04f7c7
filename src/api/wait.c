/* SPDX-License-Identifier: MIT */
/* api/wait.c - calls that wait on a sync operation: begin, end and report; see wait.h. */
#include "api/wait.h"

#include <string.h>
#include <utlist.h>

/* ---- checks ---- */

dibs_status wait_check(client_record *c, const char *name, const dibs_wait_options *options,
                       wait_plan *ret_plan)
{
  char words[256];
  text why = text_over(words, sizeof(words));
  dibs_status status = name_check(c, name, name == NULL ? 0 : strnlen(name, DIBS_NAME_MAX + 1));
  if (status != DIBS_OK)
    return status;
  status = wait_options_read(options, ret_plan, &why);
  return status == DIBS_OK ? one_place_check(c) : client_refuse(c, status, words);
}

/* ---- memory and list ---- */

static void job_run(drive_job *job);
static void job_finish(drive_job *job);

wait *wait_new(client_record *c, const wait_kind *kind, size_t size)
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
  if (w == NULL)
    return NULL;
  if (w->kind->deinit != NULL)
    w->kind->deinit(w);
  request_end(w);
  outcome_clear(&w->end);
  mem_free(&w->memory, w);
  return NULL;
}

static void list_join(wait *w)
{
  w->is_listed = true;
  DL_PREPEND2(w->client->first_wait, w, previous, next);
}

static void list_leave(wait *w)
{
  if (!w->is_listed)
    return;
  DL_DELETE2(w->client->first_wait, w, previous, next);
  w->is_listed = false;
}

/* ---- callbacks ---- */

static void job_run(drive_job *job)
{
  wait *w = RECORD_OF(wait, job, job);
  dibs_error room, error = { .status = DIBS_OK };

  drive_lock(w->client->drive);          /* an observer may end meanwhile */
  w->report_again = false;
  if (w->is_over)
    error = *outcome_error(&w->end, &room);
  drive_unlock(w->client->drive);
  w->kind->report(w, &error);
}

static void job_finish(drive_job *job)
{
  wait *w = RECORD_OF(wait, job, job);

  w->is_queued = false;
  if (w->waiter != NULL) {               /* wait_stop() frees it */
    drive_waiter_done(w->client->drive, w->waiter);
  } else if (!w->is_observer || w->is_stopped) {
    list_leave(w);
    (void)wait_free(w);
  } else if (w->report_again) {
    wait_report(w);
  }
}

void wait_report(wait *w)
{
  if (w->is_stopped)
    return;
  w->report_again = w->is_queued;
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
    wait_report(w);
  if (w->is_observer && w->kind->ended != NULL)
    w->kind->ended(w);
}

/* `reply` NULL: the server has not confirmed that it undid anything. */
static void undone(wait *w, const resp_reply *reply)
{
  const sync_row *row = w->op->row;
  sync_next next = sync_repeat();

  if (row->undone != NULL)
    next = row->undone(w->op, w->end.status, reply);
  else if (reply == NULL && w->op->may_be_done)
    next = sync_over(DIBS_UNKNOWN, "the server has not confirmed that it has undone the request, "
                                   "which it may have executed");
  if (next.what == SYNC_OVER)
    (void)outcome_set(&w->end, w->client, next.status, next.message);
}

static void left(client_record *c, question *q)
{
  wait *w = RECORD_OF(wait, leaving, q);

  (void)c;
  undone(w, q->reply);
  question_deinit(q);
  finish(w);
}

/* Asks the server to undo what the request did there. The reply is awaited unless a fault or
 * silence ended the wait, which has used its time already. true: left() will follow. */
static bool leave(wait *w, bool is_fault)
{
  client_record *c = w->client;
  instant now = drive_now(), until = instant_add(now, span_ms(c->times.command_ms));
  request k;
  bool is_made, is_begun = false;

  if (w->op->row->undo == NULL || w->end.status == DIBS_ERR_CLOSED)
    return false;
  request_init(&k, &c->memory);
  w->op->now = now;
  is_made = w->op->row->undo(w->op, &c->names, &k);
  if (is_made && is_fault) {
    engine_send(drive_engine(c->drive), &k, until, now);
  } else if (is_made) {
    question_ask(c, &w->leaving, &k, until);
    is_begun = !w->leaving.waiter.is_done;
    w->leaving.then = left;
  }
  if (!is_begun && (is_made || k.is_incomplete) && (!is_fault || w->op->row->undone != NULL))
    undone(w, NULL);                     /* there is no memory for it, or no time */
  request_deinit(&k);
  return is_begun;
}

/* Ended by a limit, a cancellation or a fault, not by a reply. */
static void ended(wait *w, dibs_status status, const char *words, bool is_late)
{
  bool is_fault = status < 0 || status == DIBS_UNKNOWN;

  w->is_observing = false;
  (void)outcome_set(&w->end, w->client, status, words);
  request_end(w);                        /* there is nothing left to cancel */
  if (!leave(w, is_fault && !(is_late && w->op->row->undone != NULL)))
    finish(w);
}

/* One that is repeated undoes what it did. */
static bool cancel(wait *w)
{
  engine *e = drive_engine(w->client->drive);

  if (!w->is_observing)
    return false;
  w->op->may_be_done = engine_is_in_doubt(e, w->id);
  (void)engine_stop(e, w->id, drive_now());
  if (w->op->may_be_done && w->op->row->every.ns == 0)
    ended(w, DIBS_UNKNOWN, "cancelled after its request was sent: it may be executed until the "
                           "limit of the call", false);
  else
    ended(w, DIBS_CANCELLED, "", false);
  return true;
}

void wait_op_over(const effect *e)
{
  wait *w = e->context;

  if (!e->is_decided) {
    w->op->may_be_done = e->was_lost;
    ended(w, e->status, e->text, e->is_late);
    return;
  }
  w->is_observing = false;
  (void)outcome_set(&w->end, w->client, e->status, e->text);
  finish(w);
}

void wait_op_news(const effect *e)
{
  wait *w = e->context;

  w->kind->news(w, e);
}

void wait_cancelled(client_record *c, const dibs_canceller *canceller)
{
  for (wait *w = c->first_wait; w != NULL; w = w->next)
    if (w->cancel == canceller)
      (void)cancel(w);
}

dibs_status wait_request_cancel(dibs_request *pending)
{
  entry in;
  dibs_status status = claim_enter(pending, HANDLE_WAIT, false, &in);

  if (status != DIBS_OK)
    return status;
  if (!cancel(in.wait))
    status = DIBS_ERR_STALE;
  drive_flush(in.client->drive);
  return claim_leave(&in, status);
}

/* The engine has ended most of them already; their jobs run when the drive ends. */
void waits_end(client_record *c)
{
  for (wait *w = c->first_wait; w != NULL; w = w->next) {
    if (!w->is_over) {
      w->is_observing = false;
      (void)outcome_set(&w->end, w->client, DIBS_ERR_CLOSED, "");
      finish(w);
    }
  }
}

void waits_free(client_record *c)
{
  while (c->first_wait != NULL) {
    wait *w = c->first_wait;

    list_leave(w);
    (void)wait_free(w);
  }
}

/* ---- the beginning ---- */

static instant limit_of(const wait *w, const wait_plan *plan)
{
  if (plan->wait_ms == 0)
    return plan->until.ns != 0 ? plan->until : client_give_up_at(w->client);
  return plan->wait_ms == DIBS_FOREVER ? INSTANT_NEVER
                                       : instant_add(drive_now(), span_ms(plan->wait_ms));
}

/* Mutex held. On a fault nothing was begun. */
static dibs_status begin(wait *w, const wait_plan *plan)
{
  client_record *c = w->client;
  dibs_status status;

  if (plan->cancel != NULL) {
    status = drive_watch(c->drive, plan->cancel);
    if (status != DIBS_OK)
      return client_fault(c, status, "a canceller cannot be watched");
    w->cancel = plan->cancel;
  }
  if (canceller_has_fired(plan->cancel)) {     /* after watching: no gap */
    unwatch(w);
    return DIBS_CANCELLED;
  }
  w->op->context = w;
  w->op->give_up_at = limit_of(w, plan);
  w->op->is_single = plan->wait_ms == 0;
  status = engine_run(drive_engine(c->drive), w->op, drive_now(), &w->id);
  if (status != DIBS_OK) {
    unwatch(w);
    return client_fault(c, status, "");
  }
  w->is_observing = true;
  list_join(w);
  return DIBS_OK;
}

dibs_status wait_blocking(wait *w, const wait_plan *plan)
{
  client_record *c = w->client;
  dibs_status status = client_enter(c, true);
  drive_waiter waiter;

  if (status != DIBS_OK)
    return status;
  status = begin(w, plan);
  if (status == DIBS_OK) {
    drive_waiter_init(&waiter);
    w->waiter = &waiter;
    (void)drive_wait(c->drive, &waiter, INSTANT_NEVER);
    w->waiter = NULL;
    list_leave(w);
    status = outcome_note(&w->end, c);
  }
  client_leave(c);
  return status;
}

/* Mutex held. */
static dibs_status start_async(wait *w, const wait_plan *plan)
{
  dibs_status status = client_callbacks(w->client);

  if (status == DIBS_OK)
    status = begin(w, plan);
  if (status != DIBS_CANCELLED)
    return status;
  (void)outcome_set(&w->end, w->client, DIBS_CANCELLED, "");   /* fired before: a normal end */
  list_join(w);
  finish(w);
  return DIBS_OK;
}

dibs_status wait_async(wait *w, const wait_plan *plan, dibs_request **ret_request)
{
  client_record *c = w->client;
  dibs_request *pending;
  dibs_status status;

  w->is_async = true;
  w->request = handle_new(HANDLE_WAIT, w, c->handle_word);
  if (w->request == NULL) {
    (void)wait_free(w);
    return client_refuse(c, DIBS_ERR_NO_MEMORY, "");
  }
  pending = handle_value(w->request);
  status = client_enter(c, false);
  if (status != DIBS_OK) {
    (void)wait_free(w);
    return status;
  }
  status = start_async(w, plan);
  if (status != DIBS_OK)
    (void)wait_free(w);
  else if (ret_request != NULL)
    *ret_request = pending;
  drive_flush(c->drive);
  client_leave(c);
  return status;
}

/* ---- observers ---- */

dibs_status wait_start(wait *w)
{
  static const wait_plan for_ever = { .wait_ms = DIBS_FOREVER };
  client_record *c = w->client;
  dibs_status status = client_enter(c, false);

  if (status != DIBS_OK)
    return status;
  w->is_observer = true;
  status = client_callbacks(c);
  if (status == DIBS_OK)
    status = begin(w, &for_ever);
  drive_flush(c->drive);
  client_leave(c);
  return status;
}

void wait_stop(wait *w)
{
  client_record *c = w->client;
  bool is_own = drive_running_job() == &w->job;
  drive_waiter waiter;

  if (c->epoch != fork_epoch()) {
    list_leave(w);
    (void)wait_free(w);
    return;
  }
  drive_lock(c->drive);
  c->calls++;                            /* dibs_close() waits for this call */
  w->is_stopped = true;
  if (w->is_observing)
    (void)engine_stop(drive_engine(c->drive), w->id, drive_now());
  w->is_observing = false;
  if (w->is_queued && drive_call_withdraw(c->drive, &w->job))
    w->is_queued = false;
  if (w->is_queued && !is_own) {         /* it runs now, in another thread */
    drive_waiter_init(&waiter);
    w->waiter = &waiter;
    (void)drive_wait(c->drive, &waiter, INSTANT_NEVER);
    w->waiter = NULL;
  }
  drive_flush(c->drive);
  if (!w->is_queued) {
    list_leave(w);
    (void)wait_free(w);
  }
  client_leave(c);
}
