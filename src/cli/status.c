/* SPDX-License-Identifier: MIT */
/* cli/status.c - dibs status: a table of everything under the prefix. */
#include <dibs/dibs.h>

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/plural.h"
#include "cli/commands.h"
#include "cli/graph.h"
#include "cli/message.h"
#include "cli/names.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/status.h"
#include "cli/status_table.h"

/* ---- options ---- */

typedef struct status_arguments {
  command_line line;
  bool only_held, only_waiting, shows_free;
  enum status_order order;
  enum kind_filter kind;
  bool wants_graph, wants_dot, asks_by_code;
  int32_t watch_ms;    /* 0: once */
} status_arguments;

#define OBJECT_CHOICE(name, WORD) { #name, KIND_##WORD },
#define OBJECT_WORD(name, WORD) ", " #name

static const option_choice kind_choices[] = {
  { "lock", KIND_LOCK }, { "rw", KIND_RW }, { "semaphore", KIND_SEMAPHORE },
  OBJECTS(OBJECT_CHOICE) { "election", KIND_ELECTION }, { NULL, 0 },
};

static const option_choice order_choices[] = {
  { "name", ORDER_NAME }, { "held", ORDER_HELD }, { "wait", ORDER_WAIT },
  { "lease", ORDER_LEASE }, { NULL, 0 },
};

static int set_watch(const option_given *g, void *options)
{
  status_arguments *a = options;

  a->watch_ms = 2000;
  return g->value == NULL ? 0 : option_read_duration(g, 100, &a->watch_ms);
}

static const option_row rows[] = {
  { "all", 'a', NULL, FLAG(status_arguments, shows_free), "free locks too" },
  { "held", 0, NULL, FLAG(status_arguments, only_held), "only names that are held" },
  { "waiting", 0, NULL, FLAG(status_arguments, only_waiting), "only names with waiters" },
  { "kind", 0, "KIND", ONE_OF(status_arguments, kind, kind_choices),
    "only lock, rw, semaphore" OBJECTS(OBJECT_WORD) " or election" },
  { "sort", 0, "KEY", ONE_OF(status_arguments, order, order_choices),
    "by name, held, wait or lease (name)" },
  { "graph", 0, NULL, FLAG(status_arguments, wants_graph), "wait-for graph, cycles marked" },
  { "dot", 0, NULL, FLAG(status_arguments, wants_dot), "the same for dot(1) of Graphviz" },
  { "watch", 0, "[=DUR]", OWN(set_watch), "repeat (every 2s)" },
  { "exit-code", 0, NULL, FLAG(status_arguments, asks_by_code), "exit 1 if nothing is found" },
  { .name = NULL },
};

/* ---- locks ---- */

typedef struct status_list {
  const status_arguments *a;
  name_list others;    /* elections, objects */
  bool is_private;
  dibs_error error;    /* the first fault: the list is incomplete */
  status_table table;
  size_t shown; /* JSON lines go out at once */
  size_t free;  /* left out without --all */
} status_list;

static bool is_of_kind(const status_arguments *a, dibs_kind kind, bool is_election)
{
  enum kind_filter shown = kind == DIBS_KIND_RWLOCK      ? KIND_RW
                           : kind == DIBS_KIND_SEMAPHORE ? KIND_SEMAPHORE
                           : is_election                 ? KIND_ELECTION
                                                         : KIND_LOCK;

  return a->kind == KIND_ANY || a->kind == shown;
}

static bool is_wanted(const status_arguments *a, const dibs_inspection *i, bool is_election)
{
  return is_of_kind(a, i->kind, is_election) && (!a->only_held || show_is_held(i)) &&
         (!a->only_waiting || i->waiter_count > 0);
}

/* Of a free lock only its last fence is left: there may be thousands. A free semaphore is one
 * that was set up. */
