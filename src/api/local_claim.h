/* SPDX-License-Identifier: MIT */
/* api/local_claim.h - what each claim of a client with degrade=local has in addition: a copy of its
 * request, which may become a lock of this machine, and its lock files.
 *
 * All functions need the mutex. */
#ifndef API_LOCAL_CLAIM_H
#define API_LOCAL_CLAIM_H

#include "api/lock_files.h"
#include "hold/hold.h"

typedef enum local_state {
  LOCAL_NOT,                       /* it is the engine's */
  LOCAL_WAITS,                     /* it waits here: degrade.c */
  LOCAL_HELD                       /* it has, or had, a lock of this machine */
} local_state;

typedef struct local_claim {
  local_state state;
  bool may_be_local;               /* it may become a lock of this machine */
  uint16_t slot;                   /* then, in a Cluster: of its key; otherwise 0 */
  lock_spec spec;                  /* as the engine gets it; its texts are copies */
  char owner[OWNER_KEY_MAX];
  char note[DIBS_NOTE_MAX + 1];
  lock_files files;
  bool lacks_files;                /* it asks the servers, and another process has the new files */
  instant next_try;
  span pause;                      /* before the second next try */
  end_terms end;                   /* of a hold, and of those inside */
  instant ends_at;                 /* of a hold; after its loss, of its exclusive lock, or of
                                      the lease of servers that was reported lost */
  _Alignas(local_lock)
  many_name names[];               /* several; then the locks of `files` */
} local_claim;

/* DIBS_ERR_NO_MEMORY, or the claim has what it needs: nothing without degrade=local. */
dibs_status local_claim_prepare(claim *cl, const lock_spec *spec);
void local_claim_free(claim *cl);
/* It has no lease of servers any more, and waits for none: closes its files. */
void local_claim_let_go(claim *cl);
void local_claims_forked(client_record *c);    /* in a child: closes its copies of the files */

/* Of a client with degrade=local, and in this state. */
bool local_claim_is(const claim *cl, local_state state);
/* The same, and its hold is not lost. LOCAL_NOT: a lease of the servers. */
bool local_claim_holds(const claim *cl, local_state state);
/* Another hold of the same name and owner for which that is true, or NULL. */
claim *local_claim_outer(const claim *cl, local_state state);
/* Unlocks its files, unless an inner or outer hold has copies. */
void local_claim_end_files(claim *cl);
void local_claim_lose(claim *cl, const char *message);

#endif
