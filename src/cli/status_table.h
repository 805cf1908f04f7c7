/* SPDX-License-Identifier: MIT */
/* cli/status_table.h - the rows of dibs status, in order, as a table. */
#ifndef CLI_STATUS_TABLE_H
#define CLI_STATUS_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/inspect.h>

enum status_order { ORDER_NAME, ORDER_HELD, ORDER_WAIT, ORDER_LEASE };

typedef struct status_row {
  char name[DIBS_NAME_MAX + 1];
  const char *kind;
  char state[40], holder[200], waiting_text[60];
  bool is_held;
  int64_t held_ms, remaining_ms;
  uint64_t fence;    /* 0: none, or one for each of several holders */
  size_t waiting;
} status_row;

typedef struct status_table {
  status_row *rows;
  size_t count, capacity;
  bool has_no_memory;
} status_table;

/* Each adds a row: NULL when memory is refused. */
status_row *table_add(status_table *t, const dibs_inspection *i);
status_row *table_add_plain(status_table *t, const char *name, const char *kind);

/* Sorts, drops what came twice, and prints; an empty one not. Names and holders are cut, with
 * "...", to make lines of at most `columns`; 0: never. */
void table_print(status_table *t, enum status_order order, size_t columns);
void table_free(status_table *t);

#endif
