/* SPDX-License-Identifier: MIT */
/* The kernel gets the time limit of a blocked call as it reads it, also where time_t is wider
 * than long. The functions of other files are not called; syscall() is ours. */
#include <stdarg.h>
#include <stdio.h>

#include "drive/waiter.c"

static int64_t now_ns;
static drive_waiter waiter;
static long given[2];

instant drive_now(void)
{
  return (instant){ .ns = now_ns };
}

void drive_lock(drive *d)
{
  (void)d;
}

void drive_stay_if_forked(const drive *d)
{
  (void)d;
}

long syscall(long number, ...)
{
  const long *left;
  va_list rest;

  va_start(rest, number);
  (void)va_arg(rest, void *);
  (void)va_arg(rest, int);
  (void)va_arg(rest, int);
  left = va_arg(rest, const long *);
  va_end(rest);
  given[0] = left[0];
  given[1] = left[1];
  now_ns = 3000000000;                   /* the time has passed */
  return 0;
}

int main(void)
{
  drive_waiter_init(&waiter);
  (void)waiter_sleep_outside(NULL, &waiter, (instant){ .ns = 1900000000 });
  printf("time_t has %zu bytes; the kernel sleeps %ld s and %ld ns of 1.9 s\n", sizeof(time_t),
         given[0], given[1]);
  return given[0] == 1 && given[1] == 900000000 ? 0 : 1;
}
