/* SPDX-License-Identifier: MIT */
/* drive/callbacks.c - user code runs here and only here: one job at a time, in order, on
 * the thread dibs-callback or in drive_process(), with the mutex released. */
#include "drive/parts.h"

static _Thread_local const drive_job *running;

const drive_job *drive_running_job(void)
{
  return running;
}

static drive_job *job_take(drive *d)
{
  drive_job *job = d->first_job;

  if (job == NULL)
    return NULL;
  d->first_job = job->next;
  if (d->first_job == NULL) {
    d->last_job = NULL;
    if (!d->has_callback_thread)
      loop_quiet(d->callbacks_fd);
  }
  return job;
}

static void job_run(drive *d, drive_job *job)
{
  const drive_job *outer = running;

  drive_unlock(d);
  running = job;
  job->run(job);
  running = outer;
  drive_lock(d);
  job->finish(job);
}

/* Only what waits now: callbacks that beget callbacks must not keep a program's loop, or
 * the sockets, waiting for ever. */
void drive_callbacks_run(drive *d)
{
  size_t count = 0;

  for (const drive_job *job = d->first_job; job != NULL; job = job->next)
    count++;
  for (drive_job *job; count > 0 && (job = job_take(d)) != NULL; count--)
    job_run(d, job);
}

static void run_all(drive *d)
{
  while (d->first_job != NULL)
    drive_callbacks_run(d);
}

static void *callbacks_thread(void *data)
{
  drive *d = data;

  drive_lock(d);
  for (;;) {
    run_all(d);
    if (d->must_stop)
      break;
    (void)pthread_cond_wait(&d->jobs_condition, &d->mutex);
  }
  drive_unlock(d);
  return NULL;
}

dibs_status drive_callbacks_prepare(drive *d)
{
  if (!d->has_callback_thread || d->callback_thread_runs)
    return DIBS_OK;
  if (!loop_thread(&d->callback_thread, "dibs-callback", callbacks_thread, d, false))
    return DIBS_ERR_SYSTEM;
  d->callback_thread_runs = true;
  return DIBS_OK;
}

void drive_call_later(drive *d, drive_job *job)
{
  job->next = NULL;
  if (d->last_job != NULL)
    d->last_job->next = job;
  else
    d->first_job = job;
  d->last_job = job;
  if (d->has_callback_thread)
    (void)pthread_cond_signal(&d->jobs_condition);
  else
    (void)loop_ring(d->callbacks_fd);
}

bool drive_call_withdraw(drive *d, drive_job *job)
{
  drive_job *before = NULL;

  for (drive_job *j = d->first_job; j != NULL; before = j, j = j->next) {
    if (j != job)
      continue;
    if (before != NULL)
      before->next = j->next;
    else
      d->first_job = j->next;
    if (d->last_job == j)
      d->last_job = before;
    if (d->first_job == NULL && !d->has_callback_thread)
      loop_quiet(d->callbacks_fd);
    return true;
  }
  return false;
}

void callbacks_stop(drive *d)
{
  if (d->callback_thread_runs)
    (void)pthread_join(d->callback_thread, NULL);
  d->callback_thread_runs = false;
  drive_lock(d);
  run_all(d);                            /* without a thread: what is left runs here */
  drive_unlock(d);
}
