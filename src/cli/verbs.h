/* SPDX-License-Identifier: MIT */
/* cli/verbs.h - subcommands of a subcommand: dibs sem init NAME N. */
#ifndef CLI_VERBS_H
#define CLI_VERBS_H

#include <stddef.h>

#include "cli/cli.h"

typedef struct verb {
  const char *word;
  const char *operands;     /* as shown */
  int least, most;          /* how many of them */
  int (*run)(const arguments *a);
} verb;

/* Runs the one that the first operand names; it gets the operands behind that. */
int verb_run(const char *subcommand, const verb *verbs, size_t count, const arguments *a);

/* Reads an operand: 0, or CODE_USAGE after saying what is allowed. */
int operand_number(const char *subcommand, const char *word, int64_t least, int64_t most,
                   int64_t *ret_number);

#endif
