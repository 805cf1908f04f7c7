/* SPDX-License-Identifier: MIT */
/* cli/latch.c - dibs latch: wait until a number of events have happened. */
#include <dibs/latch.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/latch.h"
#include "cli/message.h"
#include "cli/old_spellings.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/status.h"
#include "cli/verbs.h"
#include "cli/wait.h"

#define COUNT_MAX ((int64_t)1 << 53)

typedef struct latch_arguments {
  command_line line;
  wait_option wait;
  const char *count_id;     /* NULL: not given */
} latch_arguments;

static int set_count_id(const option_given *g, void *options)
{
  if (*g->value == '\0' || strlen(g->value) > 128)
    return option_bad_value(g, "an id of 1 to 128 bytes");
  ((latch_arguments *)options)->count_id = g->value;
  return 0;
}

static const option_row rows[] = {
  { "once", 0, "ID", OWN(set_count_id), "down: the same ID counts once" },
  { "wait", 'w', "DUR", WAIT(latch_arguments, wait),
    "wait: at most DUR (default: forever), then exit 75" },
  { .name = NULL },
};

static json_t *latch_json(const session *s, const char *name, int64_t left)
{
  return object_json(name, "latch", s->is_private,
                     json_pack("{s:s s:I}", "state", left > 0 ? "armed" : "zero", "left",
                               (json_int_t)left));
}

static bool look(const session *s, const char *name, object_view *ret_view)
{
  int64_t left;

  if (dibs_latch_count(s->client, name, &left) != DIBS_OK)
    return false;
  ret_view->is_in_use = left > 0;
  ret_view->is_trace = left == 0;
  snprintf(ret_view->state, sizeof(ret_view->state), "%" PRId64 " left", left);
  if (s->line->wants_json)
    ret_view->json = latch_json(s, name, left);
  return true;
}

const object_row latch_object = {
  .word = "latch", .kind = KIND_LATCH, .family = DIBS_FAMILY_LATCH, .look = look
};

static void print_left(const session *s, const latch_arguments *a, const char *name, int64_t left)
{
  if (a->line.wants_json)
    json_print(latch_json(s, name, left));
  else
    printf("%" PRId64 "\n", left);
}

static int fault(session *s, dibs_status status, const char *name)
{
  const message_facts facts = { .code = code_of_status(status),
                                .status = dibs_status_name(status), .name = name };
  char shown[600];

  printable(name, shown, sizeof(shown));
  if (status == DIBS_ERR_NOT_SET)
    say_fault(&facts, "%s is not armed: dibs latch set %s N", shown, shown);
  else if (status == DIBS_ERR_WRONG_TYPE)
    say_fault(&facts, "%s: the key of this name holds no latch", shown);
  else
    return session_fault(s, status, name);
  return facts.code;
}

/* ---- verbs ---- */

static int set(session *s, const void *data)
{
  const latch_arguments *a = data;
  const message_facts facts = { .code = CODE_BUSY, .status = "DIBS_BUSY",
                                .name = a->line.operands[0] };
  dibs_status status = dibs_latch_set(s->client, a->line.operands[0], a->line.count);
  int64_t left = 0;
  char shown[600];

  if (status == DIBS_OK) {
    print_left(s, a, a->line.operands[0], a->line.count);
    return CODE_OK;
  }
  if (status != DIBS_BUSY)
    return fault(s, status, a->line.operands[0]);
  printable(a->line.operands[0], shown, sizeof(shown));
  if (dibs_latch_count(s->client, a->line.operands[0], &left) == DIBS_OK)
    say_fault(&facts, "%s is armed already, with %" PRId64 " left", shown, left);
  else
    say_fault(&facts, "%s is armed already", shown);
  return CODE_BUSY;
}

static int down(session *s, const void *data)
{
  const latch_arguments *a = data;
  int64_t left = 0;
  dibs_status status = dibs_latch_down(s->client, a->line.operands[0], a->line.count, a->count_id,
                                       &left);

  if (status != DIBS_OK)
    return fault(s, status, a->line.operands[0]);
  print_left(s, a, a->line.operands[0], left);
  return CODE_OK;
}

