/* SPDX-License-Identifier: MIT */
/* cli/help.c - help texts, made from the tables. */
#include "cli/help.h"

#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/message.h"

#define WORDS_MAX 64

void help_all(FILE *out)
{
  fputs("usage: dibs COMMAND [OPTION...] [ARGUMENT...]\n\n"
        "Distributed locks on Redis and Valkey, for the shell.\n\n",
        out);
  for (const command *const *c = commands; *c != NULL; c++)
    fprintf(out, "  %-11s %s\n", (*c)->name, (*c)->summary);
  fputs("\n"
        "  dibs run nightly -- ./backup.sh        one at a time, on all machines\n"
        "  dibs run -n --skip-ok digest -- ./mail.sh   a cron job on thirty hosts\n"
        "  dibs run -j 4 render -- ./encode       at most four at a time, on all machines\n"
        "  dibs status                            holders and waiters of all names\n"
        "  dibs run --help                        the options of one command\n"
        "\n"
        "The server: -u URL, else DIBS_URL, VALKEY_URL, REDIS_URL, the configuration "
        "file,\n"
        "else a private server on this machine. More: man dibs, man dibs-guarantees.\n",
        out);
}

static void option_line(FILE *out, const option_row *row)
{
  char left[60];
  char letter[5] = "    ";

  if (row->letter != 0)
    snprintf(letter, sizeof(letter), "-%c, ", row->letter);
  snprintf(left, sizeof(left), "%s--%s%s%s", letter, row->name,
           row->value == NULL || row->value[0] == '[' ? "" : " ",
           row->value == NULL ? "" : row->value);
  fprintf(out, "  %-30s %s\n", left, row->help);
}

static void option_lines(FILE *out, const option_row *set)
{
  for (const option_row *row = set; !option_is_end(row); row++) {
    if (option_is_shown(row))
      option_line(out, row);
  }
}

void help_show(FILE *out, const command *c)
{
  bool has_connection = false;

  fprintf(out, "usage: dibs %s [OPTION...]%s%s\n", c->name,
          c->operands[0] == '\0' ? "" : " ", c->operands);
  if (c->alias != NULL)
    fprintf(out, "       dibs %s ...\n", c->alias);
  fprintf(out, "\n%s\n\n", c->summary);

  for (const option_set *set = c->options + c->old_sets; set->rows != NULL; set++) {
    if (set->rows == options_connection)
      has_connection = true;
    else
      option_lines(out, set->rows);
  }
  if (has_connection) {
    fputs("\nThe server:\n", out);
    option_lines(out, options_connection);
  }
  if (c->notes != NULL)
    fprintf(out, "\n%s\n", c->notes);

  fputs("\nExamples:\n", out);
  for (size_t i = 0; i < sizeof(c->examples) / sizeof(c->examples[0]); i++) {
    if (c->examples[i] != NULL)
      fprintf(out, "  %s\n", c->examples[i]);
  }
}

int help_unknown(const char *word)
{
  const char *words[WORDS_MAX], *near;
  char shown[100];
  size_t count = 0;

  for (const command *const *c = commands; *c != NULL && count + 2 < WORDS_MAX; c++) {
    words[count++] = (*c)->name;
    if ((*c)->alias != NULL)
      words[count++] = (*c)->alias;
  }
  printable(word, shown, sizeof(shown));
  near = nearest_word(word, words, count);
  if (near != NULL)
    return say_usage(NULL, "no command \"%s\"; did you mean \"dibs %s\"?", shown, near);
  return say_usage(NULL, "no command \"%s\"", shown);
}

static int help_run(void *data)
{
  const command_line *line = data;
  const command *c;

  if (line->operand_count == 0) {
    help_all(stdout);
    return CODE_OK;
  }
  c = command_find(line->operands[0]);
  if (c == NULL)
    return help_unknown(line->operands[0]);
  help_show(stdout, c);
  return CODE_OK;
}

const command help_command = {
  .name = "help", .operands = "[COMMAND]", .summary = "show help",
  .operands_max = 1,
  .examples = { "dibs help", "dibs help run", "man dibs-run", "man dibs-guarantees" },
  OPTIONS({ OPTIONS_OF_TEXT, 0 }),
  ARGUMENTS(command_line, .operands = NULL),
  .ends_with_reader = true,
  .run = help_run
};
