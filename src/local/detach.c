/* SPDX-License-Identifier: MIT */
/* local/detach.c - starts a process that is independent of the caller. */
#include "local/detach.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/descriptor.h"

pid_t bare_fork(void)
{
  /* All arguments are zero, because their order differs between architectures. */
  return (pid_t)syscall(SYS_clone, 0UL, 0UL, 0UL, 0UL, 0UL);
}

int watch_process(pid_t pid)
{
#ifdef SYS_pidfd_open
  return above_stdio((int)syscall(SYS_pidfd_open, pid, 0U));
#else
  (void)pid;
  return -1;
#endif
}

static bool above_stdio_pair(int ends[2], bool are_open)
{
  if (!are_open)
    return false;
  for (int i = 0; i < 2; i++)
    ends[i] = above_stdio(ends[i]);
  if (ends[0] >= 0 && ends[1] >= 0)
    return true;
  for (int i = 0; i < 2; i++)
    if (ends[i] >= 0)
      (void)close(ends[i]);
  return false;
}

bool detach_pipe(int ret_ends[2])
{
  return above_stdio_pair(ret_ends, pipe2(ret_ends, O_CLOEXEC) == 0);
}

bool detach_socket_pair(int ret_ends[2])
{
  return above_stdio_pair(ret_ends,
                          socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ret_ends) == 0);
}

/* ---- in the new process ---- */

static void reset_signals(void)
{
  struct sigaction standard = { .sa_handler = SIG_DFL };
  sigset_t none;

  for (int number = 1; number < NSIG; number++)
    (void)sigaction(number, &standard, NULL);
  standard.sa_handler = SIG_IGN;
  (void)sigaction(SIGPIPE, &standard, NULL);
  (void)sigaction(SIGXFSZ, &standard, NULL);
  (void)sigemptyset(&none);
  (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

static void close_between(unsigned first, unsigned last)
{
  struct rlimit limit = { .rlim_cur = 65536 };

  if (first > last)
    return;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, last, 0U) == 0)
    return;
#endif
  /* A kernel before 5.9. No descriptor is above the limit, unless it was lowered. */
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur > 65536)
    limit.rlim_cur = 65536;
  for (unsigned fd = first; fd <= last && fd < limit.rlim_cur; fd++)
    (void)close((int)fd);
}

/* Closes all descriptors but stdio and `kept`. `kept` is short: find its next larger
 * element each time. */
static void close_others(const int *kept, size_t kept_count)
{
  unsigned first = 3;

  for (;;) {
    unsigned next = ~0U;
    for (size_t i = 0; i < kept_count; i++)
      if ((unsigned)kept[i] >= first && (unsigned)kept[i] < next)
        next = (unsigned)kept[i];
    close_between(first, next == ~0U ? next : next - 1);
    if (next == ~0U)
      return;
    first = next + 1;
  }
}

static void leave_the_terminal(const char *name)
{
  int null;

  (void)umask(077);
  (void)chdir("/");
  (void)prctl(PR_SET_NAME, name);
  null = above_stdio(open("/dev/null", O_RDWR | O_CLOEXEC));
  for (int fd = 0; fd <= 2; fd++)
    (void)(null >= 0 ? dup2(null, fd) : close(fd));
}

/* The child only creates the grandchild: the caller has no child to wait for, and the
 * grandchild cannot get a terminal. */
static _Noreturn void become_detached(void (*work)(void *data), void *data,
                                      const char *name, const int *kept,
                                      size_t kept_count)
{
  pid_t pid;

  (void)setsid();
  pid = bare_fork();
  if (pid != 0)
    _exit(pid < 0);
  leave_the_terminal(name);
  close_others(kept, kept_count);
  reset_signals();
  work(data);
  _exit(0);
}

/* ---- in the caller ---- */

bool detach(void (*work)(void *data), void *data, const char *name, const int *kept,
            size_t kept_count)
{
  sigset_t all, before;
  int how = -1;
  pid_t child;

  assert(kept_count <= DETACH_KEPT_MAX);
  /* No signal handler of the caller may run in the child. */
  (void)sigfillset(&all);
  (void)pthread_sigmask(SIG_SETMASK, &all, &before);
  child = bare_fork();
  if (child == 0)
    become_detached(work, data, name, kept, kept_count);
  (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (child < 0)
    return false;
  while (waitpid(child, &how, __WALL) < 0 && errno == EINTR)
    ;
  if (how != 0)
    errno = EAGAIN;
  return how == 0;
}
