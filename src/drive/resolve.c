/* SPDX-License-Identifier: MIT */
/* drive/resolve.c - resolves host names, each on a separate thread. */
#include "drive/resolve.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <utlist.h>

#include "base/plain_memory.h"
#include "drive/internal.h"

#define ANSWER_KEPT SPAN_MS(5000)        /* for the next attempt: addresses may change */

static const struct addrinfo wanted = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };

struct addrinfo *resolve_literal(const char *host, const char *port)
{
  struct addrinfo hints = wanted, *addresses;

  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  return getaddrinfo(host, port, &hints, &addresses) == 0 ? addresses : NULL;
}

int resolve_now(const char *host, const char *port, struct addrinfo **ret_addresses)
{
  struct addrinfo hints = wanted;
  int error;

  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  error = getaddrinfo(host, port, &hints, ret_addresses);
  return error == EAI_SYSTEM && errno > 0 ? errno : error;
}

/* ---- on its thread ---- */

static resolve *resolve_of(errand *e)
{
  return (resolve *)(void *)e;
}

static void resolve_free(errand *e)
{
  const memory plain = plain_memory();
  resolve *r = resolve_of(e);

  if (r->addresses != NULL)
    freeaddrinfo(r->addresses);
  mem_free(&plain, r);
}

static void resolve_run(errand *e)
{
  resolve *r = resolve_of(e);

  r->error = resolve_now(r->host, r->port, &r->addresses);
}

/* ---- for the drive, mutex held ---- */

static void unwatch(const drive *d, const resolve *r)
{
  (void)epoll_ctl(d->links_fd, EPOLL_CTL_DEL, r->errand.fd, NULL);
}

/* Its thread may go on. */
static void resolve_end(drive *d, resolve *r)
{
  LL_DELETE(d->resolves, r);
  unwatch(d, r);
  (void)errand_let_go(&r->errand);
}

static resolve *resolve_begin(drive *d, transport *t)
{
  size_t size = strlen(t->place.host) + 1;
  const memory plain = plain_memory();
  resolve *r = mem_zalloc(&plain, sizeof(*r) + size);

  if (r == NULL)
    return NULL;
  memcpy(r->host, t->place.host, size);
  memcpy(r->port, t->place.port, sizeof(r->port));
  r->answer_until = INSTANT_NEVER;
  if (!errand_begin(&r->errand, "dibs-resolve", resolve_run, resolve_free))
    return NULL;
  LL_PREPEND(d->resolves, r);
  r->number = socket_watch(d, t->link, r->errand.fd, SOURCE_RESOLVED, EPOLLIN);
  if (r->number != 0)
    return r;
  resolve_end(d, r);
  return NULL;
}

static bool is_for(const resolve *r, const place *p)
{
  return r->asker == NULL && strcmp(r->host, p->host) == 0 && strcmp(r->port, p->port) == 0;
}

resolve *resolve_ask(drive *d, transport *t)
{
  resolve *found = NULL, *r, *next;
  instant now = drive_now();

  LL_FOREACH_SAFE(d->resolves, r, next) {
    if (!instant_before(now, r->answer_until))
      resolve_end(d, r);
    else if (is_for(r, &t->place))
      found = r;
  }
  if (found == NULL)
    found = resolve_begin(d, t);
  if (found != NULL)
    found->asker = t;
  return found;
}

bool resolve_is_answered(const resolve *r)
{
  return errand_is_done(&r->errand);
}

int resolve_take(drive *d, resolve *r, struct addrinfo **ret_addresses)
{
  int error = EAI_AGAIN;

  if (errand_is_done(&r->errand)) {
    error = r->error;
    *ret_addresses = r->addresses;
    r->addresses = NULL;
  }
  resolve_end(d, r);
  return error;
}

resolve *resolve_leave(resolve *r)
{
  if (r != NULL)
    r->asker = NULL;
  return NULL;
}

void resolve_event(drive *d, uint64_t number)
{
  resolve *r;

  LL_SEARCH_SCALAR(d->resolves, r, number, number);
  if (r == NULL)
    return;
  if (r->asker != NULL) {
    dial_resolved(d, r->asker);
  } else {
    unwatch(d, r);
    r->answer_until = instant_add(drive_now(), ANSWER_KEPT);
  }
}

void resolve_drop_all(drive *d)
{
  resolve *r;

  LL_FOREACH(d->resolves, r)
    errand_drop(&r->errand);
}

void resolve_free_all(drive *d)
{
  while (d->resolves != NULL)
    resolve_end(d, d->resolves);
}
