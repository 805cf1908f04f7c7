/* SPDX-License-Identifier: MIT */
/* quorum/parts.h - the records of this room, for its own files only.
 *
 *   quorum ── name ── ballots ─┬─ waiter    the claim it is for, until it is won
 *                              ├─ holders   claims of one owner, by re-entry
 *                              ├─ lost      claims whose owner has yet to release
 *                              └─ votes     one for each server: a claim in its lock table
 *
 * A ballot is one attempt to get a name from a majority, and the lease of many parts that it
 * becomes. A mutex has one at a time, the first in the list of its name; the others wait. Of
 * a read/write lock all are under way. It stays in memory until the last of its claims in
 * the tables has told its end. */
#ifndef QUORUM_PARTS_H
#define QUORUM_PARTS_H

/* A table that cannot grow loses nothing: the element is simply not added. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "quorum/quorum.h"

typedef struct claim claim;
typedef struct ballot ballot;
typedef struct name name;

typedef enum claim_state {
  CLAIM_WAITING = 1, CLAIM_HELD, CLAIM_LOST, CLAIM_RELEASING, CLAIM_OVER
} claim_state;

/* One request of the program, and the hold it becomes. */
struct claim {
  uint64_t id;
  void *context;
  quorum *quorum;
  ballot *ballot;                /* NULL: it never had one */
  claim *prev, *next;            /* among holders or lost */
  claim *previous_telling, *next_telling;      /* while it has events */
  unsigned events;               /* bits 1 << lock_event_kind: what the program is to be told */
  claim_state state;
  bool is_try, reads;
  span ttl, max_hold;
  instant give_up_at;
  timer timer;                   /* waiting: give up; releasing: answer unknown */
  uint64_t fence;
  int depth;
  dibs_status status;
  const char *words;
  size_t owner_size;
  char owner[];
};

typedef enum vote_state {
  VOTE_NONE = 0,
  VOTE_PENDING,
  VOTE_GRANTED,
  VOTE_BUSY,                     /* others have it there */
  VOTE_FAULTY,                   /* no answer in time, or a refusal */
  VOTE_CANCELLED,                /* given up before it was answered */
  VOTE_LEAVING, VOTE_LEFT        /* given back; and that is confirmed, or never will be */
} vote_state;

typedef struct vote {
  ballot *ballot;
  uint64_t id;                   /* of the present claim in the table; events of others are old */
  vote_state state;
  bool waits;                    /* PENDING: in the queue of its server */
  bool is_raising, is_suspect;
  bool is_barred;                /* it tries, but has no queue for us: never the lead */
  bool was_raised;               /* since it was granted */
  uint64_t token;
  instant valid_until, asked_at;
  dibs_status why;               /* FAULTY, LEFT */
} vote;

typedef enum ballot_state {
  BALLOT_HERE = 1,               /* behind others of this process */
  BALLOT_ROUND,                  /* tries are under way */
  BALLOT_AT_LEAD,                /* in the queue of one server */
  BALLOT_RESTING,                /* before the next round; may keep the lead */
  BALLOT_HELD,
  BALLOT_ENDING,                 /* lost by its deadline: given back when that has passed */
  BALLOT_LEAVING                 /* of no use any more; some answers are missing */
} ballot_state;

struct ballot {
  quorum *quorum;
  name *name;                    /* NULL: LEAVING */
  ballot *next, *previous;       /* of its name */
  ballot *next_of_all, *previous_of_all;
  ballot_state state;
  lock_kind kind;
  bool is_downgraded;            /* a writer that only reads now */
  bool is_fixed;
  span ttl;
  char *note;
  claim *waiter;
  claim *holders, *lost;         /* utlist heads: the first of each */
  timer stage;                   /* what it means: round.c, queue.c, held.c */
  timer repair;
  bool is_raising;               /* ROUND: the fence is being written back */
  bool is_probing;               /* ROUND: it waits at the lead all the same */
  bool met_others;               /* somebody else had it */
  bool is_short;                 /* too few servers answered the last rounds, since: */
  instant short_since;
  unsigned rests, probes;        /* in a row */
  uint64_t token;                /* HELD: the fence's */
  instant valid_until;           /* HELD: of the majority-th best lease */
  instant limit;                 /* HELD: max_hold */
  bool is_suspect;
  size_t open;                   /* claims in the tables whose end was not told yet */
  vote votes[];
};

