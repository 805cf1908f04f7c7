/* SPDX-License-Identifier: MIT */
/* bench/bench.h - what the programs in here share: time, medians, the table of results,
 * CPU of processes, a server.
 *
 * Options of each program: --json (the rows as JSON instead of a table), --smoke (as short
 * as can be: only shows that the program works), --rounds N. */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <dibs/dibs.h>

#include "server.h"

/* Ends the program with its name and a reason. */
void bench_die(const char *format, ...)
  __attribute__((format(printf, 1, 2), noreturn));
/* Ends the program unless `status` is DIBS_OK. */
void bench_ok(dibs_status status, const char *what);

/* ---- options ---- */

typedef struct bench_options {
  bool as_json, is_smoke;
  int rounds;                /* 0: the program's own choice */
} bench_options;

extern bench_options bench;

/* Options that are none of the three above stay in argv; returns how many words do. */
int bench_begin(int argc, char **argv);
int bench_rounds(int usual);               /* odd, so that a median is a measured one */
double bench_seconds(double usual);        /* how long one measurement lasts */

/* ---- time and numbers ---- */

double bench_now(void);                    /* seconds, CLOCK_MONOTONIC */
double bench_median(const double *values, size_t count);
/* `share` 0.5: the median, 0.99: one of a hundred is longer. Sorts in place. */
double bench_quantile(double *values, size_t count, double share);

/* CPU seconds of a process, all its threads, by the scheduler's own count in ns where
 * there is one, else utime + stime. */
double bench_cpu_of(pid_t pid);
double bench_rss_bytes(void);              /* of this process */

/* ---- results ---- */

typedef struct bench_row {
  const char *figure;        /* what was measured */
  double value;
  const char *unit;
  double ratio;              /* to `against`, measured in the same run; 0: none */
  const char *against;       /* NULL: none */
  double target;             /* of the ratio, or of the value where there is no ratio; 0: none */
  bool at_least;             /* the target is a lower bound */
} bench_row;

/* Copies nothing: texts must live on. A comment line for people goes with bench_note(). */
void bench_add(const bench_row *row);
void bench_note(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A text that lives on. */
const char *bench_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
void bench_print(const char *program);

/* ---- the library, the server ---- */

dibs_client *bench_open(const char *url, uint32_t flags);
/* Sleeps until `client`, opened with DIBS_CLIENT_NO_THREAD, has something to do; does it. */
void bench_wait(dibs_client *client);
uint64_t bench_info(const struct test_server *s, const char *section, const char *field);
/* Calls of one command since the last CONFIG RESETSTAT. */
uint64_t bench_calls(const struct test_server *s, const char *command);

#endif
