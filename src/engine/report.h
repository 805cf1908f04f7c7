/* SPDX-License-Identifier: MIT */
/* engine/report.h - reports to the program about connections and waits. */
#ifndef ENGINE_REPORT_H
#define ENGINE_REPORT_H

#include "engine/engine.h"

typedef struct server server;

/* The state of a link, and the state reported to the program: report.c. */
typedef enum link_seen { SEEN_NOTHING, SEEN_UP, SEEN_DOWN } link_seen;
typedef struct link_report {
  link_seen is, reported;
  instant reported_at;
  span gap;                 /* to the next report */
  char words[256];          /* the fault */
} link_report;

/* What a server has answered, in rising order of what that proves: a server that refuses to grant
 * locks, as one without its replicas, answers reads. */
typedef enum answered_kind {
  ANSWERED_ONE,             /* a request with a key */
  ANSWERED_REFUSED,         /* one that a server had refused before */
  ANSWERED_LOCK             /* a request for a lock */
} answered_kind;

typedef struct stuck_report {
  bool is_on, was_warned;
  bool is_obstructed;       /* a request waits now */
  answered_kind needs;      /* the least that shows that what waited last could go on now */
  instant since, warn_at, clear_since;
  span pause;
} stuck_report;

void report_connected(engine *e, server *s, instant now);
/* Waiters of `s` poll since a while. */
void report_polling(engine *e, const server *s, instant now);
/* The same of observations: a channel is refused. */
void report_channel_refused(engine *e, server *s, const char *why);
void report_disconnected(engine *e, server *s, const char *words, instant now);
void report_search(engine *e, bool was_found, const char *words, instant now);
/* `s` has answered a request, and not refused it. */
void report_answered(engine *e, const server *s, answered_kind what);
void report_advance(engine *e, instant now);
instant report_deadline(const engine *e);

#endif
