/* SPDX-License-Identifier: MIT */
/* User code that is told something: one job at a time, in order, by a thread of the drive. */
#include "world/world.h"

const drive_job *drive_running_job(void)
{
  return sim_now == NULL || sim_now->running == NULL ? NULL : sim_now->running->job;
}

static drive_job *job_take(drive *d)
{
  drive_job *job = d->first_job;

  if (job != NULL)
    d->first_job = job->next;
  if (d->first_job == NULL)
    d->last_job = NULL;
  return job;
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

  while ((job = job_take(d)) != NULL) {
    job_run(sim_now->running, job);
    drive_settle(d);
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
  job->next = NULL;
  if (d->last_job != NULL)
    d->last_job->next = job;
  else
    d->first_job = job;
  d->last_job = job;
  if (d->has_callback_thread && d->callbacks == NULL) {
    d->callbacks = thread_new(d->process, run_all, d);
    thread_ready(d->callbacks);
  }
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
    return true;
  }
  return false;
}

void drive_callbacks_run(drive *d)
{
  size_t count = 0;

  for (const drive_job *job = d->first_job; job != NULL; job = job->next)
    count++;
  for (drive_job *job; count > 0 && (job = job_take(d)) != NULL; count--)
    job_run(sim_now->running, job);
}

void callbacks_stop(drive *d)
{
  while (d->callbacks != NULL)
    drive_yield();
  while (d->first_job != NULL)
    drive_callbacks_run(d);
}

void callbacks_drop(drive *d)
{
  drive_job *job;

  while ((job = job_take(d)) != NULL)
    job->finish(job);
}
