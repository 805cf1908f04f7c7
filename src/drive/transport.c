/* SPDX-License-Identifier: MIT */
/* drive/transport.c - one connection of the engine: resolve, connect, TLS, read, write.
 *
 *   NONE -> RESOLVING -> CONNECTING (address after address) -> GREETING (TLS) -> UP
 *
 * Faults go to the engine, which decides when to try again; then the name is resolved
 * anew. Everything here runs with the mutex held and never blocks, but for resolving
 * without threads. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "drive/parts.h"

#define READS_IN_A_ROW_MAX 16
#define CIPHERTEXT_BYTES_MAX (256u << 10)

void transport_init(transport *t, int link, const memory *m)
{
  *t = (transport){ .link = link, .fd = -1 };
  buffer_init(&t->ciphertext, m);
}

/* A child of fork() may have the socket too. Then close() alone would leave it in epoll,
 * which would tell of it without end, and open for the server. */
static void socket_end(drive *d, transport *t)
{
  if (t->fd < 0)
    return;
  if (!drive_is_forked(d)) {
    (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, t->fd, NULL);
    (void)shutdown(t->fd, SHUT_RDWR);
  }
  (void)close(t->fd);
  t->fd = -1;
}

void transport_close(drive *d, transport *t)
{
  socket_end(d, t);
  t->tls = tls_session_free(t->tls);
  buffer_clear(&t->ciphertext);
  if (t->addresses != NULL)
    freeaddrinfo(t->addresses);
  t->addresses = t->address = NULL;
  if (t->question != NULL)
    (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, resolve_fd(t->question), NULL);
  t->question = resolve_let_go(t->question);
  t->state = TRANSPORT_NONE;
}

static void transport_fail(drive *d, transport *t, dibs_status why, const char *words)
{
  char copy[256];
  text shown = text_over(copy, sizeof(copy));

  text_add(&shown, words);               /* `words` may lie in what is closed now */
  transport_close(d, t);
  engine_disconnected(d->engine, t->link, why, copy, drive_now());
}

static void fault_write(transport *t, const drive *d, const char *what, int fault)
{
  text shown = text_over(t->words, sizeof(t->words));

  text_add(&shown, what);
  text_add(&shown, d->shown);
  if (t->address != NULL) {
    char digits[80];
    text address = text_over(digits, sizeof(digits));

    address_show(t->address, &address);
    if (strstr(d->shown, digits) == NULL) {
      text_add(&shown, " (");
      text_add(&shown, digits);
      text_add(&shown, ")");
    }
  }
  text_add(&shown, ": ");
  text_add(&shown, strerrordesc_np(fault) != NULL ? strerrordesc_np(fault) : "failed");
}

/* ---- epoll ---- */

