/* SPDX-License-Identifier: MIT */
/* cli/options.c - reads the command line by the rows of the subcommand. */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"
#include "cli/old_spellings.h"

/* ---- options of every subcommand ---- */

/* --json is the first: see OPTIONS_OF_TEXT. */
const option_row options_common[] = {
  { "json", 0, NULL, FLAG(command_line, wants_json), "one JSON object per line" },
  { "quiet", 'q', NULL, FLAG(command_line, is_quiet), "print errors only" },
  { "verbose", 'v', NULL, FLAG(command_line, is_verbose), "print more" },
  { "help", 'h', NULL, OWN(option_help), "show this help" },
  { .name = NULL },
};

/* ---- the command line ---- */

#define OPERAND 1            /* getopt_long(): no option, but a word of its own */

#define OLD_MAX 16           /* old spellings of options of one subcommand */

/* A row as it is written, the row that has its type, where the fields of its set are, and what it
 * is an old spelling of. */
typedef struct form_row {
  const option_row *written, *row;
  size_t at;
  const old_spelling *old;               /* NULL: of nothing */
} form_row;

/* What getopt_long wants, made of rows. */
typedef struct getopt_form {
  struct option longs[OPTIONS_MAX];
  char letters[3 * OPTIONS_MAX + 3];
  form_row rows[OPTIONS_MAX];
  size_t long_count, row_count, letter_size;
  size_t old_count, new_long_count;      /* old spellings are the last */
  option_row olds[OLD_MAX];
} getopt_form;

/* Of a row that only the old spelling has: what is written now is no option. */
static const old_spelling *old_of(const command *c, const option_row *row)
{
  char spelled[40];

  if (row->type == NULL || row->help != NULL || row->name == NULL)
    return NULL;
  snprintf(spelled, sizeof(spelled), "--%s", row->name);
  return old_spelling_find(c->name, spelled);
}

/* Values of getopt_long() below 256 are letters; above, indexes of `rows`. */
static form_row *form_add(getopt_form *f, const option_row *row, size_t at)
{
  bool is_optional = row->value != NULL && row->value[0] == '[';
  form_row *added = &f->rows[f->row_count];

  *added = (form_row) { .written = row, .row = row, .at = at };
  while (added->row->type == NULL)
    added->row--;
  if (row->name != NULL) {
    struct option *o = &f->longs[f->long_count++];

    o->name = row->name;
    o->has_arg = row->value == NULL ? no_argument
                 : is_optional      ? optional_argument
                                    : required_argument;
    o->flag = NULL;
    o->val = 256 + (int)f->row_count;
  }
  if (row->letter != 0) {
    f->letters[f->letter_size++] = row->letter;
    if (row->value != NULL)
      f->letters[f->letter_size++] = ':';
  }
  f->row_count++;
  return added;
}

static const form_row *form_find_name(const getopt_form *f, const char *name)
{
  for (size_t i = 0; i < f->row_count; i++)
    if (f->rows[i].written->name != NULL && strcmp(f->rows[i].written->name, name) == 0)
      return &f->rows[i];
  return NULL;
}

/* Where the subcommand has the option by its new name, and none by the old one. */
static void form_add_old(const command *c, getopt_form *f)
{
  f->new_long_count = f->long_count;
  for (const old_spelling *o = old_spellings; o->command != NULL; o++) {
    bool is_long = strncmp(o->old, "--", 2) == 0;
    const form_row *now = old_spelling_is_option_of(o, c->name) ? form_find_name(f, o->now + 2)
                                                                : NULL;
    option_row *row = &f->olds[f->old_count];
    form_row *added;

    if (now == NULL || f->old_count == OLD_MAX || f->row_count == OPTIONS_MAX ||
        (is_long && form_find_name(f, o->old + 2) != NULL))
      continue;
    *row = *now->row;
    row->name = is_long ? o->old + 2 : NULL;
    row->letter = is_long ? 0 : o->old[1];
    f->old_count++;
    added = form_add(f, row, now->at);
    added->row = now->row;
    added->old = o;
  }
}

