/* SPDX-License-Identifier: MIT */
/* api/watch.c - on_change and on_lost of a hold: what they report, one after the other, and when
 * their data is freed.
 *
 * Changes are not queued: the callback gets what is when it begins, if that is not what it got
 * last. So a callback that blocks needs no memory, and the order is that of the changes. All
 * functions need the mutex, except the run of a job. */
#include "api/api.h"

typedef enum report { REPORT_NONE, REPORT_CHANGE, REPORT_LOSS } report;

/* The engine says when to look; what is there is the same for leases and locks of this machine. */
static dibs_change change_of(const claim *cl)
{
  instant until = { atomic_load(&cl->hold->valid_until_ns) };

  if (cl->is_lost)
    return DIBS_CHANGE_LOST;
  if (cl->watch.warn.ns > 0 && instant_since(until, drive_now()).ns <= cl->watch.warn.ns)
    return DIBS_CHANGE_ENDS_SOON;
  return atomic_load(&cl->hold->condition) == DIBS_HOLD_SUSPECT ? DIBS_CHANGE_SUSPECT
                                                                : DIBS_CHANGE_HELD;
}

static report next_report(const claim *cl)
{
  const hold_watch *w = &cl->watch;

  /* While its client closes, a hold is over, and only a loss is news. */
  if (w->is_over || w->is_quiet || cl->hold == NULL || (cl->client->is_closing && !cl->is_lost))
    return REPORT_NONE;
  if (w->on_change != NULL && w->change != w->told)
    return REPORT_CHANGE;
  return w->on_lost != NULL && cl->is_lost && !w->loss_is_told ? REPORT_LOSS : REPORT_NONE;
}

/* ---- the callbacks ---- */

static void report_change(hold_watch *w, const dibs_hold_info *info)
{
  w->on_change(w->hold, info, w->told, w->on_change_data);
}

static void report_loss(const claim *cl)
{
  const hold_watch *w = &cl->watch;
  dibs_error room = DIBS_ERROR_INIT;
  const dibs_error *why = outcome_error(&cl->loss, &room);
  dibs_loss loss = { .size = sizeof(loss), .why = why->status, .text = why->text };

  (void)claim_name(cl, 0, &loss.name, &loss.name_size);
  w->on_lost(w->hold, &loss, w->on_lost_data);
}

static void watch_run(drive_job *job)
{
  claim *cl = RECORD_OF(claim, watch.job, job);
  hold_watch *w = &cl->watch;
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;
  handle_view view;
  report next;

  drive_lock(cl->client->drive);
  next = next_report(cl);
  if (next == REPORT_CHANGE) {
    w->told = w->change;
    if (handle_look(w->hold, HANDLE_HOLD, &view))
      hold_info_read(&view, &info);
  }
  if (next == REPORT_LOSS)
    w->loss_is_told = true;
  drive_unlock(cl->client->drive);
  /* What they read now is written only where no job is under way. */
  if (next == REPORT_CHANGE)
    report_change(w, &info);
  else if (next == REPORT_LOSS)
    report_loss(cl);
}

static void watch_finish(drive_job *job)
{
  claim *cl = RECORD_OF(claim, watch.job, job);

  cl->jobs--;
  cl->watch.is_busy = false;
  watch_look(cl);
  if (!cl->watch.is_busy && (cl->watch.is_over || cl->is_lost))
    watch_over(cl);
  claim_settle(cl);
}

/* ---- from the hold ---- */

void watch_start(claim *cl, lock_call *call)
{
  hold_watch *w = &cl->watch;

  w->on_change = call->on_change;
  w->on_change_data = call->on_change_data;
  w->on_lost = call->on_lost;
  w->on_lost_data = call->on_lost_data;
  w->warn = call->spec.warn;
  w->job = (drive_job){ .run = watch_run, .finish = watch_finish };
  w->over = *call->over;
  *call->over = (watch_data){ .lost = { .free = NULL } };
}

void watch_granted(claim *cl)
{
  cl->watch.change = cl->watch.told = DIBS_CHANGE_HELD;
}

void watch_look(claim *cl)
{
  hold_watch *w = &cl->watch;

  if (cl->hold == NULL || w->is_over)
    return;
  w->change = change_of(cl);
  if (w->is_busy || next_report(cl) == REPORT_NONE)
    return;
  w->hold = handle_value(cl->hold);
  w->is_busy = true;
  claim_queue(cl, &w->job);
}

bool watch_is_warned(const claim *cl)
{
  return cl->watch.change == DIBS_CHANGE_ENDS_SOON;
}

/* ---- the end ---- */

static void over_run(drive_job *job)
{
  (void)watch_data_end(&RECORD_OF(claim, watch.over_job, job)->watch.freeing, DIBS_OK);
}

static void over_finish(drive_job *job)
{
  claim *cl = RECORD_OF(claim, watch.over_job, job);

  cl->jobs--;
  claim_settle(cl);
}

watch_data watch_take(claim *cl)
{
  hold_watch *w = &cl->watch;
  watch_data over = w->over;

  w->is_over = true;
  if (w->is_busy && drive_call_withdraw(cl->client->drive, &w->job)) {
    w->is_busy = false;
    cl->jobs--;
  }
  if (w->is_busy)
    return (watch_data){ .lost = { .free = NULL } };
  w->over = (watch_data){ .lost = { .free = NULL } };
  return over;
}

void watch_over(claim *cl)
{
  watch_data over = watch_take(cl);

  if (watch_data_is_empty(&over))
    return;
  cl->watch.freeing = over;
  cl->watch.over_job = (drive_job){ .run = over_run, .finish = over_finish };
  claim_queue(cl, &cl->watch.over_job);
}
