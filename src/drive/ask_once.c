/* SPDX-License-Identifier: MIT */
/* drive/ask_once.c - one command to a server without a route in the engine: a sentinel, for
 * dibs_examine(). It uses its own connection, and blocks. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/descriptor.h"
#include "drive/internal.h"

/* Whether the socket is ready before `until`; an error of it counts as ready. Signals do not
 * prolong the wait. */
static bool is_ready(int fd, short events, instant until)
{
  struct pollfd one = { .fd = fd, .events = events };
  int count;

  do
    count = poll(&one, 1, loop_ms_until(until));
  while (count < 0 && errno == EINTR);
  return count > 0;
}

/* Takes a socket that is connecting, or -1; closes it when it fails. */
static int connected(int fd, span limit)
{
  socklen_t size = sizeof(int);
  int fault = 0;

  if (fd < 0)
    return -1;
  if (is_ready(fd, POLLOUT, instant_add(drive_now(), limit)) &&
      getsockopt(fd, SOL_SOCKET, SO_ERROR, &fault, &size) == 0 && fault == 0)
    return fd;
  descriptor_close(fd);
  return -1;
}

static int connect_tcp(const server_url *url, span limit)
{
  struct addrinfo hints = { .ai_socktype = SOCK_STREAM }, *all = NULL;
  char port[16];
  text digits = text_over(port, sizeof(port));
  int fd = -1;

  text_add_int(&digits, url->port);
  if (getaddrinfo(url->host, port, &hints, &all) != 0)
    return -1;
  for (const struct addrinfo *a = all; a != NULL && fd < 0; a = a->ai_next)
    fd = connected(socket_begin(limit, a), limit);
  freeaddrinfo(all);
  return fd;
}

static bool send_all(int fd, const buffer *out, instant until)
{
  size_t sent = 0;

  while (sent < buffer_size(out)) {
    ssize_t n = send(fd, buffer_bytes(out) + sent, buffer_size(out) - sent, MSG_NOSIGNAL);

    if (n > 0)
      sent += (size_t)n;
    else if (n == 0 || (errno != EINTR && errno != EAGAIN) || !is_ready(fd, POLLOUT, until))
      return false;
  }
  return true;
}

/* The next complete reply. */
static dibs_status reply_read(int fd, resp_reader *reader, instant until,
                              resp_reply **ret_reply)
{
  char bytes[4096];
  dibs_status status = resp_reader_next(reader, ret_reply);

  while (status == DIBS_OK && *ret_reply == NULL) {
    ssize_t n = is_ready(fd, POLLIN, until) ? recv(fd, bytes, sizeof(bytes), 0) : 0;

    if (n < 0 && (errno == EINTR || errno == EAGAIN))
      continue;
    if (n <= 0)
      return DIBS_ERR_UNREACHABLE;
    status = resp_reader_feed(reader, bytes, (size_t)n);
    if (status == DIBS_OK)
      status = resp_reader_next(reader, ret_reply);
  }
  return status;
}

/* Returns the last of `count` replies; an error in any of them is the status. */
static dibs_status replies_read(int fd, const memory *m, size_t count, instant until,
                                resp_reply **ret_reply)
{
  resp_reader *reader = resp_reader_new(m, RESP_LIMITS_DEFAULT);
  dibs_status status = reader == NULL ? DIBS_ERR_NO_MEMORY : DIBS_OK;
  resp_reply *reply = NULL;

  for (size_t i = 0; i < count && status == DIBS_OK; i++) {
    reply = resp_reply_free(reply);
    status = reply_read(fd, reader, until, &reply);
    if (status == DIBS_OK && resp_root(reply)->kind == RESP_ERROR)
      status = resp_fault_status(resp_fault_of(resp_root(reply)->bytes, resp_root(reply)->size));
  }
  resp_reader_free(reader);
  if (status == DIBS_OK)
    *ret_reply = reply;
  else
    resp_reply_free(reply);
  return status;
}

dibs_status drive_ask_once(const memory *m, const server_url *url, const buffer *command,
                           span limit, resp_reply **ret_reply)
{
  dibs_status status = DIBS_ERR_NO_MEMORY;
  resp_argument login[3];
  size_t login_size = resp_auth_arguments(url->user, url->password, login);
  instant until;
  buffer out;
  int fd;

  if (url->transport != SERVER_TCP && url->transport != SERVER_UNIX)
    return DIBS_ERR_UNSUPPORTED;
  fd = url->transport == SERVER_TCP ? connect_tcp(url, limit)
                                     : connected(socket_begin_unix(url->path), limit);
  if (fd < 0)
    return DIBS_ERR_UNREACHABLE;
  until = instant_add(drive_now(), limit);
  buffer_init(&out, m);
  if (buffer_reserve(&out, buffer_size(command) + 2048) &&
      (login_size == 0 || resp_command(&out, login, login_size)) &&
      buffer_append(&out, buffer_bytes(command), buffer_size(command)))
    status = send_all(fd, &out, until)
               ? replies_read(fd, m, login_size > 0 ? 2 : 1, until, ret_reply)
               : DIBS_ERR_UNREACHABLE;
  mem_wipe((void *)(uintptr_t)buffer_bytes(&out), buffer_size(&out));
  buffer_deinit(&out);
  descriptor_close(fd);
  return status;
}
