/* SPDX-License-Identifier: MIT */
/* test/fault/stall.c - measures when a process did not get to run. */
#include "history_parts.h"
#include "stall.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { TICK_US = 2000, STALL_US = 6000 };

struct stall_watch {
  struct recorder *recorder;
  void (*tick)(void *data, int64_t now_ns);
  void *data;
  pthread_t thread;
  atomic_bool is_over;
};

void pause_us(int64_t us)
{
  struct timespec left = { us / 1000000, (us % 1000000) * 1000 };

  while (us > 0 && nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

static void *watch(void *data)
{
  struct stall_watch *s = data;
  int64_t last = history_now_ns(), now;

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

struct stall_watch *stall_watch_start(struct recorder *r, void (*tick)(void *data, int64_t now_ns),
                                      void *data)
{
  struct stall_watch *s = fault_memory(1, sizeof(*s));
  sigset_t all, old;

  s->recorder = r;
  s->tick = tick;
  s->data = data;
  (void)sigfillset(&all);            /* signals are for the other threads */
  (void)pthread_sigmask(SIG_SETMASK, &all, &old);
  if (pthread_create(&s->thread, NULL, watch, s) != 0) {
    (void)fputs("no thread\n", stderr);
    exit(70);
  }
  (void)pthread_sigmask(SIG_SETMASK, &old, NULL);
  return s;
}

struct stall_watch *stall_watch_stop(struct stall_watch *s)
{
  if (s == NULL)
    return NULL;
  atomic_store(&s->is_over, true);
  (void)pthread_join(s->thread, NULL);
  free(s);
  return NULL;
}
