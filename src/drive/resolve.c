/* SPDX-License-Identifier: MIT */
/* drive/resolve.c - resolves host names, each on a separate thread. */
#include "drive/resolve.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/descriptor.h"
#include "drive/internal.h"

/* It may outlive its client when the name server is slow, so it is not in the client's
 * memory. */
struct resolve {
  atomic_int owners;
  atomic_bool is_answered;        /* publishes the next fields */
  int fd;
  int error;
  struct addrinfo *addresses;
  char port[8];
  char host[];
};

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

  hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG;
  return getaddrinfo(host, port, &hints, ret_addresses);
}

resolve *resolve_let_go(resolve *r)
{
  if (r == NULL || atomic_fetch_sub(&r->owners, 1) > 1)
    return NULL;
  if (r->addresses != NULL)
    freeaddrinfo(r->addresses);
  (void)close(r->fd);
  free(r);
  return NULL;
}

static void *resolve_run(void *data)
{
  resolve *r = data;

  r->error = resolve_now(r->host, r->port, &r->addresses);
  atomic_store(&r->is_answered, true);
  (void)loop_ring(r->fd);
  (void)resolve_let_go(r);
  return NULL;
}

resolve *resolve_begin(const char *host, const char *port)
{
  size_t size = strlen(host) + 1;
  resolve *r = calloc(1, sizeof(*r) + size);
  pthread_t thread;
  text shown;

  if (r == NULL)
    return NULL;
  memcpy(r->host, host, size);
  shown = text_over(r->port, sizeof(r->port));
  text_add(&shown, port);
  r->fd = above_stdio(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  atomic_store(&r->owners, 2);
  if (r->fd >= 0 && loop_thread(&thread, "dibs-resolve", resolve_run, r, true))
    return r;
  if (r->fd >= 0)
    (void)close(r->fd);
  free(r);
  return NULL;
}

int resolve_fd(const resolve *r)
{
  return r->fd;
}

int resolve_take(resolve *r, struct addrinfo **ret_addresses)
{
  if (!atomic_load(&r->is_answered))
    return EAI_AGAIN;
  if (r->error == 0) {
    *ret_addresses = r->addresses;
    r->addresses = NULL;
  }
  return r->error;
}
