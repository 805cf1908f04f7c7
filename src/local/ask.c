/* SPDX-License-Identifier: MIT */
/* local/ask.c - PING and SHUTDOWN over a unix socket. */
#include "local/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t clock_ms(void)
{
  struct timespec now;

  (void)clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void nap_ms(int ms)
{
  struct timespec left = { .tv_sec = ms / 1000, .tv_nsec = (ms % 1000) * 1000000L };

  while (nanosleep(&left, &left) != 0 && errno == EINTR)
    ;
}

/* The process that called listen() on the other end: the kernel knows, nobody can lie. */
static pid_t listener(int fd)
{
  struct ucred who;
  socklen_t size = sizeof(who);

  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    return 0;
  return who.pid;
}

static answer open_socket(const char *path, int *ret_fd)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  int fd, cause;

  if (strlen(path) >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return ANSWER_OTHER;
  }
  memcpy(address.sun_path, path, strlen(path));
  fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0)
    return ANSWER_OTHER;
  if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0) {
    *ret_fd = fd;
    return ANSWER_PONG;
  }
  cause = errno;
  (void)close(fd);
  errno = cause;
  if (cause == ENOENT || cause == ECONNREFUSED)
    return ANSWER_NOBODY;
  /* EAGAIN: its queue of unaccepted connections is full. It listens. */
  return cause == EAGAIN || cause == EINTR ? ANSWER_NOT_YET : ANSWER_OTHER;
}

/* Reads until a line is complete or the end. The number of bytes, -1 for time over. */
static ssize_t read_line(int fd, char *ret_line, size_t size, int64_t until)
{
  size_t used = 0;

  while (used < size && memchr(ret_line, '\n', used) == NULL) {
    struct pollfd wait = { .fd = fd, .events = POLLIN };
    int64_t left = until - clock_ms();
    ssize_t got;

    if (left <= 0 || poll(&wait, 1, (int)left) == 0)
      return -1;
    got = recv(fd, ret_line + used, size - used, 0);
    if (got < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (got <= 0)
      break;
    used += (size_t)got;
  }
  return (ssize_t)used;
}

static bool send_all(int fd, const char *words)
{
  /* A fresh connection takes so few bytes at once or is broken. */
  return send(fd, words, strlen(words), MSG_NOSIGNAL) == (ssize_t)strlen(words);
}

answer ask_ping(const char *path, int limit_ms, pid_t *ret_pid)
{
  static const char expected[] = "+PONG";
  int64_t until = clock_ms() + limit_ms;
  char line[128];
  ssize_t size = -1;
  answer a;
  int fd;

  a = open_socket(path, &fd);
  if (a != ANSWER_PONG)
    return a;
  if (send_all(fd, "*1\r\n$4\r\nPING\r\n"))
    size = read_line(fd, line, sizeof(line), until);
  if (ret_pid != NULL)
    *ret_pid = listener(fd);
  (void)close(fd);
  if (size >= (ssize_t)sizeof(expected) - 1
      && memcmp(line, expected, sizeof(expected) - 1) == 0)
    return ANSWER_PONG;
  return ANSWER_NOT_YET;
}

answer ask_to_shut_down(const char *path, int limit_ms, pid_t *ret_pid)
{
  int64_t until = clock_ms() + limit_ms;
  char line[128];
  ssize_t size = -1;
  answer a;
  int fd;

  a = open_socket(path, &fd);
  if (a != ANSWER_PONG)
    return a;
  if (ret_pid != NULL)
    *ret_pid = listener(fd);
  if (send_all(fd, "*2\r\n$8\r\nSHUTDOWN\r\n$6\r\nNOSAVE\r\n"))
    size = read_line(fd, line, sizeof(line), until);
  (void)close(fd);
  return size == 0 ? ANSWER_PONG : ANSWER_NOT_YET;
}
