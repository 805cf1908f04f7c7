/* SPDX-License-Identifier: MIT */
/* cli/status.c - dibs status: a table of everything under the prefix. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/graph.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

/* ---- rows: what the table needs of an inspection ---- */

typedef struct status_row {
  char name[DIBS_NAME_MAX + 1];
  const char *kind;
  char state[40], holder[200], waiting_words[60];
  bool is_held;
  int64_t held_ms, remaining_ms;
  uint64_t fence;    /* 0: none, or one for each of several holders */
  size_t waiting;
} status_row;

typedef struct status_list {
  const arguments *a;
  bool is_private;
  status_row *rows;
  size_t count, capacity;
  size_t shown; /* JSON lines go out at once */
  bool has_no_memory;
} status_list;

/* Of several: host and pid of the first ones. */
static void fill_holders(status_row *row, const dibs_inspection *i)
{
  size_t count = show_holder_count(i), used = 0;

  for (size_t n = 0; n < count && n < 3; n++) {
    dibs_party party = show_holder_at(i, n)->party;
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
  printable(i->name, row->name, sizeof(row->name));
  row->kind = show_kind(i->kind);
  show_state(i, row->state, sizeof(row->state));
  show_waiting(i, row->waiting_words, sizeof(row->waiting_words));
  row->is_held = count > 0;
  row->waiting = i->waiter_count;
  row->fence = count > 1 ? 0 : first == NULL ? i->fence : first->fence;
  snprintf(row->holder, sizeof(row->holder), "-");
  if (first == NULL)
    return;
  if (count == 1)
    show_party_short(&first->party, row->holder, sizeof(row->holder));
  else
    fill_holders(row, i);
  row->held_ms = first->party.waited_ms;
  row->remaining_ms = first->remaining_ms;
  for (size_t n = 1; n < count; n++) {
    int64_t left = show_holder_at(i, n)->remaining_ms;

    row->remaining_ms = left < row->remaining_ms ? left : row->remaining_ms;
  }
}

static bool is_of_kind(const arguments *a, dibs_kind kind)
{
  switch (a->kind) {
  case KIND_LOCK:
    return kind == DIBS_KIND_MUTEX;
  case KIND_RW:
    return kind == DIBS_KIND_RWLOCK;
  case KIND_SEMAPHORE:
    return kind == DIBS_KIND_SEMAPHORE;
  case KIND_LATCH:
  case KIND_BARRIER:
  case KIND_ELECTION:
    return false;
  case KIND_ANY:
  default:
    return true;
  }
}

static bool is_wanted(const arguments *a, const dibs_inspection *i)
{
  return is_of_kind(a, i->kind) && (!a->only_held || show_is_held(i)) &&
         (!a->only_waiting || i->waiter_count > 0);
}

/* Thread: in dibs_list(). */
static bool add_row(const dibs_inspection *i, void *data)
{
  status_list *list = data;

  if (!is_wanted(list->a, i))
    return true;
  if (list->a->wants_json) {
    json_print(show_json(i, list->is_private));
    list->shown++;
    return !ferror(stdout);
  }
  if (list->count == list->capacity) {
    size_t capacity = list->capacity == 0 ? 64 : 2 * list->capacity;
    status_row *rows = reallocarray(list->rows, capacity, sizeof(*rows));

    list->has_no_memory = rows == NULL;
    if (rows == NULL)
      return false;
    list->rows = rows;
    list->capacity = capacity;
  }
  fill_row(&list->rows[list->count++], i);
  return true;
}

/* ---- order ---- */

static int compare_names(const void *a, const void *b)
{
  return strcmp(((const status_row *)a)->name, ((const status_row *)b)->name);
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

static void sort_rows(status_list *list)
{
  static int (*const orders[])(const void *,
                               const void *) = { [ORDER_NAME] = compare_names,
                                                 [ORDER_HELD] = compare_held,
                                                 [ORDER_WAIT] = compare_waiting };
  size_t kept = 0;

  if (list->count == 0)
    return;
  /* SCAN may tell a name twice. */
  qsort(list->rows, list->count, sizeof(list->rows[0]), compare_names);
  for (size_t i = 1; i < list->count; i++) {
    if (compare_names(&list->rows[kept], &list->rows[i]) != 0)
      list->rows[++kept] = list->rows[i];
  }
  list->count = kept + 1;
  qsort(list->rows, list->count, sizeof(list->rows[0]), orders[list->a->order]);
}

/* ---- table ---- */

static int widest(const status_list *list, size_t offset, int least)
{
  int width = least;

  for (size_t i = 0; i < list->count; i++) {
    const char *text = (const char *)&list->rows[i] + offset;
    int columns = 0;

    for (; *text != '\0'; text++)
      columns += ((unsigned char)*text & 0xc0) != 0x80;
    width = columns > width ? columns : width;
  }
  return width;
}

/* printf pads by bytes; names have characters. */
static void print_padded(const char *text, int width)
{
  int columns = 0;

  for (const char *at = text; *at != '\0'; at++)
    columns += ((unsigned char)*at & 0xc0) != 0x80;
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
  printf("%-9s %-8s %-20s %s\n", held, lease, fence, row->waiting_words);
}

static void print_table(const status_list *list)
{
  widths w = { .name = widest(list, offsetof(status_row, name), 4),
               .kind = 4,
               .state = widest(list, offsetof(status_row, state), 5),
               .holder = widest(list, offsetof(status_row, holder), 6) };

  if (list->count == 0)
    return;
  for (size_t i = 0; i < list->count; i++) {
    int width = (int)strlen(list->rows[i].kind);

    w.kind = width > w.kind ? width : w.kind;
  }
  printf("%-*s  %-*s  %-*s  %-*s  %-9s %-8s %-20s %s\n", w.name, "NAME", w.kind, "KIND",
         w.state, "STATE", w.holder, "HOLDER", "HELD", "LEASE", "FENCE", "WAIT");
  for (size_t i = 0; i < list->count; i++)
    print_row(&list->rows[i], &w);
}

/* ---- status ---- */

static int show_once(session *s, const arguments *a)
{
  status_list list = { .a = a, .is_private = s->is_private };
  const char *pattern = a->operand_count > 0 ? a->operands[0] : NULL;
  dibs_status status;
  int code;

  if (a->wants_graph || a->wants_dot)
    return graph_show(s, a, pattern);
  status = dibs_list(s->client, pattern, add_row, &list);
  code = list.count + list.shown > 0 ? CODE_OK : CODE_NO;
  if (status != DIBS_OK)
    code = session_fault(s, status, "status");
  else if (list.has_no_memory)
    code = session_fault(s, DIBS_ERR_NO_MEMORY, "status");
  sort_rows(&list);
  if (a->watch_ms > 0 && isatty(STDOUT_FILENO) == 1 && !a->wants_json)
    fputs("\033[H\033[2J", stdout);
  print_table(&list);
  free(list.rows);
  return code;
}

int command_status(const arguments *a)
{
  session s;
  int code = session_start(&s, a);

  if (code == 0)
    code = show_once(&s, a);
  while (a->watch_ms > 0 && (code == CODE_OK || code == CODE_NO) && fflush(stdout) == 0) {
    poll(NULL, 0, a->watch_ms);
    code = show_once(&s, a);
  }
  if (code == CODE_NO && !a->wants_json)
    say_softly("%s", a->operand_count > 0 || a->kind != KIND_ANY ? "nothing matches"
                     : a->wants_graph || a->wants_dot            ? "nobody waits"
                                                                 : "there are no locks");
  session_close(&s);
  return code;
}