static bool watch_begin(drive *d, transport *t, int fd, source kind, uint32_t events)
{
  struct epoll_event event = { .events = events };

  t->number = ++d->number;
  t->events = events;
  event.data.u64 = source_word(kind, t->number << 1 | (uint64_t)t->link);
  return epoll_ctl(d->links_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static void watch_for(drive *d, transport *t, uint32_t events)
{
  struct epoll_event event = { .events = events };

  if (t->events == events)
    return;
  t->events = events;
  event.data.u64 = source_word(SOURCE_SOCKET, t->number << 1 | (uint64_t)t->link);
  (void)epoll_ctl(d->links_fd, EPOLL_CTL_MOD, t->fd, &event);
}

/* ---- connecting ---- */

/* -1: it broke. Otherwise how many bytes went. */
static ssize_t send_some(const transport *t, const char *bytes, size_t size)
{
  size_t sent = 0;

  while (sent < size) {
    ssize_t n = send(t->fd, bytes + sent, size - sent, MSG_NOSIGNAL | MSG_DONTWAIT);

    if (n >= 0)
      sent += (size_t)n;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      break;
    else if (errno != EINTR)
      return -1;
  }
  return (ssize_t)sent;
}

/* Each address gets its share of the time, so that a dead first one hides no second. */
static instant try_end(const drive *d, const transport *t)
{
  int64_t left = 0;

  for (const struct addrinfo *a = t->address; a != NULL; a = a->ai_next)
    left++;
  if (left < 2)
    return INSTANT_NEVER;                /* the engine's own deadline holds */
  return instant_add(drive_now(), (span){ d->connect_timeout.ns / (left + 1) });
}

static bool connect_next(drive *d, transport *t)
{
  t->state = TRANSPORT_CONNECTING;
  for (; t->address != NULL; t->address = t->address->ai_next) {
    t->fd = socket_begin(d, t->address);
    if (t->fd >= 0 && watch_begin(d, t, t->fd, SOURCE_SOCKET, EPOLLIN | EPOLLOUT)) {
      t->try_until = try_end(d, t);
      return true;
    }
    fault_write(t, d, "cannot connect to ", errno);
    socket_end(d, t);
  }
  return false;
}

static void connect_addresses(drive *d, transport *t, struct addrinfo *addresses)
{
  t->addresses = t->address = addresses;
  if (!connect_next(d, t))
    transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
}

static void resolve_failed(drive *d, transport *t, int error)
{
  text shown = text_over(t->words, sizeof(t->words));

  text_add(&shown, "the host name ");
  text_add_quoted(&shown, d->host, strlen(d->host));
  text_add(&shown, " cannot be resolved: ");
  text_add(&shown, gai_strerror(error));
  transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
}

static void open_name(drive *d, transport *t)
{
  struct addrinfo *addresses = resolve_literal(d->host, d->port);
  int error;

  if (addresses != NULL) {
    connect_addresses(d, t, addresses);
    return;
  }
  if (!d->has_thread) {
    error = resolve_now(d->host, d->port, &addresses);
    if (error == 0)
      connect_addresses(d, t, addresses);
    else
      resolve_failed(d, t, error);
    return;
  }
  t->state = TRANSPORT_RESOLVING;
  t->question = resolve_begin(d->host, d->port);
  if (t->question == NULL ||
      !watch_begin(d, t, resolve_fd(t->question), SOURCE_RESOLVED, EPOLLIN))
    transport_fail(d, t, DIBS_ERR_SYSTEM, "no thread or descriptor left to resolve a name");
}

void transport_resolved(drive *d, transport *t)
{
  struct addrinfo *addresses = NULL;
  int error = resolve_take(t->question, &addresses);

  (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, resolve_fd(t->question), NULL);
  t->question = resolve_let_go(t->question);
  if (error == 0)
    connect_addresses(d, t, addresses);
  else
    resolve_failed(d, t, error);
}

void transport_open(drive *d, transport *t)
{
  transport_close(d, t);
  t->try_until = INSTANT_NEVER;
  if (d->path == NULL) {
    open_name(d, t);
    return;
  }
  t->state = TRANSPORT_CONNECTING;
  t->fd = socket_begin_unix(d->path);
  if (t->fd < 0 || !watch_begin(d, t, t->fd, SOURCE_SOCKET, EPOLLIN | EPOLLOUT)) {
    fault_write(t, d, "cannot connect to ", errno);
    transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
  }
}

static void up(drive *d, transport *t)
{
  t->state = TRANSPORT_UP;
  engine_connected(d->engine, t->link, drive_now());
}

static void greet(drive *d, transport *t)
{
  text why = text_over(t->words, sizeof(t->words));
  bool is_done = false;
  dibs_status status = tls_handshake(t->tls, &t->ciphertext, &is_done, &why);

  if (status != DIBS_OK) {
    (void)send_some(t, buffer_bytes(&t->ciphertext), buffer_size(&t->ciphertext)); /* alert */
    transport_fail(d, t, status, t->words);
  } else if (is_done) {
    up(d, t);
  }
}

/* The socket is writable or has failed: connected, or not. */
static void connect_ended(drive *d, transport *t)
{
  int fault = 0;
  socklen_t size = sizeof(fault);

  if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &fault, &size) != 0)
    fault = errno;
  if (fault != 0) {
    fault_write(t, d, "cannot connect to ", fault);
    socket_end(d, t);
    t->address = t->address == NULL ? NULL : t->address->ai_next;
    if (!connect_next(d, t))
      transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
    return;
  }
  t->try_until = INSTANT_NEVER;
  watch_for(d, t, EPOLLIN);
  if (d->tls == NULL) {
    up(d, t);
    return;
  }
  t->state = TRANSPORT_GREETING;
  t->tls = tls_session_new(d->tls);
  if (t->tls == NULL)
    transport_fail(d, t, DIBS_ERR_NO_MEMORY, "no memory for a TLS session");
  else
    greet(d, t);
}

/* ---- reading ---- */

static void received(drive *d, transport *t, const void *bytes, size_t size)
{
  instant now = drive_now();

  engine_wall_clock(d->engine, drive_wall_us(), now);
  engine_received(d->engine, t->link, bytes, size, now);
  drive_effects(d);
}

