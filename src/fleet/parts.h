/* SPDX-License-Identifier: MIT */
/* fleet/parts.h - the records of fleet/; internal to it. */
#ifndef FLEET_PARTS_H
#define FLEET_PARTS_H

#include "fleet/fleet.h"

typedef struct series {
  uint64_t sum_us;
  uint64_t buckets[DIBS_FLEET_BUCKETS];
} series;

/* Durations that were not reported yet, are in a report, and were reported: together all that this
 * client counted. */
typedef struct fleet_row {
  uint64_t holding, waiting;
  series noted[FLEET_SERIES], sent[FLEET_SERIES], past[FLEET_SERIES];
} fleet_row;

struct fleet_class {
  char name[FLEET_CLASS_SIZE];
  bool is_changed, is_sent;          /* since the last report; in the present one */
  fleet_row *rows[FLEET_KINDS];      /* NULL: nothing of this kind */
};

typedef struct fleet_entry {
  struct fleet_entry *next;
  uint64_t number;
  instant at;
  const fleet_class *of;
  dibs_kind kind;
  dibs_mode mode;
  const char *end;
  int64_t ttl_ms, waited_us, held_us;
  uint64_t fence;
  size_t size;
  char name[];
} fleet_entry;

typedef struct entry_list {
  fleet_entry *first, **end;
  size_t count;
} entry_list;

#define RECENT_NAME_MAX 64

/* The class of the name that was asked last: programs take few names in turn. */
typedef struct recent_class {
  fleet_class *of;                   /* NULL: none */
  size_t size;
  char name[RECENT_NAME_MAX];
} recent_class;

struct fleet {
  fleet_settings settings;
  recent_class recent;
  char pid[24];
  fleet_class *classes[FLEET_CLASSES_MAX + 1];
  size_t class_count;
  size_t free_count;                 /* of the classes of names that fit no pattern */
  entry_list noted, sent;
  series round_trips;                /* of this client only: not reported */
  uint64_t entries;                  /* numbers of entries */
  uint64_t number;                   /* of the last report */
  bool is_changed, gauges_changed;   /* since the last report began */
  bool is_last;
  uint64_t live;                     /* claims that wait or hold now */
  instant noted_at;                  /* the first change since then */
  instant ended_at;                  /* the last report */
  bool has_reported;
};

extern const char fleet_kind_letters[FLEET_KINDS + 1];

void series_count(series *s, span lasted);
void entries_free(const memory *m, entry_list *l);

#endif
