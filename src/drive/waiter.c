/* SPDX-License-Identifier: MIT */
/* drive/waiter.c - blocked calls sleep and wake with a futex each.
 *
 * Wakes are collected and executed by drive_unlock() after it has released the mutex: a
 * thread woken earlier would wait for it. A waiter is on its caller's stack, so the caller
 * does not return while a wake is between list and futex word; the later futex call uses
 * the address only.
 *
 * Several are woken by one system call: each is first moved to the queue of `together`. With a
 * call for each, every thread that wakes up may take the processor from the one that still has
 * others to wake: a switch more for each. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "drive/internal.h"

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

/* Values of a futex. ALONE: done, the call returns without the mutex. */
enum { POKED = 1, ALONE = 2 };

/* Of all clients: each call that is moved here is to be woken. */
static _Atomic uint32_t together;

static long futex_wake(_Atomic uint32_t *word, int count)
{
  return syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* The call may be gone, and a later one of its thread sleep at the same address: that finds its
 * word 0, and sleeps again. */
static void wake(_Atomic uint32_t *word)
{
  /* None is there: it is not asleep yet, or another thread has moved that later call. */
  if (futex_wake(word, 1) == 0)
    (void)futex_wake(&together, INT_MAX);
}

static void move(_Atomic uint32_t *word)
{
  if (syscall(SYS_futex, word, FUTEX_REQUEUE_PRIVATE, 0, 1, &together, 0) < 0)
    wake(word);
}

static void wake_all(drive_waiter *first)
{
  bool are_several = first->next_to_wake != NULL;
  drive_waiter *next;

  for (drive_waiter *w = first; w != NULL; w = next) {
    _Atomic uint32_t *word = &w->word;

    next = w->next_to_wake;
    atomic_store(word, w->wake_word);    /* from here on `w` may be gone */
    if (are_several)
      move(word);
    else
      wake(word);
  }
  if (are_several)
    (void)futex_wake(&together, INT_MAX);
}

bool drive_try_lock(drive *d)
{
  return pthread_mutex_trylock(&d->mutex) == 0;
}

static void unlock_and_wake(drive *d)
{
  drive_waiter *first = d->first_to_wake;

  loop_show_if_needed(d);
  d->first_to_wake = NULL;
  for (drive_waiter *w = first; w != NULL; w = w->next_to_wake) {
    w->is_to_wake = false;
    w->is_being_woken = true;
    w->wake_word = w->returns_alone && w->is_done && !w->is_joined ? ALONE : POKED;
    atomic_fetch_add(&d->woken, 1);
  }
  (void)pthread_mutex_unlock(&d->mutex);
  if (first != NULL)
    wake_all(first);
}

/* In a child they are the parent's. */
static bool must_run_calls(const drive *d)
{
  return calls_are_submitted(d) && !drive_is_forked(d);
}

/* A call that is submitted while this thread has the mutex is begun by it: either the other
 * thread gets the mutex, or this one sees the call after it has released it. */
void drive_unlock(drive *d)
{
  do {
    if (must_run_calls(d))
      calls_run(d, NULL);
    unlock_and_wake(d);
    atomic_thread_fence(memory_order_seq_cst);
  } while (must_run_calls(d) && drive_try_lock(d));
}

/* What SYS_futex reads on every machine: where long has 32 bits, struct timespec may have 64-bit
 * seconds. */
typedef struct {
  long seconds;
  long nanoseconds;
} futex_timeout;

/* false: `until` has passed. Conditions and futexes do not support CLOCK_BOOTTIME; after a
 * suspend the wait ends late, but correctly. */
static bool time_left(instant until, futex_timeout *ret_left)
{
  int64_t left = instant_since(until, drive_now()).ns;

  if (left <= 0)
    return false;
  *ret_left = (futex_timeout){ .seconds = (long)(left / 1000000000),
                               .nanoseconds = (long)(left % 1000000000) };
  return true;
}

static void futex_sleep(_Atomic uint32_t *word, const futex_timeout *left)
{
  (void)syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, left, NULL, 0);
}

/* The last of several calls that were woken together sends what the others left to it. */
static bool is_last_woken(drive *d)
{
  return atomic_fetch_sub(&d->woken, 1) == 1 && atomic_load(&d->unsent) > 0;
}

static void woken_up(drive *d, drive_waiter *w)
{
  if (!w->is_being_woken)
    return;
  w->is_being_woken = false;
  if (is_last_woken(d))
    drive_flush_all(d);
}

static void returned_alone(drive *d)
{
  if (!is_last_woken(d))
    return;
  drive_lock(d);
  drive_flush_all(d);
  drive_unlock(d);
}

bool waiter_sleep_outside(drive *d, drive_waiter *w, instant until)
{
  futex_timeout left;
  bool is_forever = instant_is_never(until);

  while (atomic_load(&w->word) == 0) {
    if (!is_forever && !time_left(until, &left))
      break;
    futex_sleep(&w->word, is_forever ? NULL : &left);
  }
  if (atomic_load(&w->word) == ALONE) {
    returned_alone(d);
    return true;
  }
  drive_stay_if_forked(d);
  drive_lock(d);
  /* Only a completed wake may be forgotten; see waiter_part(). */
  if (atomic_load(&w->word) == ALONE) {
    drive_unlock(d);
    returned_alone(d);
    return true;
  }
  if (atomic_load(&w->word) != 0) {
    atomic_store(&w->word, 0);
    woken_up(d, w);
  }
  return false;
}

bool waiter_sleep(drive *d, drive_waiter *w, instant until)
{
  drive_unlock(d);
  return waiter_sleep_outside(d, w, until);
}

void waiter_part(drive *d, drive_waiter *w)
{
  drive_waiter **at = &d->first_to_wake;

  while (w->is_being_woken && atomic_load(&w->word) == 0) {
    (void)sched_yield();                 /* drive_unlock() is about to store it */
    drive_stay_if_forked(d);
  }
  woken_up(d, w);                        /* its effects may finish `w`, and put it in the list */
  if (w->is_to_wake) {
    while (*at != w)
      at = &(*at)->next_to_wake;
    *at = w->next_to_wake;
    w->is_to_wake = false;
  }
}
