/* SPDX-License-Identifier: MIT */
/* lock - all names of one client: its leases, and what the server is asked about them.
 *
 * Owns leases, which claims of hold/ share or follow on one, the local handoff, the watchdog,
 * polls, and the reading of answers and messages. A backend of hold/. May include hold/,
 * dialect/, request/, script/, topo/, link/, resp/, base/. Commands are pulled; nothing calls
 * back. The records, and how they belong together: table.h.
 *
 * Invariants (doc/design/invariants.md): at most one ask per name is open (I9); a name
 * with a live waiter has a timer (I7); a holder's deadline is never later than the end
 * of the lease on the server (I12, S1); a loss is not reported after the deadline (S7); a
 * lease that was reported lost or released is never believed again.
 *
 * Files: claim.c the backend: a claim from the spec to the hold, and its limits; sharing.c which
 * readers share a lease, entries in a fair queue, a set against its owner's other names;
 * handoff.c which claim holds the lease now, and the next one in this process; wait_report.c
 * what deadlock search reads of a client. The others know no claims, but what the first waiter
 * asks for: names.c how leases are made, found and freed; state.c the table of
 * states; asking.c asking, polling, watching a lease that seems dead; holding.c grant, renewal,
 * loss, with the arithmetic in lease.c; leaving.c release, cancel, orphans; again.c releases that a
 * failover may have lost; yielding.c other processes ask first after a release, in dialects without
 * a queue; parking.c, reuse_history.c keeping a lease, its automatic start, room for a new name
 * (names_max); acks.c replicas that acknowledge.
 * command.c when a name sends, wire.c which call of the dialect, answer.c what the answer means;
 * inbox.c messages, trust.c which are believed; channel.c channels of names, missing rights to
 * subscribe; polling.c no messages can be had, so waiters poll. route.c the server of a name and
 * its clock (server_clock.c), moving.c slots that move, outage.c connections that break. view.c
 * what the program sees. */
#ifndef LOCK_H
#define LOCK_H

#include "base/base.h"
#include "dialect/dialect.h"
#include "hold/hold.h"
#include "resp/resp.h"
#include "topo/topo.h"

typedef struct lock_table lock_table;

typedef struct lock_settings {
  const memory *memory;
  const protocol *protocol;           /* copied */
  uint64_t seed;                    /* for jitter; each table of a client has another */
  uint64_t nonce_key[2];            /* secret: of the system's random source */
  span connect_timeout, command_timeout;
  span renew_every;                 /* 0: ttl / 3 */
  int32_t clock_rate_error_ppm;
  int32_t local_handovers_max;
  span local_handover_time;
  bool reports_waits;                 /* DIBS_CLIENT_DETECT_DEADLOCK */
  size_t route_count;               /* 1 without Cluster; lock_add_route() for more */
  /* Cluster: SLOT_COUNT numbers of routes, ROUTE_NONE where none is known; borrowed, and
   * changed only together with lock_slots_changed(). NULL: route 0 has all names. */
  const uint16_t *slots;
  bool only_polls;
  bool is_patient;                  /* as after lock_be_patient() */
  uint64_t names_max;               /* more at once are refused: LIMIT; 0: no limit */
} lock_settings;

#define ROUTE_NONE UINT16_MAX

/* Why a free name is refused: a lease of the lost past may go on. */
#define QUARANTINE_WORDS \
  "quarantine: after a restart or failover the server makes no new holders for this time"

lock_table *lock_table_new(const lock_settings *s);   /* NULL: no memory */
lock_table *lock_table_free(lock_table *t);

/* For a front (hold/hold.h): all kinds of names, each claim with one lease. With names_max
 * names in memory, a new name releases the lease that has been parked longest; DIBS_ERR_LIMIT
 * without one. */
hold_backend *lock_backend(lock_table *t);

/* Whether this owner holds one of the names: of several it takes none then. */
bool lock_owner_has(const lock_table *t, const many_name *names, size_t count,
                    const void *owner, size_t owner_size);
#define OWNER_HAS_WORDS "this owner holds one of the names already"

/* When the last of the detached leases ends, unless it is renewed by its token; long ago:
 * none. */
instant lock_detached_until(const lock_table *t);
/* Releases leases parked for `age` or longer; returns their number. */
size_t lock_expire(lock_table *t, span age, instant now);
bool lock_is_quiet(const lock_table *t);    /* nothing held, requested or unanswered */

/* ---- routes: the servers that names live on ----
 *
 * Each has a command link, an inbox, its own idea of the server's time, and its own lists of
 * what is due: one that is down or slow delays no other. */

dibs_status lock_add_route(lock_table *t, size_t *ret_route);     /* NO_MEMORY */
/* Moves names whose slot has another route: requests under way may arrive late. */
void lock_slots_changed(lock_table *t, instant now);
/* Before the first slots: whether the nodes have sharded channels. */
void lock_sharded_channels(lock_table *t, bool has_them);
/* Route `r` leads to the server of `url` (borrowed), another one after a promotion: its clock must
 * be learned. The link is down. */
void lock_route_moved(lock_table *t, size_t r, const server_url *url);
/* Adds `before`, and `words` with the server of `r`, which said them. */
void lock_add_words(const lock_table *t, size_t r, const char *before, const char *words,
                    text *out);

void lock_link_up(lock_table *t, size_t r, instant now);
/* Claims that fail because the server is unreachable get `why` and `words`. ROUTE_NONE:
 * those whose slot no server serves. */
void lock_link_down(lock_table *t, size_t r, dibs_status why, const char *words, instant now);
/* Afterwards waiting claims continue without a server until their own limit. */
void lock_be_patient(lock_table *t, instant now);
/* Whether a name waits for a server that is unreachable or refuses to decide: the route
 * (or ROUTE_NONE) and the reason, borrowed until the next input. */
