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
  /* One of these, with the struct of the options. */
  int (*run)(const void *options);
  session_work *work;
  session_one *one;         /* for each operand */
  struct { int64_t least, most; } count;    /* of the number after the name; 0: it takes none */
  const char *options;      /* the long names of the subcommand's own that it takes, with blanks
                               between; NULL: all */
} verb;

/* NULL: none has this word. */
const verb *verb_find(const verb *verbs, size_t count, const char *word);

/* Runs the verb that the first operand names. `data` begins with a command_line, whose operands
 * are then those after the verb. */
int verb_run(const char *subcommand, const verb *verbs, size_t count, void *data);

#endif
