/* SPDX-License-Identifier: MIT */
/* drive/waiter.c - how blocked calls sleep and are woken: a futex each.
 *
 * Wakes are collected and done by drive_unlock(), after the mutex is free: a thread woken
 * earlier would only run into it. A waiter lives on its caller's stack, so that it does not
 * leave while a wake of it is between the list and its word; the futex call behind that
 * uses the address only. */
#include <errno.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "drive/parts.h"

void drive_waiter_init(drive_waiter *w)
{
  *w = (drive_waiter){ .is_done = false };
}

void waiter_poke(drive *d, drive_waiter *w)
{
  if (w->is_to_wake || w->is_being_woken)
    return;
  w->is_to_wake = true;
  w->next_to_wake = d->first_to_wake;
  d->first_to_wake = w;
}

static void futex_wake(_Atomic uint32_t *word)
{
  (void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void drive_unlock(drive *d)
{
  drive_waiter *first = d->first_to_wake, *next;

  loop_show_if_needed(d);
  d->first_to_wake = NULL;
  for (drive_waiter *w = first; w != NULL; w = w->next_to_wake) {
    w->is_to_wake = false;
    w->is_being_woken = true;
  }
  (void)pthread_mutex_unlock(&d->mutex);
  for (drive_waiter *w = first; w != NULL; w = next) {
    _Atomic uint32_t *word = &w->word;

    next = w->next_to_wake;
    atomic_store(word, 1);               /* from here on `w` may be gone */
    futex_wake(word);
  }
}

/* False: `until` is over. Conditions and futexes know no CLOCK_BOOTTIME; after a suspend
 * this one is late, not wrong. */
static bool time_left(instant until, struct timespec *ret_left)
{
  int64_t left = instant_since(until, drive_now()).ns;

  if (left <= 0)
    return false;
  *ret_left = (struct timespec){ .tv_sec = (time_t)(left / 1000000000),
                                 .tv_nsec = (long)(left % 1000000000) };
  return true;
}

void waiter_sleep(drive *d, drive_waiter *w, instant until)
{
  struct timespec left;
  bool is_forever = instant_is_never(until);

  drive_unlock(d);
  while (atomic_load(&w->word) == 0) {
    if (!is_forever && !time_left(until, &left))
      break;
    (void)syscall(SYS_futex, &w->word, FUTEX_WAIT_PRIVATE, 0, is_forever ? NULL : &left,
                  NULL, 0);
  }
  drive_lock(d);
  /* Only a wake that has come through may be forgotten; see waiter_part(). */
  if (atomic_load(&w->word) != 0) {
    atomic_store(&w->word, 0);
    w->is_being_woken = false;
  }
}

void waiter_part(drive *d, drive_waiter *w)
{
  drive_waiter **at = &d->first_to_wake;

  if (w->is_to_wake) {
    while (*at != w)
      at = &(*at)->next_to_wake;
    *at = w->next_to_wake;
    w->is_to_wake = false;
  }
  while (w->is_being_woken && atomic_load(&w->word) == 0)
    (void)sched_yield();                 /* its waker has unlocked, and is about to store */
}
