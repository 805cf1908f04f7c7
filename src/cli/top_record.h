/* SPDX-License-Identifier: MIT */
/* cli/top_record.h - readings of dibs top in a file, a JSON object a line; and back. */
#ifndef CLI_TOP_RECORD_H
#define CLI_TOP_RECORD_H

#include "watch/top.h"

/* ---- top_record.c ---- */

/* What is written of a reading. */
typedef struct top_record {
  const char *path;          /* NULL: nothing */
  int fd;
  enum watch_order order;
  bool shows_free;
  size_t limit;              /* names of a reading */
} top_record;

/* Appends to `path`; may wait for the reader of a pipe. 0, or an exit code after saying why. */
int top_record_open(top_record *t);
void top_record_close(top_record *t);

/* 0, or errno; of a line that did not fit, nothing stays in a file. */
int top_record_write(const top_record *t, const top_reading *r);

/* ---- top_replay.c ---- */

typedef struct top_replay top_replay;

/* 0, or an exit code after saying why. A last line without an end is not counted. */
int top_replay_open(const char *path, top_replay **ret_replay);
top_replay *top_replay_close(top_replay *t);
size_t top_replay_count(const top_replay *t);      /* of readings, 1 or more */

/* Reads number `number`, from 0. Frees what was in `reading`. false: `ret_why` says why that line
 * is damaged, and `reading` is as it was. */
bool top_replay_read(const top_replay *t, size_t number, top_reading *reading, char ret_why[200]);

#define TOP_TIME_SIZE 24
#define TOP_TIME_WORDS "HH:MM, HH:MM:SS or YYYY-MM-DD HH:MM"       /* for messages */
#define TOP_LATE_WORDS "the recording ends before %s: this is its last reading"

/* Writes a time that a person gave as readings have it, with an hour of two digits and a blank
 * after the day: "18:04", "18:04:30", "2026-11-25", and that before one of the others. false: it
 * is no time. */
bool top_time_read(const char *text, char ret_when[TOP_TIME_SIZE]);

/* The first reading from `when` on, a text of top_time_read(); without a day that of reading
 * `near`. By local time, as readings show it. false: there is none, and it is the last one. */
bool top_replay_find(const top_replay *t, const char *when, size_t near, size_t *ret_number);

/* ---- top_json_read.c ---- */

/* false: `ret_why` says what is wrong, and nothing was written to `ret_reading`. */
bool top_json_read(const char *line, size_t size, top_reading *ret_reading, char ret_why[200]);

#endif
