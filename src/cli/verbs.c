/* SPDX-License-Identifier: MIT */
/* cli/verbs.c - subcommands of a subcommand. */
#include "cli/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "cli/old_spellings.h"
#include "cli/options.h"

#define VERBS_MAX 16

static int run_one(const char *subcommand, const verb *v, void *data)
{
  command_line *line = data;

  old_spelling_say(subcommand, v->word);
  line->operands++;
  line->operand_count--;
  if (line->operand_count < v->least) {
    char missing[40];

    return say_usage(subcommand, "missing %s; usage: dibs %s %s %s",
                     operand_word(v->operands, line->operand_count, missing, sizeof(missing)),
                     subcommand, v->word, v->operands);
  }
  if (line->operand_count > v->most) {
    char shown[200];

    return say_usage(subcommand, "unexpected argument \"%s\"; usage: dibs %s %s %s",
                     printable(line->operands[v->most], shown, sizeof(shown)), subcommand,
                     v->word, v->operands);
  }
  return v->run(data);
}

const verb *verb_find(const verb *verbs, size_t count, const char *word)
{
  for (size_t i = 0; i < count; i++)
    if (strcmp(verbs[i].word, word) == 0)
      return &verbs[i];
  return NULL;
}

int verb_run(const char *subcommand, const verb *verbs, size_t count, void *data)
{
  const command_line *line = data;
  const verb *v = verb_find(verbs, count, line->operands[0]);
  const char *words[VERBS_MAX], *near;
  size_t new_count = 0;
  char shown[100];

  if (v != NULL)
    return run_one(subcommand, v, data);
  for (size_t i = 0; i < count && i < VERBS_MAX; i++)
    if (old_spelling_find(subcommand, verbs[i].word) == NULL)
      words[new_count++] = verbs[i].word;
  printable(line->operands[0], shown, sizeof(shown));
  near = nearest_word(line->operands[0], words, new_count);
  if (near != NULL)
    return say_usage(subcommand, "no \"dibs %s %s\"; did you mean \"dibs %s %s\"?",
                     subcommand, shown, subcommand, near);
  return say_usage(subcommand, "no \"dibs %s %s\"", subcommand, shown);
}

int operand_number(const char *subcommand, const command_line *line, int64_t least, int64_t most,
                   int64_t *ret_number)
{
  const char *word = line->operands[1];
  char shown[200];
  char *end;
  long long number;

  errno = 0;
  number = strtoll(word, &end, 10);
  if (*word >= '0' && *word <= '9' && *end == '\0' && errno == 0 && number >= least &&
      number <= most) {
    *ret_number = number;
    return 0;
  }
  return say_usage(subcommand, "%s %s: invalid count \"%s\": allowed are %" PRId64 " to %" PRId64,
                   subcommand, line->operands[-1], printable(word, shown, sizeof(shown)), least,
                   most);
}
