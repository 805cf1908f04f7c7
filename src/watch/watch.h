/* SPDX-License-Identifier: MIT */
/* watch - what the screens and the exporter show: a table of live names, and text made from it;
 * top.h has the screen of dibs top.
 *
 * Owns the latest inspection of each name. Pure: names, inspections and the time are arguments;
 * the caller asks the servers. Many names cost the servers little: the table says which few
 * names to inspect next, first those with waiters, then those inspected the longest ago. Ages
 * count on between two inspections.
 * Thread: the caller's; one at a time. */
#ifndef WATCH_H
#define WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/doctor.h>
#include <dibs/fleet.h>
#include <dibs/lock.h>

/* One name. Durations are as of `seen_ms`; the functions below give them for now. */
typedef struct watch_row {
  char *name;                /* ends with a zero; any bytes */
  size_t size;
  uint64_t walk;             /* the walk that found it last */
  bool is_seen;              /* inspected at least once */
  int64_t seen_ms;
  dibs_kind kind;
  bool is_held;
  dibs_mode mode;            /* of the first holder */
  uint32_t used, limit;
  size_t holders;
  size_t waiters;
  int64_t held_ms, left_ms, ttl_ms, oldest_ms;
  uint64_t fence;
  char host[65], program[65];
  int64_t pid;
} watch_row;

typedef struct watch_table {
  watch_row *rows;           /* by name, after a walk */
  size_t count, capacity, sorted;
  uint64_t walk;
  size_t next;               /* where the round over all rows continues */
} watch_table;

void watch_free(watch_table *t);

/* false: no memory, and `to` is as it was. */
bool watch_copy(const watch_table *from, watch_table *to);

/* A walk over all names: begin, each name (also twice), end. Names that it did not find are
 * removed. false: memory is refused, and the table is as it was before. */
void watch_walk_begin(watch_table *t);
bool watch_walk_name(watch_table *t, const char *name, size_t size);
void watch_walk_end(watch_table *t);

/* Which rows to inspect next, at most `most`: the index of each. Returns how many. */
size_t watch_plan(watch_table *t, size_t most, size_t *ret_rows);

/* The answer for a row. NULL: the name is no lock. */
void watch_inspected(watch_row *r, const dibs_inspection *i, int64_t now_ms);

int64_t watch_held_ms(const watch_row *r, int64_t now_ms);     /* 0: free */
int64_t watch_left_ms(const watch_row *r, int64_t now_ms);     /* of the lease, 0 or more */
int64_t watch_oldest_ms(const watch_row *r, int64_t now_ms);   /* 0: no waiters */

/* What is counted over all rows. */
typedef struct watch_sums {
  size_t names, held, waiting, not_seen;
  int64_t oldest_ms;
} watch_sums;

watch_sums watch_sum(const watch_table *t, int64_t now_ms);

enum watch_order { WATCH_BY_WAIT, WATCH_BY_NAME, WATCH_BY_HELD, WATCH_BY_LEASE };

/* As options, the screen and the page name them. */
#define WATCH_ORDERS(ROW) \
  ROW(WATCH_BY_NAME, name) ROW(WATCH_BY_HELD, held) ROW(WATCH_BY_WAIT, wait) \
  ROW(WATCH_BY_LEASE, lease)
#define WATCH_ORDER_COUNT 4
#define WATCH_ORDER_WORDS "name, held, wait or lease"     /* for messages and help */

extern const char *const watch_order_words[WATCH_ORDER_COUNT];

/* The held or waited-for rows whose name contains `filter` ("" all), in order; `all` also free
 * ones. `ret_rows` has room for t->count. Returns how many. */
size_t watch_select(const watch_table *t, enum watch_order order, const char *filter, bool all,
                    int64_t now_ms, const watch_row **ret_rows);

/* ---- text.c ---- */

/* Text that grows; `has_no_memory` sticks. */
typedef struct watch_text {
  char *bytes;
  size_t used, size;
  bool has_no_memory;
} watch_text;

void watch_add(watch_text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void watch_add_bytes(watch_text *t, const char *bytes, size_t size);
void watch_text_free(watch_text *t);

/* The length of the UTF-8 character at `text`, of which at least one byte is left; 0: none, or a
 * control, a direction mark or one without width, with which two names would look the same. */
size_t watch_character(const char *text, size_t left);

/* The cells of a terminal that the UTF-8 character of `size` bytes takes: what libc knows of it
 * needs a locale, so the caller has this function. NULL: one each. */
typedef size_t watch_cells(const char *character, size_t size);

/* The cells of a text, and the bytes at its begin that take at most `most` cells. */
size_t watch_width(const char *text, size_t size, watch_cells *cells);
size_t watch_cut(const char *text, size_t size, size_t most, watch_cells *cells);

/* `name` as printable UTF-8 for a label: controls, direction marks and bytes that are no UTF-8
 * become \xHH. */
void watch_add_safe(watch_text *t, const char *name, size_t size);

/* `name` as a pattern of fnmatch(3) that only this name fits. */
void watch_add_pattern(watch_text *t, const char *name, size_t size);

/* A time of any length in few characters: <0.1ms, 0.4ms, 27ms, 12.4s, 2:31, 1:02:03, 3d 04:05;
 * "-" below zero. */
void watch_add_time(watch_text *t, int64_t us);

/* ---- classes.c ---- */

#define WATCH_CLASS_SIZE 65

/* What the clients did with names of one class and kind between two readings of the totals. */
typedef struct watch_class {
  char name[WATCH_CLASS_SIZE];
  dibs_kind kind;
  uint64_t holding, waiting;
  bool has_rates;            /* else what follows is not known */
  double granted, failed;    /* per second */
  double lost;               /* per minute */
  int64_t wait_p50_us, wait_p99_us, hold_p99_us;   /* -1: there were none */
} watch_class;

/* The least time between two readings that gives rates: clients report every 10 s. */
#define WATCH_RATES_MS 10000

/* The rows of `after` against those of `before` (NULL: no rates). NULL: no memory, or no rows. */
watch_class *watch_classes(const dibs_fleet *before, const dibs_fleet *after, size_t *ret_count);

/* The upper bound of the bucket in which `share` of the durations are reached, in us; -1: there are
 * none. */
int64_t watch_quantile_us(const dibs_fleet_times *t, double share);

/* ---- metrics_text.c ---- */

typedef struct watch_finding {
  char check[32], node[128];
  int grade;                 /* dibs_finding_grade */
} watch_finding;

typedef struct watch_server {
  char node[128];
  dibs_server_numbers numbers;
} watch_server;

typedef struct watch_metrics {
  const watch_table *table;
  const dibs_fleet *fleet;   /* NULL: not read */
  const watch_finding *findings;
  size_t finding_count;
  const watch_server *servers;
  size_t server_count;
  int64_t now_ms;
  size_t names_max;          /* live names with series of their own */
  bool is_up;
  uint64_t round_trip_us;    /* 0: not measured */
  double seconds;            /* that the sample took */
} watch_metrics;

/* Writes Prometheus' text format 0.0.4. */
void watch_metrics_write(const watch_metrics *m, watch_text *out);

#endif
