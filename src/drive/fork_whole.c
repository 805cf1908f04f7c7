/* SPDX-License-Identifier: MIT */
/* drive/fork_whole.c - makes clients consistent while the process forks.
 *
 * A child gets a copy of every client, perhaps while another thread changes it; freeing
 * such a copy could free memory twice. So the fork handlers take the mutex of each client
 * before a fork and release it afterwards in parent and child: the copy is consistent
 * ("whole"), and the child closes its sockets and lock files, which the parent still uses, and
 * what else the program does not know: it may close these by itself, and use their numbers. The
 * handlers try only for a limited time, because a fork in a signal handler may have interrupted the
 * thread that has the mutex. Other copies, also those of children made without fork(), are never
 * freed, and keep their descriptors until the child ends or executes a program.
 *
 * The child of a signal handler may return into the call that the handler interrupted. It has the
 * parent's requests there, with their numbers: by new connections it would get what is granted to
 * the parent. So in a child nothing is sent, received or watched, no connection is opened, and a
 * call that waits never ends. */
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#include "drive/drive.h"
#include "drive/fork_epoch.h"
#include "drive/internal.h"

enum { TRIES = 200, TRY_NS = 100000 };

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static drive *list;
static _Thread_local bool list_is_taken;       /* by this thread, which forks */
static _Thread_local uint64_t parents_epoch;   /* of the last fork of this thread */

static bool take(pthread_mutex_t *mutex)
{
  struct timespec moment = { .tv_nsec = TRY_NS };

  for (int i = 0; i < TRIES; i++) {
    if (pthread_mutex_trylock(mutex) == 0)
      return true;
    (void)nanosleep(&moment, NULL);
  }
  return false;
}

static void before_fork(void)
{
  parents_epoch = fork_epoch_known();
  drive_enter_call();                    /* no signal handler may wait for these mutexes */
  list_is_taken = take(&list_mutex);
  for (drive *d = list_is_taken ? list : NULL; d != NULL; d = d->next_listed)
    d->stands_still = !drive_is_forked(d) && take(&d->mutex);
}

/* When the parent is killed, the server must notice although the child lives on: otherwise it
 * grants a lock to a waiter that is dead. */
static void drop(drive *d)
{
  transports_drop(d);
  descriptors_drop(d);
  d->handler.forked(d->handler.owner);
}

static void after_fork(bool is_child)
{
  for (drive *d = list_is_taken ? list : NULL; d != NULL; d = d->next_listed)
    if (d->stands_still) {
      d->stands_still = false;
      d->is_whole = is_child;
      if (is_child)
        drop(d);
      (void)pthread_mutex_unlock(&d->mutex);
    }
  if (list_is_taken)
    (void)pthread_mutex_unlock(&list_mutex);
  drive_leave_call();
}

static void after_fork_in_parent(void)
{
  after_fork(false);
}

static void after_fork_in_child(void)
{
  fork_epoch_leave(parents_epoch);
  after_fork(true);
  if (!list_is_taken) {                        /* no thread of the child will unlock it */
    list = NULL;
    (void)pthread_mutex_init(&list_mutex, NULL);
  }
}

/* When the library is loaded, so that handlers of the program come later: what they do before a
 * fork is done before these take the mutexes. A thread of the program may call the library under a
 * mutex that such a handler takes: it would wait for a client's mutex, and the fork for it. */
__attribute__((constructor)) static void watch_forks(void)
{
  (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* After a failure the drive is not listed: its copies are never whole. */
void drive_list(drive *d)
{
  if (!take(&list_mutex))
    return;
  d->next_listed = list;
  list = d;
  (void)pthread_mutex_unlock(&list_mutex);
}

void drive_unlist(drive *d)
{
  (void)pthread_mutex_lock(&list_mutex);
  for (drive **at = &list; *at != NULL; at = &(*at)->next_listed)
    if (*at == d) {
      *at = d->next_listed;
      break;
    }
  (void)pthread_mutex_unlock(&list_mutex);
}

void drive_stay_if_forked(const drive *d)
{
  while (drive_is_forked(d))
    (void)pause();
}

bool drive_is_whole(const drive *d)
{
  return !drive_is_forked(d) || d->is_whole;
}
