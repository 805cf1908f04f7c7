/* SPDX-License-Identifier: MIT */
/* api/degrade.h - degrade=local: exclusive locks of this machine while no server answers.
 *
 * In an outage (outage.h) requests take the exclusive lock of a file (lock_files.h), repeated by
 * the drive's alarm: so no thread waits in flock() and none must be woken to cancel it. When the
 * outage ends, holds are lost, because another machine may have the lock at the servers; waiting
 * requests go to the engine. On this machine such a hold excludes others until it is released, at
 * most for its ttl: a program needs time to stop.
 *
 * Each claim of any kind has the shared locks of its files before it goes to the engine, and until
 * it believes in no lease any more (local_claim.h). If a process has a lock of this machine
 * meanwhile, the claim waits here for its end. removed_files.h looks after files without a name.
 *
 * All functions need the mutex. */
#ifndef API_DEGRADE_H
#define API_DEGRADE_H

#include "api/local_claim.h"
#include "api/outage.h"

/* Of a client with degrade=local. */
typedef struct local_client {
  outage *first_outage;
  bool was_reported;               /* to on_event, since servers decided last */
  instant look_at;                 /* removed_files.h; never: no lock file is in use */
  uint64_t granted, released, lost;   /* locks of this machine, ever */
} local_client;

/* No memory, or `why` contains what the lock files would lack. */
dibs_status degrade_open(client_record *c, text *why);
/* true: it waits here, and begins at the next alarm. False: it is for the engine. */
bool degrade_begin(claim *cl);
/* The engine ended it with `status`. True: it continues as a local one. */
bool degrade_takes_over(claim *cl, dibs_status status);
/* true: it waited here, and is cancelled. */
bool degrade_cancel(claim *cl);
/* A lease of servers is reported lost, a little before its end: its files keep others out until
 * then. */
void degrade_lost(claim *cl);
void degrade_release(claim *cl);             /* of one that is LOCAL_HELD; may free it */
void degrade_close(client_record *c);          /* ends all waiting requests */
void degrade_count(const client_record *c, engine_stats *stats);   /* adds locks of this machine */
void degrade_alarm(client_record *c);

/* For outage.c: */
/* A claim of a name in this slot waits here, or holds. */
bool degrade_is_needed(const client_record *c, uint16_t key_slot);
void degrade_outage_over(client_record *c, uint16_t key_slot);
void degrade_alarm_set(client_record *c);

#endif
