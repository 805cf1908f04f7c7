/* SPDX-License-Identifier: MIT */
/* lock/table.h - the records of this room, for its own files only.
 *
 *   lock_table ── name ─┬─ lease, open ask, timers
 *                       ├─ waiting  claims, first come first served
 *                       ├─ holders  claims; of one owner, or readers who share a seat
 *                       └─ lost     claims whose owner has yet to release
 *              └─ route   a server that names live on: what is due there, its clock
 *   calls: commands sent and not answered, by tag; each belongs to a route
 *
 * A `name` is one lease of this client and the ask for it. A mutex has one for all its
 * claims; a shared resource has one *seat* for each acquisition, found by its resource, and so
 * a fair lock of another dialect has a *place* in its queue for each; a set of names is one,
 * too (protocol.md 9, 10; redisson.md 2).
 */
#ifndef LOCK_TABLE_H
#define LOCK_TABLE_H

/* A table that cannot grow loses nothing: the element is simply not added. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "lock/habit.h"
#include "lock/lease.h"
#include "lock/lock.h"
#include "lock/server_clock.h"

typedef struct claim claim;
typedef struct name name;
typedef struct resource resource;
typedef struct call call;
typedef struct route route;
typedef struct channel channel;

typedef enum claim_state {
  CLAIM_WAITING = 1, CLAIM_HELD, CLAIM_LOST, CLAIM_RELEASING, CLAIM_OVER
} claim_state;

/* One request of the program, and the hold it becomes. */
struct claim {
  uint64_t id;
  void *context;
  name *name;
  claim *prev, *next;            /* in the list of its name */
  claim *previous_telling, *next_telling;      /* while it has events */
  unsigned events;               /* bits 1 << lock_event_kind: what the program is to be told */
  claim_state state;
  bool is_try, is_fixed, no_reentry;
  bool is_part;                  /* of several names: its lease is nobody else's */
  bool reads;                    /* of a read/write lock */
  bool was_valid;                /* RELEASING: the hold was believed when it was given back */
  bool blocks, is_told;          /* owners.c: it stops its owner; others are told of it */
  span ttl, max_hold, linger;
  uint64_t units, floor;
  int32_t min_replicas;          /* acks.c */
  uint32_t acknowledged, replicas_wanted;
  bool wants_fsync, has_fsync, reports_replicas;
  span replicas_wait;
  instant asked_at, give_up_at;
  timer timer;                   /* waiting: give up; releasing: answer unknown */
  uint64_t owner_hash, since_us; /* owners.c: where owners are told */
  uint64_t fence;
  int depth;
  dibs_status status;            /* why it failed, was lost, or how the release ended */
  const char *words;
  char *note;
  size_t owner_size;
  char owner[];
};

typedef enum name_state {
  NAME_IDLE = 1,    /* nothing of ours on the server, as far as we know */
  NAME_ASKING,      /* an ask is open, and not queued yet */
  NAME_QUEUED,      /* the server has our entry; asleep until a message or a poll */
  NAME_CONFIRMING,  /* granted by message, too long ago to be believed without a renewal */
  NAME_ACKING,      /* granted, and the replicas have yet to say that they know (acks.c) */
  NAME_HELD,
  NAME_LINGERING,   /* held by nobody here, kept for the next who wants it */
  NAME_RELEASING,
  NAME_CANCELLING
} name_state;

#define ROUNDS_FREE 3    /* of a set, before it keeps what it has while it waits */

/* What the replicas are asked next (acks.c). */
typedef enum ack_step { ACKS_NONE, ACKS_RENEW, ACKS_ROLE, ACKS_WAIT } ack_step;

typedef enum name_kind { NAME_MUTEX = 1, NAME_SEAT, NAME_SET, NAME_PLACE } name_kind;

