/* SPDX-License-Identifier: MIT */
/* quorum/multi_record.h - internal: one claim on sets of several slots, and its parts. */
#ifndef QUORUM_MULTI_RECORD_H
#define QUORUM_MULTI_RECORD_H

#include "hold/claim.h"
#include "quorum/multi.h"

/* Of a server that may answer: it must not be DIBS_ERR_UNREACHABLE, for which degrade=local takes
 * a lock of this machine. */
#define LOST_EARLY "the lease of one name ended before all names were acquired"

typedef enum part_state {
  PART_NONE = 0, PART_ASKED, PART_HELD, PART_RAISING, PART_LEAVING
} part_state;

typedef struct multi_record multi_record;

typedef struct multi_part {
  multi_record *record;
  uint64_t id;                /* of its claim in the front of the parts */
  part_state state;
  size_t first, count;        /* names */
  uint64_t token;
  instant valid_until;
  bool is_suspect, ends_soon;
} multi_part;

typedef enum multi_state { MULTI_TAKING = 1, MULTI_RAISING, MULTI_HELD, MULTI_LEAVING } multi_state;

enum { TIMER_LEAVE = HOLD_TIMER_CLAIM + 1 };

struct multi_record {
  multi_record *prev, *next;
  multi *multi;
  acquisition claims;         /* one claim, which waits, holds or has lost it; or none any more */
  multi_state state;
  size_t part_count, taking;
  multi_part *parts;
  many_name *names; size_t name_count;
  char *bytes;
  dibs_status status;         /* how it was released */
  char words[128];
  uint64_t token;
  timer leave;                /* LEAVING: lost by its deadline, and the parts are held until that */
};

struct multi {
  hold_backend backend;       /* the first member */
  memory memory;
  timers timers;
  const lock_table *table;    /* of the parts */
  hold_front *parts;
  bool by_name;
  multi_record *first;
  size_t count;
};

/* ---- multi_parts.c ---- */

/* Asks for the next part, as `base` asks for all. */
dibs_status multi_take_next(multi_record *w, const lock_spec *base, instant now);
/* Releases or cancels the parts from `first` on. */
void multi_leave(multi_record *w, size_t first, instant now);
void multi_fail(multi_record *w, dibs_status status, const char *words, instant now);
instant multi_valid_until(const multi_record *w);    /* the first end of all parts */

/* ---- multi.c ---- */

void multi_forget_if_over(multi_record *w);

#endif
