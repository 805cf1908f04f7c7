/* SPDX-License-Identifier: MIT */
/* quorum - one claim on several independent servers: held while a majority holds it.
 *
 * It owns the local queue of a name, rounds over the lock tables (one for each server, each a
 * complete client of it), validity, the fence, and the repair of lost leases. A backend of
 * hold/, which has the program's claims. May include hold/, lock/ and lower modules. The engine
 * owns the tables and their connections; quorum/ takes the events of its claims there.
 *
 * Invariants (doc/design/deployments.md 5): a grant needs leases of a majority, all with
 * the same token, and is valid until the majority-th best of their ends (S1, S2); leases
 * of a failed round are released on every server, late grants too; one server without
 * replies causes no delay. */
#ifndef QUORUM_H
#define QUORUM_H

#include "lock/lock.h"

typedef struct quorum quorum;

typedef struct quorum_settings {
  const memory *memory;
  lock_table *const *tables;      /* borrowed */
  size_t count;
  uint64_t seed;
  span connect_timeout, command_timeout;
  bool is_patient;                /* initial value of quorum_be_patient() */
  uint64_t names_max;             /* limit of names, above it: LIMIT; 0: none */
} quorum_settings;

quorum *quorum_new(const quorum_settings *s);         /* NULL: no memory */
quorum *quorum_free(quorum *q);

/* From now on waiting claims go on without a majority until their own limit. */
void quorum_be_patient(quorum *q);

/* For a front (hold/hold.h). MUTEX and RWLOCK only, without parking: else
 * DIBS_ERR_UNSUPPORTED. No tokens, no detaching. Of its claims, `acknowledged` and
 * `replicas_wanted` are the servers that have it, and the majority. */
hold_backend *quorum_backend(quorum *q);

/* Call after any input to any table: takes their events, makes its own. */
void quorum_advance(quorum *q, instant now);

/* Why server `i` took no part in the last failure; DIBS_OK: it did. The message is borrowed. */
dibs_status quorum_server_why(const quorum *q, size_t i, const char **ret_words);

#endif