struct name {
  UT_hash_handle by_bytes;       /* MUTEX */
  name *prev, *next;             /* of all */
  uint64_t id;
  lock_table *table;
  route *route;                  /* where it lives */
  route *ask_route;              /* where its slot is on its way to: asked there once */
  bool was_deaf;                 /* the answer before was `deaf`, and the inbox is made anew */
  uint16_t slot;
  bool is_redirected;            /* MOVED or ASK was answered, and not acted on yet */
  unsigned redirects;            /* in a row, since it last waited */
  instant unserved_since;        /* when its slot left a node that was there */
  channel *channel;              /* Cluster: the inbox of its tag, once it is wanted */
  channel *side_channel;         /* a second one that others share, where the dialect has it */
  name *next_due, *next_renewal;
  name_kind kind;
  lock_flavour flavour;          /* MUTEX: the same for all who want it here; SEAT: PLAIN,
                                    or UNLEASED; PLACE: FAIR */
  unsigned looks;                /* in vain, where that is how who waits finds out */
  name_state state;
  bool is_due;                   /* in the list of names with a command to send */
  bool is_renewal_due, is_renewing;
  route *renewing_at;            /* where the last renewal was sent to */
  bool with_text;                /* the server lost our script: send its text */
  bool note_is_set;
  instant idle_since;            /* LINGERING */

  /* The open ask. */
  uint64_t ask;
  bool ask_waits, ask_was_sent, ask_was_repeated, ask_was_answered, needs_inbox;
  bool ask_was_cut;              /* a copy of it may live on a connection that broke */
  bool ask_lingers;
  instant told_give_up;          /* as the server knows it from the newest sending */
  span ask_ttl;
  instant ask_sent_at;           /* its first sending */
  instant waiting_at;            /* sending of its last request answered `waiting` */
  uint64_t newest_token;         /* of the last grant when it was answered last */
  lease_id watched;              /* the holder, as seen last */
  uint64_t watched_renewals;
  instant watched_since;
  span watched_length;

  /* The lease, in CONFIRMING, HELD and RELEASING. */
  lease_id lease;
  span ttl;                      /* what the next renewal asks for */
  instant valid_until;           /* by the lease alone */
  instant limit;                 /* of the present holders: fixed, max_hold; else never */
  bool is_fixed, is_suspect;
  bool is_part;                  /* of a holder: nobody here takes the lease over */
  uint64_t raise_to;             /* the token that the lease is to get; 0: none */
  bool raise_was_sent;
  uint32_t acknowledged, replicas_wanted;      /* of this lease */
  uint32_t majority;             /* 0: nobody asked for one */
  uint64_t acked_for, acks_done_for;   /* claims for which it is, was asked */
  instant acked_at;              /* its last renewal for that, when it was sent */
  bool has_fsync, no_fsync;      /* no_fsync: the server does not know WAITAOF */
  ack_step ack_step;
  instant acks_until;            /* WAIT is repeated till then */
  bool ack_is_sent;
  name *next_ack;
  bool is_named;                 /* its token was written: it is nobody else's of this process */
  bool confirm_now;              /* one renewal at once, also for a fixed lease */
  uint64_t closed_token;         /* tokens up to here are never believed again */
  uint64_t waiters_elsewhere;
  uint32_t local_number;         /* of the present outermost hold, 0 .. 1023 */
  int32_t handovers;             /* in a row */
  instant handovers_since;
  bool release_was_sent, release_was_repeated;
  bool release_is_early;         /* RELEASING: not before `poll`, it may still be believed */
  instant leave_by;              /* RELEASING, CANCELLING: no use to insist after this */

  /* SEAT, PLACE */
  resource *resource;
  name *next_seat, *previous_seat;
  char mode;                     /* SEAT: 'r', 'w', 'p'; else 0 */
  bool is_downgrading;           /* the server has yet to learn that it reads only */
  uint64_t wanted_units;         /* 0: all that are free */
  uint64_t units;                /* held */
  unsigned seated;               /* claims that it ever had: each has a fence of its own */
  instant seated_at;

  /* SET: `bytes` has the names one behind the other */
  uint32_t set;
  name *next_set, *previous_set;
  many_name *members;
  size_t member_count, busy;     /* busy: the one that the last answer named */
  unsigned rounds;               /* one was granted, and another was not to be had */
  bool was_granted_one;

  claim *waiting, *holders, *lost;      /* utlist heads: the first of each */
  timer poll;                    /* ask again; also: try the present command again */
  timer renew;
  timer deadline;                /* HELD: tell lost */
  unsigned attempts;             /* refusals in a row, for back-off */
  size_t size;
  char bytes[];
};

typedef enum call_kind {
  CALL_ACQUIRE = 1, CALL_RELEASE, CALL_CANCEL, CALL_RENEW, CALL_STRAY, CALL_NOTE, CALL_RAISE,
  CALL_ACKS          /* a renewal and WAIT behind it, on a link of their own */
} call_kind;

/* What the seats of one shared name, or the places in one queue, have in common: the name. */
struct resource {
  UT_hash_handle by_bytes;
  name *first, *last;            /* oldest first */
  size_t size;
  char bytes[];
};

