/* SPDX-License-Identifier: MIT */
/* cli/verbs.h - subcommands of a subcommand: dibs sem set NAME N. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include <stddef.h>

#include "cli/cli.h"

typedef struct verb {
  const char *word;
  const char *operands;     /* as shown */
  int least, most;          /* how many of them */
  int (*run)(const void *data);   /* the struct of the options */
} verb;

/* NULL: none has this word. */
const verb *verb_find(const verb *verbs, size_t count, const char *word);

/* Runs the verb that the first operand names. `data` begins with a command_line, whose operands
 * are then those after the verb. */
int verb_run(const char *subcommand, const verb *verbs, size_t count, void *data);

/* Reads the count after the name, for a verb that verb_run() has called: 0, or CODE_USAGE
 * after naming the verb and what is allowed. */
int operand_number(const char *subcommand, const command_line *line, int64_t least, int64_t most,
                   int64_t *ret_number);

#endif
