/* SPDX-License-Identifier: MIT */
/* User code that is told something: one job at a time, in order, by a thread of the drive. */
#include "world/world.h"

const drive_job *drive_running_job(void)
{
  return sim_now == NULL || sim_now->running == NULL ? NULL : sim_now->running->job;
}

static void job_run(thread *t, drive_job *job)
{
  const drive_job *outer = t->job;

  t->job = job;
  job->run(job);
  t->job = outer;
  job->finish(job);
}

/* Ends with the last job, so that a process has ended when its programs have. */
static void run_all(void *data)
{
  drive *d = data;
  drive_job *job;

  while ((job = jobs_take(&d->jobs)) != NULL) {
    job_run(sim_now->running, job);
    drive_flush(d);
  }
  d->callbacks = NULL;
}

dibs_status drive_callbacks_prepare(drive *d)
{
  (void)d;
  return DIBS_OK;
}

void drive_call_later(drive *d, drive_job *job)
{
  jobs_add(&d->jobs, job);
  if (d->has_callback_thread && d->callbacks == NULL) {
    d->callbacks = thread_new(d->process, run_all, d);
    thread_ready(d->callbacks);
  }
}

bool drive_call_withdraw(drive *d, drive_job *job) { return jobs_withdraw(&d->jobs, job); }

bool drive_callbacks_run(drive *d)
{
  size_t count = jobs_count(&d->jobs);

  for (drive_job *job; count > 0 && (job = jobs_take(&d->jobs)) != NULL; count--)
    job_run(sim_now->running, job);
  return true;
}

void callbacks_stop(drive *d)
{
  while (d->callbacks != NULL)
    drive_nap();
  while (d->jobs.first != NULL)
    (void)drive_callbacks_run(d);
}

void callbacks_drop(drive *d)
{
  drive_job *job;

  while ((job = jobs_take(&d->jobs)) != NULL)
    job->finish(job);
}
