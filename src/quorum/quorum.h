/* SPDX-License-Identifier: MIT */
/* quorum - one claim over several independent servers: held while a majority holds it.
 *
 * Owns claims of the program, re-entry and the local queue of a name, rounds over the lock
 * tables (one for each server, each a complete client of it), validity, the fence, the
 * repair of a minority that was lost. May include lock/ and what is below it. The tables
 * belong to the engine, which feeds and drains their links; their events are drained here.
 *
 * Invariants (doc/design/deployments.md 5): a grant is told only with leases of a majority,
 * all with the same token, believed until the majority-th best of their ends (S1, S2); what
 * a failed round got is given back on every server, late grants too; one server that does
 * not answer delays nobody. */
#ifndef QUORUM_H
#define QUORUM_H

#include "lock/lock.h"

#define QUORUM_SERVERS_MAX 15

typedef struct quorum quorum;

typedef struct quorum_settings {
  const memory *memory;
  lock_table *const *tables;      /* borrowed */
  size_t count;
  uint64_t seed;
  span connect_timeout, command_timeout;
  bool is_patient;                /* without a majority claims wait for their own limit */
  uint64_t names_max;             /* more at once are refused: LIMIT; 0: as many as wanted */
} quorum_settings;

quorum *quorum_new(const quorum_settings *s);         /* NULL: memory */
quorum *quorum_free(quorum *q);

/* As the functions of lock.h with these names. MUTEX, READ and WRITE only, without linger:
 * else DIBS_ERR_UNSUPPORTED. No tokens, no detaching: false, DIBS_ERR_UNSUPPORTED. */
dibs_status quorum_claim(quorum *q, const lock_wish *wish, instant now, uint64_t *ret_id);
bool quorum_cancel(quorum *q, uint64_t id, instant now);
bool quorum_fail(quorum *q, uint64_t id, dibs_status status, const char *words, instant now);
dibs_status quorum_release(quorum *q, uint64_t id, instant now);
dibs_status quorum_detach(quorum *q, uint64_t id, instant now);
dibs_status quorum_downgrade(quorum *q, uint64_t id, instant now);
bool quorum_token(const quorum *q, uint64_t id, text *out);
void quorum_close(quorum *q, instant now);
bool quorum_is_quiet(const quorum *q);

/* After any input to any table: takes their events, makes its own. */
void quorum_pump(quorum *q, instant now);
/* acknowledged, replicas_wanted: servers that have it, and the majority. */
bool quorum_next_event(quorum *q, lock_event *ret_event);
instant quorum_deadline(const quorum *q);
void quorum_tick(quorum *q, instant now);
lock_counts quorum_get_counts(const quorum *q);
bool quorum_next_name(const quorum *q, lock_name_at *at, lock_name *ret_name);

/* Why server `i` took no part in what failed last; DIBS_OK: it did. Words borrowed. */
dibs_status quorum_server_why(const quorum *q, size_t i, const char **ret_words);

#endif
