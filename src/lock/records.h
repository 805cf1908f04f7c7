/* SPDX-License-Identifier: MIT */
/* lock/records.h - parts of struct lease (table.h): its ask, its term, its acknowledgements
 * by replicas, shared leases, and the names of a multi-lock. For the files of src/lock only. */
#ifndef LOCK_RECORDS_H
#define LOCK_RECORDS_H

#include "lock/lease.h"
#include "lock/lock.h"

typedef struct lease lease;
typedef struct lock_entry lock_entry;

/* One attempt to get the lease. ask_begin() begins it. */
typedef struct lease_ask {
  uint64_t number;               /* K */
  bool waits;                    /* no try */
  unsigned sendings;             /* from 2: an earlier copy may have been executed */
  bool was_answered, was_busy;   /* was_busy: `not listening`, so the name was not free */
  bool had_message;              /* since its last reply: a message made it ask, or was the grant */
  bool may_arrive_late;          /* a copy may come from a broken connection */
  bool needs_inbox, offers_idle;
  bool is_unheard;               /* answered only `not listening`, since then */
  bool is_uncounted;             /* the same, while the subscription was confirmed */
  span ttl;
} lease_ask;

/* What an ask needs while claims wait, and a hold does not. Made for each claim that waits,
 * while it can still be refused; kept until no claim waits and the lease is held or released. */
typedef struct lease_wait {
  struct lease_wait *next;       /* unused ones */
  watched_lease watched;
  instant first_sent_at;         /* of the ask: its first copy */
  instant queued_at;             /* when its last request answered `waiting` was sent */
  instant sent_give_up;          /* the limit that the server knows from the newest copy */
  instant unheard_since;
  uint64_t newest_token;         /* of the last grant in its last reply */
  instant unserved_since;        /* when its slot left a reachable node */
  uint64_t undecided_ask;        /* the last ask that the server refused to decide; 0: none */
  instant undecided_since;       /* the first refusal since the last answer */
  dibs_status undecided_why;
  unsigned polls;                /* without a grant, in dialects without messages */
} lease_wait;

/* What the server granted. hold_granted() begins it. */
typedef struct lease_term {
  lease_id id;
  span ttl;                      /* what the next renewal asks for */
  instant valid_until;           /* by the lease alone */
  instant limit;                 /* of the present holders: fixed, max_hold; otherwise never */
  uint64_t units;                /* of a shared lease */
  uint64_t waiters_elsewhere;
  unsigned reports;              /* messages that it has ended: no earlier renewal denies them */
  bool is_fixed : 1, is_suspect : 1;
  bool is_named : 1;             /* its token was given out: not shared with other owners */
  bool must_confirm : 1;         /* one renewal now, also for a fixed lease */
  bool is_reported_broken : 1;   /* by a message: the next renewal confirms or denies it */
  bool is_let_go : 1;            /* if it has ended: by its token, as a message or a reply says */
  bool was_wanted : 1;           /* since the last renewal was sent: by a message, or as it came
                                  * from a queue */
  bool is_over : 1;              /* RELEASING: lost, as it was not renewed until its end */
  bool raise_was_sent;
  bool end_is_early;             /* RELEASING: not before `poll`, a holder may still trust it */
  bool is_as_granted;            /* the server stores what the ask wrote, as far as is known */
  uint64_t granted_token;        /* before it was raised */
  uint64_t raise_to;             /* the token that the lease will get; 0: none */
} lease_term;

/* The next request to the replicas (acks.c). */
typedef enum ack_step { ACKS_NONE, ACKS_RENEW, ACKS_ROLE, ACKS_WAIT } ack_step;

/* Acknowledgements of a lease by replicas. */
typedef struct lease_acks {
  lease *next;                   /* in the list of its route */
  ack_step step;
  bool is_sent;                  /* the request of this step; or it is repeated after a pause */
  bool is_in_wait;               /* the WAIT under way is for this one, too */
  bool has_fsync, no_fsync;      /* no_fsync: the server does not know WAITAOF */
  uint32_t acknowledged, wanted;
  uint32_t seen;                 /* by the last reply that was not enough */
  uint32_t majority;             /* 0: none requested */
  uint64_t claim_id;             /* the claim for which replicas are asked */
  uint64_t done_claim_id;        /* and the last one for which they were asked */
  instant renewed_at;            /* when the last renewal for that was sent */
  instant until;                 /* WAIT is repeated until then */
} lease_acks;

/* One of several leases of a name, or of this client's entries in its queue. */
typedef struct lease_shared {
  lock_entry *entry;
  lease *next, *previous;
  uint64_t wanted_units;         /* 0: all free permits */
  uint64_t wanted_limit;         /* permits that the semaphore has to have; 0: any number */
  instant since;
  unsigned claims_ever;          /* claims that it ever had: each has its own fence */
} lease_shared;

#define ROUNDS_FREE 3    /* of a multi-lock, before it keeps its members while it waits */

/* Several names that are locked together. */
typedef struct lease_many {
  lease *next, *previous;        /* in the list of all multi-locks */
  uint32_t number;               /* of the multi-lock in this client */
  many_name *names;
  size_t count, busy;            /* busy: the name that the last reply reported */
  unsigned rounds;               /* one was granted, and another was not free */
  bool was_granted_one;
} lease_many;

#endif
