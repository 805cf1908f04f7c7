/* SPDX-License-Identifier: MIT */
/* local/port.c - finds free TCP ports on loopback. */
#include "local/port.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "local/failure.h"

/* Below the ephemeral range: no outgoing connection takes the port of a restarting server. */
enum { PORT_FIRST = 10240, PORT_COUNT = 9700, TRIES = 1000 };

/* A name in the abstract socket space is a lock among all callers of this machine, and the
 * kernel releases it with the descriptor. -1: taken, or no socket: see errno. */
static int claim(int port)
{
  struct sockaddr_un name = { .sun_family = AF_UNIX };
  int length, fd = above_stdio(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));

  if (fd < 0)
    return -1;
  length = snprintf(name.sun_path + 1, sizeof(name.sun_path) - 1, "dibs-test-port-%d",
                    port);
  if (bind(fd, (struct sockaddr *)&name,
           (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length)) == 0)
    return fd;
  (void)close(fd);
  return -1;
}

static bool can_be_bound(int port)
{
  struct sockaddr_in address = { .sin_family = AF_INET,
                                 .sin_port = htons((uint16_t)port),
                                 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
  int yes = 1, fd = above_stdio(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  bool is_bound = fd >= 0
                  && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0
                  && bind(fd, (struct sockaddr *)&address, sizeof(address)) == 0;

  if (fd >= 0)
    (void)close(fd);
  return is_bound;
}

bool port_is_free(int port)
{
  return can_be_bound(port) && can_be_bound(port + 10000);
}

int port_claim(int *ret_claim)
{
  for (int tries = 0; tries < TRIES; tries++) {
    uint32_t chance = 0;
    int port, fd;

    if (getrandom(&chance, sizeof(chance), 0) != (ssize_t)sizeof(chance))
      return 0;
    port = PORT_FIRST + (int)(chance % PORT_COUNT);
    errno = 0;
    fd = claim(port);
    if (fd >= 0 && port_is_free(port)) {
      *ret_claim = fd;
      return port;
    }
    if (fd >= 0)
      (void)close(fd);
    if (failure_status(errno) == DIBS_ERR_SYSTEM)      /* no port of any number can be had */
      return 0;
  }
  errno = EADDRINUSE;
  return 0;
}
