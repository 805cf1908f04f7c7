/* SPDX-License-Identifier: MIT */
/* lock - all names of one client: who of this process wants or has which, and what the
 * server is asked about it.
 *
 * Owns leases, claims (a request that becomes a hold), the local queue and hand-over,
 * the watchdog, polls, and the reading of answers and messages. May include dialect/,
 * script/, topo/, link/, resp/, base/. Commands and events are pulled; nothing calls back.
 *
 * Invariants (doc/design/invariants.md): at most one ask per name is open (I9); a name
 * with a live waiter has a timer (I7); a holder's deadline is never later than the end
 * of the lease on the server (I12, S1); lost is told once and not after the deadline
 * (I17, S7); a lease told lost or given back is never believed again. */
#ifndef LOCK_H
#define LOCK_H

#include "base/base.h"
#include "dialect/native.h"
#include "lock/lock_kind.h"
#include "resp/resp.h"

typedef struct lock_table lock_table;

typedef struct lock_settings {
  const memory *memory;
  const char *prefix;
  const char *client_id;
  uint64_t seed;
  span connect_timeout, command_timeout;
  span renew_every;                 /* 0: ttl / 3 */
  int32_t clock_rate_error_ppm;
  int32_t local_handovers_max;
  span local_handover_time;
  bool tells_owners;                /* DIBS_CLIENT_DETECT_DEADLOCK */
} lock_settings;

typedef struct lock_wish {          /* engine.h: lock_request says what each means */
  void *context;
  lock_kind kind;
  const void *name; size_t name_size;
  const many_name *names; size_t name_count;
  uint64_t units;
  span linger;
  const void *owner; size_t owner_size;
  bool is_try, is_fixed, no_reentry;
  bool blocks;                      /* its owner does nothing else until it ends */
  span ttl, max_hold;
  instant give_up_at;
  const char *note;
} lock_wish;

lock_table *lock_table_new(const lock_settings *s);   /* NULL: memory */
lock_table *lock_table_free(lock_table *t);

/* ---- from the program ---- */

dibs_status lock_claim(lock_table *t, const lock_wish *wish, instant now, uint64_t *ret_id);
bool lock_cancel(lock_table *t, uint64_t id, instant now);
/* Ends a waiting claim with `status` and these words, which are copied. */
bool lock_fail(lock_table *t, uint64_t id, dibs_status status, const char *words, instant now);
/* Whether others are told that this claim waits while its owner holds something. */
bool lock_wait_is_told(const lock_table *t, uint64_t id);
dibs_status lock_release(lock_table *t, uint64_t id, instant now);
/* Before its lease is named to others: from now on nobody of this process joins it or gets it
 * handed over. false: other owners are by it already, and it may not be given away. */
bool lock_keep_alone(lock_table *t, uint64_t id);
dibs_status lock_detach(lock_table *t, uint64_t id, instant now);   /* ARGUMENT: see above */
dibs_status lock_downgrade(lock_table *t, uint64_t id, instant now);
bool lock_token(const lock_table *t, uint64_t id, text *out);
void lock_close(lock_table *t, instant now);
bool lock_is_quiet(const lock_table *t);    /* nothing held, wanted or unanswered */

/* ---- from the server ---- */

void lock_link_up(lock_table *t, instant now);
/* `why` and `words` are told to those who fail for want of a server. */
void lock_link_down(lock_table *t, dibs_status why, const char *words, instant now);
/* Ends all waiting claims if the last lock_link_down() was for a reason that trying again
 * does not mend: credentials, certificates, protocol. */
void lock_fail_if_final(lock_table *t, instant now);
void lock_inbox_up(lock_table *t, instant now);
void lock_inbox_down(lock_table *t, dibs_status why, const char *words, instant now);
void lock_server_time(lock_table *t, int64_t server_us, instant sent_at, instant now);
void lock_wall_clock(lock_table *t, int64_t wall_us, instant now);

/* What an answered command asks of the connection. */
typedef enum lock_verdict { LOCK_FINE, LOCK_READ_ONLY, LOCK_BROKEN } lock_verdict;
lock_verdict lock_answer(lock_table *t, uint64_t tag, instant sent_at,
                         const resp_reply *reply, instant now);
void lock_message(lock_table *t, const char *bytes, size_t size, instant now);

instant lock_deadline(const lock_table *t);
void lock_tick(lock_table *t, instant now);

/* ---- what is to be done ---- */

bool lock_wants_link(const lock_table *t);    /* somebody waits for the server */
bool lock_wants_inbox(const lock_table *t);
bool lock_link_is_doubtful(const lock_table *t);  /* a renewal is unanswered for too long */
bool lock_inbox_is_deaf(const lock_table *t);     /* the server does not count it */

/* The next command to send on the ready command link: appended to `out`, its tag in
 * *ret_tag. false: none. lock_unsent() takes it back when the link refused it. */
bool lock_next_command(lock_table *t, buffer *out, uint64_t *ret_tag, instant now);
void lock_unsent(lock_table *t, uint64_t tag, instant now);

typedef enum lock_event_kind {
  LOCK_GRANTED = 1, LOCK_RENEWED, LOCK_SUSPECT, LOCK_LOST,
  LOCK_FAILED, LOCK_RELEASED, LOCK_DETACHED        /* the last three end the claim */
} lock_event_kind;

typedef struct lock_event {
  lock_event_kind kind;
  void *context;
  uint64_t id, fence, units;
  instant valid_until;
  int depth;
  dibs_status status;
  const char *words;       /* borrowed until the next input */
  const char *name;        /* likewise; NULL for a claim that has ended */
  size_t name_size;
} lock_event;

bool lock_next_event(lock_table *t, lock_event *ret_event);

typedef struct lock_counts {
  uint64_t granted, granted_local, released, lost, renewed, renew_failed;
  uint64_t holds, waiting, lingering, names, bytes;
} lock_counts;
lock_counts lock_get_counts(const lock_table *t);

#endif
