/* SPDX-License-Identifier: MIT */
/* watch/top.h - what dibs top shows: a reading of the servers as cells of a screen or table.
 *
 * Pure: readings, the time and the size come in; cells go out, whose text is printable UTF-8. */
#ifndef WATCH_TOP_H
#define WATCH_TOP_H

#include "watch/watch.h"

/* The servers at one moment. */
typedef struct top_reading {
  int64_t at_ms;                     /* as `seen_ms` of the rows */
  char when[32];                     /* the same for people */
  char url[256];                     /* without passwords */
  bool is_up;
  char error[512];                   /* "": none. Rows are of the last reading without an error */
  uint64_t round_trip_us;
  watch_table table;
  watch_sums sums;                   /* also of rows that a recording left out; at `at_ms` */
  bool has_fleet;                    /* the totals were read */
  uint64_t clients;
  watch_class *classes;
  size_t class_count;
  void (*class_of)(const char *name, size_t size, char ret_name[WATCH_CLASS_SIZE]);
} top_reading;

void top_reading_free(top_reading *r);

/* The class of a row's name; NULL: no client reported it. */
const watch_class *top_class(const top_reading *r, const watch_row *row);

/* Of all classes, per minute; below zero: not known. */
double top_lost(const top_reading *r);

/* What a colour means. */
enum top_style {
  TOP_PLAIN,
  TOP_FAINT,                 /* free, and what is not known */
  TOP_HEAD,                  /* titles */
  TOP_WARN,                  /* waited for 5 s; less than a third of the lease is left */
  TOP_ALARM                  /* waited for 30 s; less than a tenth is left; lost; no answer */
};

typedef struct top_cell {
  size_t line, column, width;        /* `text` has at most `width` characters */
  enum top_style style;
  const char *text;
  size_t size;
} top_cell;

/* Called for each cell, from left to right in each line. */
typedef void (*top_put)(const top_cell *cell, void *data);

/* Draws titles and rows from `line` on; `columns` 0: as wide as the texts are. What does not fit
 * is cut: first names and holders, then whole columns. */
typedef struct top_table {
  const top_reading *reading;
  const watch_row *const *rows;
  size_t count;
  int64_t now_ms;
  size_t line, columns;
} top_table;

void top_table_draw(const top_table *t, top_put put, void *data);

#endif