/* Waits at most --wait; with -w 0 only reads the count. */
static int wait_for_zero(session *s, const void *data)
{
  const latch_arguments *a = data;
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_status status;
  int64_t left = 0;

  if (a->wait.is_none) {
    status = dibs_latch_count(s->client, a->line.operands[0], &left);
    if (status == DIBS_OK)
      return left == 0 ? CODE_OK : CODE_BUSY;
  } else {
    options.wait_ms = wait_limit(&a->wait);
    options.cancel = interrupt_begin();
    status = dibs_latch_await(s->client, a->line.operands[0], &options);
  }
  if (status == DIBS_CANCELLED)
    return interrupt_code();
  if (status == DIBS_TIMED_OUT)
    return wait_timed_out(a->line.operands[0], "is not at zero", a->wait.ms);
  if (status == DIBS_OK)
    return CODE_OK;
  return fault(s, status, a->line.operands[0]);
}

int latch_wait_for_zero(const command_line *line, const wait_option *wait)
{
  const latch_arguments own = { .line = *line, .wait = *wait };

  return session_with(&own, wait_for_zero);
}

static int delete(session *s, const void *data)
{
  const latch_arguments *a = data;
  dibs_status status = dibs_latch_delete(s->client, a->line.operands[0]);

  return status == DIBS_OK ? CODE_OK : fault(s, status, a->line.operands[0]);
}

static int show_one(session *s, const void *data, const char *name)
{
  const latch_arguments *a = data;
  int64_t left = 0;
  dibs_status status = dibs_latch_count(s->client, name, &left);
  char shown[600];

  if (status != DIBS_OK)
    return fault(s, status, name);
  if (a->line.wants_json)
    print_left(s, a, name, left);
  else
    printf("%s  %" PRId64 " left\n", printable(name, shown, sizeof(shown)), left);
  return CODE_OK;
}

/* Those that left a trace under the prefix. */
static int latch_ls(const void *data)
{
  const latch_arguments *a = data;

  if (a->line.operand_count == 0)
    return status_of_kind(&a->line, KIND_LATCH);
  old_spelling_say("latch", "ls NAME");
  return session_each(a, show_one);
}

static int latch_run(void *data)
{
  static const verb verbs[] = {
    { "set", "NAME N", 2, 2, .work = set, .count = { 1, COUNT_MAX }, .options = "" },
    { "down", "NAME [K]", 1, 2, .work = down, .count = { 1, COUNT_MAX }, .options = "once" },
    { "wait", "NAME", 1, 1, .work = wait_for_zero, .options = "wait" },
    { "show", "NAME...", 1, 1000, .one = show_one, .options = "" },
    { "ls", "", 0, 1000, .run = latch_ls, .options = "" },
    { "rm", "NAME", 1, 1, .work = delete, .options = "" },
    /* of 0.5 */
    { "init", "NAME N", 2, 2, .work = set, .count = { 1, COUNT_MAX }, .options = "" },
  };

  return verb_run("latch", verbs, sizeof(verbs) / sizeof(verbs[0]), data);
}

const command latch_command = {
  .name = "latch", .operands = "VERB NAME [NUMBER]",
  .summary = "wait until N events have happened",
  .operands_min = 1, .operands_max = 1000, .operand_words = "set down wait show ls rm",
  .notes = "  set NAME N        arm it; 75: it is armed already\n"
           "  down NAME [K]     count down by K (1); prints what is left\n"
           "  wait NAME         until it is at zero, or not armed; 75: not within -w\n"
           "  show NAME...      what is left\n"
           "  ls                show those with a record\n"
           "  rm NAME           disarm it; its waiters continue to wait",
  .examples = { "dibs latch set release-42 30", "dibs latch down --once \"$HOSTNAME\" release-42",
                "dibs latch wait -w 10m release-42 && ./switch-over" },
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(latch_arguments, .line = LINE_DEFAULTS),
  .run = latch_run
};
