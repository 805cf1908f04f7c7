/* SPDX-License-Identifier: MIT */
/* cli/commands.c - the table of subcommands. */
#include "cli/commands.h"

#include <stddef.h>
#include <string.h>

#include "cli/old_spellings.h"

#define ADDRESS(name) &name##_command,

const command *const commands[] = { COMMANDS(ADDRESS) NULL };

const command *command_find(const char *word)
{
  const old_spelling *old = old_spelling_find("", word);

  if (old != NULL) {
    old_spelling_used(old);
    word = strrchr(old->now, ' ') + 1;      /* "dibs run" */
  }
  for (const command *const *c = commands; *c != NULL; c++) {
    if (strcmp((*c)->name, word) == 0 ||
        ((*c)->alias != NULL && strcmp((*c)->alias, word) == 0))
      return *c;
  }
  return NULL;
}
