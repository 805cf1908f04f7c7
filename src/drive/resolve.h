/* SPDX-License-Identifier: MIT */
/* drive/resolve.h - turns a host name into addresses without holding anybody up.
 *
 * getaddrinfo() cannot be interrupted, so it runs on a short-lived detached thread that
 * owns its question together with the asker: whoever lets go last frees it. */
#ifndef DRIVE_RESOLVE_H
#define DRIVE_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>

typedef struct resolve resolve;

/* Answers at once: an address written in digits needs no question. NULL: it is a name. */
struct addrinfo *resolve_literal(const char *host, const char *port);
/* Waits for the answer. 0 or an EAI_ error. */
int resolve_now(const char *host, const char *port, struct addrinfo **ret_addresses);

/* Asks on a thread of its own; NULL when there is no memory, descriptor or thread. */
resolve *resolve_begin(const char *host, const char *port);
int resolve_fd(const resolve *r);            /* readable when the answer is there */
/* 0 and addresses (freeaddrinfo), or an EAI_ error. Only when readable. */
int resolve_take(resolve *r, struct addrinfo **ret_addresses);
resolve *resolve_let_go(resolve *r);         /* returns NULL; never waits */

#endif
