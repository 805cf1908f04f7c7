/* SPDX-License-Identifier: MIT */
/* cli/status_table.c - the rows of dibs status, in order, as a table. */
#include "cli/status_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/durations.h"
#include "cli/message.h"
#include "cli/show.h"

/* ---- rows ---- */

static status_row *new_row(status_table *list)
{
  if (list->count == list->capacity) {
    size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
    status_row *rows = reallocarray(list->rows, capacity, sizeof(*rows));

    list->has_no_memory = rows == NULL;
    if (rows == NULL)
      return NULL;
    list->rows = rows;
    list->capacity = capacity;
  }
  return &list->rows[list->count++];
}

/* Of several: host and pid of the first ones. */
static void fill_holders(status_row *row, const dibs_inspection *i)
{
  size_t count = show_holder_count(i), used = 0;

  for (size_t n = 0; n < count && n < 3; n++) {
    dibs_party party = *show_holder_at(i, n)->party;
    char shown[160];

    party.program[0] = '\0';
    show_party_short(&party, shown, sizeof(shown));
    used += (size_t)snprintf(row->holder + used, sizeof(row->holder) - used, "%s%.55s",
                             n == 0 ? "" : ", ", shown);
  }
  if (count > 3)
    snprintf(row->holder + used, sizeof(row->holder) - used, " +%zu", count - 3);
}

static void fill_row(status_row *row, const dibs_inspection *i)
{
  size_t count = show_holder_count(i);
  const dibs_holder *first = show_holder_at(i, 0);

  memset(row, 0, sizeof(*row));
  printable_bytes(i->name, i->name_size, row->name, sizeof(row->name));
  row->kind = show_kind(i->kind);
  show_state(i, row->state, sizeof(row->state));
  show_waiting(i, row->waiting_text, sizeof(row->waiting_text));
  row->is_held = count > 0;
  row->waiting = i->waiter_count;
  row->fence = count > 1 ? 0 : first == NULL ? i->fence : first->fence;
  snprintf(row->holder, sizeof(row->holder), "-");
  if (first == NULL)
    return;
  if (count == 1)
    show_party_short(first->party, row->holder, sizeof(row->holder));
  else
    fill_holders(row, i);
  row->held_ms = first->party->waited_ms;
  row->remaining_ms = first->remaining_ms;
  for (size_t n = 1; n < count; n++) {
    int64_t left = show_holder_at(i, n)->remaining_ms;

    row->remaining_ms = left < row->remaining_ms ? left : row->remaining_ms;
  }
}

status_row *table_add(status_table *t, const dibs_inspection *i)
{
  status_row *row = new_row(t);

  if (row != NULL)
    fill_row(row, i);
  return row;
}

/* A row without holder and waiters. */
status_row *table_add_plain(status_table *t, const char *name, const char *kind)
{
  status_row *row = new_row(t);

  if (row == NULL)
    return NULL;
  memset(row, 0, sizeof(*row));
  printable(name, row->name, sizeof(row->name));
  row->kind = kind;
  snprintf(row->holder, sizeof(row->holder), "-");
  snprintf(row->waiting_text, sizeof(row->waiting_text), "-");
  return row;
}

/* ---- order ---- */

static int compare_names(const void *a, const void *b)
{
  int order = strcmp(((const status_row *)a)->name, ((const status_row *)b)->name);

  return order != 0 ? order
                    : strcmp(((const status_row *)a)->kind, ((const status_row *)b)->kind);
}

static int compare_held(const void *a, const void *b)
{
  int64_t of_a = ((const status_row *)a)->held_ms,
          of_b = ((const status_row *)b)->held_ms;

  return of_a == of_b ? compare_names(a, b) : of_a < of_b ? 1 : -1;
}

static int compare_waiting(const void *a, const void *b)
{
  size_t of_a = ((const status_row *)a)->waiting, of_b = ((const status_row *)b)->waiting;

  return of_a == of_b ? compare_names(a, b) : of_a < of_b ? 1 : -1;
}

/* What is free has no lease, and is last. */
static int compare_leases(const void *a, const void *b)
{
  const status_row *one = a, *other = b;

  if (one->is_held != other->is_held)
    return one->is_held ? -1 : 1;
  return one->remaining_ms == other->remaining_ms  ? compare_names(a, b)
         : one->remaining_ms < other->remaining_ms ? -1
                                                   : 1;
}

