/* SPDX-License-Identifier: MIT */
/* sim/explore - runs seeds and judges them: each seed is a world that draws its own faults,
 * programs that use dibs as anybody would, and an oracle that knows everything.
 *
 * The parts, in the order in which a seed meets them: draw.c (what exists in this world),
 * schedule.c (faults as data), program*.c (what users do), calls.c (their calls, timed and
 * recorded), ledger.c (who believes what, also written as a history), truth.c (what the server
 * has), oracle*.c (what must hold of beliefs and truth, doc/design/invariants.md; what must
 * hold of the history alone is in test/oracle), trial.c (one seed from beginning to end),
 * minimise.c, coverage.c, main.c. Of worlds in Redisson's format: format.c (what it cannot
 * promise), truth_redisson.c, oracle_redisson.c, peer.c and peer_words.c (what a Java program
 * does with the same locks).
 *
 * May include the public headers, sim/server, sim/world/world.h, test/oracle, resp/ and base/.
 * Everything that is decided comes from the seed: no clock, no address, no other randomness. */
#ifndef EXPLORE_H
#define EXPLORE_H

#include <dibs/sim.h>

#include "base/base.h"
#include "oracle/log.h"

enum {
  PROCESSES_MAX = 5, THREADS_MAX = 3, LIVES_MAX = 96, FAULTS_MAX = 96,
  /* The names of a world. Members of sets, elections and breaks are among the mutexes. */
  MUTEXES = 3, NAME_RW = MUTEXES, NAME_SEM, NAMES,
  GRIPS_MAX = 256,              /* recorded at one time */
  LEASES_MAX = 256,             /* remembered of each name */
  WAITERS_MAX = 64, HOLDERS_MAX = 64, PEERS_MAX = 2
};

typedef enum kinds {            /* bits, for --kind */
  KIND_MUTEX = 1, KIND_SHARE = 2, KIND_MANY = 4, KIND_MEET = 8, KIND_ALL = 15,
  /* Worlds in Redisson's format, whose locks are of these kinds; not with the others. */
  KIND_PLAIN = 16, KIND_FAIR = 32, KIND_FENCED = 64, KIND_SPIN = 128, KIND_REDISSON = 240
} kinds;

/* ---- format.c: whose format the locks have ---- */

/* What a format promises. A rule of the oracle that needs more is off where it is not. */
typedef struct lock_format {
  bool hands_over;              /* I8, L3: who releases gives it to the next in the queue */
  bool has_tokens;              /* S2, I4: each lease on the server has a token of its own */
  bool remembers_asks;          /* S10: the key itself tells which ask is over */
  bool survives_steps;          /* S1: clients tell the server how late it is */
  bool reports_holders;           /* S2: who has what was broken hears of it at once */
  bool forgets_waiters;         /* I16, I18: a queue has an end of its own */
} lock_format;

typedef enum redisson_kind {
  REDISSON_LOCK, REDISSON_FAIR, REDISSON_FENCED, REDISSON_SPIN
} redisson_kind;

/* ---- what a program may do next; a world gives each a weight, often none ---- */

#define ACTIONS_LIST(X) \
  X(LOCK, KIND_MUTEX) X(TRY, KIND_MUTEX) X(TIMED, KIND_MUTEX) X(CANCELLED, KIND_MUTEX) \
  X(NEST, KIND_MUTEX) X(LINGER, KIND_MUTEX) X(FIXED, KIND_MUTEX) X(OVERSLEEP, KIND_MUTEX) \
  X(ASYNC, KIND_MUTEX) X(DETACH, KIND_MUTEX) X(TOKEN, KIND_MUTEX) X(BREAK, KIND_MUTEX) \
  X(INSPECT, KIND_MUTEX) X(REOPEN, KIND_MUTEX) X(MAX_HOLD, KIND_MUTEX) \
  X(MANY, KIND_MANY) X(TRY_MANY, KIND_MANY) X(TIMED_MANY, KIND_MANY) \
  X(READ, KIND_SHARE) X(TRY_READ, KIND_SHARE) X(WRITE, KIND_SHARE) X(TRY_WRITE, KIND_SHARE) \
  X(TIMED_WRITE, KIND_SHARE) X(DOWNGRADE, KIND_SHARE) X(REREAD, KIND_SHARE) \
  X(PERMITS, KIND_SHARE) X(TRY_PERMITS, KIND_SHARE) X(TIMED_PERMITS, KIND_SHARE) \
  X(DRAIN, KIND_SHARE) X(RESIZE, KIND_SHARE) \
  X(LEAD, KIND_MEET) X(LOOK_LEADER, KIND_MEET) X(LATCH, KIND_MEET) X(AWAIT, KIND_MEET) \
  X(BARRIER, KIND_MEET) X(GUARD, KIND_MEET) X(ADD, KIND_MEET)

