/* SPDX-License-Identifier: MIT */
/* fleet - what one client did: counts by class of names, and entries for the history until they are
 * reported; the requests that add both to the totals of all clients, and what is read back;
 * metrics as text. doc/design/protocol.md 22.
 *
 * Pure. May include dialect/, script/, request/, resp/, base/. engine/fleet_link.c decides when a
 * report is sent, api/ notes what happens to claims.
 *
 * Invariants: what was reported once is not reported again, unless the server refused it; no
 * function fails: without memory something is not counted, and nothing else happens. */
#ifndef FLEET_H
#define FLEET_H

#include <dibs/fleet.h>
#include <dibs/metrics.h>

#include "dialect/native.h"
#include "fleet/class.h"
#include "fleet/metrics_text.h"

#define FLEET_ENTRIES_MAX 500    /* of the history, in one report */
#define FLEET_KINDS 3
#define FLEET_SERIES (DIBS_FLEET_WAITS + DIBS_FLEET_ENDS)
#define FLEET_KEEP_MS 180000     /* how long the server knows the number of a report */

typedef enum fleet_history { HISTORY_NOTABLE = 1, HISTORY_ALL, HISTORY_OFF } fleet_history;

typedef struct fleet fleet;
typedef struct fleet_class fleet_class;

typedef struct fleet_settings {
  memory memory;
  const protocol *names;           /* outlives it */
  const char *host, *program, *note;
  int64_t pid;
  span every;                      /* of reports; 0: only this client counts */
  fleet_history history;
  uint64_t history_max;
  span history_over;               /* waited or held longer: notable */
  const char *classes;             /* patterns; outlives it; NULL: none */
} fleet_settings;

/* What a claim has to remember, also where it is not counted. All zero: not noted. */
typedef struct fleet_note {
  fleet_class *of;                 /* NULL: not counted: no memory */
  dibs_kind kind;
  dibs_mode mode;
  instant began, granted;
  int64_t ttl_ms;
  bool is_open;                    /* waits or, `is_granted`, is held */
  bool is_granted;
} fleet_note;

fleet *fleet_new(const fleet_settings *settings, instant now);   /* NULL: no memory */
fleet *fleet_free(fleet *f);

/* ---- tally.c: what happens ---- */

/* `n->kind`, `mode` and `ttl_ms` are set. */
void fleet_began(fleet *f, fleet_note *n, const char *name, size_t size, instant now);
void fleet_granted(fleet *f, fleet_note *n, instant now);
void fleet_refused(fleet *f, fleet_note *n, dibs_fleet_wait how, instant now);
/* A hold that ended is held again, by its claim that was parked. */
void fleet_retaken(fleet *f, fleet_note *n, instant now);
/* Only the first end counts: a lost hold is released later. */
void fleet_ended(fleet *f, fleet_note *n, dibs_fleet_end how, instant now);

/* From a command to its reply. */
void fleet_round_trip(fleet *f, span lasted);

/* An entry of the history for one name of a claim, if `history` wants it: fleet_tells(). Before the
 * functions above end the note. `end` is one of fleet_wait_words or fleet_end_words. */
bool fleet_tells(const fleet *f, const fleet_note *n, const char *end, instant now);
void fleet_tell(fleet *f, const fleet_note *n, const char *end, const char *name, size_t size,
                uint64_t fence, instant now);

/* ---- report.c ---- */

/* When a report should be begun; INSTANT_NEVER: nothing to say. */
instant fleet_due(const fleet *f);
/* Takes all that was noted. `is_last`: the client is being closed. false: there was nothing. */
bool fleet_report_begin(fleet *f, bool is_last, instant now);
/* The number of its requests: 1; in Cluster one for each slot. */
size_t fleet_report_parts(const fleet *f);
/* Writes request `part`; may be repeated. false: no memory. */
bool fleet_report_write(const fleet *f, size_t part, instant now, request *out);
/* Part `part` is over. Not `is_recorded`: what it had is reported by the next report. */
void fleet_report_done(fleet *f, size_t part, bool is_recorded);
/* After all parts. */
void fleet_report_end(fleet *f, instant now);
/* The server's reply to a part: false: another form. `ret_fault`: "", or what it skipped. */
bool fleet_report_answer(const resp_reply *r, const char **ret_fault);

/* ---- keys ---- */

void fleet_key_totals(const protocol *n, const char *class_name, text *out);
void fleet_key_classes(const protocol *n, text *out);
void fleet_key_clients(const protocol *n, text *out);
void fleet_key_history(const protocol *n, text *out);

/* ---- read.c ---- */

typedef struct fleet_reading {
  memory memory;
  dibs_fleet fleet;
  dibs_fleet_row *rows;
  const dibs_fleet_row **shown;   /* of fleet_read_show(): each of the rows, in order */
  size_t room;
} fleet_reading;

/* Adds the fields of one totals key: each number is at least that of the reply. false: memory. */
bool fleet_read_totals(fleet_reading *r, const char *class_name, size_t size,
                       const resp_reply *reply);
/* Adds what this client itself counted since it was opened, reported or not. false: memory. */
bool fleet_read_own(const fleet *f, fleet_reading *r);
void fleet_read_round_trips(const fleet *f, dibs_fleet_times *ret_times);
/* Adds the gauges of one client. */
bool fleet_read_gauges(fleet_reading *r, const resp_node *gauges);
/* Sorts the rows, and makes what a program gets of them. false: memory. */
bool fleet_read_show(fleet_reading *r);
void fleet_reading_deinit(fleet_reading *r);

#endif
