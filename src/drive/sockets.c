/* SPDX-License-Identifier: MIT */
/* drive/sockets.c - opens connecting sockets, with the options of a lock client. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "drive/internal.h"

/* Detects a dead peer after 5 + 3 * 2 s of silence, and drops unsent bytes after the
 * command timeout. Best effort: locks depend on the engine's own deadlines only. */
static void tcp_options_set(int fd, span command_timeout)
{
  int on = 1, idle_s = 5, every_s = 2, count = 3;
  unsigned unsent_ms = (unsigned)span_to_ms(command_timeout);

  (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof(idle_s));
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof(every_s));
  (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
  (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unsent_ms, sizeof(unsent_ms));
}

static int connect_begin(int fd, const struct sockaddr *address, socklen_t size)
{
  int fault;

  if (connect(fd, address, size) == 0 || errno == EINPROGRESS || errno == EINTR)
    return fd;
  fault = errno;
  descriptor_close(fd);
  errno = fault;
  return -1;
}

int socket_begin(span command_timeout, const struct addrinfo *address)
{
  int kind = SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK;
  int fd = descriptor_keep(socket(address->ai_family, kind, 0));

  if (fd < 0)
    return -1;
  tcp_options_set(fd, command_timeout);
  return connect_begin(fd, address->ai_addr, address->ai_addrlen);
}

int socket_begin_unix(const char *path)
{
  struct sockaddr_un address = { .sun_family = AF_UNIX };
  size_t size = strlen(path) + 1;
  int fd;

  if (size > sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, size);
  fd = descriptor_keep(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd < 0)
    return -1;
  return connect_begin(fd, (const struct sockaddr *)&address, sizeof(address));
}

uint64_t socket_watch(drive *d, int link, int fd, source kind, uint32_t events)
{
  uint64_t number = ++d->number;
  struct epoll_event event = { .events = events,
                               .data.u64 = source_word(kind, link_word(number, link)) };

  if (drive_is_forked(d) || epoll_ctl(d->links_fd, EPOLL_CTL_ADD, fd, &event) != 0)
    return 0;
  return number;
}

/* A forked child may have the socket, too. Then close() alone would leave it in epoll,
 * with endless events, and open for the server. */
void socket_end(drive *d, int fd)
{
  if (!drive_is_forked(d)) {
    (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, fd, NULL);
    (void)shutdown(fd, SHUT_RDWR);
  }
  descriptor_close(fd);
}

void address_show(const struct addrinfo *address, text *out)
{
  char host[INET6_ADDRSTRLEN + 24], port[8];

  if (getnameinfo(address->ai_addr, address->ai_addrlen, host, sizeof(host), port,
                  sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return;
  text_add(out, address->ai_family == AF_INET6 ? "[" : "");
  text_add(out, host);
  text_add(out, address->ai_family == AF_INET6 ? "]:" : ":");
  text_add(out, port);
}
