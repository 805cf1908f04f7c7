/* SPDX-License-Identifier: MIT */
/* lock/table.h - the records of this room, for its own files only.
 *
 *   lock_table ── name ─┬─ lease, open ask, timers
 *                       ├─ waiting  claims, first come first served
 *                       ├─ holders  claims; of one owner, or readers who share a seat
 *                       └─ lost     claims whose owner has yet to release
 *   calls: commands sent and not answered, by tag
 *
 * A `name` is one lease of this client and the ask for it. A mutex has one for all its
 * claims; a shared resource has one *seat* for each acquisition, found by its resource; a
 * set of names is one, too (protocol.md 9, 10).
 */
#ifndef LOCK_TABLE_H
#define LOCK_TABLE_H

/* A table that cannot grow loses nothing: the element is simply not added. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "lock/habit.h"
#include "lock/lease.h"
#include "lock/lock.h"
#include "lock/server_clock.h"

typedef struct claim claim;
typedef struct name name;
typedef struct resource resource;
typedef struct call call;

typedef struct claim_list { claim *first, *last; } claim_list;

typedef enum claim_state {
  CLAIM_WAITING = 1, CLAIM_HELD, CLAIM_LOST, CLAIM_RELEASING, CLAIM_OVER
} claim_state;

/* One request of the program, and the hold it becomes. */
struct claim {
  uint64_t id;
  void *context;
  name *name;
  claim *next, *previous;        /* in the list of its name */
  claim *next_event;             /* claims with something to tell */
  unsigned events;               /* bits 1 << lock_event_kind */
  bool is_telling;
  claim_state state;
  bool is_try, is_fixed, no_reentry;
  bool reads;                    /* of a read/write lock */
  bool was_valid;                /* RELEASING: the hold was believed when it was given back */
  bool blocks, is_told;          /* owners.c: it stops its owner; others are told of it */
  span ttl, max_hold, linger;
  uint64_t units;
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
  NAME_HELD,
  NAME_LINGERING,   /* held by nobody here, kept for the next who wants it */
  NAME_RELEASING,
  NAME_CANCELLING
} name_state;

#define ROUNDS_FREE 3    /* of a set, before it keeps what it has while it waits */

typedef enum name_kind { NAME_MUTEX = 1, NAME_SEAT, NAME_SET } name_kind;

struct name {
  UT_hash_handle by_bytes;       /* MUTEX */
  name *next, *previous;         /* of all */
  uint64_t id;
  lock_table *table;
  name *next_due, *next_renewal;
  name_kind kind;
  name_state state;
  bool is_due;                   /* in the list of names with a command to send */
  bool is_renewal_due, is_renewing;
  bool with_text;                /* the server lost our script: send its text */
  bool note_is_set;

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

  /* SEAT */
  resource *resource;
  name *next_seat, *previous_seat;
  char mode;                     /* 'r', 'w', 'p' */
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

  claim_list waiting, holders, lost;
  timer poll;                    /* ask again; also: try the present command again */
  timer renew;
  timer deadline;                /* HELD: tell lost */
  unsigned attempts;             /* refusals in a row, for back-off */
  size_t size;
  char bytes[];
};

typedef enum call_kind {
  CALL_ACQUIRE = 1, CALL_RELEASE, CALL_CANCEL, CALL_RENEW, CALL_STRAY, CALL_NOTE
} call_kind;

/* What the seats of one shared name have in common: the name. */
struct resource {
  UT_hash_handle by_bytes;
  name *first, *last;            /* oldest first */
  size_t size;
  char bytes[];
};

/* A command on its way. Names by id: they may be gone when the answer comes. */
struct call {
  uint64_t id;
  call *next, *previous;
  call_kind kind;
  name_kind name_kind;
  bool with_text;
  uint64_t name_id;
  uint64_t ask;                  /* ACQUIRE, CANCEL */
  lease_id lease;                /* RELEASE, STRAY */
  span ttl;                      /* ACQUIRE */
  size_t count;                  /* RENEW */
  struct { uint64_t name_id; lease_id lease; char mode; bool is_still; } renewals[];
};

