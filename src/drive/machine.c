/* SPDX-License-Identifier: MIT */
/* drive/machine.c - clocks, random numbers and ids of the machine. The simulated drive has
 * its own. */
#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel_state.h"
#include "base/errno_text.h"
#include "base/thread_local.h"
#include "drive/drive.h"

static _Atomic uint64_t threads_seen;
static THREAD_LOCAL uint64_t thread_number;
static THREAD_LOCAL int calls;         /* inside one another */
static THREAD_LOCAL int cancel_before; /* the state outside of calls */
static THREAD_LOCAL int outside;       /* of these, around a callback that runs now */

/* A call in a signal handler writes cancel_before only where `calls` is 0. So here it is written
 * after `calls`: a handler before that has restored what it found. */
void drive_enter_call(void)
{
  if (calls++ == 0)
    cancel_before = cancel_off();
}

/* ... and read before `calls`: a handler after that finds the state of this call, disabled. */
void drive_leave_call(void)
{
  int before = cancel_before;

  atomic_signal_fence(memory_order_seq_cst);
  if (--calls == 0)
    cancel_restore(before);
}

bool drive_is_in_call(void)
{
  return calls > 0;
}

int drive_enter_callback(void)
{
  int before = outside;

  outside = calls;
  return before;
}

void drive_leave_callback(int before)
{
  outside = before;
}

bool drive_is_busy(void)
{
  return calls > outside;
}

/* Without it a lease would end at a random instant. */
dibs_status drive_may_open(text *why)
{
  struct timespec at;

  if (clock_gettime(CLOCK_BOOTTIME, &at) == 0)
    return DIBS_OK;
  text_add(why, "the clock CLOCK_BOOTTIME cannot be read: ");
  text_add(why, errno_text(errno));
  text_add(why, "; leases need it. A seccomp filter has to allow clock_gettime()");
  return DIBS_ERR_SYSTEM;
}

/* drive_may_open() has read it once. */
instant drive_now(void)
{
  struct timespec at;

  (void)clock_gettime(CLOCK_BOOTTIME, &at);
  return (instant){ (int64_t)at.tv_sec * 1000000000 + at.tv_nsec };
}

int64_t drive_wall_us(void)
{
  struct timespec at;

  (void)clock_gettime(CLOCK_REALTIME, &at);
  return (int64_t)at.tv_sec * 1000000 + at.tv_nsec / 1000;
}

bool drive_random(void *ret_bytes, size_t size)
{
  int before = cancel_off();             /* some calls need it before they pin a handle */
  uint8_t *bytes = ret_bytes;
  size_t used = 0;
  ssize_t n;

  do {
    n = getrandom(bytes + used, size - used, 0);
    if (n > 0)
      used += (size_t)n;
  } while (used < size && (n >= 0 || errno == EINTR));
  cancel_restore(before);
  return used == size;
}

/* Thread ids are reused after a thread has ended; these numbers are not. */
uint64_t drive_thread(void)
{
  if (thread_number == 0)
    thread_number = atomic_fetch_add(&threads_seen, 1) + 1;
  return thread_number;
}

void drive_nap(void)
{
  struct timespec moment = { .tv_nsec = 1000000 };

  (void)nanosleep(&moment, NULL);
}

int64_t drive_process_id(void)
{
  return getpid();
}

void drive_host(char *ret_name, size_t size)
{
  memset(ret_name, 0, size);
  (void)gethostname(ret_name, size - 1);
}
