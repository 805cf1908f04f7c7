/* SPDX-License-Identifier: MIT */
/* lock/table.h - the records of src/lock, for its own files only.
 *
 *   lock_table ── lease ─┬─ term, open ask, timers
 *                        └─ claims  that wait for it, hold it or have lost it (hold/claim.h)
 *              └─ route   a server that stores names: what is due there, its clock
 *   calls: commands without a reply, by tag; each belongs to a route
 *
 * A `lease` is one lease of this client and the ask for it. A mutex has one for all its
 * claims; a shared name has one *shared lease* for each acquisition, found by its lock
 * entry; a fair lock of another dialect has a *queue entry* for each claim;
 * a *set* of names (multi-lock) is one, too (protocol.md 9, 10; redisson.md 2). */
#ifndef LOCK_TABLE_H
#define LOCK_TABLE_H

/* If a table cannot grow, the element is not added, and nothing is lost. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "hold/acquisition.h"
#include "lock/lease.h"
#include "lock/lock.h"
#include "lock/records.h"
#include "lock/fence_memory.h"
#include "lock/reuse_history.h"
#include "lock/route.h"

typedef enum lease_state {
  LEASE_IDLE = 1,   /* the server has nothing of this client, as far as known */
  LEASE_ASKING,     /* an ask is open, and not queued yet */
  LEASE_QUEUED,     /* the server has the queue entry; waits for a message or a poll */
  LEASE_CONFIRMING, /* granted by a message too long ago: must be renewed first */
  LEASE_ACKING,     /* granted, and replicas have not acknowledged yet (acks.c) */
  LEASE_HELD,
  LEASE_PARKED,     /* parked: held without a claim */
  LEASE_RELEASING,
  LEASE_CANCELLING
} lease_state;

#define LEASE_STATES (LEASE_CANCELLING + 1)      /* 0 is no state */

/* Sets of states. */
#define IN(state) (1U << (state))
#define STATES_ASK (IN(LEASE_ASKING) | IN(LEASE_QUEUED))      /* the ask is open */
#define STATES_RENEWED (IN(LEASE_CONFIRMING) | IN(LEASE_HELD) | IN(LEASE_PARKED))
#define STATES_TAKEN (STATES_RENEWED | IN(LEASE_ACKING))      /* the server granted it to a claim */
#define STATES_ENDING (IN(LEASE_RELEASING) | IN(LEASE_CANCELLING))
/* `term.id` is a lease of this client. */
#define STATES_LEASE (STATES_TAKEN | IN(LEASE_RELEASING))

typedef enum lease_kind { LEASE_MUTEX = 1, LEASE_SHARED, LEASE_SET, LEASE_QUEUE_ENTRY } lease_kind;

struct lease {
  union {                        /* by `kind` */
    UT_hash_handle by_bytes;     /* MUTEX */
    lease_shared shared;         /* SHARED, QUEUE_ENTRY */
    lease_many many;             /* SET: `bytes` has the names in sequence */
  };
  lease *prev, *next;            /* in the list of all leases */
  uint64_t id;
  lock_table *table;
  route *route;                  /* the server that stores it */
  route *ask_route;              /* where its slot is moving to: asked there once */
  uint16_t slot;
  bool had_no_subscriber;        /* the last answer was `deaf`: resubscribed */
  bool is_redirected;            /* MOVED or ASK was answered, and not followed yet */
  unsigned redirects;            /* consecutive, since it last waited */
  unsigned attempts;             /* consecutive refusals, for back-off */
  unsigned end_sendings;         /* RELEASING: of the release; from 2 as for an ask */
  channel *channel;              /* Cluster: the inbox of its tag, when it is needed */
  channel *side_channel;         /* a second one, shared by several names */
  lease *next_due, *next_renewal;
  lease_kind kind;
  lock_kind lock_kind;           /* the same for all its claims; SET: MUTEX */
  lease_state state;             /* written by lease_set_state() */
  bool is_due;                   /* in the list of leases with a command to send */
  bool is_renewal_due;
  bool with_text;                /* the server lost the script: send its text */
  bool note_is_set;
  route *renewing_at;            /* where a renewal is without a reply; NULL: none is */
  union {
    instant idle_since;          /* PARKED */
    instant insist_until;        /* RELEASING, CANCELLING: no repetition after this */
  };
  span linger;                   /* PARKED: its length, counted from then */
  bool is_part;                  /* of a holder: no local handoff of the lease */
  bool reuse_has_paid;           /* reported to the reuse history since the grant */
  bool is_downgrading;           /* the server must still learn that it only reads */
  char mode;                     /* SHARED: 'r', 'w', 'p'; otherwise 0 */
  enum { RENUMBER_NONE, RENUMBER_ASKED, RENUMBER_REFUSED } renumber;   /* parking.c */

