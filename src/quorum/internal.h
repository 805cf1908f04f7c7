/* SPDX-License-Identifier: MIT */
/* quorum/internal.h - the records of quorum/; internal to it.
 *
 *   quorum ── entry ── records ─┬─ claims    one that waits, until it is won; then holders of
 *                               │            one owner, by re-entry (hold/claim.h)
 *                               └─ members   one for each server: a claim in its lock table
 *
 * A quorum record is one attempt to get a name from a majority, and then the hold: it has a
 * member lease at each server. A mutex has one active record, the first in the list of its
 * name; the others wait. All records of a read/write lock are active. A record is freed when
 * the last of its claims in the tables has reported its end. */
#ifndef QUORUM_INTERNAL_H
#define QUORUM_INTERNAL_H

/* When a table cannot grow, the element is not added, and nothing is lost. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include <utlist.h>

#include "hold/acquisition.h"
#include "quorum/quorum.h"

typedef struct quorum_record quorum_record;
typedef struct lock_entry lock_entry;

typedef enum member_state {
  MEMBER_NONE = 0,
  MEMBER_PENDING,
  MEMBER_GRANTED,
  MEMBER_BUSY,                     /* other clients have it there */
  MEMBER_FAULTY,                   /* no reply in time, or a refusal */
  MEMBER_CANCELLED,                /* given up before a reply */
  MEMBER_LEAVING, MEMBER_LEFT        /* released; confirmed, or never confirmed */
} member_state;

typedef struct member_lease {
  quorum_record *record;
  uint64_t id;                   /* of the present claim in the table; other ids are old */
  member_state state;
  bool waits;                    /* PENDING: in the queue of its server */
  bool is_raising, is_suspect;
  bool is_barred;                /* accepts tries, but has no queue for us */
  bool was_raised;               /* since it was granted */
  bool is_held_back;             /* its server is in quarantine: a bad queue server */
  uint64_t token;
  instant valid_until, asked_at;
  instant kept_off_until;        /* NONE: it was broken there, and is not taken again before */
  dibs_status why;               /* FAULTY, LEFT */
  bool was_short;                /* FAULTY: as in lock_event */
  watched_lease watched;         /* the last lease of another client that refused a try */
  instant free_at;               /* BUSY: as in lock_event */
} member_lease;

typedef enum record_state {
  RECORD_HERE = 1,               /* after other records of this process */
  RECORD_ROUND,                  /* tries are pending */
  RECORD_QUEUED,                 /* in the queue of one server */
  RECORD_RESTING,                /* before the next round; may keep its queue entry */
  RECORD_HELD,
  RECORD_ENDING,                 /* lost by its deadline: released when that has passed */
  RECORD_LEAVING                 /* not needed any more; some replies are missing */
} record_state;

struct quorum_record {
  quorum *quorum;
  lock_entry *entry;             /* NULL: LEAVING */
  quorum_record *next, *previous;       /* of its entry */
  quorum_record *next_of_all, *previous_of_all;
  record_state state;
  lock_kind kind;                /* MUTEX or RWLOCK */
  bool reads;                    /* RWLOCK */
  bool is_downgraded;            /* a writer that is now a reader */
  bool is_fixed;
  span ttl;
  char *note;
  acquisition claims;            /* waiting: at most one */
  timer stage;                   /* meaning: round.c, queue.c, held.c */
  timer repair;
  bool is_raising;               /* ROUND: the fence is being written to the servers */
  bool is_probing;               /* ROUND: it goes on waiting in the queue */
  bool asks_first;               /* ROUND: only the queue server is asked yet */
  bool met_others;               /* another client had it */
  bool is_short;                 /* too few servers have replied since `short_since` */
  instant short_since;
  unsigned rests, probes;        /* in a row */
  instant free_at;               /* a try waits, or has waited, for the end of leases; 0: no */
  uint64_t token;                /* HELD: the fence's */
  instant valid_until;           /* HELD: of the majority-th best lease */
  instant limit;                 /* HELD: max_hold */
  bool is_suspect;
  size_t open;                   /* claims in the tables without a reported end */
  member_lease members[];
};

struct lock_entry {
  UT_hash_handle by_bytes;
  quorum_record *first, *last;
  size_t size;
  char bytes[];                  /* 'x' or 's', and the name: kinds of lock do not mix */
};

/* Beside HOLD_TIMER_CLAIM. */
enum { TIMER_STAGE = HOLD_TIMER_CLAIM + 1, TIMER_REPAIR };

typedef struct quorum_server {
  lock_table *table;
  hold_front *front;             /* the claims of the members there */
  bool is_silent;                /* slow in the last rounds: not waited for */
  dibs_status last, why;         /* its last fault; that of the quorum record that failed last */
  char last_words[512], why_words[256];
} quorum_server;

/* A name that others had in the last round of a waiter. */
typedef struct contended_name {
  uint64_t name;                 /* name_hash() */
  instant until;
} contended_name;

