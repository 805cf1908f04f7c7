/* SPDX-License-Identifier: MIT */
/* cli/status.c - dibs status and dibs who. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/durations.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/show.h"

/* ---- rows: what the table needs of an inspection ---- */

typedef struct status_row {
  char name[DIBS_NAME_MAX + 1];
  bool is_held;
  char holder[200];
  int64_t held_ms, remaining_ms;
  uint64_t fence;
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

static void fill_row(status_row *row, const dibs_inspection *i)
{
  char host[80], program[80];

  memset(row, 0, sizeof(*row));
  printable(i->name, row->name, sizeof(row->name));
  row->is_held = show_is_held(i);
  row->fence = i->fence;
  row->waiting = i->waiter_count;
  if (!row->is_held)
    return;
  printable(i->holder.host, host, sizeof(host));
  printable(i->holder.program, program, sizeof(program));
  if (host[0] == '\0')
    snprintf(row->holder, sizeof(row->holder), "%s", i->holder.client);
  else
    snprintf(row->holder, sizeof(row->holder), "%s:%" PRId64 " %s", host, i->holder.pid,
             program);
  row->held_ms = i->holder.waited_ms;
  row->remaining_ms = i->remaining_ms;
}

static bool is_wanted(const arguments *a, const dibs_inspection *i)
{
  return (!a->only_held || show_is_held(i)) && (!a->only_waiting || i->waiter_count > 0);
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

static void print_row(const status_row *row, int name_width, int holder_width)
{
  char held[DURATION_SIZE] = "-", lease[DURATION_SIZE] = "-", fence[24] = "-";

  if (row->is_held) {
    duration_as_clock(row->held_ms, held);
    duration_as_span(row->remaining_ms, lease);
  }
  if (row->fence != 0)
    snprintf(fence, sizeof(fence), "%" PRIu64, row->fence);
  print_padded(row->name, name_width);
  printf("%-5s %-6s ", "lock", row->is_held ? "held" : "free");
  print_padded(row->is_held ? row->holder : "-", holder_width);
  printf("%-9s %-8s %-20s %zu\n", held, lease, fence, row->waiting);
}

static void print_table(const status_list *list)
{
  int name_width = widest(list, offsetof(status_row, name), 4);
  int holder_width = widest(list, offsetof(status_row, holder), 6);

  if (list->count == 0)
    return;
  printf("%-*s  %-5s %-6s %-*s  %-9s %-8s %-20s %s\n", name_width, "NAME", "KIND",
         "STATE", holder_width, "HOLDER", "HELD", "LEASE", "FENCE", "WAIT");
  for (size_t i = 0; i < list->count; i++)
    print_row(&list->rows[i], name_width, holder_width);
}

/* ---- status ---- */

static int show_once(session *s, const arguments *a)
{
  status_list list = { .a = a, .is_private = s->is_private };
  const char *pattern = a->operand_count > 0 ? a->operands[0] : NULL;
  dibs_status status = dibs_list(s->client, pattern, add_row, &list);
  int code = list.count + list.shown > 0 ? CODE_OK : CODE_NO;

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
    say_softly(a->operand_count > 0 ? "nothing matches" : "there are no locks");
  session_close(&s);
  return code;
}

/* ---- who ---- */

static void print_queue(const dibs_inspection *i)
{
  if (i->waiter_count == 0)
    return;
  printf("  queue    %zu waiting\n", i->waiter_count);
  for (size_t n = 0; n < i->party_count; n++) {
    char party[220], waited[DURATION_SIZE];

    show_party(&i->waiters[n], party, sizeof(party));
    duration_as_clock(i->waiters[n].waited_ms, waited);
    printf("    %zu.  %s, for %s\n", n + 1, party, waited);
  }
}

static void print_holder(const dibs_inspection *i)
{
  char party[220], held[DURATION_SIZE], left[DURATION_SIZE], ttl[DURATION_SIZE];
  char note[DIBS_NOTE_MAX + 1];

  show_party(&i->holder, party, sizeof(party));
  duration_as_clock(i->holder.waited_ms, held);
  duration_as_span(i->remaining_ms, left);
  duration_as_span(i->lease_ms, ttl);
  printf("  holder   %s\n", party);
  if (i->holder.note[0] != '\0')
    printf("  reason   %s\n", printable(i->holder.note, note, sizeof(note)));
  printf("  held     for %s\n", held);
  printf("  lease    %s left of %s, renewed %" PRIu64 " times\n", left, ttl, i->renewals);
}

static void print_inspection(const dibs_inspection *i)
{
  char name[600];

  printf("%s  %s\n", printable(i->name, name, sizeof(name)),
         show_is_held(i) ? "held" : "free");
  if (show_is_held(i))
    print_holder(i);
  if (i->fence != 0)
    printf("  fence    %" PRIu64 "%s\n", i->fence,
           show_is_held(i) ? "" : " was the last");
  print_queue(i);
}

int command_who(const arguments *a)
{
  dibs_inspection *inspection = NULL;
  dibs_status status;
  session s;
  int code = session_start(&s, a);

  if (code == 0) {
    status = dibs_inspect(s.client, a->operands[0], &inspection);
    if (status != DIBS_OK) {
      code = session_fault(&s, status, a->operands[0]);
    } else {
      if (a->wants_json)
        json_print(show_json(inspection, s.is_private));
      else
        print_inspection(inspection);
      code = show_is_held(inspection) ? CODE_OK : CODE_NO;
    }
  }
  dibs_inspection_free(inspection);
  session_close(&s);
  return code;
}
