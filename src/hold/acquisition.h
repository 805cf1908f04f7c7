/* SPDX-License-Identifier: MIT */
/* hold/acquisition.h - what a backend's record knows of its claims: what the first waiter
 * asks for, when the last gives up, and that there are holders. Their records are hidden. */
#ifndef HOLD_ACQUISITION_H
#define HOLD_ACQUISITION_H

#include "hold/hold.h"

/* hold/claim.h */
typedef struct claim claim;
typedef struct hold_ops hold_ops;

/* The first member of each backend. */
struct hold_backend {
  const hold_ops *ops;
  timers *timers;                /* for its claims: their kind is HOLD_TIMER_CLAIM */
  lock_counts counts;
};

enum { HOLD_TIMER_CLAIM = 1 };
claim *claim_of_timer(timer *t);

/* What few claims have, most of it of their spec. */
typedef struct claim_extras {
  span max_hold, warn, replicas_wait;
  instant warned_end;            /* for which LOCK_ENDS_SOON was reported; 0: none */
  uint64_t min_token;
  int32_t min_replicas;
  bool wants_fsync, reports_replicas;
  uint64_t owner_hash, since_us; /* for the wait report (lock/wait_report.c) */
} claim_extras;

/* What a claim keeps of its spec, by the same names. */
typedef struct claim_terms {
  span ttl, linger;
  instant give_up_at;
  char *note;                    /* a copy; NULL: none */
  claim_extras *extras;          /* NULL: all zero */
  lock_kind kind;
  bool reads, is_try, is_fixed, no_reentry, is_part, blocks;
} claim_terms;

const claim_extras *extras_of(const claim_terms *terms);

/* A member of the backend's record. All zero: it has no claims. */
typedef struct acquisition {
  claim *waiting, *holders, *lost;      /* utlist heads: the first of each */
  claim *parked;                 /* released, and kept with its lease; NULL: none */
} acquisition;

bool acquisition_is_unused(const acquisition *a);
size_t claims_count(const claim *claims);

/* ---- waiters ---- */
const claim_terms *wish_of(const acquisition *a);  /* of the first; NULL: none waits */
lock_spec waiter_spec(const acquisition *a);       /* of the first, which must be there; no names */
uint64_t waiter_id(const acquisition *a);          /* of the first, which must be there */
instant waiter_since(const acquisition *a);        /* when it asked */
/* When the last gives up; 0: none waits. A try counts only as the first. */
instant waiters_limit(const acquisition *a);
void waiter_report(acquisition *a, lock_event_kind kind);
/* Before waiter_fail(): its time was too short to know about the server. */
void waiter_was_short(acquisition *a);
void waiter_fail(acquisition *a, dibs_status status, const char *words);
void waiters_fail(acquisition *a, dibs_status status, const char *words);
/* Fails it with DIBS_BUSY: the lease that refuses it, and when that ended, as in lock_event. */
void waiter_refuse(acquisition *a, const watched_lease *watched, instant free_at,
                   const char *words);

void waiters_move(acquisition *from, acquisition *to);
/* The first is the outermost holder, or one of several that share the lease. */
void waiter_holds(acquisition *a, uint64_t fence, uint64_t units, bool is_suspect);

/* ---- holders ---- */
const claim_terms *hold_spec_of(const acquisition *a);  /* of the first; NULL: none holds */
uint64_t holders_fence(const acquisition *a);           /* of the first, which must be there */
void holders_set_fence(acquisition *a, uint64_t fence);
void holders_report(const acquisition *a, lock_event_kind kind);
/* Their lease ends at `end`, or a holder is new: sets the timers of those that want a warning. */
void holders_end_at(const acquisition *a, instant end);
void holders_lose(acquisition *a, dibs_status status, const char *words);
void holders_were_broken(acquisition *a);               /* before holders_lose() */
void holders_were_let_go(acquisition *a);               /* before holders_lose(), or their end */
/* They held until now and are being released; they report DIBS_UNKNOWN at `limit`
 * (INSTANT_NEVER: they wait). */
void holders_release(acquisition *a, instant limit);
void holders_say(acquisition *a, const char *words);  /* as claim_say() */
const char *holders_words(const acquisition *a);      /* said last, of the first; "": none */
void holders_end(acquisition *a, dibs_status status, const char *words);

void lost_end(acquisition *a);           /* the client is being closed */

#endif
