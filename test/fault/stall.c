/* SPDX-License-Identifier: MIT */
/* test/fault/stall.c - measures when a process did not get to run. */
#include "oracle/history_parts.h"
#include "stall.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_US = 2000, STALL_US = 6000, WATCHERS_MAX = 16, ANY_PROCESSOR = -1 };

struct watcher {
  struct stall_watch *watch;
  int processor;
  pthread_t thread;
};

struct stall_watch {
  struct recorder *recorder;
  void (*tick)(void *data, int64_t now_ns);
  void *data;
  struct watcher watchers[WATCHERS_MAX];
  int count;
  atomic_bool is_over;
};

void pause_us(int64_t us)
{
  struct timespec left = { .tv_sec = (time_t)(us / 1000000),
                           .tv_nsec = (long)(us % 1000000) * 1000 };

  while (us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

static void stay_on(int processor)
{
  cpu_set_t one;

  if (processor == ANY_PROCESSOR)
    return;
  CPU_ZERO(&one);
  CPU_SET((size_t)processor, &one);
  (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
}

static void *watch(void *data)
{
  const struct watcher *mine = data;
  struct stall_watch *s = mine->watch;
  int64_t last, now;

  stay_on(mine->processor);
  last = history_now_ns();
  while (!atomic_load(&s->is_over)) {
    pause_us(TICK_US);
    now = history_now_ns();
    if (now - last > (TICK_US + STALL_US) * 1000LL) {
      struct record r = { .op = OP_STALL, .phase = PHASE_INFO, .lock = NO_LOCK,
                          .sent_ns = last + TICK_US * 1000LL };

      recorder_put(s->recorder, &r);
    }
    last = now;
    if (s->tick != NULL)
      s->tick(s->data, now);
  }
  return NULL;
}

static void add_watcher(struct stall_watch *s, int processor)
{
  struct watcher *w = &s->watchers[s->count];

  w->watch = s;
  w->processor = processor;
  if (pthread_create(&w->thread, NULL, watch, w) != 0) {
    (void)fputs("no thread\n", stderr);
    exit(70);
  }
  s->count++;
}

static void add_watchers(struct stall_watch *s)
{
  cpu_set_t ours;

  CPU_ZERO(&ours);
  if (s->tick == NULL && sched_getaffinity(0, sizeof(ours), &ours) == 0)
    for (int i = 0; i < CPU_SETSIZE && s->count < WATCHERS_MAX; i++)
      if (CPU_ISSET((size_t)i, &ours))
        add_watcher(s, i);
  if (s->count == 0)
    add_watcher(s, ANY_PROCESSOR);
}

struct stall_watch *stall_watch_start(struct recorder *r, void (*tick)(void *data, int64_t now_ns),
                                      void *data)
{
  struct stall_watch *s = history_memory(1, sizeof(*s));
  sigset_t all, old;

  s->recorder = r;
  s->tick = tick;
  s->data = data;
  (void)sigfillset(&all);            /* signals are for the other threads */
  (void)pthread_sigmask(SIG_SETMASK, &all, &old);
  add_watchers(s);
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  return s;
}

struct stall_watch *stall_watch_stop(struct stall_watch *s)
{
  if (s == NULL)
    return NULL;
  atomic_store(&s->is_over, true);
  for (int i = 0; i < s->count; i++)
    (void)pthread_join(s->watchers[i].thread, NULL);
  free(s);
  return NULL;
}