typedef struct stray stray;

/* A command on its way. Names by id: they may be gone when the answer comes. */
struct call {
  uint64_t id;
  route *route;
  call *prev, *next;             /* of its route */
  call_kind kind;
  name_kind name_kind;
  bool with_text;
  uint64_t name_id;
  uint64_t ask;                  /* ACQUIRE, CANCEL */
  uint64_t token;                /* RAISE */
  ack_step ack_step;             /* ACKS */
  lease_id lease;                /* RELEASE */
  stray *stray;                  /* STRAY */
  span ttl;                      /* ACQUIRE */
  size_t count;                  /* RENEW */
  struct { uint64_t name_id; lease_id lease; char mode; bool is_still; } renewals[];
};

/* A lease the server gave for an ask that nobody here has any more. */
struct stray {
  stray *next;
  lease_id lease;
  bool is_share;
  bool is_redirected, is_asking; /* its slot is on its way: ASKING goes in front */
  unsigned attempts;
  size_t size;
  char name[];
};

enum { TIMER_CLAIM = 1, TIMER_POLL, TIMER_RENEW, TIMER_DEADLINE, TIMER_OWNERS };

/* What is told of the owners that wait while they hold something (owners.c). */
typedef struct owners_told {
  timer timer;                   /* look whether there is something else to tell */
  bool is_look_due;              /* it has rung */
  bool is_due;                   /* to be told now, also if it is the same */
  bool is_there;                 /* the server has a text of ours */
  uint64_t told_hash;            /* of that text */
  char nonces[16][17];           /* who asked last; told along */
  size_t nonce_count;            /* ever */
} owners_told;

/* A lease that goes on without us: a late message about it must not give it back, and a
 * new ask for a mutex must not disown it. The last one of each mutex. */
typedef struct detached {
  struct detached *next;
  lease_id lease;
  bool is_mutex;
  size_t size;
  char name[];
} detached;

/* An inbox of its own for all names of one tag, which may move from node to node (Cluster). */
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

/* One server that names live on. */
struct route {
  lock_table *table;
  size_t number;
  size_t names, asked;           /* asked: names that ask here once */
  server_clock clock;
  name *first_due, *last_due;
  name *first_renewal, *last_renewal;
  bool has_idle_dues;            /* names wait in these lists only to be forgotten */
  channel *first_channel, *last_channel;   /* to subscribe, or not any more */
  name *first_ack, *last_ack;    /* ACKING */
  call *calls;
  size_t renew_calls;            /* of them, renewals */
  stray *strays; size_t stray_count;
  bool is_up, inbox_is_up, wants_inbox, wants_acks;
  bool link_is_doubtful, inbox_is_deaf;
  bool renew_with_text;
  bool is_read_only;             /* the last server that was asked to write is a replica */
  instant inbox_up_at;
  instant down_since;
  dibs_status down_why;
  char down_words[256];
};

struct lock_table {
  memory memory;
  detached *detached;
  bool has_forgotten_sets;       /* detached ones, whose leases may go on */
  lock_settings settings;
  native native;
  random_source random;
  server_clock clock;
  timers timers;
  slots slots;                   /* claims, names and calls by id */
  slots name_slots, call_slots;
  name *first_name;              /* utlist head */
  name *mutexes;                 /* uthash head */
  resource *resources;           /* likewise */
  uint32_t last_set;
  name *first_set;               /* utlist head: the newest first */
  habits habits;
  size_t timer_count;            /* room reserved */
  uint64_t last_ask;
  uint64_t floor;                /* highest token seen */
  claim *telling;                /* utlist head: claims with something to tell */
  route **routes; size_t route_count;
  route *nowhere;                /* never up: names whose slot nobody serves */
  channel *channels;             /* uthash head */
  redirect redirect;             /* of the last LOCK_MOVED, LOCK_ASK */
  bool is_closing;
  bool only_polls;               /* settings, or the inbox is forbidden */
  uint64_t note_name_id;         /* its note is to be told or taken back */
  owners_told owners;
  char fault_words[256];
  lock_counts counts;
};