  lease_ask ask;                 /* the open one, or the last */
  lease_wait *wait;              /* while its ask is open or a claim waits */

  uint64_t ended_token;          /* of all its leases: none up to this one is trusted again */

  lease_term term;               /* in CONFIRMING, ACKING, HELD, PARKED and RELEASING */
  lease_acks *acks;              /* NULL: no claim has asked for replicas */
  uint32_t local_number;         /* of the present outermost hold; base/fence.h */
  int32_t handovers;             /* consecutive */
  instant handovers_since;

  acquisition claims;
  timer poll;                    /* ask again; also: repeat the present command */
  timer renew;
  timer deadline;                /* HELD: report the loss */
  size_t size;
  char bytes[];
};

typedef enum call_kind {
  CALL_ACQUIRE = 1, CALL_RELEASE, CALL_CANCEL, CALL_RENEW, CALL_STRAY, CALL_NOTE, CALL_RAISE,
  CALL_ACKS          /* a renewal and then WAIT, on a separate link */
} call_kind;

/* The shared leases of one name, or this client's entries in one queue. */
struct lock_entry {
  UT_hash_handle by_bytes;
  lease *first, *last;           /* oldest first */
  size_t size;
  char bytes[];
};

/* A command without a reply. Leases by id: they may be gone when the reply arrives. */
struct call {
  uint64_t id;
  route *route;
  call *prev, *next;             /* of its route */
  call_kind kind;
  lease_kind lease_kind;
  bool with_text;
  bool is_ifeq;                  /* RELEASE: without a script */
  uint64_t lease_number;
  uint64_t ask;                  /* ACQUIRE, CANCEL */
  uint64_t token;                /* RAISE */
  ack_step ack_step;             /* ACKS */
  lease_id lease;                /* RELEASE */
  orphan *orphan;                  /* STRAY */
  bool is_again;                 /* STRAY: counted in `again_calls` of its route */
  span ttl;                      /* ACQUIRE */
  size_t count;                  /* RENEW */
  struct {
    uint64_t lease_number;
    lease_id lease;
    unsigned reports;            /* that came before it was sent */
    char mode;
    bool is_still;
  } renewals[];
};

enum { TIMER_POLL = HOLD_TIMER_CLAIM + 1, TIMER_RENEW, TIMER_DEADLINE, TIMER_WAIT_REPORT,
       TIMER_AGAIN, TIMER_AGAIN_OVER };

/* The wait report (wait_report.c). */
typedef struct wait_report {
  timer timer;                   /* check for a new report */
  bool is_look_due;              /* it has fired */
  bool is_due;                   /* to be sent now, also if unchanged */
  bool is_there;                 /* the server has a report */
  uint64_t reported_hash;            /* of that report */
  char nonces[16][17];           /* of the last requests; sent with the report */
  size_t nonce_count;            /* ever */
} wait_report;

/* A lease that continues without this client: a late message about it must not release it,
 * and a new ask for a mutex must not end it. The last one of each mutex, until this client is
 * granted that again. */
typedef struct detached {
  struct detached *next;         /* of shares: the newest first */
  lease_id lease;
  UT_hash_handle by_name;        /* of mutexes */
  bool has_note;
  size_t size;
  char name[];
} detached;

