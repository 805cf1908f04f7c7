/* SPDX-License-Identifier: MIT */
/* test/lib/promise.c - see promise.h. */
#include "promise.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CLEAN_UP_SECONDS = 20 };

/* Shared with all forked children. */
static _Atomic int *is_any_broken;
static pid_t program;
static void (*_Atomic clean_up)(void);

static _Noreturn void leave(int number)
{
  (void)number;
  _exit(PROMISE_BROKEN_EXIT);
}

static void leave_if_broken(void)
{
  if (getpid() != program || atomic_load(is_any_broken) == 0)
    return;
  (void)fflush(stdout);
  leave(0);
}

/* Before main(), and so its atexit() is the last of all. */
__attribute__((constructor)) static void begin(void)
{
  void *page = mmap(NULL, sizeof(*is_any_broken), PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

  if (page == MAP_FAILED || atexit(leave_if_broken) != 0)
    abort();
  is_any_broken = page;
  program = getpid();
}

/* What cleans up may hang where all went wrong; the verdict is the same. */
static _Noreturn void end_broken(void)
{
  static _Atomic int enders;
  void (*first)(void) = atomic_load(&clean_up);

  atomic_store(is_any_broken, 1);
  if (getpid() != program)
    leave(0);
  while (atomic_fetch_add(&enders, 1) > 0)
    (void)pause();                     /* another thread ends it already */
  (void)signal(SIGALRM, leave);
  (void)alarm(CLEAN_UP_SECONDS);
  if (first != NULL)
    first();
  leave(0);
}

void promise_kept(bool is_kept, const char *format, ...)
{
  char words[512];
  va_list values;

  if (is_kept)
    return;
  va_start(values, format);
  (void)vsnprintf(words, sizeof(words), format, values);
  va_end(values);
  (void)printf("# BROKEN PROMISE: %s\n", words);
  (void)fflush(stdout);
  end_broken();
}

void promise_grown(unsigned long long fence, unsigned long long before, const char *where)
{
  promise_kept(fence > before, "%s: fence %llu after %llu", where, fence, before);
}

pid_t promise_waitpid(pid_t pid, int *ret_status, int options)
{
  int status = 0;
  pid_t ended = waitpid(pid, &status, options);

  if (ended > 0)
    promise_kept(!WIFEXITED(status) || WEXITSTATUS(status) != PROMISE_BROKEN_EXIT,
                 "seen by process %ld, a child", (long)ended);
  if (ret_status != NULL && ended > 0)
    *ret_status = status;
  return ended;
}

void promise_clean_up_by(void (*what)(void))
{
  atomic_store(&clean_up, what);
}