#define ACTION_ID(name, kind) ACT_##name,
typedef enum action { ACTIONS_LIST(ACTION_ID) ACTIONS } action;
#undef ACTION_ID

/* ---- plan: all that a seed decides before the world begins ---- */

typedef struct plan {
  uint64_t seed;
  int processes, threads;
  int64_t run_ms;                     /* until all is healed */
  int32_t ttl_ms[2];
  int32_t delay_min_us, delay_max_us, preempt_per_mille, split_per_mille;
  int32_t think_ms, hold_ms;          /* at most, log-uniform below */
  int32_t wait_ms;                    /* limit of timed calls, at most */
  int32_t command_timeout_ms, connect_timeout_ms, local_handovers_max;
  uint32_t client_flags;
  uint32_t permits;
  bool has_limits;                    /* some asks for permits name their number */
  bool is_redisson;
  redisson_kind redisson_kinds[MUTEXES];   /* one name is of one kind */
  int peers;                          /* Java programs that use the same locks */
  bool has_publisher;                 /* a publisher forges messages */
  int32_t ppm[PROCESSES_MAX + 1];     /* by slot */
  int names;                          /* mutexes in use, 1 .. MUTEXES */
  unsigned weight[ACTIONS], weight_sum;
  bool is_calm;                       /* no fault at all: nothing may be lost */
  bool steps;                         /* the server's clock is set */
  bool has_ifeq;                      /* by the command line: the server knows SET with IFEQ */
  size_t fault_count;
  dibs_sim_fault faults[FAULTS_MAX];  /* `process` is a slot; by time */
} plan;

void plan_draw(plan *p, uint64_t seed, kinds asked);
void plan_plain(plan *p, uint64_t seed);
/* A world in Redisson's format, after the rest was drawn. */
void plan_redisson(plan *p, kinds asked);
const lock_format *format_of(const plan *p);
const char *redisson_kind_name(redisson_kind f);
uint32_t redisson_kind_flag(const plan *p, unsigned names);       /* for dibs_lock_options.flags */

/* ---- schedule ---- */

void schedule_draw(plan *p, random_source *r);
bool fault_loses_data(const dibs_sim_fault *f);
const char *fault_name(dibs_sim_fault_kind kind);       /* NULL: none */
/* "KIND slot at_us ms ppm delay_ms direction": for --fault and regressions. */
void fault_write(const dibs_sim_fault *f, char *ret_line, size_t size);
bool fault_read(const char *line, dibs_sim_fault *ret_fault);
int64_t draw_log(random_source *r, int64_t low, int64_t high);      /* log-uniform */

/* ---- truth: what the server has ---- */

/* One grant, as it was seen on the server. */
typedef struct lease {
  uint64_t token, ask;
  char client[34];                    /* C, or C.n */
  char mode;                          /* x r w p */
  uint64_t units, renewals;
  int64_t deadline_us, deadline_max, length_ms;    /* by the server's clock */
  int64_t begun_at, seen_at;          /* true time; seen there last */
  int64_t end_max;                    /* true time: the latest deadline it ever had, while
                                         nobody set clocks */
  int64_t gone_at;                    /* true time; 0: it is there */
  bool was_lost;                      /* with the server's data, at least once */
  bool is_revoked;                    /* others ended it, or are about to */
  bool is_doubted;                    /* flag 2 */
  bool is_foreign;                    /* a peer's */
  bool is_broken;                     /* whatever this owner has will be ended, is_foreign */
  int64_t cut_us;                     /* so much earlier does it end than its holders were told:
                                       * the server's clock was set ahead under it */
  int life;                           /* who was told of it; 0: nobody yet */
  uint64_t mark;                      /* of the reading that saw it */
} lease;

typedef struct waiter {
  uint64_t index, ask, units;
  int64_t give_up_us;                 /* by the server's clock; 0: never */
  char client[34];
  char mode;
  bool is_tombstone;
} waiter;

typedef enum truth_kind { TRUTH_NONE, TRUTH_MUTEX, TRUTH_RW, TRUTH_SEM, TRUTH_NEW,
                          TRUTH_REDISSON, TRUTH_OTHER } truth_kind;

