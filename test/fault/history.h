/* SPDX-License-Identifier: MIT */
/* test/fault/history.h - histories in files.
 *
 * Every worker, and the runner, appends fixed-size records to a file of its own: a request
 * before it is made, an outcome before anybody acts on it. So a process killed at any instant
 * leaves everything it acted on. All times are CLOCK_BOOTTIME of one machine.
 *
 * A run is a directory: "run.txt" (run_file.h) and one "<worker>-<life>.history" for each
 * process; the runner and its inspectors write as worker RUNNER, with lives of their own. */
#ifndef FAULT_HISTORY_H
#define FAULT_HISTORY_H

#include "oracle/history.h"

/* ---- writing: one writer a file, any thread ---- */

struct recorder;

int64_t history_now_ns(void);
/* Appends to `directory`/<worker>-<life>.history. Ends the process when it cannot. */
struct recorder *recorder_open(const char *directory, uint16_t worker, uint16_t life);
struct recorder *recorder_close(struct recorder *r);
/* Fills worker, life, seq, and at_ns unless it is set already. On return it is written. */
void recorder_put(struct recorder *r, const struct record *record);

/* ---- reading ---- */

/* Loads and merges all files of a run. A file that ends within a record (a kill) is cut
 * there. `flaw` is set for gaps in seq, too. NULL: no such run. */
struct history *history_load(const char *directory);

#endif
