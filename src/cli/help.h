/* SPDX-License-Identifier: MIT */
/* cli/help.h - help texts and completions, made from the tables. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include <stdio.h>

#include "cli/cli.h"

void help_all(FILE *out);
void help_show(FILE *out, const command *c);

/* Says that there is no such command, and which may be meant; returns CODE_USAGE. */
int help_unknown(const char *word);

#endif
