/* SPDX-License-Identifier: MIT */
/* drive/jobs.h - the queue of callbacks of a drive, real or simulated. The drive adds
 * mutex and wake-up. */
#ifndef DRIVE_JOBS_H
#define DRIVE_JOBS_H

#include <assert.h>

#include "drive/drive.h"

typedef struct drive_jobs { drive_job *first, *last; } drive_jobs;

static inline size_t jobs_count(const drive_jobs *jobs)
{
  size_t count = 0;

  for (const drive_job *job = jobs->first; job != NULL; job = job->next)
    count++;
  return count;
}

static inline void jobs_add(drive_jobs *jobs, drive_job *job)
{
  assert(!job->is_queued);     /* else the later jobs are lost, or it follows itself */
  job->is_queued = true;
  job->next = NULL;
  if (jobs->last != NULL)
    jobs->last->next = job;
  else
    jobs->first = job;
  jobs->last = job;
}

static inline drive_job *jobs_take(drive_jobs *jobs)      /* NULL: none */
{
  drive_job *job = jobs->first;

  if (job == NULL)
    return NULL;
  job->is_queued = false;
  jobs->first = job->next;
  if (jobs->first == NULL)
    jobs->last = NULL;
  return job;
}

static inline bool jobs_withdraw(drive_jobs *jobs, drive_job *job)
{
  drive_job *before = NULL;

  for (drive_job *j = jobs->first; j != NULL; before = j, j = j->next) {
    if (j != job)
      continue;
    if (before != NULL)
      before->next = j->next;
    else
      jobs->first = j->next;
    if (jobs->last == j)
      jobs->last = before;
    job->is_queued = false;
    return true;
  }
  return false;
}

#endif