/* ---- names.c ---- */
name *mutex_find(const lock_table *t, const void *bytes, size_t size);
name *mutex_new(lock_table *t, const void *bytes, size_t size);    /* NULL: memory */
name *seat_new(lock_table *t, const lock_wish *w, instant now);
name *set_new(lock_table *t, const lock_wish *w);
name *seat_find(const lock_table *t, const void *bytes, size_t size, uint64_t ask);
name *set_find(const lock_table *t, uint32_t set);
void name_settle(name *n, instant now);   /* begins what the state allows, or forgets n */
void name_forget_if_unused(name *n);
void name_due(name *n);                   /* has a command to send */
void name_renewal_due(name *n);
void name_free(name *n);
void dues_sweep(route *r);
bool name_is_unleased(const name *n);     /* permits that never end by themselves */
route *name_route(const name *n);         /* where its next command goes */
void name_ask_route(name *n, route *r);   /* there, once; NULL: where it lives */
resource *share_resource(const lock_table *t, const void *bytes, size_t size);

/* ---- table.c ---- */
bool table_reserve_timers(lock_table *t, size_t more);

/* ---- route.c ---- */
bool routes_init(lock_table *t);                      /* false: memory */
void routes_free(lock_table *t);
bool route_is_usable(const route *r);                 /* up, and no replica */
/* The slot and the route of a name, from the first of its names. */
void name_find_route(name *n);
route *route_at(const lock_table *t, size_t number);  /* whatever the number: perhaps nowhere */
route *route_of_slot(const lock_table *t, uint16_t which);
route *route_of_key(const lock_table *t, const char *key, size_t size);
uint16_t slot_of_name(const lock_table *t, const void *bytes, size_t size);
route *route_of_name(const lock_table *t, const void *bytes, size_t size);

/* ---- moving.c ---- */
void name_ask_again(name *n);             /* what it asked may have been lost on its way */
void dues_move(lock_table *t);            /* who has a command to send: into his route's list */

/* ---- outage.c ---- */
void route_can_write(route *r, instant now);          /* this server is no replica */

/* ---- channel.c ---- */
void inbox_want(name *n);                 /* from now on messages about it matter */
bool inbox_hears(const name *n);
void inbox_found_deaf(name *n, instant sent_at);
void channel_forget(name *n);             /* of the ask that is over: a new one has another */
void inbox_speaks(lock_table *t, const char *bytes, size_t size, instant now);
void channel_leave(name *n);
void channels_moved(lock_table *t);       /* their slots may have other routes now */
void channels_down(route *r);
void channels_free(lock_table *t);
void name_hears(name *n);                 /* messages about it reach us from now on */

/* ---- acks.c ---- */
bool acks_are_wanted(const name *n, const claim *c);  /* more than its lease has */
uint32_t acks_number(const name *n, const claim *c);
void acks_retry(name *n);
void acks_begin(name *n, const lease_id *lease, instant valid_until, instant now);
void acks_leave(name *n);
void acks_give_up(name *n, instant now);  /* none came in time */
lock_verdict acks_answered(call *c, name *n, const resp_reply *reply, instant sent_at,
                           instant now);

/* ---- claim.c ---- */
void claim_tell(claim *c, lock_event_kind kind);
void claim_fail(claim *c, dibs_status status, const char *words);  /* ends a waiting one */
void claims_fail(name *n, dibs_status status, const char *words);  /* all waiting ones */
void claim_arm(claim *c, instant now);    /* sets the timer of a waiting claim */
void claim_end(claim *c, claim **list, lock_event_kind kind, dibs_status status);
void claim_timer(claim *c, instant now);

bool claim_is_of(const claim *c, const void *owner, size_t owner_size);

/* ---- sharing.c ---- */
name *share_found(const lock_table *t, const lock_wish *w, instant now);   /* NULL: a new seat */
name *mutex_found(const lock_table *t, const lock_wish *w);                /* NULL: a new one */
name *mutex_begin(lock_table *t, const lock_wish *w, instant now);         /* NULL: memory */
void share_place(name *n, claim *c, instant now);
void share_released(name *n);
void share_downgrade(name *n);
void set_place(name *n, claim *c, instant now);
bool set_holds(const lock_table *t, const void *bytes, size_t size, const void *owner,
               size_t owner_size);

/* ---- lingering.c ---- */
bool linger_asks(const name *n, const claim *c);   /* the server is told that we may */
bool linger_is_wanted(const name *n, const claim *c, instant now);
void linger_begin(name *n, span linger, instant now);
void linger_take(name *n, instant now);
void linger_end(name *n, instant now);
void linger_revoked(name *n, instant now);
/* For one name more: gives back the one that lingers longest where there are as many as may be.
 * false: none does. */
