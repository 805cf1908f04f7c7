/* SPDX-License-Identifier: MIT */
/* cli/status.c - dibs status: a table of everything under the prefix. */
#include <dibs/dibs.h>

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/graph.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/status_table.h"

typedef struct status_list {
  const arguments *a;
  name_list others;    /* elections, latches, barriers */
  bool is_private;
  status_table table;
  size_t shown; /* JSON lines go out at once */
} status_list;

static bool is_of_kind(const arguments *a, dibs_kind kind, bool is_election)
{
  switch (a->kind) {
  case KIND_LOCK:
    return kind == DIBS_KIND_MUTEX && !is_election;
  case KIND_RW:
    return kind == DIBS_KIND_RWLOCK;
  case KIND_SEMAPHORE:
    return kind == DIBS_KIND_SEMAPHORE;
  case KIND_ELECTION:
    return kind == DIBS_KIND_MUTEX && is_election;
  case KIND_LATCH:
  case KIND_BARRIER:
    return false;
  case KIND_ANY:
  default:
    return true;
  }
}

static bool is_wanted(const arguments *a, const dibs_inspection *i, bool is_election)
{
  return is_of_kind(a, i->kind, is_election) && (!a->only_held || show_is_held(i)) &&
         (!a->only_waiting || i->waiter_count > 0);
}

/* true when stdout still takes something. */
static bool add_object(status_list *list, json_t *object)
{
  json_print(object);
  list->shown++;
  return !ferror(stdout);
}

/* Thread: in dibs_list(). */
static bool add_row(const dibs_inspection *i, void *data)
{
  status_list *list = data;
  bool is_election = names_have(&list->others, DIBS_FAMILY_ELECTION, i->name);
  status_row *row;

  if (!is_wanted(list->a, i, is_election))
    return true;
  if (list->a->wants_json) {
    json_t *object = show_json(i, list->is_private);

    if (is_election)
      json_object_set_new(object, "kind", json_string("election"));
    return add_object(list, object);
  }
  row = table_add(&list->table, i);
  if (row != NULL && is_election)
    row->kind = "election";
  return row != NULL;
}

/* ---- latches and barriers ---- */

static void add_latch(status_list *list, dibs_client *client, const char *name)
{
  status_row *row;
  int64_t left;

  if (list->a->only_held || list->a->only_waiting ||
      dibs_latch_count(client, name, &left) != DIBS_OK)
    return;
  if (list->a->wants_json) {
    add_object(list, latch_json(name, left, list->is_private));
    return;
  }
  row = table_add_plain(&list->table, name, "latch");
  if (row != NULL)
    snprintf(row->state, sizeof(row->state), "%" PRId64 " left", left);
}

static void add_barrier(status_list *list, dibs_client *client, const char *name)
{
  dibs_barrier_info info = { .size = sizeof(info) };
  status_row *row;

  if (list->a->only_held || dibs_barrier_get(client, name, &info) != DIBS_OK ||
      (list->a->only_waiting && info.arrived == 0))
    return;
  if (list->a->wants_json) {
    add_object(list, barrier_json(name, &info, list->is_private));
    return;
  }
  row = table_add_plain(&list->table, name, "barrier");
  if (row == NULL)
    return;
  snprintf(row->state, sizeof(row->state), "%s",
           info.is_broken ? "broken" : "whole");
  snprintf(row->waiting_words, sizeof(row->waiting_words), "%u of %u", info.arrived,
           info.parties);
  row->waiting = info.arrived;
}

/* What is looked for beside locks of all kinds. */
static uint32_t families_of(const arguments *a)
{
  switch (a->kind) {
  case KIND_ANY:
    return DIBS_FAMILY_LATCH | DIBS_FAMILY_BARRIER | DIBS_FAMILY_ELECTION;
  case KIND_LATCH:
    return DIBS_FAMILY_LATCH;
  case KIND_BARRIER:
    return DIBS_FAMILY_BARRIER;
  case KIND_LOCK:
  case KIND_ELECTION:
    return DIBS_FAMILY_ELECTION;
  case KIND_RW:
  case KIND_SEMAPHORE:
  default:
    return 0;
  }
}

static dibs_status fill_list(status_list *list, session *s, const char *pattern)
{
  const arguments *a = list->a;
  uint32_t families = families_of(a);
  dibs_status status = DIBS_OK;

  if (families != 0)
    status = names_read(&list->others, s->client, families, pattern);
  if (status == DIBS_OK && a->kind != KIND_LATCH && a->kind != KIND_BARRIER)
    status = dibs_list(s->client, pattern, add_row, list);
  for (size_t i = 0; i < list->others.count && status == DIBS_OK; i++) {
    if (list->others.items[i].family == DIBS_FAMILY_LATCH)
      add_latch(list, s->client, list->others.items[i].name);
    else if (list->others.items[i].family == DIBS_FAMILY_BARRIER)
      add_barrier(list, s->client, list->others.items[i].name);
  }
  return status;
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
  status = fill_list(&list, s, pattern);
  code = list.table.count + list.shown > 0 ? CODE_OK : CODE_NO;
  if (status != DIBS_OK)
    code = session_fault(s, status, "status");
  else if (list.table.has_no_memory)
    code = session_fault(s, DIBS_ERR_NO_MEMORY, "status");
  if (a->watch_ms > 0 && isatty(STDOUT_FILENO) == 1 && !a->wants_json)
    fputs("\033[H\033[2J", stdout);
  table_print(&list.table, a->order);
  table_free(&list.table);
  names_free(&list.others);
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
