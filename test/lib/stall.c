/* SPDX-License-Identifier: MIT */
/* test/lib/stall.c - see stall.h. */
#include "now.h"
#include "stall.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

enum { PERIOD_US = 2000, USUAL_US = 1000 };   /* later by less is no stall */

struct watcher {
  pthread_t thread;
  bool is_there;
  _Atomic int64_t due_us, stalled_us;
};

static struct watcher watchers[STALL_PROCESSORS_MAX];
static _Atomic bool is_over;

static int64_t late_us(const struct watcher *w)
{
  int64_t late = test_now_us() - atomic_load(&w->due_us);

  return late > USUAL_US ? late : 0;
}

static void *watch(void *of)
{
  static const struct timespec period = { .tv_nsec = PERIOD_US * 1000 };
  struct watcher *w = of;

  while (!atomic_load(&is_over)) {
    int64_t late;

    (void)nanosleep(&period, NULL);
    late = late_us(w);
    atomic_store(&w->due_us, test_now_us() + PERIOD_US);
    (void)atomic_fetch_add(&w->stalled_us, late);
  }
  return NULL;
}

/* Where we may not run there is nothing to watch. */
static void start_on(int processor)
{
  struct watcher *w = &watchers[processor];
  pthread_attr_t where;
  cpu_set_t one;

  CPU_ZERO(&one);
  CPU_SET((size_t)processor, &one);
  atomic_store(&w->due_us, test_now_us() + PERIOD_US);
  atomic_store(&w->stalled_us, 0);
  if (pthread_attr_init(&where) != 0)
    return;
  w->is_there = pthread_attr_setaffinity_np(&where, sizeof(one), &one) == 0
                && pthread_create(&w->thread, &where, watch, w) == 0;
  (void)pthread_attr_destroy(&where);
}

void stall_watch_start(void)
{
  long processors = sysconf(_SC_NPROCESSORS_ONLN);

  atomic_store(&is_over, false);
  for (int i = 0; i < processors && i < STALL_PROCESSORS_MAX; i++)
    start_on(i);
}

void stall_watch_stop(void)
{
  atomic_store(&is_over, true);
  for (int i = 0; i < STALL_PROCESSORS_MAX; i++) {
    if (watchers[i].is_there)
      (void)pthread_join(watchers[i].thread, NULL);
    watchers[i].is_there = false;
  }
}

stall_mark stall_now(void)
{
  stall_mark mark = { { 0 } };

  for (int i = 0; i < STALL_PROCESSORS_MAX; i++)
    if (watchers[i].is_there)
      mark.stalled_us[i] = atomic_load(&watchers[i].stalled_us) + late_us(&watchers[i]);
  return mark;
}

int64_t stall_since_ms(const stall_mark *begin)
{
  stall_mark end = stall_now();
  int64_t most = 0;

  for (int i = 0; i < STALL_PROCESSORS_MAX; i++)
    if (end.stalled_us[i] - begin->stalled_us[i] > most)
      most = end.stalled_us[i] - begin->stalled_us[i];
  return most / 1000;
}
