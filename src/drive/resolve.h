/* SPDX-License-Identifier: MIT */
/* drive/resolve.h - resolves a host name without blocking.
 *
 * getaddrinfo() cannot be interrupted: errand.h. Where the first name server of a machine is
 * down, each answer takes 5 s, longer than an attempt to connect. So a question outlives the
 * attempt that asked: the next attempt that leads to the same host and port, on whatever link,
 * goes on with it. */
#ifndef DRIVE_RESOLVE_H
#define DRIVE_RESOLVE_H

#include <netdb.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/instant.h"
#include "drive/errand.h"

struct drive;
struct transport;

typedef struct resolve {
  errand errand;
  struct resolve *next;       /* of the drive, utlist */
  struct transport *asker;    /* NULL: its attempt has ended */
  uint64_t number;            /* as a source of events */
  instant answer_until;       /* the answer came without an asker; never: there is none yet */
  int error;                  /* with the addresses: written by the thread */
  struct addrinfo *addresses;
  char port[8];
  char host[];
} resolve;

/* Converts a numeric address, without a name server. NULL: it is a name. */
struct addrinfo *resolve_literal(const char *host, const char *port);
/* Blocks for the result. Returns 0, an EAI_ error (they are negative), or an errno in place of
 * EAI_SYSTEM. */
int resolve_now(const char *host, const char *port, struct addrinfo **ret_addresses);

/* Asks for the host and port of `t`, on a separate thread; the answer comes by dial_resolved().
 * Or returns the question of an attempt that has ended, which may be answered. NULL: no memory,
 * descriptor or thread. */
resolve *resolve_ask(struct drive *d, struct transport *t);
bool resolve_is_answered(const resolve *r);
/* Ends it. Returns 0 and addresses (freeaddrinfo), or an EAI_ error: EAI_AGAIN without an
 * answer. */
int resolve_take(struct drive *d, resolve *r, struct addrinfo **ret_addresses);
resolve *resolve_leave(resolve *r);  /* its attempt has ended; NULL allowed; returns NULL */

void resolve_event(struct drive *d, uint64_t number);
void resolve_free_all(struct drive *d);      /* after all have been left */
void resolve_drop_all(struct drive *d);      /* in a forked child: closes their descriptors */

#endif