typedef struct truth {
  truth_kind kind;
  bool is_fat;
  uint64_t last_token, used, limit;
  int64_t limit_since;                /* true time: the limit was another one before */
  /* The last grant or cancelled ask, while nobody has it; "": none. */
  char memory_client[34];
  uint64_t memory_ask;
  size_t holder_count, waiter_count;
  lease *holders[HOLDERS_MAX];
  waiter waiters[WAITERS_MAX];        /* by index */
  bool has_no_end;                    /* redisson: held without a time to live */
  int64_t free_since;                 /* redisson: true time; nobody had it since */
  /* What there ever was. */
  uint64_t top_token, mark;
  size_t lease_count;                 /* in all; the ring holds the last ones */
  lease leases[LEASES_MAX];
} truth;

/* ---- ledger: what programs believe to have ---- */

typedef struct grip {
  bool is_used;
  struct logged logged;               /* the same, as a history */
  uint32_t generation;
  int life, thread;
  uint64_t owner;
  dibs_hold *hold;                    /* NULL: not granted yet */
  bool is_done;                       /* async: the callback has run, with `status` */
  dibs_status status;
  unsigned names;                     /* bits */
  char mode;                          /* x r w p */
  uint32_t units;
  uint64_t fence, token;
  int64_t taken_at;                   /* true time */
  int64_t end_at;                     /* of belief, as last seen; true time */
  int64_t limit_at;                   /* fixed or limited: belief ends by then; else max */
  int32_t ttl_ms;
  bool is_fixed, has_callback;
  bool is_over;                       /* was seen not to be believed any more */
  bool is_reported;
  bool is_orphan;                     /* the server lost it: no one's fault, see oracle.c */
  bool is_revoked;                    /* others ended it, or have its token */
  lease *lease[NAMES];
} grip;

/* ---- a process, from start to end or kill ---- */

struct trial;

typedef struct life {
  struct trial *trial;
  int slot, number;                   /* 1 ..; index in trial->lives */
  int process;                        /* of the simulation */
  bool is_over;
  dibs_client *client;
  int64_t opened_at;
  char client_id[23];                 /* once it was granted something */
  int64_t wanted_at[NAMES];           /* true time: its last call about a name ended */
  int64_t over_at;                    /* true time: it was seen to be over */
  bool is_done;                       /* it closed its client and ended by itself */
  int open_threads, parked;
  bool is_closing;                    /* REOPEN: its threads stand still */
} life;

typedef struct call {                 /* under way */
  bool is_open;
  int life;
  const char *what;
  unsigned names;                     /* bits: what it asks for or gives back */
  bool is_try;
  int64_t begun_at, due_at;
} call;

enum { CALLS_MAX = PROCESSES_MAX * THREADS_MAX * 2 + LIVES_MAX };

typedef struct register_state {       /* of guarded writes */
  uint64_t applied, tried;            /* highest fence answered DIBS_OK; sent at all */
  int64_t sum_sure, sum_unsure;
  bool is_weak;                       /* the server lost it */
} register_state;

/* A party that was stopped may pass hundreds of generations after the others. */
enum { GENERATIONS_KEPT = 4096 };

typedef struct meeting_state {        /* of the barrier */
  int inside;                         /* calls that have begun and not ended */
  int passed[GENERATIONS_KEPT];       /* by generation, modulo */
  uint64_t passed_generation[GENERATIONS_KEPT];
  bool is_weak;
} meeting_state;

typedef struct trial {
  const plan *plan;
  dibs_sim *sim;
  bool is_ending;
  life lives[LIVES_MAX];
  int life_count, slot_life[PROCESSES_MAX + 1];
  int64_t restart_at[PROCESSES_MAX + 1];
  size_t injected;
  grip grips[GRIPS_MAX];
  size_t grip_top;                    /* used ones lie below */
  call calls[CALLS_MAX];
  int64_t next_due;
  truth truths[NAMES];
  uint64_t seen_version;
  bool is_fence_weak[NAMES];
  random_source random;               /* of restarts */
  int64_t healed_at, losing_at;
  size_t noted;                       /* faults that have begun */
  bool is_losing, has_lost, was_down; /* data of the server, just now; ever */
  int64_t step_us;                    /* of the server's clock, in all */
  bool has_stepped, has_stepped_back;
  char latch_zero[48];                /* the latch's mark of its last zero, as answered */
  int64_t latch_open_at;              /* the last moment at which nothing was to be counted */
  bool is_latch_armed;
  unsigned limits_named;              /* bits: numbers of permits that any call named */
  register_state written, added;
  meeting_state meeting;
  char peer_clients[PEERS_MAX][23];   /* as the id of a client of ours */
  uint64_t cycles, looks;
  uint64_t grants, losses, kills;
  struct history_log log;
  bool traces;
  char flaw[512];                     /* the first; "": none */
  int64_t flaw_at;
} trial;

/* ---- trial.c ---- */

