/* SPDX-License-Identifier: MIT */
/* drive/transport.c - one connection of the engine: connect, TLS, read, write.
 *
 *   NONE -> READING (files.c, after a refusal)
 *        -> RESOLVING -> CONNECTING (both in dial.c) -> GREETING (TLS) -> UP
 *
 * Faults go to the engine, which schedules the next attempt.
 * All functions run with the mutex held and never block, except to resolve, or to read
 * files, without threads. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/errno_text.h"
#include "drive/internal.h"

#define READS_IN_A_ROW_MAX 16
#define CIPHERTEXT_BYTES_MAX (256u << 10)

void transport_close(drive *d, transport *t)
{
  dial_free(d, t);
  if (t->fd >= 0)
    socket_end(d, t->fd);
  t->fd = -1;
  t->number = 0;
  t->tls = tls_session_free(t->tls);
  t->context = NULL;
  buffer_clear(&t->ciphertext);
  t->state = TRANSPORT_NONE;
}

void transport_fail(drive *d, transport *t, dibs_status why, const char *words)
{
  char copy[256];
  text shown = text_over(copy, sizeof(copy));

  text_add(&shown, words);               /* transport_close() may free `words` */
  d->heard_of = t;
  transport_close(d, t);
  engine_disconnected(d->engine, t->link, why, copy, drive_now());
}

void transport_blame(transport *t, const char *what, int fault)
{
  text shown = text_over(t->words, sizeof(t->words));

  text_add(&shown, what);
  text_add(&shown, t->place.shown);
  if (t->address != NULL) {
    char digits[80];
    text address = text_over(digits, sizeof(digits));

    address_show(t->address, &address);
    if (strstr(t->place.shown, digits) == NULL) {
      text_add(&shown, " (");
      text_add(&shown, digits);
      text_add(&shown, ")");
    }
  }
  text_add(&shown, ": ");
  text_add(&shown, errno_text(fault));
  if (fault == EBADF)
    text_add(&shown, "; the program has closed descriptors of this client: close the client "
                     "before, and open it again");
}

static void watch_for(drive *d, transport *t, uint32_t events)
{
  struct epoll_event event = { .events = events };

  if (t->events == events || drive_is_forked(d))
    return;
  t->events = events;
  event.data.u64 = source_word(SOURCE_SOCKET, link_word(t->number, t->link));
  (void)epoll_ctl(d->links_fd, EPOLL_CTL_MOD, t->fd, &event);
}

/* The number of bytes sent; -1: the connection broke. */
static ssize_t send_some(const drive *d, const transport *t, const char *bytes, size_t size)
{
  size_t sent = 0;

  while (sent < size && !drive_is_forked(d)) {
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

/* ---- connecting ---- */

static void up(drive *d, transport *t)
{
  text shown = text_over(d->up, sizeof(d->up));

  text_add(&shown, t->place.shown);
  t->state = TRANSPORT_UP;
  engine_connected(d->engine, t->link, drive_now());
}

static void greet(drive *d, transport *t)
{
  text why = text_over(t->words, sizeof(t->words));
  bool is_done = false;
  dibs_status status = tls_handshake(t->tls, &t->ciphertext, &is_done, &why);

  if (status != DIBS_OK) {
    (void)send_some(d, t, buffer_bytes(&t->ciphertext), buffer_size(&t->ciphertext)); /* alert */
    transport_fail(d, t, status, t->words);
  } else if (is_done) {
    up(d, t);
  }
}

void transport_connected(drive *d, transport *t, const attempt *a, uint32_t events)
{
  t->fd = a->fd;
  t->number = a->number;
  t->address = a->address;
  t->events = events;
  watch_for(d, t, EPOLLIN);
  if (t->context == NULL) {
    up(d, t);
    return;
  }
  t->state = TRANSPORT_GREETING;
  t->tls = tls_session_new(t->context, t->place.name);
  if (t->tls == NULL)
    transport_fail(d, t, DIBS_ERR_NO_MEMORY, "no memory for a TLS session");
  else
    greet(d, t);
}

/* ---- reading ---- */

/* drive_effects() follows, before anything else is read. */
static void received(drive *d, transport *t, const void *bytes, size_t size)
{
  instant now = drive_now();

  d->heard_of = t;
  engine_wall_clock(d->engine, drive_wall_us(), now);
  engine_received(d->engine, t->link, bytes, size, now);
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
      drive_effects(d);
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

/* A server that refuses the handshake sends an alert first. One that hangs up is full, is being
 * restarted, or is a proxy without its server; or it has no TLS. */
static const char *lost_words(const transport *t)
{
  return t->state == TRANSPORT_GREETING ? "no TLS session with " : "lost ";
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
      transport_blame(t, lost_words(t), size == 0 ? ECONNRESET : errno);
      transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
      return;
    }
    arrived(d, t, (size_t)size);
    if ((size_t)size < sizeof(d->input))
      return;                            /* no more is there; saves a call */
    drive_effects(d);
  }
}

void transport_event(drive *d, transport *t, uint64_t number, uint32_t events)
{
  if (drive_is_forked(d))
    return;
  if (t->state == TRANSPORT_CONNECTING)
    dial_event(d, t, number, events);
  else if (t->number == number && (events & (EPOLLIN | EPOLLERR | EPOLLHUP)) != 0)
    readable(d, t);
  /* EPOLLOUT: drive_flush() sends after each input. */
}

/* ---- writing ---- */

/* Encrypts the engine's output. */
static dibs_status encrypt_output(drive *d, transport *t, text *why)
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

/* A server that refuses a connection says why and closes it: the reason may be here already when
 * the handshake can no longer be sent. */
static bool has_last_words(drive *d, transport *t, int fault)
{
  char byte;

  if ((fault != EPIPE && fault != ECONNRESET) ||
      recv(t->fd, &byte, sizeof(byte), MSG_PEEK | MSG_DONTWAIT) <= 0)
    return false;
  readable(d, t);
  return true;
}

static bool is_broken(drive *d, transport *t, int fault)
{
  if (has_last_words(d, t, fault))
    return true;
  transport_blame(t, lost_words(t), fault);
  transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
  return true;
}

static bool flush_encrypted(drive *d, transport *t)
{
  text why = text_over(t->words, sizeof(t->words));
  dibs_status status = encrypt_output(d, t, &why);
  ssize_t sent;

  if (status != DIBS_OK) {
    transport_fail(d, t, status, t->words);
    return true;
  }
  sent = send_some(d, t, buffer_bytes(&t->ciphertext), buffer_size(&t->ciphertext));
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
  sent = size == 0 ? 0 : send_some(d, t, bytes, size);
  if (sent < 0)
    return is_broken(d, t, errno);
  if (sent > 0)
    engine_written(d->engine, t->link, (size_t)sent);
  watch_for(d, t, (size_t)sent < size ? EPOLLIN | EPOLLOUT : EPOLLIN);
  return false;
}