static void decrypted(drive *d, transport *t)
{
  uint64_t number = t->number;
  text why = text_over(t->words, sizeof(t->words));

  while (t->number == number && t->state == TRANSPORT_UP) {
    bool has_ended = false;
    size_t size = 0;
    dibs_status status = tls_read(t->tls, d->input, sizeof(d->input), &size, &has_ended,
                                  &t->ciphertext, &why);

    if (status != DIBS_OK) {
      transport_fail(d, t, status, t->words);
    } else if (has_ended) {
      transport_fail(d, t, DIBS_ERR_UNREACHABLE, "the server ended the TLS session");
    } else if (size == 0) {
      return;
    } else {
      received(d, t, d->input, size);
    }
  }
}

static void arrived(drive *d, transport *t, size_t size)
{
  text why = text_over(t->words, sizeof(t->words));
  dibs_status status;

  if (t->tls == NULL) {
    received(d, t, d->input, size);
    return;
  }
  status = tls_feed(t->tls, d->input, size, &why);
  if (status != DIBS_OK) {
    transport_fail(d, t, status, t->words);
    return;
  }
  if (t->state == TRANSPORT_GREETING)
    greet(d, t);
  if (t->state == TRANSPORT_UP)
    decrypted(d, t);
}

static void readable(drive *d, transport *t)
{
  uint64_t number = t->number;

  for (int i = 0; i < READS_IN_A_ROW_MAX && t->number == number && t->fd >= 0; i++) {
    ssize_t size = recv(t->fd, d->input, sizeof(d->input), MSG_DONTWAIT);

    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      return;
    if (size <= 0) {
      fault_write(t, d, "lost ", size == 0 ? ECONNRESET : errno);
      transport_fail(d, t, t->state == TRANSPORT_GREETING ? DIBS_ERR_TLS : DIBS_ERR_UNREACHABLE,
                     t->words);
      return;
    }
    arrived(d, t, (size_t)size);
    if ((size_t)size < sizeof(d->input))
      return;                            /* no more was there; spares a call */
  }
}

void transport_event(drive *d, transport *t, uint32_t events)
{
  if (t->state == TRANSPORT_CONNECTING) {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) != 0)
      connect_ended(d, t);
    return;
  }
  if ((events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
    readable(d, t);
  /* EPOLLOUT: drive_settle() sends, as after every input. */
}

/* ---- writing ---- */

/* Moves the engine's output into TLS records. */
static dibs_status encrypt(drive *d, transport *t, text *why)
{
  size_t size;
  const char *bytes = engine_output(d->engine, t->link, &size);
  dibs_status status;

  if (t->state != TRANSPORT_UP || size == 0 ||
      buffer_size(&t->ciphertext) > CIPHERTEXT_BYTES_MAX)
    return DIBS_OK;
  status = tls_write(t->tls, bytes, size, &t->ciphertext, why);
  if (status == DIBS_OK)
    engine_written(d->engine, t->link, size);
  return status;
}

static bool is_broken(drive *d, transport *t, int fault)
{
  fault_write(t, d, "lost ", fault);
  transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
  return true;
}

static bool flush_encrypted(drive *d, transport *t)
{
  text why = text_over(t->words, sizeof(t->words));
  dibs_status status = encrypt(d, t, &why);
  ssize_t sent;

  if (status != DIBS_OK) {
    transport_fail(d, t, status, t->words);
    return true;
  }
  sent = send_some(t, buffer_bytes(&t->ciphertext), buffer_size(&t->ciphertext));
  if (sent < 0)
    return is_broken(d, t, errno);
  buffer_consume(&t->ciphertext, (size_t)sent);
  watch_for(d, t, buffer_size(&t->ciphertext) > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
  return false;
}

bool transport_flush(drive *d, transport *t)
{
  size_t size;
  const char *bytes;
  ssize_t sent;

  if (t->fd < 0 || t->state < TRANSPORT_GREETING)
    return false;
  if (t->tls != NULL)
    return flush_encrypted(d, t);
  bytes = engine_output(d->engine, t->link, &size);
  sent = size == 0 ? 0 : send_some(t, bytes, size);
  if (sent < 0)
    return is_broken(d, t, errno);
  if (sent > 0)
    engine_written(d->engine, t->link, (size_t)sent);
  watch_for(d, t, (size_t)sent < size ? EPOLLIN | EPOLLOUT : EPOLLIN);
  return false;
}

/* ---- time ---- */

instant transport_deadline(const transport *t)
{
  return t->state == TRANSPORT_CONNECTING ? t->try_until : INSTANT_NEVER;
}

void transport_tick(drive *d, transport *t, instant now)
{
  if (t->state != TRANSPORT_CONNECTING || instant_before(now, t->try_until))
    return;
  fault_write(t, d, "cannot connect to ", ETIMEDOUT);
  socket_end(d, t);
  t->address = t->address == NULL ? NULL : t->address->ai_next;
  if (!connect_next(d, t))
    transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
}