struct lock_table {
  hold_backend backend;          /* the first member; its claims, of any front */
  memory memory;
  detached *detached_mutexes;    /* uthash head */
  detached *detached_shares;     /* and sets: the last ones */
  uint64_t forgotten_ask;        /* of detached shares: the highest ask removed */
  instant detached_until;        /* the last end of a detached lease; 0: none was detached */
  lock_settings settings;
  protocol protocol;
  random_source random;
  server_clock clock;
  timers timers;
  slots lease_slots, call_slots;         /* leases and calls by id */
  lease *first_lease;            /* utlist head */
  lease *mutexes;                /* uthash head */
  lock_entry *entries;           /* uthash head */
  lease_wait *spare_waits;
  size_t spare_wait_count;
  uint32_t last_set;
  lease *first_set;              /* utlist head: the newest first */
  reuse_history reuse;
  fence_memory fences;           /* of fenced locks of a dialect */
  size_t timer_count;            /* room reserved */
  uint64_t last_ask;
  uint64_t min_token;                /* highest token seen: new ones are above it */
  instant hints_at;              /* trust.c: when hints_spent was last reduced */
  unsigned hints_spent;
  bool has_warning, has_warned;
  instant warned_at;
  char warning[1024];
  route **routes; size_t route_count;
  route *nowhere;                /* never up: names whose slot no server serves */
  channel *channels;             /* uthash head */
  redirect redirect;             /* of the last LOCK_MOVED, LOCK_ASK */
  bool is_closing;
  bool only_polls;               /* by the settings */
  buffer notes_due;              /* ids of leases whose note must be set or removed */
  wait_report wait_report;
  timer again_over;              /* releases do not matter any more */
  timer again_pause;             /* no release is repeated while it is set */
  bool again_failed;             /* a repetition, since the last pause was set */
  unsigned again_pauses;         /* consecutive, without a reply: each is twice as long */
  char fault_words[256];
  instant undecided_at;          /* the last refusal to decide; 0: none yet */
};

/* ---- detached.c ---- */
bool detached_remember(const lease *l);              /* as it is held now; false: no memory */
/* A mutex has one lease at a time: the one before has ended. Its note is to be removed. */
void detached_is_over(lease *l, const lease_id *granted);
const lease_id *detached_of(const lease *l);         /* of this mutex; NULL: none */
bool is_detached(const lock_table *t, const lease_id *id, const char *name, size_t size);
void detached_free(lock_table *t);

/* ---- names.c ---- */
lease *mutex_find(const lock_table *t, const void *bytes, size_t size);
lease *mutex_new(lock_table *t, const void *bytes, size_t size);   /* NULL: no memory */
lease *shared_new(lock_table *t, const lock_spec *spec, instant now);
lease *set_new(lock_table *t, const lock_spec *spec);
lease *shared_find(const lock_table *t, const void *bytes, size_t size, uint64_t ask);
lease *set_find(const lock_table *t, uint32_t set);
size_t set_count(const lease *l);         /* its names; 0: it is no set */
/* Its name, or those of a set, from 0 on. false: no more. */
bool lease_next_name(const lease *l, size_t i, many_name *ret_name);
uint32_t set_number(const lease *l);      /* 0: it is no set */
void lease_start_next(lease *l, instant now); /* IDLE: asks for its first waiter, or is gone */
void lease_forget_if_unused(lease *l);
bool wait_reserve(lease *l);              /* before a claim waits for it; false: no memory */
void wait_forget_if_unused(lease *l);
void lease_due(lease *l);                 /* has a command to send */
void lease_renewal_due(lease *l);
void lease_free(lease *l);
void dues_sweep(route *r);
bool lease_never_ends(const lease *l);    /* permits that never end by themselves */
route *lease_route(const lease *l);       /* route of its next command */
void lease_ask_route(lease *l, route *r); /* for one command; NULL: its own route */
lock_entry *entry_find(const lock_table *t, const void *bytes, size_t size);

