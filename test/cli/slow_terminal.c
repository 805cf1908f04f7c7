/* SPDX-License-Identifier: MIT */
/* test/cli/slow_terminal.c - for LD_PRELOAD: a process that asks which group has the terminal gets
 * the answer of 100 ms ago, and goes on 100 ms after it has continued a group, as on a machine
 * that had other things to do in between. With the variable EXEC_WAITS_FOR it executes a program
 * only once there is a file of that name. While there is a file of the name in TIMER_WAITS_WHILE it
 * creates no timer, and with GROUP_WAITS_WHILE it changes no process group. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const struct timespec late = { .tv_nsec = 100000000 };

int execvpe(const char *file, char *const *arguments, char *const *environment)
{
  const char *awaited = getenv("EXEC_WAITS_FOR");
  int (*next)(const char *, char *const *, char *const *);

  *(void **)&next = dlsym(RTLD_NEXT, "execvpe");
  while (awaited != NULL && access(awaited, F_OK) != 0)
    (void)nanosleep(&late, NULL);
  return next(file, arguments, environment);
}

static void wait_while(const char *variable)
{
  const char *path = getenv(variable);

  while (path != NULL && access(path, F_OK) == 0)
    (void)nanosleep(&late, NULL);
}

int timerfd_create(clockid_t clock, int flags)
{
  wait_while("TIMER_WAITS_WHILE");
  return (int)syscall(SYS_timerfd_create, clock, flags);
}

int setpgid(pid_t pid, pid_t group)
{
  wait_while("GROUP_WAITS_WHILE");
  return (int)syscall(SYS_setpgid, pid, group);
}

int kill(pid_t pid, int number)
{
  int status = (int)syscall(SYS_kill, pid, number), error = errno;

  if (number == SIGCONT && pid < 0)
    (void)nanosleep(&late, NULL);
  errno = error;
  return status;
}

pid_t tcgetpgrp(int terminal)
{
  pid_t group = -1;
  int status = ioctl(terminal, TIOCGPGRP, &group), error = errno;

  (void)nanosleep(&late, NULL);
  errno = error;
  return status < 0 ? -1 : group;
}
