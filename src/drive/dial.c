/* SPDX-License-Identifier: MIT */
/* drive/dial.c - connects a socket to a server name, similar to RFC 8305.
 *
 * Each connection resolves the name again (resolve.h). Addresses are tried in the
 * order of the reply, families alternating. The next attempt begins when one has failed, or
 * 250 ms after the previous one, which continues. The first connected socket is used, the
 * others are closed. So an unreachable address costs 250 ms, not the timeout of the kernel. */
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/errno_text.h"
#include "drive/internal.h"

#define ATTEMPT_EVERY SPAN_MS(250)

/* ---- the addresses of a name ---- */

static const struct addrinfo *of_family(const struct addrinfo *a, int family, bool is_wanted)
{
  while (a != NULL && (a->ai_family == family) != is_wanted)
    a = a->ai_next;
  return a;
}

static bool has_more(const dial *l)
{
  return l->next[0] != NULL || l->next[1] != NULL;
}

static void addresses_set(dial *l, struct addrinfo *addresses)
{
  l->addresses = addresses;
  l->next[0] = addresses;
  l->next[1] = of_family(addresses, addresses->ai_family, false);
  l->turn = 0;
}

static const struct addrinfo *address_take(dial *l)
{
  int i = l->next[l->turn] != NULL ? l->turn : 1 - l->turn;
  const struct addrinfo *taken = l->next[i];

  if (taken == NULL)
    return NULL;
  l->next[i] = of_family(taken->ai_next, l->addresses->ai_family, i == 0);
  l->turn = 1 - i;
  return taken;
}

/* ---- attempts ---- */

static bool attempt_watch(drive *d, transport *t, attempt *a, uint32_t events)
{
  if (a->fd >= 0)
    a->number = socket_watch(d, t->link, a->fd, SOURCE_SOCKET, events);
  if (a->number != 0)
    return true;
  transport_blame(t, "cannot connect to ", errno);
  if (a->fd >= 0)
    socket_end(d, a->fd);
  return false;
}

static bool attempt_begin(drive *d, transport *t, const struct addrinfo *address)
{
  attempt a = { .address = address };

  t->address = address;
  a.fd = socket_begin(d->command_timeout, address);
  if (!attempt_watch(d, t, &a, EPOLLIN | EPOLLOUT))
    return false;
  t->dial.attempts[t->dial.count++] = a;
  return true;
}

static attempt attempt_take(dial *l, int i)
{
  attempt taken = l->attempts[i];

  l->count--;
  memmove(&l->attempts[i], &l->attempts[i + 1], (size_t)(l->count - i) * sizeof(taken));
  return taken;
}

static void attempt_failed(drive *d, transport *t, int i, int fault)
{
  attempt a = attempt_take(&t->dial, i);

  t->address = a.address;
  transport_blame(t, "cannot connect to ", fault);
  socket_end(d, a.fd);
}

/* Begins an attempt with the next usable address. If all attempts are in use, the oldest
 * is given up: it has had two seconds. */
static bool attempt_next(drive *d, transport *t)
{
  dial *l = &t->dial;
  const struct addrinfo *address;

  if (l->count == ATTEMPTS_MAX && has_more(l))
    attempt_failed(d, t, 0, ETIMEDOUT);
  do
    address = address_take(l);
  while (address != NULL && !attempt_begin(d, t, address));
  l->next_at = has_more(l) ? instant_add(drive_now(), ATTEMPT_EVERY) : INSTANT_NEVER;
  return address != NULL;
}

static void go_on(drive *d, transport *t)
{
  if (!attempt_next(d, t) && t->dial.count == 0)
    transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
}

static void addresses_try(drive *d, transport *t, struct addrinfo *addresses)
{
  addresses_set(&t->dial, addresses);
  t->state = TRANSPORT_CONNECTING;
  go_on(d, t);
}

/* ---- names ---- */

