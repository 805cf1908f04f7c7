/* SPDX-License-Identifier: MIT */
/* cli/old_spellings.h - what 0.5 wrote otherwise: it works in 0.6, with a note on stderr that names
 * the new spelling, and ends with 0.7. All of them are rows of one table in old_spellings.c, so
 * that to end them is to delete rows. */
#ifndef CLI_OLD_SPELLINGS_H
#define CLI_OLD_SPELLINGS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct old_spelling {
  const char *command;      /* where; "": the word of a subcommand; "*": where `now` is an option */
  const char *old;          /* "--jobs", "-n", "init" */
  const char *now;          /* "--permits", or a command line */
} old_spelling;

/* Command NULL at the end. */
extern const old_spelling old_spellings[];

/* NULL: `old` is no old spelling of `command`. */
const old_spelling *old_spelling_find(const char *command, const char *old);

/* Whether the row is read as the option that `now` names, which an option row of `command` has. */
bool old_spelling_is_option_of(const old_spelling *o, const char *command);

/* Notes that it was written. */
void old_spelling_used(const old_spelling *o);

/* Says what was noted, each once, unless -q. */
void old_spellings_say(void);

/* Both, for what is seen after the options were read. Nothing if it is no old spelling. */
void old_spelling_say(const char *command, const char *old);

#endif
