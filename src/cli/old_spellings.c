/* SPDX-License-Identifier: MIT */
/* cli/old_spellings.c - the table of what 0.5 wrote otherwise. dibs(1) has the same table;
 * test/cli/old_spellings_test.py compares them and runs each row. */
#include "cli/old_spellings.h"

#include <string.h>

#include "cli/message.h"

const old_spelling old_spellings[] = {
  /* subcommands */
  { "", "exec", "dibs run" },
  /* options */
  { "*", "--jobs", "--permits" },
  { "*", "--timeout", "--wait" },
  { "*", "--nb", "--nonblock" },
  { "release", "--force", "dibs break NAME" },
  { "elect", "NAME", "dibs elect run NAME" },
  { "elect", "--observe", "dibs elect observe NAME" },
  { "elect", "--resign", "dibs elect break NAME" },
  { "sem", "init", "dibs sem set NAME N" },
  { "sem", "resize", "dibs sem set NAME N" },
  { "sem", "acquire", "dibs acquire --take M NAME" },
  { "sem", "drain", "dibs acquire --take all NAME" },
  { "sem", "release", "dibs release TOKEN" },
  { "sem", "renew", "dibs renew TOKEN" },
  { "sem", "wait", "dibs wait NAME" },
  { "latch", "init", "dibs latch set NAME N" },
  { "latch", "ls NAME", "dibs latch show NAME" },
  { "barrier", "ls NAME", "dibs barrier show NAME" },
  { "*", "--fg", "nothing: it is always so" },
  { "*", "--reason", "--note" },
  { "barrier", "-n", "--parties" },
  { "ping", "-c", "--count" },
  { "latch", "--id", "--once" },
  { .command = NULL },
};

static bool was_used[sizeof(old_spellings) / sizeof(old_spellings[0])];

const old_spelling *old_spelling_find(const char *command, const char *old)
{
  for (const old_spelling *o = old_spellings; o->command != NULL; o++)
    if (strcmp(o->old, old) == 0 && (strcmp(o->command, command) == 0 ||
                                     (*o->command == '*' && *command != '\0')))
      return o;
  return NULL;
}

bool old_spelling_is_option_of(const old_spelling *o, const char *command)
{
  return strncmp(o->now, "--", 2) == 0 && (*o->command == '*' || strcmp(o->command, command) == 0);
}

void old_spelling_used(const old_spelling *o)
{
  was_used[o - old_spellings] = true;
}

static void say_one(const old_spelling *o)
{
  bool is_word = o->old[0] != '-', has_command = is_word && *o->command != '\0';

  say_softly("%s%s%s%s is an old spelling and ends with 0.7; write %s", is_word ? "dibs " : "",
             has_command ? o->command : "", has_command ? " " : "", o->old, o->now);
}

void old_spellings_say(void)
{
  for (size_t i = 0; old_spellings[i].command != NULL; i++) {
    if (was_used[i])
      say_one(&old_spellings[i]);
    was_used[i] = false;
  }
}

void old_spelling_say(const char *command, const char *old)
{
  const old_spelling *o = old_spelling_find(command, old);

  if (o == NULL)
    return;
  old_spelling_used(o);
  old_spellings_say();
}
