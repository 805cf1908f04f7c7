/* SPDX-License-Identifier: MIT */
/* cli/commands.h - the table of subcommands, in the order of `dibs --help`.
 *
 * A row here is NAME_command in the file of the subcommand: its options, help and what it does. */
#ifndef CLI_COMMANDS_H
#define CLI_COMMANDS_H

#include "cli/cli.h"

#define COMMANDS(ROW) \
  ROW(run) \
  ROW(flock) \
  ROW(acquire) \
  ROW(renew) \
  ROW(release) \
  ROW(break) \
  ROW(sem) \
  ROW(rate) \
  ROW(latch) \
  ROW(barrier) \
  ROW(elect) \
  ROW(status) \
  ROW(who) \
  ROW(top) \
  ROW(history) \
  ROW(metrics) \
  ROW(web) \
  ROW(wait) \
  ROW(ping) \
  ROW(doctor) \
  ROW(acl) \
  ROW(local) \
  ROW(sandbox) \
  ROW(completion) \
  ROW(help)

#define COMMAND_DECLARE(name) extern const command name##_command;
COMMANDS(COMMAND_DECLARE)

/* All of them; NULL at the end. */
extern const command *const commands[];

/* The one called `word`, by name or alias; NULL. */
const command *command_find(const char *word);

#endif