#define CONTENDED_NAMES 64       /* those with the same place replace each other */

struct quorum {
  hold_backend backend;          /* the first member */
  memory memory;
  random_source random;
  span connect_timeout, command_timeout;
  bool is_patient, is_closing;
  size_t count, majority;
  quorum_server servers[QUORUM_SERVERS_MAX];
  timers timers;
  lock_entry *entries;           /* uthash head */
  quorum_record *records;
  size_t record_count;
  uint64_t seen;                 /* the highest token, but none far ahead */
  span pace;                     /* the usual reply time of servers */
  contended_name contended[CONTENDED_NAMES];
  instant closing_until;
  char fault_words[128];
  uint64_t names_max;
};

/* ---- claim.c ---- */
extern const hold_ops quorum_ops;
/* Ends the tries after `r`, which has the name, or whose servers say that others have it. Until
 * then they wait: a waiter is not a holder. `words`: NULL: by its state. */
void record_tries_end(quorum_record *r, const char *words, instant now);

/* ---- view.c ---- */
bool quorum_next_name(const hold_backend *b, lock_name_at *at, lock_name *ret);

/* ---- quorum.c ---- */
/* NULL: no claim here wants or has it */
lock_entry *quorum_entry(quorum *q, const lock_spec *spec);
quorum_record *record_new(quorum *q, const lock_spec *spec);  /* NULL: no memory */
/* The record that asks the servers for it: itself, or the first of its name. */
quorum_record *record_asking(quorum_record *r);
void record_forget(quorum_record *r);  /* frees it, when nothing refers to it */
void record_leave(quorum_record *r, instant now);  /* releases all; the next may begin */
/* Ends its claim; another claim of this process may take over the quorum record. */
void record_fail(quorum_record *r, dibs_status status, const char *words, instant now);

/* ---- member.c ---- */
typedef struct member_tally {
  size_t granted, pending, busy;
  size_t awaited;                /* pending, of servers that are not known as silent */
} member_tally;

void member_cast(member_lease *m, bool is_try, uint64_t token, instant now);
void member_withdraw(member_lease *m, instant now);
void member_raise(member_lease *m, uint64_t token, instant now);
size_t member_server(const member_lease *m);
bool member_stands(const member_lease *m, instant now);  /* granted and valid */
member_tally member_count(const quorum_record *r, instant now);
/* Whether a majority would need a server in quarantine. */
bool member_too_many_held_back(const quorum_record *r);
void member_event(quorum *q, const lock_event *e, instant now);

/* ---- round.c ---- */
/* Of a try whose rounds ended so until its time was over. */
#define UNCONFIRMED_WORDS \
  "a majority of the servers granted it, and fewer confirmed its fence in time"
#define ROUND_SPLIT_WORDS \
  "several clients have parts of it, and none a majority of the servers that answered: try again"

void round_begin(quorum_record *r, instant now);
void round_look(quorum_record *r, instant now);  /* after a change of its member leases */
void round_timer(quorum_record *r, instant now);
span round_patience(const quorum *q);
void round_answered(member_lease *m, instant now);  /* measures the reply time of a try */

/* ---- queue.c ---- */
member_lease *queue_member(quorum_record *r);  /* NULL: no server replies */
/* Where a round should begin that is likely to fail; NULL: at all servers. */
member_lease *queue_to_ask_first(quorum_record *r, instant now);
void queue_found_free(const quorum_record *r);    /* the server that was asked first granted it */
void queue_up(quorum_record *r, instant now);  /* others have it: waits for its turn */
void queue_rest(quorum_record *r, instant now);
/* Of a try, after a split of the votes; until `at`, which may be 0, or a random time. */
void queue_rest_apart(quorum_record *r, instant at, instant now);
void queue_timer(quorum_record *r, instant now);

/* ---- held.c ---- */
void held_begin(quorum_record *r, uint64_t token, instant now);
void held_look(quorum_record *r, instant now);    /* after a change of its member leases */
void held_fix(member_lease *m, instant now);      /* of a fixed hold: ends with the others */
void held_granted(member_lease *m, instant now);  /* late, or a repair */
void held_deadline(quorum_record *r, instant now);
void held_repair(quorum_record *r, instant now);
void held_reduced(quorum_record *r, instant now);
void held_downgrade(quorum_record *r, instant now);
instant held_end(const quorum_record *r);
void held_release(quorum_record *r, instant now);
void held_left(quorum_record *r);                 /* a release has ended */

/* ---- report.c ---- */
void report_why(quorum_record *r);  /* records the servers' reasons */
/* The fault that most servers share, for record_fail(); of the record that asks them for `r`. */
dibs_status report_fault(quorum_record *r, instant now, const char **ret_words);
/* `before`, and why its leases were not renewed, or not taken again: of the first server that has
 * a reason. */
void report_add_why(const quorum_record *r, const char *before, text *out);

#endif