/* ---- state.c ----
 *
 * A handler of a reply, message or timer returns the next state, and changes the state of no
 * lease. lease_become() enters it; afterwards an IDLE lease may be gone. */
bool state_may_follow(lease_state from, lease_state to);
void lease_set_state(lease *l, lease_state to);
void lease_become(lease *l, lease_state to, instant now);
bool lease_is_in(const lease *l, unsigned states);
lease_state lease_polls(lease *l, instant now);       /* its poll timer has fired */
lease_state lease_unwanted(lease *l, instant now);    /* no claim waits */
lease_state lease_closes(lease *l, instant now);      /* the client is being closed */

/* ---- table.c, view.c: of the backend ---- */
instant table_deadline(const hold_backend *b);
void table_tick(hold_backend *b, instant now);
void table_close(hold_backend *b, instant now);
bool table_is_quiet(const hold_backend *b);
bool table_next_name(const hold_backend *b, lock_name_at *at, lock_name *ret);

/* ---- table.c ---- */
bool table_reserve_timers(lock_table *t, size_t more);

/* ---- moving.c ---- */
void lease_ask_again(lease *l);           /* repeats a request that may have been lost */
void dues_move(lock_table *t);            /* into the lists of their routes */

/* ---- channel.c ---- */
void inbox_want(lease *l);                /* subscribes: messages matter from now on */
bool inbox_hears(const lease *l);
instant inbox_hears_since(const lease *l);    /* its subscription is confirmed; INSTANT_NEVER */
void inbox_found_no_subscriber(lease *l, instant sent_at);
void channel_forget(lease *l);            /* of the ask that ended: a new one has another */
void inbox_speaks(lock_table *t, const char *bytes, size_t size, instant now);
void channel_leave(lease *l);
void channels_moved(lock_table *t);       /* their slots may have other routes now */
void channels_down(route *r);
void channels_free(lock_table *t);
void lease_hears(lease *l);               /* messages about it arrive from now on */

void channel_ask_again(lease *l);         /* Cluster: subscribes, unless that is confirmed */

/* ---- polling.c ---- */
bool lease_only_polls(const lease *l);    /* its ask waits without an inbox */
void inbox_missing(route *r, instant now);        /* from now on, unless it is up */
void inbox_missing_anew(route *r, instant now);   /* its server is up again */
void inbox_found(route *r, instant now);
void inbox_refused(route *r, const char *words);  /* the reason for the program */
void ask_unheard(lease *l, instant sent_at, instant now);     /* the answer was `not listening` */
/* The server refused to decide, or was down: what it said before says nothing any more. */
void ask_unheard_anew(lease *l);
/* When the waiter must ask at the latest, because it gets no messages; INSTANT_NEVER: it does. */
instant polling_at(const lease *l);
void polling_look(lease *l, instant now); /* before an ask is sent */
void polling_without_inbox(route *r, const char *words, instant now);
void polling_forbidden(route *r, const char *words, instant now);      /* waiters poll at once */

/* ---- acks.c ---- */
bool acks_reserve(lease *l);              /* for a claim that asks for replicas; false: no memory */
/* Whether the claim `id` wants more than its lease has. */
bool acks_are_wanted(const lease *l, const claim_terms *wish, uint64_t id);
void acks_forget(lease *l);               /* those of its former leases */
uint32_t acks_number(const lease *l, const claim_terms *wish);
void acks_retry(lease *l);
lease_state acks_begin(lease *l, const lease_id *id, instant valid_until, instant now);
void acks_leave(lease *l);
void acks_renew(lease *l);               /* starts again: the link may be broken */
const char *acks_too_few_words(lease *l);     /* borrowed until the next use of fault_words */
lease_state acks_give_up(lease *l, instant now);      /* none in time */
lease_state acks_unwanted(lease *l, instant now);
lock_verdict acks_answered(call *c, lease *l, const resp_reply *reply, instant sent_at,
                           instant now);

/* ---- answer.c ---- */
void fault_words_keep(lock_table *t, const resp_node *error);    /* as t->fault_words */

