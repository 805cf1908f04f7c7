/* SPDX-License-Identifier: MIT */
/* lock/route.h - one server that stores names: what is due there, its channels, its clock,
 * and the leases to release there. For the files of src/lock only. */
#ifndef LOCK_ROUTE_H
#define LOCK_ROUTE_H

/* If a table cannot grow, the element is not added, and nothing is lost. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lock/lease.h"
#include "lock/lock.h"
#include "lock/records.h"
#include "lock/server_clock.h"

typedef struct call call;
typedef struct route route;
typedef struct channel channel;
typedef struct orphan orphan;

/* An orphan: a lease granted to an ask that has ended. `is_hearsay`: a message
 * without a nonce says so, which may be forged; its release writes nothing where there is no such
 * lease. */
struct orphan {
  orphan *prev, *next;
  lease_id lease;
  bool is_share, is_hearsay;
  bool has_ended;                /* by itself, unless a late renewal is executed */
  bool is_again;                 /* a release that was confirmed (again.c) */
  instant released_at, over;     /* of that: until when the lease could still stand */
  bool is_redirected, is_asking; /* its slot is moving: send ASKING first */
  unsigned attempts;
  size_t size;
  char name[];
};

typedef struct orphans_kept { orphan *first; size_t count; } orphans_kept;

/* A channel for all names of one tag, which may move from node to node (Cluster). */
struct channel {
  UT_hash_handle by_bytes;
  channel *next_due;
  route *route;
  size_t uses;
  bool is_due, is_asked, is_up;
  instant up_at;
  size_t size;
  char bytes[];
};

/* One server that stores names. */
struct route {
  lock_table *table;
  size_t number;
  const server_url *url;         /* NULL: not known */
  size_t names, asked;           /* asked: names that ask here once */
  server_clock clock;
  lease *first_due, *last_due;
  lease *first_renewal, *last_renewal;
  bool has_idle_dues;            /* names are in these lists only to be forgotten */
  channel *first_channel, *last_channel;   /* to subscribe or unsubscribe */
  lease *first_ack, *last_ack;   /* ACKING */
  bool wait_is_out;              /* a WAIT is under way */
  span wait_turn;                /* how long the next one may block the link */
  call *calls;
  size_t renew_calls, name_calls;      /* of them: renewals; others, but for acks */
  orphan *orphans; size_t orphan_count;
  orphans_kept confirmed;        /* releases that it confirmed on this connection: again.c */
  orphans_kept again;            /* and others before: to be repeated */
  size_t again_calls;            /* under way */
  bool is_up, inbox_is_up, wants_inbox, wants_acks;
  bool link_is_doubtful, inbox_has_no_subscriber;
  bool renew_with_text;
  enum { IFEQ_UNKNOWN, IFEQ_KNOWN, IFEQ_REFUSED } ifeq;   /* of this connection, protocol.md 23 */
  bool is_read_only;             /* the last server that got a write is a replica */
  instant inbox_up_at;
  instant down_since;
  dibs_status down_why;
  char down_words[256];
  char undecided_words[256];     /* of the last refusal to decide */
  /* polling.c: wanted, and not up since then, while the server was up; why */
  bool is_inbox_missing;
  instant missing_since;
  char inbox_words[256];
  bool polls, polling_is_reported;     /* its waiters poll: its messages cannot be had */
  instant polls_since, polls_until, resubscribe_at, reported_at;
  char polls_words[256];
};

/* ---- route.c ---- */
bool routes_init(lock_table *t);                      /* false: no memory */
void routes_free(lock_table *t);
bool route_is_usable(const route *r);                 /* up, and no replica */
/* `before`, and `words` with the server that said them. */
void route_add_words(const route *r, const char *before, const char *words, text *out);
/* Finds the slot and the route of a name, from the first of its names. */
void lease_find_route(lease *l);
route *route_at(const lock_table *t, size_t number);  /* any number: nowhere if there is none */
route *route_of_slot(const lock_table *t, uint16_t which);
route *route_of_key(const lock_table *t, const char *key, size_t size);
uint16_t slot_of_name(const lock_table *t, const void *bytes, size_t size);
route *route_of_name(const lock_table *t, const void *bytes, size_t size);

/* ---- outage.c ---- */
void route_can_write(route *r, instant now);          /* this server is no replica */

#endif
