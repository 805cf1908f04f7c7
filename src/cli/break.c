/* SPDX-License-Identifier: MIT */
/* cli/break.c - dibs break: ends the leases of a name, for administrators. */
#include "cli/break.h"

#include "cli/commands.h"
#include "cli/force.h"
#include "cli/session.h"

static const option_row rows[] = {
  { "yes", 'y', NULL, FLAG(break_arguments, is_confirmed), "do not ask" },
  { "fence", 0, "N", UINT64(break_arguments, only_fence, 1, UINT64_MAX),
    "only the lease with this fence" },
  { "note", 'm', "TEXT", SHORT_TEXT(break_arguments, note, DIBS_NOTE_MAX),
    "why, for the system log" },
  { .name = NULL },
};

int break_name(const break_arguments *a)
{
  const force_order order = { .name = a->line.operands[0], .reason = a->note,
                              .only_fence = a->only_fence, .is_confirmed = a->is_confirmed };
  command_line line = a->line;
  session s;
  int code;

  line.connection.note = a->note;
  code = session_start(&s, &line);
  if (code == 0)
    code = force_release(&s, &order);
  session_close(&s);
  return code;
}

static int break_run(void *data)
{
  return break_name(data);
}

const command break_command = {
  .name = "break", .operands = "NAME", .summary = "break the lock of another client",
  .operands_min = 1, .operands_max = 1,
  .examples = { "dibs break nightly", "dibs break --yes -m 'web-3 is gone' nightly",
                "dibs break --yes --fence 1805233418240000 nightly" },
  .notes = "For a moment there may be two holders: until the present one learns of it. Exit: 0 it\n"
           "is free, 79 another client has taken it meanwhile.",
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(break_arguments, .line = LINE_DEFAULTS),
  .run = break_run
};