static void resolve_failed(drive *d, transport *t, int error)
{
  text shown = text_over(t->words, sizeof(t->words));

  text_add(&shown, "the host name ");
  text_add_quoted(&shown, t->place.host, strlen(t->place.host));
  text_add(&shown, " cannot be resolved: ");
  text_add(&shown, error > 0 ? errno_text(error) : gai_strerror(error));
  transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
}

static void resolved(drive *d, transport *t, int error, struct addrinfo *addresses)
{
  if (error == 0)
    addresses_try(d, t, addresses);
  else
    resolve_failed(d, t, error);
}

void dial_resolved(drive *d, transport *t)
{
  struct addrinfo *addresses = NULL;
  int error = resolve_take(d, t->dial.question, &addresses);

  t->dial.question = NULL;
  engine_resolving(d->engine, t->link, false);
  resolved(d, t, error, addresses);
}

static void name_ask(drive *d, transport *t)
{
  t->state = TRANSPORT_RESOLVING;
  engine_resolving(d->engine, t->link, true);
  t->dial.question = resolve_ask(d, t);
  if (t->dial.question == NULL)
    transport_fail(d, t, DIBS_ERR_SYSTEM, "no thread or descriptor left to resolve its host name; "
                                          "see ulimit -u and ulimit -n");
  else if (resolve_is_answered(t->dial.question))
    dial_resolved(d, t);
}

/* ---- unix sockets ---- */

/* Such a socket is connected at once, or not at all: the greeting need not wait for a reader. */
static void path_connect(drive *d, transport *t)
{
  attempt a = { .fd = socket_begin_unix(t->place.path) };

  t->address = NULL;
  if (attempt_watch(d, t, &a, EPOLLIN))
    transport_connected(d, t, &a, EPOLLIN);
  else
    transport_fail(d, t, DIBS_ERR_UNREACHABLE, t->words);
}

/* ---- functions for other files ---- */

void dial_begin(drive *d, transport *t)
{
  struct addrinfo *addresses = NULL;
  int error;

  if (t->place.path != NULL) {
    path_connect(d, t);
    return;
  }
  addresses = resolve_literal(t->place.host, t->place.port);
  if (addresses != NULL) {
    addresses_try(d, t, addresses);
  } else if (d->has_thread) {
    name_ask(d, t);
  } else {
    error = resolve_now(t->place.host, t->place.port, &addresses);
    resolved(d, t, error, addresses);
  }
}

/* The socket is writable or has failed. */
void dial_event(drive *d, transport *t, uint64_t number, uint32_t events)
{
  dial *l = &t->dial;
  socklen_t size = sizeof(int);
  attempt winner;
  int i = 0, fault = 0;

  while (i < l->count && l->attempts[i].number != number)
    i++;
  if (i == l->count || (events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0)
    return;
  if (getsockopt(l->attempts[i].fd, SOL_SOCKET, SO_ERROR, &fault, &size) != 0)
    fault = errno;
  if (fault != 0) {
    attempt_failed(d, t, i, fault);
    go_on(d, t);
    return;
  }
  winner = attempt_take(l, i);
  dial_end(d, t);
  transport_connected(d, t, &winner, EPOLLIN | EPOLLOUT);
}

void dial_tick(drive *d, transport *t, instant now)
{
  if (t->state == TRANSPORT_CONNECTING && !instant_before(now, t->dial.next_at))
    go_on(d, t);
}

void dial_end(drive *d, transport *t)
{
  dial *l = &t->dial;

  l->question = resolve_leave(l->question);
  while (l->count > 0)
    socket_end(d, l->attempts[--l->count].fd);
  l->next[0] = l->next[1] = NULL;
  l->next_at = INSTANT_NEVER;
}

void dial_free(drive *d, transport *t)
{
  dial_end(d, t);
  t->address = NULL;
  if (t->dial.addresses != NULL)
    freeaddrinfo(t->dial.addresses);
  t->dial.addresses = NULL;
}