/* ---- claim.c ---- */
extern const hold_ops lease_ops;
lease *lease_of_claim(const claim *c);    /* NULL: it has ended */
void claim_arm(claim *c, instant now);    /* sets the timer of a waiting claim */
instant claim_ends_at(const claim *c);    /* what was set */
void claim_timer(claim *c, instant now);
void claims_arm(lease *l, instant now);   /* those of all waiting claims */
/* A fault ends all that wait: DIBS_UNKNOWN where an ask without a reply may have been executed. */
void claims_fail(lease *l, dibs_status status, const char *words);
/* Ends tries as soon as it is known that another claim of this client, or another client, has the
 * name. Until then they wait: a waiter is not a holder. */
void tries_end(lease *l, instant now);
/* Ends its holders by the reply to the release. */
void claims_released(lease *l, const release_answer *a);

/* ---- outage.c ---- */
/* The server refused to decide the open ask, with t->fault_words; it asks again. */
void lease_undecided(lease *l, dibs_status why, instant now);
void lease_decided(lease *l, instant now);            /* the server answered */
bool lease_is_undecided(const lease *l);
instant lease_cannot_ask_since(const lease *l);       /* INSTANT_NEVER: it can ask */

/* ---- sharing.c ---- */
lease *share_found(const lock_table *t, const lock_spec *spec, instant now);  /* NULL: a new one */
lease *mutex_found(const lock_table *t, const lock_spec *spec);               /* NULL: a new one */
lease *mutex_begin(lock_table *t, const lock_spec *spec, instant now);        /* NULL: no memory */
void share_place(lease *l, claim *c, instant now);
void share_released(lease *l);
void share_downgrade(lease *l);
/* Another ask of this client for the name is being cancelled. */
bool share_cancels_beside(const lease *l);
bool share_keep_alone(lease *l, const claim *c);
void set_place(lease *l, claim *c, instant now);
bool set_holds(const lock_table *t, const void *bytes, size_t size, const void *owner,
               size_t owner_size);

/* ---- parking.c ---- */
bool park_asks(const lease *l, const claim_terms *wish);  /* whether the ask allows parking */
bool park_is_wanted(const lease *l, const claim_terms *spec, instant now);
lease_state park_begin(lease *l, span linger, instant now);
lease_state park_take(lease *l, instant now);
lease_state park_revoked(lease *l);       /* another client wants it */
/* Releases the longest parked lease if names_max names are in memory. false: none is
 * parked. */
bool park_make_room(lock_table *t, instant now);
void park_forget(lease *l);               /* ends the claim that was kept with it */
lease_state park_polls(lease *l, instant now);
/* The operations park and retake of the lease's backend (hold/claim.h). */
bool park(claim *c, instant now, bool *ret_sends);
bool park_retake(claim *c, const void *owner, size_t owner_size, instant now,
                 hold_retaken *ret);
/* The reply to a raise that only gets it new fences; false: it was for something else. */
bool park_renumbered(lease *l);
bool park_renumber_refused(lease *l);

/* ---- asking.c ---- */
lease_state ask_begin(lease *l, instant now);
span ask_poll_span(const lock_table *t, span ttl);    /* of waiters that poll often */
lease_state ask_unwanted(lease *l, instant now);
lease_state confirm_unwanted(lease *l, instant now);
void cancel_enter(lease *l, instant now);
/* Whether the server reported no holder, where it would: others asked before, or a pause. */
#define NO_HOLDER_WORDS \
  "no other owner holds it, but one waits that asked before, or the semaphore has 0 " \
  "permits, a pause"
bool ask_lacks_holder(const lease *l, const lease_id *reported);
lease_state ask_answered(lease *l, const call *c, const acquire_answer *a, instant sent_at,
                         instant now);

/* ---- yielding.c ---- */
void yield_ask(lease *l, instant now);    /* asks; later, while other clients ask first */
void yield_reported(lease *l, instant now);   /* its channel reports that it is free */
/* Released; the message reached `heard` subscribers. */
void yield_given(lease *l, uint64_t heard, instant sent_at, instant now);

