/* SPDX-License-Identifier: MIT */
/* Messages never block: bounded_write.c on a pipe that another writer fills after the poll. */
#include "tests.h"

#include <stdint.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "cli/bounded_write.h"

#define HELP_AFTER_S 20

/* In place of the one of libc: another writer was faster after it. */
static bool another_writer_is_faster;

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
  const struct timespec limit = { .tv_sec = timeout_ms / 1000,
                                  .tv_nsec = timeout_ms % 1000 * 1000000L };

  if (another_writer_is_faster) {
    fds[0].revents = POLLOUT;
    return 1;
  }
  return (int)syscall(SYS_ppoll, fds, count, &limit, NULL, 0);
}

static void make_pipe(int ret_fds[2], bool is_full)
{
  char bytes[4096];

  memset(bytes, 'x', sizeof(bytes));
  assert_int_equal(pipe2(ret_fds, O_CLOEXEC | O_NONBLOCK), 0);
  while (is_full && write(ret_fds[1], bytes, sizeof(bytes)) > 0)
    continue;
  assert_int_equal(fcntl(ret_fds[1], F_SETFL, 0), 0);
}

static void close_pipe(const int fds[2])
{
  if (fds[0] >= 0)
    close(fds[0]);
  close(fds[1]);
}

/* ---- help for a write that would block without end ---- */

typedef struct helper {
  int fd;
  atomic_bool is_over, has_helped;
} helper;

static void *help(void *data)
{
  const struct timespec step = { .tv_nsec = 10000000 };
  helper *h = data;
  char bytes[4096];

  for (int i = 0; i < HELP_AFTER_S * 100 && !atomic_load(&h->is_over); i++)
    nanosleep(&step, NULL);
  while (!atomic_load(&h->is_over)) {
    atomic_store(&h->has_helped, true);
    (void)!read(h->fd, bytes, sizeof(bytes));
  }
  return NULL;
}

TEST(a_pipe_that_fills_after_the_poll_blocks_for_a_moment_only)
{
  pthread_t thread;
  int fds[2];
  helper h;

  make_pipe(fds, true);
  h.fd = fds[0];
  atomic_init(&h.is_over, false);
  atomic_init(&h.has_helped, false);
  assert_int_equal(pthread_create(&thread, NULL, help, &h), 0);
  another_writer_is_faster = true;
  errno = 0;
  assert_false(bounded_write(fds[1], "message\n", 8, 20));
  assert_int_equal(errno, EAGAIN);
  another_writer_is_faster = false;
  atomic_store(&h.is_over, true);
  pthread_join(thread, NULL);
  assert_false(atomic_load(&h.has_helped));
  close_pipe(fds);
}

TEST(what_is_taken_is_written_whole)
{
  char got[16] = "";
  int fds[2];

  make_pipe(fds, false);
  assert_true(bounded_write(fds[1], "message\n", 8, 20));
  assert_int_equal(read(fds[0], got, sizeof(got)), 8);
  assert_string_equal(got, "message\n");
  close_pipe(fds);
}

TEST(a_pipe_without_a_reader_ends_nothing)
{
  struct sigaction now;
  sigset_t pending;
  int fds[2];

  make_pipe(fds, false);
  close(fds[0]);
  fds[0] = -1;
  signal(SIGPIPE, SIG_DFL);
  assert_false(bounded_write(fds[1], "message\n", 8, 20));
  assert_int_equal(errno, EPIPE);
  sigpending(&pending);
  assert_int_equal(sigismember(&pending, SIGPIPE), 0);
  assert_int_equal(sigaction(SIGPIPE, NULL, &now), 0);
  assert_true(now.sa_handler == SIG_DFL);
  close_pipe(fds);
}

TEST(signals_are_afterwards_as_they_were)
{
  struct sigaction urgent, ignored = { .sa_handler = SIG_IGN };
  sigset_t before, after;
  int fds[2];

  sigaction(SIGURG, &ignored, NULL);
  sigemptyset(&before);
  sigaddset(&before, SIGURG);
  pthread_sigmask(SIG_BLOCK, &before, NULL);
  pthread_sigmask(SIG_BLOCK, NULL, &before);
  make_pipe(fds, false);
  assert_true(bounded_write(fds[1], "message\n", 8, 20));
  pthread_sigmask(SIG_BLOCK, NULL, &after);
  for (int number = 1; number < NSIG; number++)
    assert_int_equal(sigismember(&before, number), sigismember(&after, number));
  sigaction(SIGURG, NULL, &urgent);
  assert_true(urgent.sa_handler == SIG_IGN);
  close_pipe(fds);
}

RUN_TESTS(NULL, NULL)
