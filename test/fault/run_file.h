/* SPDX-License-Identifier: MIT */
/* test/fault/run_file.h - run.txt: what the runner tells workers, and those who check later.
 *
 * Lines, in any order but markers, which are numbered as they come:
 *
 *   about ...               for people: scenario, seed, versions
 *   lock KIND LIMIT NAME
 *   marker NAME             demand NUMBER TIMES
 *   overlap GRANTS
 *   dialect NUMBER          enum dibs_dialect; 0: native
 *   expect WORD NUMBER      a field of struct expectations */
#ifndef RUN_FILE_H
#define RUN_FILE_H

#include "history.h"
#include "oracle/oracle.h"

#define FAULT_REGISTRY "faults"       /* where the dialect wants one */

/* Appends a line. Ends the process when it cannot. */
void run_write(const char *directory, const char *format, ...)
  __attribute__((format(printf, 2, 3)));
void run_write_expectations(const char *directory, const struct expectations *e);
/* Fills locks, markers and demands of `h`, and `ret_expects` (may be NULL). False: no file,
 * or a line that is not understood. */
bool run_read(const char *directory, struct history *h, struct expectations *ret_expects);

#endif
