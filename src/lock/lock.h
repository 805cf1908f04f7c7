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
#include "dialect/dialect.h"
#include "lock/lock_kind.h"
#include "lock/lock_name.h"
#include "resp/resp.h"
#include "topo/topo.h"

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
  size_t route_count;               /* 1 without Cluster; lock_add_route() for more */
  /* Cluster: SLOT_COUNT numbers of routes, ROUTE_NOBODY where none is known; borrowed, and
   * changed only together with lock_slots_changed(). NULL: route 0 has all names. */
  const uint16_t *slots;
  span quarantine;                  /* 0: no era guard */
  bool uses_functions, only_polls;
  dialect_kind dialect;
  bool is_voter;                    /* one server of a quorum */
  const char *registry;             /* SPRING */
  bool is_patient;                  /* without a server claims wait for their own limit */
  uint64_t names_max;               /* more at once are refused: LIMIT; 0: as many as wanted */
} lock_settings;

#define ROUTE_NOBODY UINT16_MAX

typedef struct lock_wish {          /* engine.h: lock_request says what each means */
  void *context;
  lock_kind kind;
  const void *name; size_t name_size;
  const many_name *names; size_t name_count;
  uint64_t units;
  lock_flavour flavour;             /* MUTEX; PERMITS: UNLEASED or PLAIN */
  span linger;
  const void *owner; size_t owner_size;
  bool is_try, is_fixed, no_reentry;
  bool is_part;                     /* of several names with one fence, the highest of their
                                     * tokens: no other hold may stand on its lease */
  bool blocks;                      /* its owner does nothing else until it ends */
  span ttl, max_hold;
  instant give_up_at;
  const char *note;
  int32_t min_replicas;             /* 0: not asked; -1: majority */
  span replicas_wait;
  bool wants_fsync, reports_replicas;
  uint64_t floor;                   /* QUORUM: the new token is above it; 0: none */
} lock_wish;

lock_table *lock_table_new(const lock_settings *s);   /* NULL: memory */
lock_table *lock_table_free(lock_table *t);

/* ---- from the program ---- */

/* A name that is new where names_max are in memory: the one that lingers longest is given back
 * for it; DIBS_ERR_LIMIT when none does. */
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
/* Gives back what has lingered, unused, for `age` or longer; returns how many that are. */
size_t lock_expire(lock_table *t, span age, instant now);
/* What is in memory, one lease or ask at a time; false: no more. */
bool lock_next_name(const lock_table *t, lock_name_at *at, lock_name *ret_name);
void lock_close(lock_table *t, instant now);
bool lock_is_quiet(const lock_table *t);    /* nothing held, wanted or unanswered */

/* The lease of a granted claim gets a higher token (protocol.md 18); LOCK_RAISED or LOCK_LOST
 * follows. */
dibs_status lock_raise(lock_table *t, uint64_t id, uint64_t token, instant now);

/* ---- routes: the servers that names live on ----
 *
 * Each has a command link, an inbox, its own idea of the server's time, and its own lists of
 * what is due: one that is down or slow delays no other. */

dibs_status lock_add_route(lock_table *t, size_t *ret_route);     /* NO_MEMORY */
/* Names whose slot belongs to another route now: what was under way counts as cut. */
void lock_slots_changed(lock_table *t, instant now);
/* Before the first slots: whether the nodes have sharded channels. */
void lock_sharded_channels(lock_table *t, bool has_them);
/* Route `r` leads to another server from now on (promotion): its clock is to be learnt anew.
 * The link is down. */
void lock_route_moved(lock_table *t, size_t r);

void lock_link_up(lock_table *t, size_t r, instant now);
/* `why` and `words` are told to those who fail for want of a server. ROUTE_NOBODY: those
 * whose slot nobody serves. */
void lock_link_down(lock_table *t, size_t r, dibs_status why, const char *words, instant now);
/* Ends all waiting claims if the last lock_link_down() was for a reason that trying again
 * does not mend: credentials, certificates, protocol. */
