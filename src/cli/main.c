/* SPDX-License-Identifier: MIT */
/* cli/main.c - finds the subcommand and runs it. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dibs/version.h>

#include "cli/acquire.h"
#include "cli/commands.h"
#include "cli/descriptors.h"
#include "cli/guardian.h"
#include "cli/help.h"
#include "cli/init.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/old_spellings.h"
#include "cli/options.h"
#include "cli/session.h"
#include "cli/signals.h"
#include "cli/view.h"

/* Where no subcommand reads the options. */
static void find_json(char *const *words)
{
  for (; *words != NULL && strcmp(*words, "--") != 0; words++)
    if (strcmp(*words, "--json") == 0)
      message_use_json();
}

/* stdout is data; data that could not be written are a failure, whatever the answer was. */
static int flush_output(int code)
{
  bool was_answered = code == CODE_OK || code == CODE_NO;

  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return was_answered && !json_is_complete() ? CODE_INTERNAL : code;
  return say_fault(&(message_facts) { .code = was_answered ? CODE_INTERNAL : code,
                                      .status = "DIBS_ERR_SYSTEM" },
                   "cannot write to standard output%s%s", errno == 0 ? "" : ": ",
                   errno == 0 ? "" : strerror(errno));
}

static int read_and_run(const command *c, int argc, char **argv, void *options)
{
  const command_line *line = options;
  int code = options_read(c, argc, argv, options);

  if (code == OPTION_WANTS_HELP) {
    help_show(stdout, c);
    return CODE_OK;
  }
  if (code != CODE_OK)
    return code;
  message_be_quiet(line->is_quiet);
  old_spellings_say();
  if (!c->ends_with_reader)
    signals_outlive_readers();
  return c->run != NULL ? c->run(options) : session_with(options, c->work);
}

static int execute(const command *c, int argc, char **argv)
{
  void *options = malloc(c->size);
  int code;

  if (options != NULL)
    memcpy(options, c->defaults, c->size);
  code = options == NULL ? say_no_memory() : read_and_run(c, argc, argv, options);
  if (code != CODE_OK && c->failed != NULL)
    c->failed(code);
  code = flush_output(code);
  free(options);
  return code;
}

/* `word` is where it has to be; NULL: there is none. */
static int say_no_command(const char *word)
{
  char shown[200];

  if (word == NULL)
    return say_usage(NULL, "no command: dibs ... run NAME -- CMD; dibs --help lists the commands");
  if (word[0] != '-')
    return help_unknown(word);
  printable(word, shown, sizeof(shown));
  return say_usage(NULL, "%s comes after the command: dibs run %s ...; only options of the "
                   "connection, --json, --quiet and --verbose may come before it", shown, shown);
}

/* The subcommand comes before its options. */
static void move_to_front(char **words, int at)
{
  char *word = words[at];

  memmove(words + 1, words, (size_t)at * sizeof(words[0]));
  words[0] = word;
}

/* The threads of the library would make a heap each, which costs eight system calls and six pages,
 * and pages that each fork() copies. */
static void share_heap(void)
{
#ifdef M_ARENA_MAX
  (void)mallopt(M_ARENA_MAX, 1);
#endif
}

int main(int argc, char **argv)
{
  int at = argc < 2 ? argc : options_before_command(argc, argv);
  const command *c = at < argc ? command_find(argv[at]) : NULL;

  if (c != NULL && c->is_in_view)
    view_become(argv);
  share_heap();
  init_begin();
  stdio_fill();
  signals_outlive_file_limit();
  guardian_keep_title(argc, argv);
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
  acquire_find_sh(argv + 1);
  if (c == NULL) {
    int code;

    find_json(argv + 1);
    code = say_no_command(at < argc ? argv[at] : NULL);
    acquire_failed(code);
    return flush_output(code);
  }
  move_to_front(argv + 1, at - 1);
  return execute(c, argc - 1, argv + 1);
}
