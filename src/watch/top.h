/* SPDX-License-Identifier: MIT */
/* watch/top.h - what dibs top shows: a reading of the servers as cells of a screen or table.
 *
 * Pure: readings, keys, the time and the size come in; cells of printable UTF-8 go out. */
#ifndef WATCH_TOP_H
#define WATCH_TOP_H

#include "watch/watch.h"

/* The servers at one moment. */
typedef struct top_reading {
  int64_t at_ms;                     /* as `seen_ms` of the rows */
  int64_t good_ms;                   /* of the last one without an error; 0: none yet */
  char when[32];                     /* the same for people */
  char url[256];                     /* without passwords */
  bool is_up;
  char error[512];                   /* "": none. Rows are of the last reading without an error */
  uint64_t round_trip_us;
  uint32_t servers, servers_down;    /* 0 servers: not known, as in recordings before 0.6 */
  char server_down[128];             /* one of them */
  watch_table table;
  watch_sums sums;                   /* also of rows that a recording left out; at `at_ms` */
  bool has_fleet;                    /* the totals were read */
  uint64_t clients;
  watch_class *classes;
  size_t class_count;
  char *patterns;                    /* of classes, of the client that read; NULL: none */
  bool (*class_of)(const char *patterns, const char *name, size_t size,
                   char ret_name[WATCH_CLASS_SIZE]);
} top_reading;

void top_reading_free(top_reading *r);

/* The class of a row's name; NULL: no client reported it. */
const watch_class *top_class(const top_reading *r, const watch_row *row);

/* Of all classes, per minute; below zero: not known. */
double top_lost(const top_reading *r);

/* "3 servers ok", "2 of 3 servers ok, not redis://b:6379": "" where it is not known. */
void top_servers(const top_reading *r, watch_text *out);

/* What a colour means. */
enum top_style {
  TOP_PLAIN,
  TOP_FAINT,                 /* free, and what is not known */
  TOP_HEAD,                  /* titles */
  TOP_WARN,                  /* waited for 5 s; less than a third of the lease is left */
  TOP_ALARM                  /* waited for 30 s; less than a tenth is left; lost; no reading */
};

/* Of a wait. */
enum top_style top_wait_style(int64_t ms);

typedef struct top_cell {
  size_t line, column, width;        /* `text` takes at most `width` cells */
  enum top_style style;
  bool is_chosen;                    /* of the chosen row; a cell without text fills its line */
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
  size_t chosen;                     /* a row; TOP_NONE */
  watch_cells *cells;
} top_table;

#define TOP_NONE ((size_t)-1)

void top_table_draw(const top_table *t, top_put put, void *data);

/* ---- top_keys.c, top_screen.c ---- */

/* Keys: a character, or one of these. */
enum top_key {
  TOP_KEY_UP = 0x110000, TOP_KEY_DOWN, TOP_KEY_PAGE_UP, TOP_KEY_PAGE_DOWN, TOP_KEY_HOME,
  TOP_KEY_END, TOP_KEY_LEFT, TOP_KEY_RIGHT, TOP_KEY_ENTER, TOP_KEY_ESCAPE, TOP_KEY_ERASE
};

/* What the caller does after a key. */
enum top_wish {
  TOP_GOES_ON,
  TOP_LOOKS,                 /* reads about the chosen name, for the next drawing */
  TOP_BREAKS,                /* breaks the chosen name of its holder; it was confirmed */
  TOP_STEPS,                 /* of a recording: `step` readings on */
  TOP_SEEKS,                 /* of a recording: to the time in `typed` */
  TOP_ENDS
};

enum top_view { TOP_NAMES, TOP_ONE_NAME, TOP_HELP };
enum top_input { TOP_KEYS, TOP_FILTER, TOP_CONFIRM, TOP_TIME };

#define TOP_TYPED_SIZE 80

/* All zero is the begin, but for the order and `cells`. */
typedef struct top_screen {
  watch_cells *cells;
  enum watch_order order;
  bool shows_free;
  enum top_view view;
  enum top_input input;
  int64_t paused_ms;         /* the time that is shown; 0: now */
  char filter[TOP_TYPED_SIZE], typed[TOP_TYPED_SIZE];
  char chosen[DIBS_NAME_MAX + 1];   /* "": none; as last drawn */
  size_t chosen_size;
  uint64_t chosen_fence;     /* of its holder, as last drawn; 0: it has none, or several */
  size_t place, first;       /* of the chosen row, of the first row that is shown */
  bool is_moved;             /* `place` is new, else `chosen` counts */
  size_t page;               /* rows of a page, as last drawn */
  size_t recorded, number;   /* readings of the recording, 0: live; the one that is shown, from 0 */
  int step;
  char message[300];
  int64_t message_ms;        /* when it is over */
} top_screen;

enum top_wish top_screen_key(top_screen *s, int key, int64_t now_ms);

/* A message for ten seconds, printable or not. */
void top_screen_say(top_screen *s, const char *text, int64_t now_ms);

/* `about`: what is known of the chosen name, lines of printable text; NULL: nothing yet. */
void top_screen_draw(top_screen *s, const top_reading *r, const char *about, int64_t now_ms,
                     size_t lines, size_t columns, top_put put, void *data);

#endif