bool lock_cannot_ask(const lock_table *t, instant now, size_t *ret_route,
                     const char **ret_words);
/* Ends all waiting claims if the last lock_link_down() had a reason that a retry does not
 * fix: credentials, certificates, protocol. */
void lock_fail_if_final(lock_table *t, size_t r, instant now);
void lock_inbox_up(lock_table *t, size_t r, instant now);
void lock_inbox_down(lock_table *t, size_t r, dibs_status why, const char *words, instant now);
/* Once each time: waiters of `r` poll, or there are observers, and no messages can be had; why. */
bool lock_polls(lock_table *t, size_t r, bool has_observers, instant now, const char **ret_words);
/* That a call got no reply, or no connection, in the time that it had. A time shorter than the
 * connect timeout says nothing about the server. */
void lock_add_no_reply(bool was_connected, span time, span connect_timeout, text *out);
/* Why the link is down; DIBS_OK and "" when it was never down. */
dibs_status lock_link_why(const lock_table *t, size_t r, const char **ret_words);
void lock_server_time(lock_table *t, size_t r, int64_t server_us, instant sent_at, instant now);
/* The estimated time of the server of `r` at an instant; 0: not known. */
int64_t lock_server_us_at(const lock_table *t, size_t r, instant at);
/* The same, but 0 when it must not decide over a lease: server_clock.h. */
int64_t lock_server_us_trusted(const lock_table *t, size_t r, instant now);
void lock_wall_clock(lock_table *t, int64_t wall_us, instant now);
/* The estimated time of route 0's server; 0: not known. */
int64_t lock_server_us(const lock_table *t, instant now);
/* `token` of that server becomes the floor of all names, unless it is lower or far ahead. */
void lock_raise_floor(const lock_table *t, uint64_t *floor, uint64_t token, instant now);

/* What the reply to a command requires of the connection, or of the slot map. */
typedef enum lock_verdict {
  LOCK_FINE, LOCK_READ_ONLY, LOCK_BROKEN,
  LOCK_MOVED,               /* MOVED, CLUSTERDOWN: read the slots again */
  LOCK_NO_PRIMARY,          /* MASTERDOWN: look for the primary */
  LOCK_ASK                  /* lock_redirect(): which slot is moving, and its target */
} lock_verdict;
lock_verdict lock_answer(lock_table *t, uint64_t tag, instant sent_at,
                         const resp_reply *reply, instant now);
/* Before its answer: whether the call asks for a lock. */
bool lock_is_ask(const lock_table *t, uint64_t tag);
/* After LOCK_ASK: the names of that slot ask route `r` once, after ASKING. */
const redirect *lock_redirect(const lock_table *t);
void lock_ask_at(lock_table *t, uint16_t which, size_t r);

/* A message of the client channel, or of a channel of a name. */
void lock_message(lock_table *t, const char *channel, size_t channel_size, const char *bytes,
                  size_t size, instant now);
/* Cluster: the subscription to a channel of a name is confirmed; it ended. */
void lock_channel_up(lock_table *t, size_t r, const char *channel, size_t size, instant now);
/* `r` refused the subscription to the channel with this fnv1a(), with `words`. */
void lock_channel_refused(lock_table *t, size_t r, uint64_t hash, bool is_forbidden,
                          const char *words, instant now);
void lock_channel_down(lock_table *t, size_t r, const char *channel, size_t size, instant now);

/* ---- commands to send ---- */

bool lock_waits_for(const lock_table *t, size_t r);     /* a name waits for this server */
bool lock_wants_link(const lock_table *t, size_t r);    /* or a release is to be repeated there */
/* A release is to be repeated, or would be if this server were replaced now: worth a search, in
 * a long outage only if there are news. */
bool lock_may_repeat(const lock_table *t, size_t r, bool is_news, instant now);
bool lock_wants_inbox(const lock_table *t, size_t r);
bool lock_wants_acks(const lock_table *t, size_t r);    /* the link for WAIT */
bool lock_link_is_doubtful(const lock_table *t, size_t r);  /* a renewal is overdue */
bool lock_inbox_has_no_subscriber(const lock_table *t, size_t r);     /* it has no subscriber */
bool lock_is_lost_in_slots(const lock_table *t);        /* a name has no route */

/* The next command to send on the ready command link of `r`. false: none.
 * lock_unsent() takes it back when the link refused it. */
typedef struct lock_command {
  uint64_t tag;
  bool is_asking;           /* send ASKING first */
} lock_command;
bool lock_next_command(lock_table *t, size_t r, request *out, lock_command *ret,
                       instant now);
/* The link is left when its last reply has come. A renewal that is due counts as sent, so that a
 * link on which no reply comes is doubtful in time. */
void lock_sends_no_more(lock_table *t, size_t r, instant now);
/* The same for the link for WAIT; `tag` of the last of its commands, all others are ignored. */
bool lock_next_ack_command(lock_table *t, size_t r, request *out, uint64_t *ret_tag,
                           instant now);
void lock_acks_down(lock_table *t, size_t r, instant now);
void lock_unsent(lock_table *t, uint64_t tag, instant now);
#define CHANNEL_TEXT_SIZE (KEY_TEXT_SIZE + 128)      /* room for the text of any channel */
/* Cluster: whether channels of names are sharded: subscribed by slot. */
bool lock_channels_are_sharded(const lock_table *t);
/* Cluster: the next channel to subscribe or unsubscribe on the ready inbox of `r`. */
bool lock_next_channel(lock_table *t, size_t r, text *ret_channel, bool *ret_leave);

/* A warning for the program, or NULL: each once, at most one a minute. */
const char *lock_take_warning(lock_table *t);

#endif