/* ---- handoff.c ---- */
uint64_t fence_of(const lease *l, uint64_t token);
uint64_t fence_token(const lease *l, uint64_t fence);
void hold_first(lease *l, instant now);   /* the first waiter holds it */
void hold_limit_lease(lease *l, instant limit, bool is_fixed);     /* as hold_limit() */
void hold_unlimit(lease *l);               /* before its next holder, or none */
/* Whether its owner holds the lease: the claim holds it too, or has failed. */
bool hold_reenters(lease *l, claim *c);
bool hold_may_pass(const lease *l, instant now); /* local handoff allowed? */
bool hold_may_pass_to(const lease *l, const claim_terms *next, uint64_t claim_id, instant now);
void hold_pass(lease *l, instant now);
void hold_join(lease *l, instant now);    /* all waiting claims share the lease */

/* ---- holding.c ---- */
/* `since`: what its length counts from, for the first renewal. */
lease_state hold_granted(lease *l, const lease_id *id, instant valid_until, span ttl,
                         uint64_t waiters, bool confirm, instant since, instant now);
lease_state hold_confirm(lease *l, const lease_id *id);
/* Of its lease: the next grants are above it. */
void hold_remember_token(lease *l, instant now);
void hold_count_waiters(lease *l, uint64_t waiters);       /* elsewhere, as a reply says */
/* The server granted it from a queue. Until it is renewed, no message comes for the next waiter,
 * unless it lingers: lua/native/shared/contend.lua. So it counts as wanted. */
void hold_expects_others(lease *l);
void hold_check(lease *l);                /* renews now, also a fixed lease: it may be lost */
lease_state hold_polls(lease *l, instant now);
lease_state hold_forget(lease *l);        /* the lease continues without this client */
lease_state hold_lost(lease *l, dibs_status why, const char *words);
lease_state hold_gone(lease *l);          /* the server says that it does not have it */
void hold_suspect(lease *l);
void hold_set_deadline(lease *l);
span hold_doubt_after(const lease *l, const route *r, instant now);  /* a renewal sent now */
bool hold_has_one_try(const lease *l, const route *r, instant now);   /* of a renewal */
/* `is_older`: it was sent before the last message that the lease has ended. */
lease_state hold_renewed(lease *l, const renew_answer *a, bool is_older, instant sent_at,
                         instant now);
/* `words`: why; of a server its own. */
void hold_renew_failed(lease *l, const char *words, instant now);
/* `before`, and why it was not renewed the last time; nothing if it was. */
void lease_add_why(const lease *l, const char *before, text *out);
/* Granted, unreported, and another client's. */
lease_state hold_not_ours(lease *l, instant now);
instant hold_end(const lease *l);         /* the deadline of its holders */

/* ---- leaving.c ---- */
void release_enter(lease *l, instant now);
void leave_not_before(lease *l, instant at);  /* RELEASING */
lease_state leave_released(lease *l, const release_answer *a, instant sent_at, instant now);
lease_state leave_cancelled(lease *l);
lease_state leave_refused(lease *l, dibs_status status, const char *words);
lease_state leave_timer(lease *l, instant now);
orphan *leave_orphan(lock_table *t, const lease_id *id, bool is_share, const void *bytes,
                     size_t size);       /* NULL: too many, or no memory */
void orphan_again(lock_table *t, call *c, bool is_redirected);    /* it was not executed there */
bool lease_is_one(const lease *l);        /* no later one is named as it is; ends by itself */

/* ---- again.c ---- */
void orphan_free(lock_table *t, orphan *s);
void again_init(lock_table *t);
void again_keep(const lease *l, instant now);     /* its release was confirmed */
void again_link_down(route *r, instant now);      /* they are to be repeated */
void again_moved(lock_table *t);                  /* slots have other routes now, or the same */
void again_back(lock_table *t, call *c);          /* after a pause */
void again_forget(lock_table *t, instant now);    /* those that do not matter any more */
void again_drop(route *r);
void again_drop_unsent(route *r);                 /* what is to be repeated */
/* The server does not have the lease any more: its connection has not broken since. */
bool again_has_just_released(const route *r, const lease_id *id, instant now);
bool again_next(route *r, request *out, lock_command *ret, instant now);