static bool is_left_out(const status_arguments *a, const dibs_inspection *i)
{
  return !a->shows_free && i->kind != DIBS_KIND_SEMAPHORE && !show_is_held(i) &&
         i->waiter_count == 0;
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
  if (is_left_out(list->a, i)) {
    list->free++;
    return true;
  }
  if (list->a->line.wants_json) {
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

/* ---- what is no lock ---- */

#define OBJECT_DECLARE(name, WORD) extern const object_row name##_object;
#define OBJECT_ADDRESS(name, WORD) &name##_object,
OBJECTS(OBJECT_DECLARE)
const object_row *const objects[] = { OBJECTS(OBJECT_ADDRESS) NULL };

/* What is listed besides locks: an election is a lock, too. */
static uint32_t families_of(const status_arguments *a, bool *ret_has_locks)
{
  uint32_t families = 0;

  *ret_has_locks = true;
  if (a->kind == KIND_ANY || a->kind == KIND_LOCK || a->kind == KIND_ELECTION)
    families = DIBS_FAMILY_ELECTION;
  for (const object_row *const *o = objects; *o != NULL; o++) {
    if (a->kind == KIND_ANY || a->kind == (*o)->kind)
      families |= (*o)->family;
    if (a->kind == (*o)->kind)
      *ret_has_locks = false;
  }
  return families;
}

/* false: it could not be read. */
static bool add_other(status_list *list, const session *s, const object_row *o, const char *name)
{
  object_view view = { 0 };
  status_row *row;

  if (list->a->only_held || (list->a->only_waiting && !o->has_waiters))
    return true;
  if (!o->look(s, name, &view))
    return false;
  if (list->a->only_waiting && view.waiting == 0) {
    json_decref(view.json);
    return true;
  }
  if (list->a->line.wants_json) {
    add_object(list, view.json);
    return true;
  }
  row = table_add_plain(&list->table, name, o->word);
  if (row == NULL)
    return true;
  memcpy(row->state, view.state, sizeof(row->state));
  memcpy(row->waiting_text, view.waiting_text, sizeof(row->waiting_text));
  row->waiting = view.waiting;
  return true;
}

/* A server that is silent now would take a time limit for each name. */
static void add_others(status_list *list, const session *s)
{
  for (size_t i = 0; i < list->others.count; i++)
    for (const object_row *const *o = objects; *o != NULL; o++)
      if ((*o)->family == list->others.items[i].family &&
          !add_other(list, s, *o, list->others.items[i].name) && list->error.status != DIBS_OK)
        return;
}

static void note_fault(status_list *list, const session *s, dibs_status status)
{
  if (status != DIBS_OK && list->error.status == DIBS_OK)
    list->error = session_error(s->client, status);
}

/* In a Cluster without some of its nodes: what the others have. No second walk where no server has
 * answered the first. */
static void fill_list(status_list *list, session *s, const char *pattern)
{
  bool has_locks;
  uint32_t families = families_of(list->a, &has_locks);

  if (families != 0)
    note_fault(list, s, names_read(&list->others, s->client,
                                   has_locks ? families | DIBS_FAMILY_LOCK : families, pattern));
  if (has_locks && (list->error.status == DIBS_OK || list->others.has_locks))
    note_fault(list, s, dibs_list(s->client, pattern, add_row, list));
  add_others(list, s);
}

/* ---- status ---- */

static int show_once(session *s, const status_arguments *a)
{
  status_list list = { .a = a, .is_private = s->is_private, .error = DIBS_ERROR_INIT };
  const char *pattern = a->line.operand_count > 0 ? a->line.operands[0] : NULL;
  int code;

  if (a->wants_graph || a->wants_dot)
    return graph_show(s, pattern, a->wants_dot);
  fill_list(&list, s, pattern);
  code = list.table.count + list.shown + list.free > 0 ? CODE_OK : CODE_NO;
  if (list.error.status != DIBS_OK)
    code = session_report(&list.error, list.table.count + list.shown > 0
                                         ? "not all names are shown" : "cannot list locks", NULL);
  else if (list.table.has_no_memory)
    code = session_verb_fault(s, DIBS_ERR_NO_MEMORY, "status");
  if (a->watch_ms > 0 && terminal_erases(STDOUT_FILENO) && !a->line.wants_json)
    fputs("\033[H\033[2J", stdout);
  table_print(&list.table, a->order, terminal_columns_of(STDOUT_FILENO));
  if (list.error.status == DIBS_OK && list.free > 0)
    say_softly("%zu free lock%s not shown (--all)", list.free, plural_s(list.free));
  table_free(&list.table);
  names_free(&list.others);
  return code;
}

static int status(const status_arguments *a)
{
  session s;
  int code = session_start(&s, &a->line);

  if (code == 0)
    code = show_once(&s, a);
  while (a->watch_ms > 0 && (code == CODE_OK || code == CODE_NO) && fflush(stdout) == 0) {
    poll(NULL, 0, a->watch_ms);
    code = show_once(&s, a);
  }
  if (code == CODE_NO && !a->line.wants_json)
    say_softly("%s", a->line.operand_count > 0 || a->kind != KIND_ANY || a->only_held ||
                         a->only_waiting            ? "nothing matches"
                     : a->wants_graph || a->wants_dot ? "no client waits"
                                                      : "there are no locks");
  session_close(&s);
  return code == CODE_NO && !a->asks_by_code ? CODE_OK : code;
}

int status_of_kind(const command_line *line, enum kind_filter kind)
{
  const status_arguments a = { .line = *line, .kind = kind };

  return status(&a);
}

static int status_run(void *data)
{
  return status(data);
}

const command status_command = {
  .name = "status", .alias = "ls", .operands = "[PATTERN]",
  .summary = "show holders and waiters of names",
  .operands_min = 0, .operands_max = 1,
  .examples = { "dibs status --held 'orders:*'", "dibs status --watch --sort wait",
                "dibs status --graph        # the wait-for graph",
                "dibs status --json | jq -r 'select(.state == \"held\") | .name'" },
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(status_arguments, .line = LINE_DEFAULTS),
  .ends_with_reader = true,
  .run = status_run
};
