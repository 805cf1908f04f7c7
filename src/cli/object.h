/* SPDX-License-Identifier: MIT */
/* cli/object.h - names that are no locks: what dibs status, dibs who and the verb ls show of them.
 *
 * A row of OBJECTS is NAME_object in the file of the subcommand. dibs who asks in this order. */
#ifndef CLI_OBJECT_H
#define CLI_OBJECT_H

#include <jansson.h>

#include "cli/session.h"

#define OBJECTS(ROW) \
  ROW(barrier, BARRIER) \
  ROW(latch, LATCH)

/* What --kind of dibs status names. */
enum kind_filter {
  KIND_ANY, KIND_LOCK, KIND_RW, KIND_SEMAPHORE, KIND_ELECTION,
#define OBJECT_KIND(name, WORD) KIND_##WORD,
  OBJECTS(OBJECT_KIND)
};

/* One name, as a row of dibs status. */
typedef struct object_view {
  bool is_in_use;               /* the exit code of dibs who */
  bool is_trace;                /* it was in use: not shown by dibs who */
  size_t waiting;
  char state[40], waiting_text[60];
  char more[110];               /* after the state, for dibs who */
  json_t *json;                 /* with --json only; owned by the caller */
} object_view;

typedef struct object_row {
  const char *word;
  enum kind_filter kind;
  dibs_family family;
  bool has_waiters;             /* dibs status --waiting may show it */
  /* false: there is none of this name, or it cannot be read. */
  bool (*look)(const session *s, const char *name, object_view *ret_view);
} object_row;

/* All of them; NULL at the end (status.c). */
extern const object_row *const objects[];

#endif
