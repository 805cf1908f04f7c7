/* SPDX-License-Identifier: MIT */
/* test/script/members.h - several locks of one world, each called by a letter, and the sets
 * that clients ask for: "abd" are three names. */
#ifndef SCRIPT_MEMBERS_H
#define SCRIPT_MEMBERS_H

#include "world.h"

/* Waits, 30 s, trusts the server's clock, set 1, keeps nothing. Valid until the next 8. */
many_call members_call(struct world *w, const char *letters, uint64_t ask);

typedef struct many_answer {
  acquire_answer a;
  char busy;                  /* WAITING, BUSY: the letter */
} many_answer;

many_answer members_send(struct world *w, int who, const many_call *c);
many_answer members_acquire(struct world *w, int who, const char *letters, uint64_t ask);
many_answer members_try(struct world *w, int who, const char *letters, uint64_t ask);
release_answer members_release(struct world *w, int who, const char *letters,
                               const lease_id *lease);
/* By its token. */
release_answer members_token_release(struct world *w, int who, const char *letters,
                                     const lease_id *lease);
int64_t members_cancel(struct world *w, int who, const char *letters, uint32_t set,
                       uint64_t ask, int64_t until_us);
/* The error it is refused with. */
const char *members_error(struct world *w, int who, const many_call *c);

/* ---- single locks of these names ---- */

acquire_call one_call(struct world *w, char letter, uint64_t ask);
acquire_answer one_send(struct world *w, int who, const acquire_call *c);
acquire_answer one_acquire(struct world *w, int who, char letter, uint64_t ask);
acquire_answer one_try(struct world *w, int who, char letter, uint64_t ask);
release_answer one_release(struct world *w, int who, char letter, const lease_id *lease);
int64_t one_cancel(struct world *w, int who, char letter, uint64_t ask, int64_t until_us);

/* ---- what is stored ---- */

/* The lease string that holds it, or "" when it is free. */
const char *members_holder(struct world *w, char letter);
/* The whole value of the lease, also when it is over: "=..." or "...". "" when unknown. */
const char *members_value(struct world *w, char letter);
/* Who waits there: each "C K " or "C.n K ", in order, tombstones as "x C K ". */
const char *members_queue(struct world *w, char letter);
const char *members_key(char letter);
/* Puts a lease of `who` (set 0: none) there whose deadline lies `left_ms` from now. */
lease_id members_plant(struct world *w, char letter, int who, uint32_t set, uint64_t ask,
                       int64_t left_ms);

#endif