static void sort_rows(status_table *list, enum status_order order)
{
  static int (*const orders[])(const void *,
                               const void *) = { [ORDER_NAME] = compare_names,
                                                 [ORDER_HELD] = compare_held,
                                                 [ORDER_WAIT] = compare_waiting,
                                                 [ORDER_LEASE] = compare_leases };
  size_t kept = 0;

  /* SCAN may return a name twice. */
  qsort(list->rows, list->count, sizeof(list->rows[0]), compare_names);
  for (size_t i = 1; i < list->count; i++) {
    if (compare_names(&list->rows[kept], &list->rows[i]) != 0)
      list->rows[++kept] = list->rows[i];
  }
  list->count = kept + 1;
  qsort(list->rows, list->count, sizeof(list->rows[0]), orders[order]);
}

/* ---- table ---- */

static int widest(const status_table *list, size_t offset, int least)
{
  int width = least;

  for (size_t i = 0; i < list->count; i++) {
    int columns = (int)printable_width((const char *)&list->rows[i] + offset);

    width = columns > width ? columns : width;
  }
  return width;
}

/* printf pads by bytes. */
static void print_padded(const char *text, int width)
{
  int columns = (int)printable_width(text);

  printf("%s%*s  ", text, columns < width ? width - columns : 0, "");
}

typedef struct widths {
  int name, kind, state, holder;
} widths;

static void print_row(const status_row *row, const widths *w)
{
  char held[DURATION_SIZE] = "-", lease[DURATION_SIZE] = "-", fence[24] = "-";

  if (row->is_held) {
    duration_as_clock(row->held_ms, held);
    duration_as_span(row->remaining_ms, lease);
  }
  if (row->fence != 0)
    snprintf(fence, sizeof(fence), "%" PRIu64, row->fence);
  print_padded(row->name, w->name);
  printf("%-*s  %-*s  ", w->kind, row->kind, w->state, row->state);
  print_padded(row->holder, w->holder);
  printf("%-9s %-8s %-20s %s\n", held, lease, fence, row->waiting_text);
}

/* Columns of a row beside those of `widths`: spaces, times, fence and waiters. */
#define FIXED_COLUMNS (4 * 2 + 9 + 1 + 8 + 1 + 20 + 1 + 9)
#define TEXT_COLUMNS_MIN 16

static void cut(char *text, int columns)
{
  size_t size = printable_cut(text, (size_t)columns);

  if (text[size] == '\0')
    return;
  size = printable_cut(text, (size_t)columns - 3);
  memcpy(text + size, "...", sizeof("..."));
}

/* The name gives way first, then the holder. */
static void fit(status_table *list, widths *w, int columns)
{
  int over = w->name + w->kind + w->state + w->holder + FIXED_COLUMNS - columns;
  int *const give[] = { &w->name, &w->holder };

  for (size_t i = 0; i < 2 && over > 0; i++) {
    int width = *give[i] - over > TEXT_COLUMNS_MIN ? *give[i] - over : TEXT_COLUMNS_MIN;

    if (width < *give[i]) {
      over -= *give[i] - width;
      *give[i] = width;
    }
  }
  for (size_t i = 0; i < list->count; i++) {
    cut(list->rows[i].name, w->name);
    cut(list->rows[i].holder, w->holder);
  }
}

void table_print(status_table *list, enum status_order order, size_t columns)
{
  widths w;

  if (list->count == 0)
    return;
  sort_rows(list, order);
  w = (widths) { .name = widest(list, offsetof(status_row, name), 4),
               .kind = 4,
               .state = widest(list, offsetof(status_row, state), 5),
               .holder = widest(list, offsetof(status_row, holder), 6) };
  for (size_t i = 0; i < list->count; i++) {
    int width = (int)strlen(list->rows[i].kind);

    w.kind = width > w.kind ? width : w.kind;
  }
  if (columns > 0)
    fit(list, &w, (int)columns);
  printf("%-*s  %-*s  %-*s  %-*s  %-9s %-8s %-20s %s\n", w.name, "NAME", w.kind, "KIND",
         w.state, "STATE", w.holder, "HOLDER", "HELD", "LEASE", "FENCE", "WAIT");
  for (size_t i = 0; i < list->count; i++)
    print_row(&list->rows[i], &w);
}

void table_free(status_table *t)
{
  free(t->rows);
  memset(t, 0, sizeof(*t));
}