void lock_fail_if_final(lock_table *t, size_t r, instant now);
void lock_inbox_up(lock_table *t, size_t r, instant now);
void lock_inbox_down(lock_table *t, size_t r, dibs_status why, const char *words, instant now);
void lock_server_time(lock_table *t, size_t r, int64_t server_us, instant sent_at, instant now);
void lock_wall_clock(lock_table *t, int64_t wall_us, instant now);
/* What the server of route 0 probably says now; 0: not known. */
int64_t lock_server_us(const lock_table *t, instant now);

/* What an answered command asks of the connection, or of the slot map. */
typedef enum lock_verdict {
  LOCK_FINE, LOCK_READ_ONLY, LOCK_BROKEN,
  LOCK_MOVED,               /* MOVED, CLUSTERDOWN: look at the slots anew */
  LOCK_ASK                  /* lock_ask_slot() tells which slot is on its way to where */
} lock_verdict;
lock_verdict lock_answer(lock_table *t, uint64_t tag, instant sent_at,
                         const resp_reply *reply, instant now);
/* Behind LOCK_ASK: the names of that slot ask route `r` once, with ASKING in front. */
const redirect *lock_redirect(const lock_table *t);
void lock_ask_at(lock_table *t, uint16_t which, size_t r);

/* What a channel said: our inbox, or a channel of a name's own. */
void lock_message(lock_table *t, const char *channel, size_t channel_size, const char *bytes,
                  size_t size, instant now);
/* A channel of a name's own (Cluster): it stands; it ended. */
void lock_channel_up(lock_table *t, size_t r, const char *channel, size_t size, instant now);
/* A channel that was asked for is not to be had at `r`: those that do not stand yet. */
void lock_channels_refused(lock_table *t, size_t r);
void lock_channel_down(lock_table *t, size_t r, const char *channel, size_t size, instant now);

instant lock_deadline(const lock_table *t);
void lock_tick(lock_table *t, instant now);

/* ---- what is to be done ---- */

bool lock_wants_link(const lock_table *t, size_t r);    /* somebody waits for this server */
bool lock_wants_inbox(const lock_table *t, size_t r);
bool lock_wants_acks(const lock_table *t, size_t r);    /* the link for WAIT */
bool lock_link_is_doubtful(const lock_table *t, size_t r);  /* a renewal is unanswered for
                                                               too long */
bool lock_inbox_is_deaf(const lock_table *t, size_t r);     /* the server does not count it */
bool lock_is_lost_in_slots(const lock_table *t);        /* a name has no route */

/* The next command to send on the ready command link of `r`: appended to `out`. false: none.
 * lock_unsent() takes it back when the link refused it. */
typedef struct lock_command {
  uint64_t tag;
  bool is_asking;           /* ASKING goes in front */
} lock_command;
bool lock_next_command(lock_table *t, size_t r, buffer *out, lock_command *ret, instant now);
/* The same for the link for WAIT; `tag` of the last of its commands, all others are ignored. */
bool lock_next_ack_command(lock_table *t, size_t r, buffer *out, uint64_t *ret_tag,
                           instant now);
void lock_acks_down(lock_table *t, size_t r, instant now);
void lock_unsent(lock_table *t, uint64_t tag, instant now);
#define CHANNEL_TEXT_SIZE (KEY_TEXT_SIZE + 128)      /* room for the text of any channel */
/* Cluster: whether those of its names are subscribed as channels of one slot. */
bool lock_channels_are_sharded(const lock_table *t);
/* Cluster: the next channel to subscribe (or not any more) on the ready inbox of `r`. */
bool lock_next_channel(lock_table *t, size_t r, text *ret_channel, bool *ret_leave);

typedef enum lock_event_kind {
  LOCK_GRANTED = 1, LOCK_RENEWED, LOCK_SUSPECT, LOCK_LOST,
  LOCK_RAISED,                                     /* token; valid_until as it was */
  LOCK_FAILED, LOCK_RELEASED, LOCK_DETACHED        /* the last three end the claim */
} lock_event_kind;

typedef struct lock_event {
  lock_event_kind kind;
  void *context;
  uint64_t id, fence, units, token;
  uint32_t acknowledged, replicas_wanted;   /* GRANTED, where min_replicas was asked */
  bool has_fsync;
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
