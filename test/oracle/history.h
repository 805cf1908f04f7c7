/* SPDX-License-Identifier: MIT */
/* test/oracle/history.h - what happened in one run, as each process saw it: the one format in
 * which every instrument writes down what its programs asked for, were granted and believed.
 *
 * Processes on real servers (test/fault) append records to files by write(2), with measured
 * time. The simulator (sim/explore, sim/deployed) sees all its programs from outside, and
 * writes through log.h to memory; its time is virtual. All instants of one run are of one
 * clock, so they compare.
 *
 * What a worker believes is known by samples only: at `at_ns` the library said that the hold
 * may be believed until `valid_ns` at least. What lies between samples is never guessed in
 * favour of a finding: a hold counts as believed up to its latest sampled end, the beginning
 * of its release, its loss, the end that others made of it, or the death of its process,
 * whichever is first. */
#ifndef HISTORY_H
#define HISTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { WORKERS_MAX = 64, WORKER_THREADS_MAX = 8, LOCKS_MAX = 16, MARKERS_MAX = 64 };
enum { RUNNER = 0xffff, EVERYBODY = 0xfffe };   /* worker numbers that are no worker */

enum op {
  OP_LOCK = 1,    /* an acquisition; OP_TRY one that waits for nobody */
  OP_TRY,
  OP_RELEASE,     /* of the grant with the same `call` */
  OP_SAMPLE,      /* what the library says of a hold: `value` its condition, valid_ns */
  OP_LOST,        /* on_lost began: `status` why */
  OP_WRITE,       /* to the fenced store. OK: `value` its place in the log; FAIL: refused */
  OP_CLASH,       /* the witness page showed another holder: `value` its worker */
  OP_QUEUED,      /* the inspector saw worker `owner` waiting: `value` its rank, `call` the
                     number of the look; sent_ns when the question left */
  OP_STALL,       /* this process did not run from sent_ns to at_ns, though it wanted to */
  OP_USAGE,       /* `value` of `mode` (enum usage). INVOKE: before a client was opened,
                     INFO: warm, FAIL: before its end, OK: after it was closed */
  OP_FAULT,       /* runner. INVOKE: about to begin, INFO: surely in force, FAIL: about to be
                     lifted, OK: over; `mode` enum fault, `owner` the worker concerned or
                     EVERYBODY, `call` its number, `lock` or NO_LOCK */
  OP_MARK,        /* runner: marker `lock` of run.txt was reached, `value` times more */
  OP_LIFE,        /* runner: worker `owner` started (INVOKE) or was seen dead (OK, killed not
                     before sent_ns; 0: it ended by itself); `value` which life */
  OP_EXCUSED,     /* others ended the lease of this grant, or the server lost it: it may be
                     believed until that is reported, and is checked no more */
  OP_LAST = OP_EXCUSED
};

/* INFO: it may or may not have happened, now or later. */
enum phase { PHASE_INVOKE = 1, PHASE_OK, PHASE_FAIL, PHASE_INFO };

enum hold_mode { HOLD_EXCLUSIVE = 0, HOLD_READ, HOLD_WRITE, HOLD_PERMITS };
enum usage { USAGE_FDS = 0, USAGE_THREADS, USAGE_RSS_KIB, USAGE_CYCLES };
enum { NO_LOCK = 0xffff };

enum fault {
  FAULT_KILL = 1,      /* kill -9 of a worker; an instant */
  FAULT_STOP,          /* SIGSTOP to SIGCONT of a worker */
  FAULT_SERVER_DOWN,   /* killed, until it answers again */
  FAULT_SERVER_STOP,   /* SIGSTOP to SIGCONT of the server */
  FAULT_NETWORK,       /* what a proxy or iptables does, unless it is the next two */
  FAULT_CUT_OFF,       /* no answer can reach the worker(s) concerned: black hole */
  FAULT_HELD_UP,       /* the same, and what is held arrives afterwards */
  FAULT_DATA_LOST,     /* an instant: the server forgot leases (FLUSHALL, empty restart, ...) */
  FAULT_ADMIN,         /* CLIENT KILL, CLIENT PAUSE, SCRIPT FLUSH, CONFIG SET, ... */
  FAULT_CLOCK,         /* a step of the server's clock */
  FAULT_LOAD,          /* the machine is made busy */
  FAULT_OTHER
};

struct record {
  int64_t at_ns;       /* when this was written: after the call for outcomes */
  int64_t sent_ns;     /* outcomes of asks: no request of this call left before this */
  int64_t valid_ns;    /* believed until then at least; 0: not believed, or no matter */
  uint64_t call;       /* of one worker: same in an ask, its outcome, samples, its release */
  uint64_t fence;
  int64_t value;
  uint32_t seq;        /* of this file, from 0, without gaps */
  uint32_t deadline_ms;  /* INVOKE: the call promises to be back after so long; 0: never */
  int32_t ttl_ms;
  int32_t status;      /* outcomes: dibs_status, the class of an error */
  uint32_t units;      /* permits; 1 for locks */
  uint16_t worker, life;   /* life: how often it was started before */
  uint16_t thread;
  uint16_t lock;
  uint16_t owner;      /* ops of the runner and OP_QUEUED: the worker it is about */
  uint8_t op, phase, mode;
  uint8_t server;      /* which server or proxy this worker talks to */
  uint8_t flags;       /* FLAG_* */
  uint8_t spare[13];   /* 96 bytes also where 8 of them may lie at any multiple of 4 */
};

