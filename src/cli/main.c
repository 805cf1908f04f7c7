/* SPDX-License-Identifier: MIT */
/* cli/main.c - finds the subcommand and runs it. */
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <dibs/version.h>

#include "cli/cli.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/options.h"

#define WORDS_MAX 64

const command *command_find(const char *word)
{
  for (const command *c = commands; c->name != NULL; c++) {
    if (strcmp(c->name, word) == 0 || (c->alias != NULL && strcmp(c->alias, word) == 0))
      return c;
  }
  return NULL;
}

static int unknown_command(const char *word)
{
  const char *words[WORDS_MAX], *near;
  char shown[100];
  size_t count = 0;

  for (const command *c = commands; c->name != NULL && count + 2 < WORDS_MAX; c++) {
    words[count++] = c->name;
    if (c->alias != NULL)
      words[count++] = c->alias;
  }
  printable(word, shown, sizeof(shown));
  near = nearest_word(word, words, count);
  if (near != NULL)
    return say_usage(NULL, "no command \"%s\"; did you mean \"dibs %s\"?", shown, near);
  return say_usage(NULL, "no command \"%s\"", shown);
}

/* stdout is data; data that could not be written are a failure. */
static int flush_output(int code)
{
  if (fflush(stdout) == 0 && !ferror(stdout))
    return code;
  say("cannot write to stdout");
  return code == CODE_OK ? CODE_INTERNAL : code;
}

static int run_command(const command *c, int argc, char **argv)
{
  arguments a;
  int code = options_read(c, argc, argv, &a);

  if (code == -1) {
    help_command(stdout, c);
    return flush_output(CODE_OK);
  }
  if (code != CODE_OK)
    return code;
  message_be_quiet(a.is_quiet);
  return flush_output(c->run(&a));
}

int main(int argc, char **argv)
{
  const command *c;

  setlocale(LC_CTYPE, "");
  if (argc < 2) {
    help_all(stderr);
    return CODE_USAGE;
  }
  if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
    help_all(stdout);
    return flush_output(CODE_OK);
  }
  if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
    printf("dibs %s (libdibs %s)\n", DIBS_VERSION, dibs_version());
    return flush_output(CODE_OK);
  }
  if (argv[1][0] == '-')
    return say_usage(NULL, "options come after the command: dibs run %s ...", argv[1]);

  c = command_find(argv[1]);
  if (c == NULL)
    return unknown_command(argv[1]);
  return run_command(c, argc - 1, argv + 1);
}
