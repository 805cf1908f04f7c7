/* SPDX-License-Identifier: MIT */
/* cli/verbs.c - subcommands of a subcommand. */
#include "cli/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/message.h"
#include "cli/old_spellings.h"
#include "cli/options.h"
#include "cli/session.h"

#define VERBS_MAX 16

/* Reads the number after the name: 0, or CODE_USAGE after naming the verb and what is allowed. */
static int count_read(const char *subcommand, const verb *v, command_line *line)
{
  const char *word = line->operand_count > 1 ? line->operands[1] : "1";
  char shown[200];
  char *end;
  long long number;

  errno = 0;
  number = strtoll(word, &end, 10);
  if (*word >= '0' && *word <= '9' && *end == '\0' && errno == 0 && number >= v->count.least &&
      number <= v->count.most) {
    line->count = number;
    return 0;
  }
  return say_usage(subcommand, "%s %s: invalid count \"%s\": allowed are %" PRId64 " to %" PRId64,
                   subcommand, v->word, printable(word, shown, sizeof(shown)), v->count.least,
                   v->count.most);
}

static bool takes(const verb *v, const char *option)
{
  const char *at = v->options;
  size_t length = strlen(option);

  while (at != NULL && *at != '\0') {
    size_t size = strcspn(at, " ");

    if (size == length && strncmp(at, option, size) == 0)
      return true;
    at += size + strspn(at + size, " ");
  }
  return at == NULL;
}

/* Refuses an option of another verb, and names the first one that takes it. */
static int check_options(const char *subcommand, const verb *v, const verb *verbs, size_t count,
                         const option_names *given)
{
  const command *c = command_find(subcommand);

  for (size_t i = 0; i < given->count; i++) {
    const char *option = given->names[i];

    for (size_t n = 0; n < count && option_is_own(c, option) && !takes(v, option); n++)
      if (takes(&verbs[n], option))
        return say_usage(subcommand, "dibs %s %s has no --%s, which is an option of dibs %s %s",
                         subcommand, v->word, option, subcommand, verbs[n].word);
  }
  return 0;
}

static int run_one(const char *subcommand, const verb *v, void *data)
{
  command_line *line = data;
  int code;

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
  code = v->count.most == 0 ? 0 : count_read(subcommand, v, line);
  if (code != 0)
    return code;
  if (v->one != NULL)
    return session_each(data, v->one);
  return v->work != NULL ? session_with(data, v->work) : v->run(data);
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

  if (v != NULL) {
    int code = check_options(subcommand, v, verbs, count, line->given);

    return code != 0 ? code : run_one(subcommand, v, data);
  }
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

