/* SPDX-License-Identifier: MIT */
/* cli/flock.c - dibs flock: a read/write lock by the options and codes of flock(1), for scripts
 * that have a file of one machine today. */
#include <dibs/dibs.h>

#include <string.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/run.h"

#define CODE_CONFLICT 1         /* of flock(1) */

typedef struct flock_arguments {
  command_line line;
  enum sharing sharing;
  wait_option wait;
  int conflict_code;
  const char *shell_text;
} flock_arguments;

static const option_row rows[] = {
  { "shared", 's', NULL, CONSTANT(flock_arguments, sharing, SHARING_READ), "lock for reading" },
  { "exclusive", 'x', NULL, CONSTANT(flock_arguments, sharing, SHARING_WRITE),
    "lock for writing (default)" },
  { NULL, 'e', NULL, SPELLING, NULL },
  { "unlock", 0, NULL, REFUSED, "the lock ends with the command; dibs acquire and dibs release "
    "are for a lock without one" },
  { "nonblock", 'n', NULL, FLAG(flock_arguments, wait.is_none),
    "do not wait: exit 1 when another client has it" },
  { "nb", 0, NULL, SPELLING, NULL },
  { "wait", 'w', "SECONDS", WAIT(flock_arguments, wait), "wait at most SECONDS, then exit 1" },
  { "timeout", 0, "SECONDS", SPELLING, NULL },
  { "conflict-exit-code", 'E', "N", INT(flock_arguments, conflict_code, 0, 255),
    "exit N instead of 1" },
  { "command", 'c', "TEXT", TEXT(flock_arguments, shell_text), "run TEXT by the shell" },
  { "close", 'o', NULL, IGNORED, "no effect: the command has no descriptor of the lock" },
  { "no-fork", 'F', NULL, IGNORED, "no effect: dibs stays beside the command to renew the lock" },
  { .name = NULL },
};

static bool is_number(const char *text)
{
  return text[0] != '\0' && strspn(text, "0123456789") == strlen(text);
}

static int find_command(run *r, const flock_arguments *a)
{
  const char *name = a->line.operands[0];

  if (a->line.operand_count == 0)     /* flock -u 9: here -u is --url */
    return say_usage("flock", "a name and a command are missing; a lock without a command is taken "
                     "by dibs acquire, and ended by dibs release");
  if (a->line.operand_count == 1 && a->shell_text == NULL && is_number(name))
    return say_usage("flock", "%s: a descriptor cannot be locked on other machines; give a name "
                     "and a command, or use dibs acquire and dibs release", name);
  return run_find_command(r, a->line.operands + 1, a->line.operand_count - 1);
}

static int flock_start(void *data)
{
  flock_arguments *a = data;
  const kind_options what = { .sharing = a->sharing };
  taking_options taking = { .wait = a->wait, .conflict_code = a->conflict_code };
  run_options options = RUN_DEFAULTS;
  run r = { .line = &a->line, .taking = &taking, .options = &options, .word = "flock",
            RUN_NOTHING_OPEN };
  int code = taking_check("flock", &taking, &a->line);

  options.shell_text = a->shell_text;
  if (code == 0)
    code = find_command(&r, a);
  if (code == 0)
    code = target_read(&r.target, "flock", &what, a->line.operands[0]);
  r.target.is_one_kind = true;
  r.name = r.target.shown;
  return run_command_once(&r, code);
}

const command flock_command = {
  .name = "flock", .operands = "NAME [--] CMD [ARG...]",
  .summary = "as flock(1), but the lock is that of all machines",
  .operands_min = 0, .operands_max = -1,
  .examples = { "dibs flock -n backup ./backup.sh          # exit 1 if another host has it",
                "dibs flock -w 10 deploy -c 'make deploy'  # wait at most 10 s",
                "dibs flock -s report ./read.sh            # together with other readers" },
  .notes =
      "The lock is the read/write lock NAME: the one of dibs run -s and --write. Exit: the\n"
      "command's own code, 128+N after signal N, 1 or N of -E on a conflict, 64 for a wrong\n"
      "option, and else as dibs run: 79 the lock was lost, 69 no server, 126 and 127.",
  OPTIONS({ rows, 0 }, COMMON, SERVER),
  ARGUMENTS(flock_arguments, .line = LINE_DEFAULTS,
            .sharing = SHARING_WRITE, .conflict_code = CODE_CONFLICT),
  .run = flock_start
};
