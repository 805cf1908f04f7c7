/* SPDX-License-Identifier: MIT */
/* test/oracle/oracle.h - the checks C1 to C13 of a history: each a function that adds
 * what it found, and nothing else. None guesses: what the samples do not show is no finding.
 * Each has histories in checker_*_test.c that must pass and ones that must fail. */
#ifndef ORACLE_H
#define ORACLE_H

#include "oracle/history.h"

enum check {
  CHECK_EXCLUSION = 1,   /* C1: two owners believed in one lock at one instant */
  CHECK_WITNESS,         /* C2: the shared page showed it to the workers themselves */
  CHECK_FENCE,           /* C3: asked after the answer of another, and not a higher fence */
  CHECK_STORE,           /* C4: the store's log takes a write of an older grant */
  CHECK_PERMITS,         /* C5: more permits believed than there are */
  CHECK_READERS,         /* C6: a writer beside anybody; readers who passed a waiting writer */
  CHECK_ORDER,           /* C7: served before one who was seen in the queue earlier */
  CHECK_WAKE,            /* C8: free, and a waiter sleeps on */
  CHECK_LINEAR,          /* C9: no order of effects explains the answers */
  CHECK_LEAKS,           /* C10: descriptors, threads, memory of workers (keys: world.h) */
  CHECK_SELF_FENCE,      /* C11: believed, or not told, after nobody could have renewed it */
  CHECK_BOUNDED,         /* C12: a call came back late */
  CHECK_VACUITY,         /* C13: a marker was not reached as often as demanded */
  CHECK_WHOLE,           /* the history itself: gaps, outcomes without asks */
  CHECK_LAST = CHECK_WHOLE
};

#define CHECK_BIT(check) (1U << (check))
enum { CHECK_ALL = (1 << (CHECK_LAST + 1)) - 2 };

/* What a scenario asks of its history. Zero is right for nearly all; saved in run.txt. */
struct expectations {
  uint32_t without;       /* CHECK_BIT()s that make no sense here; say why beside it */
  /* A negative test: the topology cannot exclude here. C1 must find at least one overlap, and
   * C2, C5, C6, C9 may; fences and the store must hold all the same. */
  bool expects_overlap;
  bool allows_overlap;    /* overlaps may or may not come (data lost, leases broken) */
  bool allows_idle_busy;  /* a try may be told busy though nobody holds: a quarantine, or
                             tries of a quorum that hinder each other */
  bool orders_beliefs;       /* C3: one server issues fences with leases, so those of asks that
                                cross are in the order of the leases, too */
  bool allows_shared_reads;  /* readers who ask at the same time may have the same fence */
  bool has_two_issuers;      /* two servers grant a name at one time: clients whose asks cross
                                may have one fence, if both granted in the same microsecond */
  bool allows_fence_reuse;   /* the server lost its data *and* its clock */
  int wake_ms_max;        /* C8; 0: 1050, the poll of 1 s and 50 ms */
  int wake_ms_p99;        /* C8; 0: not asked; 5 where messages surely arrive */
  int late_ms_max;        /* C12, C11: slack beyond measured stalls; 0: 50 */
  int rss_kib_max;        /* C10; 0: 4096 a worker beyond its warm size */
  int fds_more;           /* C10; 0: 4 descriptors beyond the warm number. Two for each server that
                                may have been down when that was counted */
};

struct finding {
  enum check check;
  char text[240];         /* what is wrong, one sentence */
  size_t lines[8];        /* the records that show it */
  size_t line_count;
};

enum { FINDINGS_KEPT = 32 };

struct findings {
  struct finding kept[FINDINGS_KEPT];
  size_t counts[CHECK_LAST + 1];    /* all of them, kept or not */
  size_t examined[CHECK_LAST + 1];  /* how much each looked at: 0 says nothing was proven */
  char notes[CHECK_LAST + 1][96];   /* "p50 0.3 ms, p99 1.2 ms, max 9 ms": for reports */
  size_t count;
  int64_t overlap_ns;     /* the longest of C1 */
  bool has_broken;        /* one that was not expected, and is no mere lateness: check_all() */
};

/* Adds one; `lines`: record indices, SIZE_MAX entries are left out. */
void findings_add(struct findings *f, enum check check, const size_t *lines, size_t line_count,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Whether a busy machine may be the reason for a finding: what came late or never (C8, C12, C13),
 * and a history that is not whole. Any other is a broken promise: test/lib/promise.h. */
bool check_is_of_time(enum check check);
const char *check_name(enum check check);       /* "C1 exclusion" */
const char *check_promise(enum check check);    /* "S1": doc/design/invariants.md */
/* Of this check; NULL: none. */
const struct finding *findings_first(const struct findings *f, enum check check);
/* When it was so at the latest: the last grant that shows it. */
int64_t finding_at_ns(const struct finding *one, const struct history *h);

/* Runs all but those left out. Whether the history is as expected: no finding, apart from
 * overlaps where they are expected or allowed; and at least one where they are expected. */
bool check_all(const struct history *h, const struct expectations *e, struct findings *f);

/* What a server says of a read/write lock or a semaphore, `units` and `writers` those of its
 * holders. S1', S4: false, and why in `ret_why`, when it does not agree with itself. */
struct shared_state { uint64_t used, limit, units; size_t holders, writers; };
bool shared_state_agrees(const struct shared_state *s, char ret_why[80]);

/* Each kept finding with its records and what the workers concerned wrote around them; and a
 * table of the checks. Lines begin with `prefix` ("# " in TAP). */
void findings_print(const struct findings *f, const struct history *h, const char *prefix);
void findings_table(const struct findings *f, const struct history *h, const char *prefix);

#endif
