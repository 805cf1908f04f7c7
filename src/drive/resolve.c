/* SPDX-License-Identifier: MIT */
/* drive/resolve.c - resolves host names, each on a separate thread. */
#include "drive/resolve.h"

#include <string.h>

#include "base/plain_memory.h"
#include "drive/internal.h"

struct resolve {
  errand errand;
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

static resolve *resolve_of(errand *e)
{
  return (resolve *)(void *)e;
}

resolve *resolve_let_go(resolve *r)
{
  if (r != NULL)
    (void)errand_let_go(&r->errand);
  return NULL;
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

resolve *resolve_begin(const char *host, const char *port)
{
  size_t size = strlen(host) + 1;
  const memory plain = plain_memory();
  resolve *r = mem_zalloc(&plain, sizeof(*r) + size);
  text shown;

  if (r == NULL)
    return NULL;
  memcpy(r->host, host, size);
  shown = text_over(r->port, sizeof(r->port));
  text_add(&shown, port);
  return errand_begin(&r->errand, "dibs-resolve", resolve_run, resolve_free) ? r : NULL;
}

int resolve_fd(const resolve *r)
{
  return r->errand.fd;
}

int resolve_take(resolve *r, struct addrinfo **ret_addresses)
{
  if (!errand_is_done(&r->errand))
    return EAI_AGAIN;
  if (r->error == 0) {
    *ret_addresses = r->addresses;
    r->addresses = NULL;
  }
  return r->error;
}