enum {
  FLAG_ASYNC = 1,      /* by the asynchronous call */
  FLAG_MANY = 2,       /* one of a set; the same call has a record for each member */
  FLAG_LINGER = 4,     /* the lease may outlive the release */
  FLAG_NESTED = 8,     /* re-entry: shares lease and fence with the outer hold */
  FLAG_CANCEL = 16,    /* the worker cancels this ask on purpose */
  FLAG_FIXED = 32,     /* never renewed */
  FLAG_EXCUSED = 64    /* OP_EXCUSED before it was granted */
};

_Static_assert(sizeof(struct record) == 96, "records are read by other builds");

struct run_lock { char name[64]; char kind; uint32_t limit; };  /* kind: m x r p, as plan.h */

/* One acquisition of one name that was granted, with all that is known of its end. */
struct grant {
  uint32_t index;              /* of itself */
  uint16_t worker, life, thread, lock;
  uint8_t mode, flags;
  uint32_t units;
  int32_t ttl_ms;
  uint64_t call, fence;
  int64_t invoked_ns;          /* before it was asked for */
  int64_t granted_ns;          /* the call was back */
  int64_t believed_ns;         /* believed from granted_ns up to here: see above */
  int64_t valid_ns;            /* the latest sampled end */
  int64_t release_ns;          /* the release began; 0: it never did */
  int64_t released_ns;         /* it was back; 0: it never was */
  int64_t lost_ns;             /* on_lost ran, or a sample said gone; 0: never */
  int64_t died_ns;             /* its process was ended meanwhile; 0: not */
  int64_t excused_ns;          /* OP_EXCUSED; 0: never */
  int32_t release_status, lost_status;
  size_t invoke_at, ok_at, end_at;   /* indices of records; end_at: SIZE_MAX when none */
};

/* An acquisition, however it ended. */
struct ask {
  uint16_t worker, life, thread, lock;
  uint8_t op, phase, mode, flags;   /* phase: INVOKE while no outcome was written */
  uint32_t units;
  int32_t status, ttl_ms;
  uint32_t deadline_ms;
  uint64_t call;
  int64_t invoked_ns, ended_ns;     /* ended: INT64_MAX without an outcome */
  int32_t grant;                    /* -1: none */
  size_t invoke_at, end_at;
};

/* A fault of the runner. It may have worked from begin to end, and surely did from
 * in_force to lifting. What never came is INT64_MAX; an instant has all four alike. */
struct fault_window {
  int64_t begin_ns, in_force_ns, lifting_ns, end_ns;
  uint64_t number;
  uint16_t worker, lock;       /* EVERYBODY, NO_LOCK: all */
  uint8_t kind;
};

struct history {
  char directory[256];
  struct record *records;      /* of all files, by at_ns, then worker and seq */
  size_t count;
  struct run_lock locks[LOCKS_MAX];
  size_t lock_count;
  char markers[MARKERS_MAX][48];
  int64_t reached[MARKERS_MAX], demanded[MARKERS_MAX];   /* C13 */
  size_t marker_count;
  int64_t demanded_overlap;    /* grants believed while a fault was on, at least */
  int dialect;                 /* of the locks, enum dibs_dialect */
  struct grant *grants;        /* by granted_ns */
  size_t grant_count;
  struct ask *asks;            /* by invoked_ns */
  size_t ask_count;
  struct fault_window *faults;
  size_t fault_count;
  struct stalls *stalls;       /* history_stalls.c's own */
  struct calls *calls;         /* history_derive.c's own */
  char flaw[256];              /* "" or why the files are not a whole history */
};

/* Of records in memory, in any order. `flaw` is set for unknown values and outcomes without
 * an ask. */
struct history *history_of(const struct record *records, size_t count,
                           const struct run_lock *locks, size_t lock_count);
struct history *history_free(struct history *h);

/* Nanoseconds of [from, to] during which `worker` (or RUNNER) was stopped or did not get to
 * run. */
int64_t history_stalled_ns(const struct history *h, uint16_t worker, int64_t from, int64_t to);
/* The grant of this record's call and lock; NULL: none. */
const struct grant *history_grant_of(const struct history *h, const struct record *r);
/* When the last record of this life of a worker was written; 0: it has none. */
int64_t history_last_ns(const struct history *h, uint16_t worker, uint16_t life);
/* Whether a fault that concerns `worker` (any, for EVERYBODY) overlaps [from, to]. */
bool history_is_faulty(const struct history *h, uint16_t worker, int64_t from, int64_t to);
/* Grants that were believed while some fault was on: the weight of a run. */
size_t history_grants_in_faults(const struct history *h);

/* One record as a line for people, without the line feed: "   12.345678 w03 LOCK ok ..." */
const char *history_line(const struct history *h, size_t index, char *buffer, size_t size);

#endif
