/* SPDX-License-Identifier: MIT */
/* test/fault/worker_watch.c - what a worker does beside its work: cancels in time, and counts
 * what it uses of the machine. */
#include "worker.h"

#include <fcntl.h>
#include <stdio.h>

enum { FDS_MAX = 1024 };

static struct stall_watch *watch;

static void fire_due(struct thread *t, int64_t now)
{
  (void)pthread_mutex_lock(&t->mutex);
  if (t->canceller != NULL && t->cancel_at_ns != 0 && now >= t->cancel_at_ns) {
    dibs_cancel(t->canceller);
    t->cancel_at_ns = 0;
  }
  (void)pthread_mutex_unlock(&t->mutex);
}

static void tick(void *data, int64_t now)
{
  struct worker *w = data;
  static bool has_quit;

  for (int i = 0; i < w->plan.threads; i++)
    fire_due(&w->threads[i], now);
  if (atomic_load(&w->is_ending) && !has_quit) {
    dibs_cancel(w->quit);
    has_quit = true;
  }
}

void watch_start(struct worker *w)
{
  watch = stall_watch_start(w->recorder, tick, w);
}

void watch_stop(void)
{
  watch = stall_watch_stop(watch);
}

/* ---- what it uses ---- */

/* Not by the directories of /proc: an entry made there for each descriptor and thread has to
 * be unmade by whoever waits for this process, which was seen to take seconds. */
long usage_fds(void)
{
  long count = 0;

  for (int fd = 0; fd < FDS_MAX; fd++)
    count += fcntl(fd, F_GETFD) >= 0;
  return count;
}

/* A line of this process's status, "Threads: %ld". */
static long status_of(const char *format)
{
  FILE *status = fopen("/proc/self/status", "re");
  char line[128];
  long value = -1;

  while (status != NULL && fgets(line, sizeof(line), status) != NULL)
    if (sscanf(line, format, &value) == 1)
      break;
  if (status != NULL)
    (void)fclose(status);
  return value;
}

long usage_threads(void) { return status_of("Threads: %ld"); }
static long rss_kib(void) { return status_of("RssAnon: %ld kB"); }

static void tell(struct worker *w, enum phase when, enum usage what, long value)
{
  struct record r = { .op = OP_USAGE, .phase = (uint8_t)when, .mode = (uint8_t)what,
                      .value = value, .lock = NO_LOCK };

  recorder_put(w->recorder, &r);
}

void usage_tell(struct worker *w, enum phase when)
{
  tell(w, when, USAGE_FDS, usage_fds());
  tell(w, when, USAGE_THREADS, usage_threads());
  tell(w, when, USAGE_RSS_KIB, rss_kib());
  tell(w, when, USAGE_CYCLES, (long)atomic_load(&w->counters->cycles));
}