typedef struct verdict {
  char flaw[512];
  uint64_t fingerprint, cycles, looks, grants;
} verdict;

extern const char *const name_texts[NAMES];
#define LATCH_NAME "latch"
#define BARRIER_NAME "barrier"
#define WRITTEN_KEY "written"
#define ADDED_KEY "added"
#define EXPLORE_PREFIX "dibs"

/* Runs one seed. `on_trace` may be NULL. */
void trial_run(const plan *p, void (*on_trace)(const char *, void *), void *data,
               verdict *ret_verdict);
void flaw_at(trial *t, int64_t at_us, const char *format, ...)
  __attribute__((format(printf, 3, 4)));
void flaw(trial *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
int64_t trial_now(const trial *t);
int64_t history_now(const trial *t);
trial *trial_current(void);           /* the one that runs */
void trial_note_faults(trial *t);     /* what has begun by now, and what it excuses */

/* ---- ledger.c ---- */

grip *grip_new(trial *t);
void grip_free(trial *t, grip *g);
void *grip_key(const trial *t, const grip *g);          /* for callbacks: may be late */
grip *grip_find(trial *t, const void *key);             /* NULL: freed since */
void grips_drop_life(trial *t, int number);
/* What belongs to `token` on `name` was taken away by others, or is about to be. */
void grips_revoke(trial *t, int name, uint64_t token);

/* ---- truth.c ---- */

/* One command of two words; the answer in RESP, valid until the next. */
const char *truth_ask(trial *t, const char *verb, const char *key, size_t *ret_size);
/* Whether the server counts it as alive: it has patience, and somebody hears its inbox. */
bool truth_is_live(trial *t, const waiter *w);
void truth_read(trial *t);            /* if anything changed on the server */
lease *truth_lease(trial *t, int name, uint64_t token);   /* NULL: never seen, or forgotten */
/* Only the last LEASES_MAX are remembered: whether one with this token may have been there. */
bool truth_has_forgotten(const trial *t, int name, uint64_t token);
/* One with a higher token that was granted before that time; NULL: none is remembered. */
const lease *truth_lease_after(const trial *t, int name, uint64_t token, int64_t before);
/* The last of this owner. */
lease *truth_lease_of(trial *t, int name, const char *client, uint64_t ask);
lease *truth_lease_new(trial *t, truth *x, uint64_t token);
void truth_end_seen(trial *t, lease *l, int64_t deadline_us);
/* `command` is a template of words parted by blanks. */
const char *truth_command(trial *t, const char *command, size_t *ret_size);

/* A reader of RESP2, of answers that are well formed. */
typedef struct answer { const char *at, *end; } answer;
int64_t answer_number(answer *a);
const char *answer_bulk(answer *a, size_t *ret_size);     /* NULL: nil, or something else */

/* ---- truth_redisson.c ---- */

void redisson_read(trial *t, int name);
/* The lease behind a hold; NULL: it is over, or was never seen. */
lease *redisson_lease(trial *t, int name, const grip *g);
/* A hold was granted: which lease it is. */
void redisson_granted(trial *t, grip *g);
/* `U:K` as the id of a client of ours and the number of its ask. */
void redisson_owner_read(const char *bytes, size_t size, char ret_client[34], uint64_t *ret_ask);
void redisson_owner_write(const char *client, uint64_t ask, char ret_owner[64]);
bool is_peer(const trial *t, const char *client);

/* ---- oracle ---- */

void oracle_look(dibs_sim *sim, void *data);              /* after each event */
void oracle_granted(trial *t, grip *g);
void oracle_history(trial *t);        /* S1, S2, S4, S7 of all that was believed */
/* What a release or a renewal by token says that the lease `token` has become. */
/* `begun`: when the call began whose status it is. */
void oracle_gone(trial *t, unsigned names, uint64_t token, int64_t begun, dibs_status status);
/* What an ask for `units` permits of `limit` was answered; `begun`: when its call began. */
void oracle_limited(trial *t, uint32_t limit, uint32_t units, int64_t begun,
                    dibs_status status);
void oracle_server(trial *t, int name, const truth *before);   /* after a change */
/* What comes late, or stays for nobody: I5, S10, L9 beside mild faults. */
void oracle_late(trial *t, int name, const truth *before);
void oracle_nobody(trial *t);
bool oracle_is_mild(const trial *t, const grip *g);
/* Redisson's format: what its scripts may leave behind, after a change. */
void oracle_redisson(trial *t, int name, const truth *before);
void oracle_nobody_waits_long(trial *t);                  /* L2, where nobody is handed it */
bool has_late_requests(const plan *p);
void oracle_keys(trial *t);           /* S12, I16 */
void oracle_end(trial *t);            /* L5, I18 */

/* ---- calls.c: what programs use ---- */

typedef struct actor {
  life *life;
  trial *trial;
  int thread;
  uint64_t owner;
  random_source random;
  int depth;
} actor;

typedef struct wish {
  action action;                      /* for coverage */
  unsigned names;
  char mode;
  uint32_t units;                     /* permits; 0: drain */
  uint32_t limit;                     /* the number of permits that it names; 0: none */
  bool is_try, is_async, is_set, is_election, is_inner;
  dibs_lock_options options;
} wish;

bool chance(actor *a, unsigned percent);
int64_t below(actor *a, int64_t limit);
void actor_sleep(actor *a, int64_t most_ms);             /* log-uniform */
/* NULL: not granted; *ret_status tells why. */
grip *take(actor *a, const wish *w, dibs_status *ret_status);
dibs_status give_back(actor *a, grip *g, action what);
/* Any other call: between these two. `limit_ms` < 0: no limit. */
call *call_begin(actor *a, const char *what, int64_t limit_ms);
dibs_status call_end(actor *a, call *c, action what, dibs_status status);
int32_t command_ms(const trial *t);
int64_t question_limit_ms(const trial *t);               /* of one question to the server */

/* ---- programs ---- */

void program_main(void *data);        /* of a life */
void act(actor *a);                   /* one action, drawn */
void act_mutex(actor *a, action what);
void act_revoke(actor *a, action what);
void act_share(actor *a, action what);
void act_meet(actor *a, action what);
wish wish_for(actor *a, action what, unsigned names, char mode);
void hold_for_a_while(actor *a, grip *g);

/* ---- peer.c: a Java program ---- */

void peers_begin(trial *t);

/* ---- publisher.c: forged messages ---- */

void publisher_begin(trial *t);

/* ---- peer_words.c: its scripts ---- */

typedef enum peer_verb { PEER_LOCK, PEER_RENEW, PEER_UNLOCK, PEER_LEAVE, PEER_FORCE } peer_verb;

/* What a script is given beside the keys of its name. */
typedef struct peer_call {
  peer_verb verb;
  int name;
  redisson_kind redisson_kind;
  const char *owner;
  int64_t ttl_ms, wait_ms, now_ms;
  bool is_try;
} peer_call;

/* Its answer: a number, -1 for nil; false: the server has not executed it. */
bool peer_ask(trial *t, const peer_call *c, int64_t *ret_number);

/* ---- coverage.c ---- */

typedef enum point {
#define POINTS_LIST(X) \
  X(GRANT_LOCAL) X(RELEASED_LATE) X(LOST_TOLD) X(LOST_ORPHAN) \
  X(LOST_REVOKED) X(LOST_BY_TIME) X(EXPIRED) X(BELIEF_RENEWED) X(QUEUE_OF_TWO) \
  X(QUEUE_OF_FOUR) X(TOMBSTONE) X(HANDED_OVER) X(READERS_TOGETHER) \
  X(PERMITS_TOGETHER) X(LIMIT_GRANTED) X(LIMIT_REFUSED) X(DOUBTED_LEASE) \
  X(REVIVED_BY_FAILOVER) X(LEASE_DATA_LOST) \
  X(WAITER_LEFT) X(KILLED_HOLDER) X(KILLED_WAITER) \
  X(RESTARTED) X(RENEWAL_SEEN) X(SET_HELD) X(DOWNGRADE_SEEN) \
  X(PEER_HELD) X(PEER_DIED) X(PEER_FORCED) X(PEER_WAITED)
#define POINT_ID(name) POINT_##name,
  POINTS_LIST(POINT_ID)
#undef POINT_ID
  POINTS
} point;

enum { STATUSES = 32, FAULT_KINDS = 64 };

typedef struct coverage {
  uint64_t points[POINTS];
  uint64_t outcomes[ACTIONS][STATUSES];       /* status + 20 */
  uint64_t faults[FAULT_KINDS][3];            /* injected; over a hold; over a call */
  uint64_t seeds, cycles, looks, grants, losses, kills, virtual_us, heal_us, heal_max_us;
} coverage;

extern coverage covered;
void cover(point p);
void coverage_add(coverage *to, const coverage *more);
void coverage_write(const coverage *c, bool as_markdown);
/* How many points and kinds of faults were never reached; told when `tells`. */
int coverage_holes(const coverage *c, bool reports);
const char *action_name(action a);

/* ---- minimise.c ---- */

/* Takes faults away as long as the seed still fails; the rest stays in `p`. */
void minimise(plan *p, verdict *ret_verdict);

#endif