static void form_make(const command *c, getopt_form *f)
{
  memset(f, 0, sizeof(*f));
  /* '+': where a command line follows, options end at the first operand; the child's are
   * never eaten. Else '-': operands come between the options, each as OPERAND; without it
   * POSIXLY_CORRECT in the environment would end the options at the first. */
  f->letters[f->letter_size++] = c->operands_max < 0 ? '+' : '-';
  f->letters[f->letter_size++] = ':';
  for (const option_set *set = c->options; set->rows != NULL; set++) {
    for (const option_row *row = set->rows; !option_is_end(row); row++) {
      if (f->row_count < OPTIONS_MAX)
        form_add(f, row, set->at)->old = old_of(c, row);
    }
  }
  form_add_old(c, f);
}

/* NULL: getopt_long() found no option. */
static const form_row *form_find(const getopt_form *f, int value)
{
  if (value == '?' || value == ':' || value == OPERAND)
    return NULL;
  if (value >= 256)
    return (size_t)value - 256 < f->row_count ? &f->rows[value - 256] : NULL;
  for (size_t i = 0; i < f->row_count; i++) {
    if (f->rows[i].written->letter == value)
      return &f->rows[i];
  }
  return NULL;
}

/* The word that getopt refuses: of several letters in one word it has not gone on yet. */
static const char *refused_word(int argc, char **argv)
{
  const char *before = argv[optind - 1];

  if (strncmp(before, "--", 2) == 0 || (before[0] == '-' && strchr(before, optopt) != NULL) ||
      optind >= argc)
    return before;
  return argv[optind];
}

/* `verb`: the first operand. */
static int unknown_letter(const command *c, const char *word, const char *verb)
{
  bool has_verb = verb != NULL && strncmp(c->operands, "VERB", 4) == 0;
  char shown[100], about[100];

  printable(word, shown, sizeof(shown));
  printable(has_verb ? verb : "", about, sizeof(about));
  if (word[1] >= '0' && word[1] <= '9')
    return say_usage(c->name, "%s%s%s: invalid count %s: it must not be negative", c->name,
                     has_verb ? " " : "", about, shown);
  return say_usage(c->name, "%s: no option -%c here", shown, optopt);
}

static int unknown_option(const command *c, const getopt_form *f, const char *word,
                          const char *verb)
{
  const char *names[OPTIONS_MAX], *near;
  char given[100], shown[100];
  size_t count = 0;

  if (strncmp(word, "--", 2) != 0)
    return unknown_letter(c, word, verb);
  snprintf(given, sizeof(given), "%s", word + 2);
  given[strcspn(given, "=")] = '\0';
  printable(given, shown, sizeof(shown));

  for (size_t i = 0; i < f->new_long_count; i++) {
    size_t size = strlen(given);

    names[count++] = f->longs[i].name;
    if (strcmp(given, f->longs[i].name) == 0)
      return say_usage(c->name, "--%s takes no value", shown);
    if (size > 0 && strncmp(given, f->longs[i].name, size) == 0)
      return say_usage(c->name, "--%s: several options begin with it, such as --%s", shown,
                       f->longs[i].name);
  }
  near = nearest_word(given, names, count);
  if (near != NULL)
    return say_usage(c->name, "no option --%s; did you mean --%s?", shown, near);
  return say_usage(c->name, "no option --%s", shown);
}

const char *operand_word(const char *operands, int place, char *ret_word, size_t size)
{
  const char *at = operands;

  for (;;) {
    size_t length = strcspn(at, " ");
    bool is_one = *at >= 'A' && *at <= 'Z';

    if (length == 0 || (is_one && place-- == 0)) {
      snprintf(ret_word, size, "%.*s", length == 0 ? 8 : (int)length,
               length == 0 ? "argument" : at);
      return ret_word;
    }
    at += length + strspn(at + length, " ");
  }
}

static int check_operands(const command *c, const command_line *line, const option_names *given)
{
  /* --multi has the names, so that none is among the operands. */
  int named = option_names_have(given, "multi") ? 1 : 0;
  int least = c->operands_min - named, most = c->operands_max - named;

  if (line->operand_count < least) {
    char missing[40];

    return say_usage(c->name, "missing %s; usage: dibs %s %s",
                     operand_word(c->operands, line->operand_count + named, missing,
                                  sizeof(missing)),
                     c->name, c->operands);
  }
  if (c->operands_max >= 0 && line->operand_count > most) {
    char shown[200];

    printable(line->operands[most], shown, sizeof(shown));
    if (named != 0)
      return say_usage(c->name, "unexpected argument \"%s\": --multi has all names", shown);
    if (c->has_inner)
      return say_usage(c->name, "unexpected argument \"%s\"; put the command after --", shown);
    return say_usage(c->name, "unexpected argument \"%s\"; usage: dibs %s%s%s", shown, c->name,
                     c->operands[0] != 0 ? " " : "", c->operands);
  }
  return 0;
}