/* ---- trust.c ---- */
enum { HINT_ASK = 1, HINT_SCRIPT = 16 };      /* what a hint costs of the hints allowed */
uint64_t ask_nonce(const lock_table *t, uint64_t ask);
bool message_is_proven(const lock_table *t, const inbox_message *m);
bool hints_take(lock_table *t, unsigned cost, instant now);    /* false: too many hints */
void hints_paid(lock_table *t);           /* a grant */
/* Whether `n` may ask at once; otherwise it asks a little later. */
bool hint_is_in_time(lease *l, instant now);
/* At most an hour, the retention, ahead of the server's clock. */
bool token_is_possible(uint64_t token, int64_t server_us);
/* A floor for other names, too: one that is not possible at `r` counts for its own name only. */
void token_raise_floor(uint64_t *floor, uint64_t token, const route *r, instant now);
/* A clock can show it before the year 2112; scripts ignore other stored tokens. */
bool token_is_of_a_clock(uint64_t token);
/* Warns the program of a token that is not possible, at most once a minute. */
void token_warn(lock_table *t, const lease *l, uint64_t token, instant now);

/* ---- wait_report.c ---- */
void wait_report_init(lock_table *t);
bool wait_report_claim(const lock_table *t, claim *c);  /* a new one; false: no memory */
void wait_report_waits(lock_table *t, const claim *c, instant now);  /* may be due for a report */
/* Whether it was a request for the wait report. */
bool wait_report_message(lock_table *t, const char *bytes, size_t size, instant now);
void wait_report_timer(lock_table *t);
void wait_report_link_up(lock_table *t);
/* The command that sends a new wait report, if there is one. */
bool wait_report_command(lock_table *t, request *out, instant now);

/* ---- wire.c: the call of each kind of name ---- */
int64_t wire_ms(span s);
bool wire_acquire(lease *l, request *out, span ttl, instant now);
bool wire_acquire_answer(const lock_table *t, const call *c, lease *l,
                         const resp_reply *reply, acquire_answer *ret);
bool wire_release(const lease *l, request *out, instant now);
/* Whether the release may do without a script: the stored string is known, nothing was sent yet. */
bool wire_may_ifeq(const lease *l, instant now);
bool wire_release_ifeq(const lease *l, request *out);
bool wire_cancel(const lease *l, request *out, instant now);
bool wire_orphan(const route *r, request *out, const orphan *s, instant now);
bool wire_needs_renewal(const lease *l, instant now);
bool wire_renews_nothing(const lease *l); /* the renewal only says that it reads now */
bool wire_renew(const route *r, request *out, lease *const *names, size_t count,
                instant now);
bool wire_raise(const lease *l, request *out);
bool wire_token(const lease *l, text *out);

/* ---- command.c ---- */
call *call_new(route *r, call_kind kind, size_t renewals);  /* NULL: no memory */
/* Its request; the caller takes `s` from its list. false: no memory. */
bool orphan_send(route *r, orphan *s, request *out, lock_command *ret, instant now);
void call_free(lock_table *t, call *c);
uint64_t call_for_acks(lease *l);         /* its tag; 0: no memory */
void calls_cut_acks(route *r);            /* their link is down */
void calls_cut_link(route *r);            /* all others */
void call_cut(lock_table *t, call *c);
lease *call_name(lock_table *t, uint64_t id);  /* NULL: it is gone */
void call_not_executed(lease *l, const call *c);  /* an earlier copy may have been */
void lease_retry(lease *l, instant now);  /* repeats the present command, after a pause */

/* ---- registration.c ---- */

void note_is_due(const lease *l);         /* it must be set or removed */
bool registration_next(route *r, request *out, uint64_t *ret_tag, instant now);

#endif
