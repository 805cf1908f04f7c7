/* SPDX-License-Identifier: MIT */
/* drive/callbacks.c - user code runs here and only here: one job at a time, in order, on
 * the thread dibs-callback or in drive_process(), with the mutex released. */
#include "drive/parts.h"

static _Thread_local const drive_job *running;

const drive_job *drive_running_job(void)
{
  return running;
}

/* Without a thread the descriptor is readable as long as there is a job. */
static void quiet_if_none(drive *d)
{
  if (d->jobs.first == NULL && !d->has_callback_thread)
    loop_quiet(d->callbacks_fd);
}

static drive_job *job_take(drive *d)
{
  drive_job *job = jobs_take(&d->jobs);

  if (job != NULL)
    quiet_if_none(d);
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
  size_t count = jobs_count(&d->jobs);

  for (drive_job *job; count > 0 && (job = job_take(d)) != NULL; count--)
    job_run(d, job);
}

static void run_all(drive *d)
{
  while (d->jobs.first != NULL)
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
  jobs_add(&d->jobs, job);
  if (d->has_callback_thread)
    (void)pthread_cond_signal(&d->jobs_condition);
  else
    (void)loop_ring(d->callbacks_fd);
}

bool drive_call_withdraw(drive *d, drive_job *job)
{
  bool was_there = jobs_withdraw(&d->jobs, job);

  if (was_there)
    quiet_if_none(d);
  return was_there;
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
