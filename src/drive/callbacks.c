/* SPDX-License-Identifier: MIT */
/* drive/callbacks.c - runs all user code: one job at a time, in order, on the thread
 * dibs-callback or in drive_process(), without the mutex.
 *
 * A child that a job makes by fork() comes back from it, too. The jobs that follow are the
 * parent's, as is what they report: the child runs none, and ends none. It touches neither mutex
 * nor engine, which may be in the middle of a change, and no descriptor, which the parent has,
 * too: on dibs-callback it stays, elsewhere it goes back to the program. */
#include "base/cancel_state.h"
#include "base/thread_local.h"
#include "drive/internal.h"

/* Jobs in one round of drive_process(): callbacks that add callbacks must not block the
 * program's loop or the sockets, and a round for each costs four system calls. */
#define AT_ONCE 32

static THREAD_LOCAL const drive_job *running;
static THREAD_LOCAL const drive *served;       /* by drive_process() in this thread */

const drive_job *drive_running_job(void)
{
  return running;
}

bool callbacks_are_served_here(const drive *d)
{
  return served == d;
}

/* Without a thread, the descriptor is readable while there are jobs, and each new one is an
 * edge. A thread in drive_process() runs what it adds by itself, and shows what is left at the
 * end. */
static void show(drive *d)
{
  bool has_jobs = d->jobs.first != NULL;

  if (d->has_callback_thread || served == d)
    return;
  if (has_jobs)
    (void)loop_ring(d->callbacks_fd);
  else if (d->jobs_are_shown)
    loop_quiet(d->callbacks_fd);
  d->jobs_are_shown = has_jobs;
}

/* After one was taken away. */
static void show_none(drive *d)
{
  if (d->jobs.first == NULL)
    show(d);
}

static drive_job *job_take(drive *d)
{
  drive_job *job = jobs_take(&d->jobs);

  show_none(d);
  return job;
}

/* Mutex held; not on return in a child that the job made: then false. */
static bool job_run(drive *d, drive_job *job)
{
  const drive_job *outer = running;
  int before;

  drive_unlock(d);
  running = job;
  before = drive_enter_callback();
  job->run(job);
  drive_leave_callback(before);
  running = outer;
  if (drive_is_forked(d))
    return false;
  drive_lock(d);
  job->finish(job);
  return true;
}

bool drive_callbacks_run(drive *d)
{
  size_t count = jobs_count(&d->jobs);
  drive_job *job;

  if (count < AT_ONCE)
    count = AT_ONCE;
  for (; count > 0 && (job = job_take(d)) != NULL; count--)
    if (!job_run(d, job))
      return false;
  return true;
}

bool callbacks_serve(drive *d, bool (*round)(drive *d))
{
  const drive *outer = served;
  bool is_parent;

  served = d;
  is_parent = round(d);
  served = outer;
  if (!is_parent)
    return false;
  show(d);
  if (!d->has_thread)
    loop_timer_set(d);
  return true;
}

static bool run_all(drive *d)
{
  while (d->jobs.first != NULL)
    if (!drive_callbacks_run(d))
      return false;
  return true;
}

static void *callbacks_thread(void *data)
{
  drive *d = data;

  (void)pthread_setname_np(pthread_self(), "dibs-callback");
  (void)cancel_off();                    /* a callback knows this thread */
  drive_lock(d);
  for (;;) {
    if (!run_all(d))
      drive_stay_if_forked(d);
    if (d->must_stop)
      break;
    (void)waiter_sleep(d, &d->jobs_waiter, INSTANT_NEVER);
  }
  waiter_part(d, &d->jobs_waiter);
  drive_unlock(d);
  return NULL;
}

dibs_status drive_callbacks_prepare(drive *d)
{
  if (!d->has_callback_thread || d->callback_thread_runs)
    return DIBS_OK;
  if (!loop_thread(&d->callback_thread, callbacks_thread, d, false))
    return DIBS_ERR_SYSTEM;
  d->callback_thread_runs = true;
  return DIBS_OK;
}

void drive_call_later(drive *d, drive_job *job)
{
  jobs_add(&d->jobs, job);
  if (d->has_callback_thread)
    waiter_poke(d, &d->jobs_waiter);
  else
    show(d);
}

bool drive_call_withdraw(drive *d, drive_job *job)
{
  bool was_there = jobs_withdraw(&d->jobs, job);

  show_none(d);
  return was_there;
}

void callbacks_stop(drive *d)
{
  if (d->callback_thread_runs)
    (void)pthread_join(d->callback_thread, NULL);
  d->callback_thread_runs = false;
  drive_lock(d);
  if (run_all(d))                        /* without a thread: the remaining jobs run here */
    drive_unlock(d);
}
