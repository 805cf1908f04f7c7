/* SPDX-License-Identifier: MIT */
/* cli/barrier.c - dibs barrier: programs that wait for each other. */
#include <dibs/barrier.h>

#include <inttypes.h>
#include <stdio.h>

#include "cli/commands.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/old_spellings.h"
#include "cli/session.h"
#include "cli/show.h"
#include "cli/status.h"
#include "cli/verbs.h"

typedef struct barrier_arguments {
  command_line line;
  wait_option wait;
  uint32_t parties;         /* 0: not given */
} barrier_arguments;

static const option_row rows[] = {
  { "parties", 0, "N", UINT32(barrier_arguments, parties, 1, 10000),
    "wait: the number of parties" },
  { "wait", 'w', "DUR", WAIT(barrier_arguments, wait),
    "wait: at most DUR (default: forever), then exit 75" },
  { .name = NULL },
};

static json_t *barrier_json(const session *s, const char *name, const dibs_barrier_info *info)
{
  return object_json(name, "barrier", s->is_private,
                     json_pack("{s:s s:I s:I s:I}", "state", info->is_broken ? "broken" : "whole",
                               "generation", (json_int_t)info->generation, "parties",
                               (json_int_t)info->parties, "arrived", (json_int_t)info->arrived));
}

static bool look(const session *s, const char *name, object_view *ret_view)
{
  dibs_barrier_info info = { .size = sizeof(info) };

  if (dibs_barrier_get(s->client, name, &info) != DIBS_OK)
    return false;
  ret_view->is_in_use = info.arrived > 0;
  ret_view->waiting = info.is_broken ? 0 : info.arrived;      /* they have left */
  snprintf(ret_view->state, sizeof(ret_view->state), "%s", info.is_broken ? "broken" : "whole");
  snprintf(ret_view->waiting_text, sizeof(ret_view->waiting_text), "%u of %u", info.arrived,
           info.parties);
  snprintf(ret_view->more, sizeof(ret_view->more), ", %s arrived, generation %" PRIu64,
           ret_view->waiting_text, info.generation);
  if (s->line->wants_json)
    ret_view->json = barrier_json(s, name, &info);
  return true;
}

const object_row barrier_object = {
  .word = "barrier", .kind = KIND_BARRIER, .family = DIBS_FAMILY_BARRIER, .has_waiters = true,
  .look = look
};

static void print_arrival(const session *s, const barrier_arguments *a,
                          const dibs_barrier_info *info)
{
  json_t *object = barrier_json(s, a->line.operands[0], info);

  json_object_set_new(object, "index", json_integer(info->index));
  json_print(object);
}

/* ---- verbs ---- */

static int report_broken(const barrier_arguments *a, dibs_status status,
                         const dibs_barrier_info *info)
{
  const message_facts facts = { .code = code_of_status(status),
                                .status = dibs_status_name(status),
                                .name = a->line.operands[0] };
  char shown[600];

  printable(a->line.operands[0], shown, sizeof(shown));
  if (status == DIBS_TIMED_OUT)
    return say_fault(&facts, "fewer than %u parties came to %s in time: it is broken for all",
                     a->parties, shown);
  if (info->arrived == 0)
    return say_fault(&facts, "the round of %s is over: it was reset, or the server lost its data",
                     shown);
  return say_fault(&facts, "%s is broken: a party gave up or died (dibs barrier reset %s)", shown,
                   shown);
}

static int arrive(session *s, const void *data)
{
  const barrier_arguments *a = data;
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;
  dibs_barrier_info info = { .size = sizeof(info) };
  dibs_status status;

  options.wait_ms = wait_limit(&a->wait);
  options.cancel = interrupt_begin();
  status = dibs_barrier_await(s->client, a->line.operands[0], a->parties, &options, &info);
  if (status == DIBS_CANCELLED)
    return interrupt_code();
  if ((status == DIBS_OK || status == DIBS_BROKEN) && a->line.wants_json)
    print_arrival(s, a, &info);
  else if (status == DIBS_OK && a->line.is_verbose)
    printf("%u\n", info.index);
  if (status == DIBS_BROKEN || status == DIBS_TIMED_OUT)
    return report_broken(a, status, &info);
  return status == DIBS_OK ? CODE_OK : session_fault(s, status, a->line.operands[0]);
}

static int barrier_wait(const void *data)
{
  const barrier_arguments *a = data;

  if (a->parties == 0)
    return say_usage("barrier", "--parties N: how many have to arrive at the barrier");
  if (a->wait.is_none)
    return say_usage("barrier", "-w 0: a barrier is something to wait at");
  return session_with(a, arrive);
}

static int reset(session *s, const void *data)
{
  const barrier_arguments *a = data;
  dibs_status status = dibs_barrier_reset(s->client, a->line.operands[0]);

  return status == DIBS_OK ? CODE_OK : session_fault(s, status, a->line.operands[0]);
}

static int show_one(session *s, const void *data, const char *name)
{
  const barrier_arguments *a = data;
  dibs_barrier_info info = { .size = sizeof(info) };
  dibs_status status = dibs_barrier_get(s->client, name, &info);
  char shown[600];

  printable(name, shown, sizeof(shown));
  if (status == DIBS_ERR_NOT_SET) {
    say_softly("%s: not used for an hour", shown);
    return CODE_NO;
  }
  if (status != DIBS_OK)
    return session_fault(s, status, name);
  if (a->line.wants_json)
    json_print(barrier_json(s, name, &info));
  else
    printf("%s  %u of %u arrived, generation %" PRIu64 "%s\n", shown, info.arrived,
           info.parties, info.generation, info.is_broken ? ", broken" : "");
  return CODE_OK;
}

static int barrier_ls(const void *data)
{
  const barrier_arguments *a = data;

  if (a->line.operand_count == 0)
    return status_of_kind(&a->line, KIND_BARRIER);
  old_spelling_say("barrier", "ls NAME");
  return session_each(a, show_one);
}

static int barrier_run(void *data)
{
  static const verb verbs[] = {
    { "wait", "--parties N NAME", 1, 1, .run = barrier_wait, .options = "parties wait" },
    { "reset", "NAME", 1, 1, .work = reset, .options = "" },
    { "show", "NAME...", 1, 1000, .one = show_one, .options = "" },
    { "ls", "", 0, 1000, .run = barrier_ls, .options = "" },
  };

  return verb_run("barrier", verbs, sizeof(verbs) / sizeof(verbs[0]), data);
}

const command barrier_command = {
  .name = "barrier", .operands = "VERB NAME",
  .summary = "let programs wait for each other",
  .operands_min = 1, .operands_max = 1000, .operand_words = "wait reset show ls",
  .notes = "  wait NAME         until --parties N have arrived; -v prints the order, from 0\n"
           "  reset NAME        repair a broken one; break a round under way\n"
           "  show NAME...      how many have arrived; 1: not used for an hour\n"
           "  ls                show those that are used\n\n"
           "Exit of wait: 0 all arrived, 75 not within -w, 1 it is broken, or was reset.",
  .examples = { "dibs barrier wait --parties 3 -w 5m phase && ./phase-two",
                "dibs barrier show phase", "dibs barrier reset phase" },
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(barrier_arguments, .line = LINE_DEFAULTS),
  .run = barrier_run
};