/* Cuts off what follows the first "--", where that is a command line of its own. */
static int split_inner(const command *c, int argc, char **argv, command_line *line)
{
  for (int i = 1; c->has_inner && i < argc; i++) {
    if (strcmp(argv[i], "--") == 0) {
      line->inner = argv + i + 1;
      line->inner_count = argc - i - 1;
      argv[i] = NULL;
      return i;
    }
  }
  return argc;
}

static bool wants_json_messages(const option_row *row, const char *value)
{
  return row->name != NULL &&
         (strcmp(row->name, "json") == 0 ||
          (strcmp(row->name, "progress") == 0 && value != NULL && strcmp(value, "json") == 0));
}

/* --json counts for the errors of the options before it too. Returns the first operand, or
 * NULL. */
static const char *find_json(const getopt_form *f, int argc, char **argv)
{
  const char *operand = NULL;
  int value;

  while ((value = getopt_long(argc, argv, f->letters, f->longs, NULL)) != -1) {
    const form_row *found = form_find(f, value);

    if (value == OPERAND && operand == NULL)
      operand = optarg;
    if (found != NULL && wants_json_messages(found->row, optarg))
      message_use_json();
  }
  if (operand == NULL && optind < argc)
    operand = argv[optind];
  optind = 0;   /* GNU: from the start, with a new list of letters */
  return operand;
}

/* Stores one option and notes its name. */
static int take_option(const command *c, const form_row *f, void *options, option_names *given)
{
  const char *name = f->written->name != NULL ? f->written->name : f->row->name;
  const option_given g = { .command = c, .row = f->row, .name = name, .value = optarg };
  void *group = (char *)options + f->at;
  int code = f->row->type(&g, group);
  bool is_wait_0 = code == 0 && f->row->type == option_wait &&
                   ((const wait_option *)option_field(&g, group))->ms == 0;

  if (f->old != NULL)
    old_spelling_used(f->old);
  if (!is_wait_0)                    /* which excludes nothing that --nonblock does not */
    option_names_add(given, f->row->name);
  return code;
}

/* The operands are moved to the begin of argv, over arguments that were read already. */
static int read_options(const command *c, int argc, char **argv, void *options,
                        option_names *given)
{
  command_line *line = options;
  static getopt_form f;           /* 6 KiB are too much for a frame */
  const char *verb;
  int value, read_to = 1;

  form_make(c, &f);
  opterr = 0;
  verb = find_json(&f, argc, argv);
  line->operands = argv + 1;
  while ((value = getopt_long(argc, argv, f.letters, f.longs, NULL)) != -1) {
    const form_row *found = form_find(&f, value);
    int code;

    read_to = optind;
    if (value == OPERAND) {
      line->operands[line->operand_count++] = optarg;
      continue;
    }
    if (value == ':')
      return say_usage(c->name, "%s wants a value", argv[optind - 1]);
    if (found == NULL)
      return unknown_option(c, &f, refused_word(argc, argv), verb);
    code = take_option(c, found, options, given);
    if (code != 0)
      return code;
  }
  line->is_after_dashes = line->operand_count == 0 && optind > read_to;
  while (optind < argc)
    line->operands[line->operand_count++] = argv[optind++];
  line->operands[line->operand_count] = NULL;   /* a command to execute ends there */
  return 0;
}

int options_read(const command *c, int argc, char **argv, void *options)
{
  command_line *line = options;
  static option_names given;
  int code;

  given.count = 0;
  line->subcommand = c->name;
  line->given = &given;
  argc = split_inner(c, argc, argv, line);
  code = read_options(c, argc, argv, options, &given);
  if (code != 0)
    return code;
  code = check_operands(c, line, &given);
  if (code == 0)
    code = option_pairs_check(c, &given);
  return code != 0 || c->check == NULL ? code : c->check(options);
}