/* A lease the server gave for an ask that nobody here has any more. */
typedef struct stray {
  struct stray *next;
  lease_id lease;
  bool is_share;
  size_t size;
  char name[];
} stray;

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
  name *first_name, *last_name;
  name *mutexes;                 /* uthash head */
  resource *resources;           /* likewise */
  uint32_t last_set;
  name *first_set;               /* the newest first */
  habits habits;
  size_t timer_count;            /* room reserved */
  uint64_t last_ask;
  uint64_t floor;                /* highest token seen */
  name *first_due, *last_due;
  name *first_renewal, *last_renewal;
  bool has_idle_dues;       /* names wait in these lists only to be forgotten */
  claim *first_event, *last_event;
  call *calls;
  size_t renew_calls;            /* of them, renewals */
  stray *strays; size_t stray_count;
  bool is_up, inbox_is_up, is_closing, wants_inbox;
  bool link_is_doubtful, inbox_is_deaf;
  bool renew_with_text;
  uint64_t note_name_id;         /* its note is to be told or taken back */
  owners_told owners;
  bool is_read_only;             /* the last server that was asked to write is a replica */
  instant inbox_up_at;
  instant down_since;
  dibs_status down_why;
  char down_words[256];
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
void dues_sweep(lock_table *t);
resource *share_resource(const lock_table *t, const void *bytes, size_t size);

/* ---- table.c ---- */
bool table_reserve_timers(lock_table *t, size_t more);
void lock_can_write(lock_table *t, instant now);      /* this server is no replica */
void claims_append(claim_list *l, claim *c);
void claims_remove(claim_list *l, claim *c);

/* ---- claim.c ---- */
void claim_tell(claim *c, lock_event_kind kind);
void claim_fail(claim *c, dibs_status status, const char *words);  /* ends a waiting one */
void claims_fail(name *n, dibs_status status, const char *words);  /* all waiting ones */
void claim_arm(claim *c, instant now);    /* sets the timer of a waiting claim */
void claim_end(claim *c, claim_list *list, lock_event_kind kind, dibs_status status);
void claim_timer(claim *c, instant now);

bool claim_is_of(const claim *c, const void *owner, size_t owner_size);

/* ---- sharing.c ---- */
name *share_name(lock_table *t, const lock_wish *w, instant now);  /* NULL: memory */
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

/* ---- asking.c ---- */
void ask_begin(name *n);
void ask_end(name *n, instant now);       /* nobody waits any more: cancel or forget */
void ask_answered(name *n, const call *c, const acquire_answer *a, instant sent_at, instant now);

/* ---- holding.c ---- */
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
instant hold_end(const name *n);          /* what its holders may believe */

/* ---- leaving.c ---- */
void leave_release(name *n, instant now);
void leave_not_before(name *n, instant at);   /* behind leave_release() */
void leave_released(name *n, const release_answer *a, instant now);
void leave_cancelled(name *n, instant now);
void leave_refused(name *n, dibs_status status, const char *words, instant now);
void leave_timer(name *n, instant now);
void leave_stray(lock_table *t, const lease_id *lease, bool is_share, const void *bytes,
                 size_t size);

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
bool wire_stray(const lock_table *t, buffer *out, const stray *s, instant now);
bool wire_needs_renewal(const name *n, instant now);
bool wire_renews_nothing(const name *n);  /* the renewal only says that it reads now */
bool wire_renew(lock_table *t, buffer *out, name *const *names, size_t count, instant now);
bool wire_token(const name *n, text *out);

/* ---- command.c ---- */
void call_free(lock_table *t, call *c);
void call_cut(lock_table *t, call *c);
name *call_name(lock_table *t, uint64_t id);   /* NULL: it is gone */
void name_retry(name *n, instant now);    /* the present command again, after a while */

#endif