bool linger_make_room(lock_table *t, instant now);

/* ---- asking.c ---- */
void ask_begin(name *n, instant now);
span ask_poll_span(const lock_table *t, span ttl);    /* of those who look often */
void ask_end(name *n, instant now);       /* nobody waits any more: cancel or forget */
void ask_answered(name *n, const call *c, const acquire_answer *a, instant sent_at, instant now);

/* ---- giving_way.c ---- */
void way_ask(name *n, instant now);       /* asks; later, where others are let in first */
void way_told(name *n, instant now);      /* it is free, says its channel */
void way_given(name *n, uint64_t heard, instant sent_at, instant now); /* released; so many
                                             heard it */

/* ---- holding.c ---- */
uint64_t fence_of(const name *n, uint64_t token);
uint64_t fence_token(const name *n, uint64_t fence);
void hold_granted(name *n, const lease_id *lease, instant valid_until, span ttl,
                  uint64_t waiters, bool confirm, instant since, instant now);
void hold_confirm(name *n, const lease_id *lease);
void hold_reenter(name *n, claim *c, instant now);
bool hold_may_pass(const name *n, instant now); /* to the next waiter of this process */
void hold_pass(name *n, instant now);
bool hold_remember_detached(name *n);     /* false: memory */
const lease_id *hold_detached(const name *n); /* of this name; NULL: none */
void hold_forget(name *n, instant now);   /* the lease goes on without us */
void hold_lost(name *n, dibs_status why, const char *words, instant now);
void hold_suspect(name *n);
void hold_set_deadline(name *n);
void hold_join(name *n, instant now);     /* all who wait share the lease */
void hold_renewed(name *n, const renew_answer *a, instant sent_at, instant now);
void hold_renew_failed(name *n, instant now);
void hold_not_ours(name *n, instant now); /* granted, not told yet, and somebody else's */
instant hold_end(const name *n);          /* what its holders may believe */

/* ---- leaving.c ---- */
void leave_release(name *n, instant now);
void leave_not_before(name *n, instant at);   /* behind leave_release() */
void leave_released(name *n, const release_answer *a, instant sent_at, instant now);
void leave_cancelled(name *n, instant now);
void leave_refused(name *n, dibs_status status, const char *words, instant now);
void leave_timer(name *n, instant now);
void leave_stray(lock_table *t, const lease_id *lease, bool is_share, const void *bytes,
                 size_t size);
void stray_again(lock_table *t, call *c, bool is_redirected);    /* it was not done there */

/* ---- owners.c ---- */
void owners_init(lock_table *t);
void owners_claim(const lock_table *t, claim *c);                    /* it is new */
void owners_waits(lock_table *t, const claim *c, instant now);       /* perhaps */
bool owners_message(lock_table *t, const char *bytes, size_t size);   /* it was one of ours */
void owners_timer(lock_table *t);
void owners_link_up(lock_table *t);
/* The command that tells them, if there is something new to tell. */
bool owners_command(lock_table *t, buffer *out, instant now);

/* ---- wire.c: the call of each kind of name ---- */
int64_t wire_ms(span s);
bool wire_acquire(name *n, buffer *out, span ttl, instant now);
bool wire_acquire_answer(const lock_table *t, const call *c, name *n,
                         const resp_reply *reply, acquire_answer *ret);
bool wire_release(const name *n, buffer *out, instant now);
bool wire_cancel(const name *n, buffer *out, instant now);
bool wire_stray(const route *r, buffer *out, const stray *s, instant now);
bool wire_needs_renewal(const name *n, instant now);
bool wire_renews_nothing(const name *n);  /* the renewal only says that it reads now */
bool wire_renew(const route *r, buffer *out, name *const *names, size_t count, instant now);
bool wire_raise(const name *n, buffer *out);
bool wire_token(const name *n, text *out);

/* ---- command.c ---- */
void call_free(lock_table *t, call *c);
uint64_t call_for_acks(name *n);          /* its tag; 0: memory */
void calls_cut_acks(route *r);            /* their link is gone */
void calls_cut_link(route *r);            /* all others */
void call_cut(lock_table *t, call *c);
name *call_name(lock_table *t, uint64_t id);   /* NULL: it is gone */
void call_not_executed(name *n, const call *c);   /* an earlier sending may have been */
void name_retry(name *n, instant now);    /* the present command again, after a while */

#endif