struct name {
  UT_hash_handle by_bytes;
  ballot *first, *last;
  size_t size;
  char bytes[];                  /* 'x' or 's', and the name: kinds of lock do not mix */
};

enum { TIMER_CLAIM = 1, TIMER_STAGE, TIMER_REPAIR };

typedef struct quorum_server {
  lock_table *table;
  bool is_silent;                /* it let the last rounds wait: nobody waits for it now */
  dibs_status last, why;         /* its last fault; of the ballot that failed last */
  char last_words[128], why_words[128];
} quorum_server;

struct quorum {
  memory memory;
  random_source random;
  span connect_timeout, command_timeout;
  bool is_patient, is_closing;
  size_t count, majority;
  quorum_server servers[QUORUM_SERVERS_MAX];
  timers timers;
  slots slots;                   /* claims by id */
  name *names;                   /* uthash head */
  ballot *ballots;
  size_t ballot_count, claim_count;
  uint64_t seen;                 /* the highest token */
  span pace;                     /* how long servers take to answer, about */
  instant closing_until;
  claim *telling;                /* utlist head: claims with something to tell */
  char fault_words[128];
  uint64_t names_max;
  lock_counts counts;
};

/* ---- quorum.c ---- */
name *quorum_name(quorum *q, const lock_wish *w);  /* NULL: nobody here wants or has it */
ballot *ballot_new(quorum *q, const lock_wish *w, claim *c);       /* NULL: memory */
void ballot_forget(ballot *b);             /* frees it, once nothing is left of it */
void ballot_leave(ballot *b, instant now); /* everything is given back; the next may begin */
/* Ends the claim that it is for; another of this process may go on in its place. */
void ballot_fail(ballot *b, dibs_status status, const char *words, instant now);

/* ---- vote.c ---- */
typedef struct vote_tally {
  size_t granted, pending, busy;
  size_t awaited;                /* pending, of servers that are not known as silent */
} vote_tally;

void vote_cast(vote *v, bool is_try, uint64_t token, instant now);
void vote_withdraw(vote *v, instant now);
void vote_raise(vote *v, uint64_t token, instant now);
size_t vote_server(const vote *v);
bool vote_stands(const vote *v, instant now);      /* granted, and to be believed */
vote_tally vote_count(const ballot *b, instant now);
void vote_event(quorum *q, const lock_event *e, instant now);

/* ---- round.c ---- */
void round_begin(ballot *b, instant now);
void round_look(ballot *b, instant now);           /* after a change of its votes */
void round_timer(ballot *b, instant now);
span round_patience(const quorum *q);
void round_answered(vote *v, instant now);         /* a try: how long that took */

/* ---- queue.c ---- */
vote *queue_lead(ballot *b);                       /* NULL: none answers */
void queue_settle(ballot *b, instant now);         /* others have it: waits for its turn */
void queue_rest(ballot *b, instant now);
void queue_timer(ballot *b, instant now);

/* ---- held.c ---- */
void held_begin(ballot *b, uint64_t token, instant now);
void held_again(ballot *b, claim *c);              /* re-entry */
void held_look(ballot *b, instant now);            /* after a change of its votes */
void held_granted(vote *v, instant now);           /* late, or a repair */
void held_deadline(ballot *b, instant now);
void held_repair(ballot *b, instant now);
void held_repair_soon(ballot *b, instant now);
void held_downgrade(ballot *b, instant now);
instant held_end(const ballot *b);
void held_release(ballot *b, instant now);
void held_left(ballot *b);                         /* a release was confirmed, or will not be */

/* ---- tell.c ---- */
void tell_event(claim *c, lock_event_kind kind);
void tell_end(claim *c, lock_event_kind kind, dibs_status status, const char *words);
void tell_why(ballot *b);                          /* what the servers said, for people */
/* Of what failed for want of servers: the fault that most share. */
dibs_status tell_fault(ballot *b, const char **ret_words);

#endif
