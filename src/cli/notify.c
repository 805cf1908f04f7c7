/* SPDX-License-Identifier: MIT */
/* cli/notify.c - reports the state of this process to systemd. */
#include "cli/notify.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define PATIENCE_MS 20

/* Half of what it allows, and only if it means this process. */
static int64_t watchdog_ms(void)
{
  const char *us = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");

  if (us == NULL || (pid != NULL && strtoll(pid, NULL, 10) != getpid()))
    return 0;
  return strtoll(us, NULL, 10) / 2000;
}

void notify_begin(notify *n, int is_wanted)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  const char *path = getenv("NOTIFY_SOCKET");
  size_t size = path == NULL ? 0 : strlen(path);

  *n = (notify) { .fd = -1 };
  if (!is_wanted || size < 2 || size >= sizeof(address.sun_path))
    return;
  if (path[0] != '/' && path[0] != '@')
    return;
  memcpy(address.sun_path, path, size);
  if (path[0] == '@')
    address.sun_path[0] = '\0'; /* Linux' abstract names */

  n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (n->fd < 0)
    return;
  if (connect(n->fd, (struct sockaddr *)&address,
              (socklen_t)(offsetof(struct sockaddr_un, sun_path) + size)) != 0) {
    notify_end(n);
    return;
  }
  n->watchdog_ms = watchdog_ms();
}

void notify_send(const notify *n, const char *format, ...)
{
  char text[1024];
  va_list values;

  if (n->fd < 0)
    return;
  va_start(values, format);
  vsnprintf(text, sizeof(text), format, values);
  va_end(values);
  /* A manager that reads nothing must not keep this process from its command. */
  if (send(n->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno == EAGAIN &&
      poll(&(struct pollfd) { .fd = n->fd, .events = POLLOUT }, 1, PATIENCE_MS) > 0)
    (void)!send(n->fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT);
}

void notify_end(notify *n)
{
  if (n->fd >= 0)
    close(n->fd);
  n->fd = -1;
}
