/* SPDX-License-Identifier: MIT */
/* drive/resolve.h - resolves a host name without blocking.
 *
 * getaddrinfo() cannot be interrupted: errand.h. */
#ifndef DRIVE_RESOLVE_H
#define DRIVE_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>

typedef struct resolve resolve;

/* Converts a numeric address, without a name server. NULL: it is a name. */
struct addrinfo *resolve_literal(const char *host, const char *port);
/* Blocks for the result. Returns 0 or an EAI_ error. */
int resolve_now(const char *host, const char *port, struct addrinfo **ret_addresses);

/* Starts a resolution on a separate thread; NULL: no memory, descriptor or thread. */
resolve *resolve_begin(const char *host, const char *port);
int resolve_fd(const resolve *r);            /* readable when the result is ready */
/* Returns 0 and addresses (freeaddrinfo), or an EAI_ error. Only when readable. */
int resolve_take(resolve *r, struct addrinfo **ret_addresses);
resolve *resolve_let_go(resolve *r);         /* returns NULL; never blocks */

#endif
