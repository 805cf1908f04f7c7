/* SPDX-License-Identifier: MIT */
/* drive/spin.c - whether a leader looks for the reply for a moment before it sleeps. */
#include "drive/spin.h"

#include <sched.h>
#include <stdatomic.h>

#define FAILURES_MAX 11
#define PUT_OFF_FAILURES 6          /* 64 sleeps */

bool spin_is_next(spin_history *h)
{
  if (h->sleeps == 0)
    return true;
  h->sleeps--;
  return false;
}

void spin_ended(spin_history *h, spin_result result)
{
  if (result == SPIN_PAID) {
    h->failures = 0;
    return;
  }
  if (result == SPIN_PUT_OFF && h->failures < PUT_OFF_FAILURES)
    h->failures = PUT_OFF_FAILURES;
  if (h->failures < FAILURES_MAX)
    h->failures++;
  h->sleeps = 1U << (h->failures - 1);
}

/* A child of fork() may inherit one that is not its own: it then spins with one less. */
static atomic_int spinners;
static atomic_int processors;            /* 0: not counted yet */

static int processor_count(void)
{
  cpu_set_t set;
  int count = atomic_load(&processors);

  if (count == 0) {
    count = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
    atomic_store(&processors, count);
  }
  return count;
}

bool spinner_enters(void)
{
  if (atomic_fetch_add(&spinners, 1) < processor_count() - 1)
    return true;
  spinner_leaves();
  return false;
}

void spinner_leaves(void)
{
  atomic_fetch_sub(&spinners, 1);
}
