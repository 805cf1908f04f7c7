/* SPDX-License-Identifier: MIT */
/* cli/options.c - reads the command line by the rows of option_table.c. */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/message.h"

#define OPTIONS_MAX 80
/* ---- the command line ---- */

/* What getopt_long wants, made of rows. */
typedef struct getopt_form {
  struct option longs[OPTIONS_MAX];
  char letters[3 * OPTIONS_MAX + 3];
  const option_row *rows[OPTIONS_MAX];
  size_t long_count, row_count, letter_size;
} getopt_form;

static bool row_is_end(const option_row *row)
{
  return row->name == NULL && row->letter == 0;
}

/* Values of getopt_long() below 256 are letters; above, places in `rows`. */
static void form_add(getopt_form *f, const option_row *row)
{
  bool is_optional = row->value != NULL && row->value[0] == '[';

  f->rows[f->row_count] = row;
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
}

static void form_make(const command *c, getopt_form *f)
{
  memset(f, 0, sizeof(*f));
  /* '+': where a command line follows, options end at the first operand; the child's are
   * never eaten. */
  if (c->operands_max < 0)
    f->letters[f->letter_size++] = '+';
  f->letters[f->letter_size++] = ':';
  for (const option_row *const *set = c->options; *set != NULL; set++) {
    for (const option_row *row = *set; !row_is_end(row); row++) {
      if (f->row_count < OPTIONS_MAX)
        form_add(f, row);
    }
  }
}

static const option_row *form_row(const getopt_form *f, int value)
{
  if (value >= 256)
    return f->rows[value - 256];
  for (size_t i = 0; i < f->row_count; i++) {
    if (f->rows[i]->letter == value)
      return f->rows[i];
  }
  return NULL;
}

static int unknown_option(const command *c, const getopt_form *f, const char *word)
{
  const char *names[OPTIONS_MAX], *near;
  char given[100], shown[100];
  size_t count = 0;

  if (strncmp(word, "--", 2) != 0) {
    printable(word, shown, sizeof(shown));
    return say_usage(c->name, "%s: no option -%c here", shown, optopt);
  }
  snprintf(given, sizeof(given), "%s", word + 2);
  given[strcspn(given, "=")] = '\0';
  printable(given, shown, sizeof(shown));

  for (size_t i = 0; i < f->long_count; i++) {
    size_t size = strlen(given);

    names[count++] = f->longs[i].name;
    if (strcmp(given, f->longs[i].name) == 0)
      return say_usage(c->name, "--%s takes no value", shown);
    if (size > 0 && strncmp(given, f->longs[i].name, size) == 0)
      return say_usage(c->name, "--%s: more than one option begins so, as --%s", shown,
                       f->longs[i].name);
  }
  near = nearest_word(given, names, count);
  if (near != NULL)
    return say_usage(c->name, "no option --%s; did you mean --%s?", shown, near);
  return say_usage(c->name, "no option --%s", shown);
}

static int check_operands(const command *c, const arguments *a)
{
  /* --multi has the names, so that none stands among the operands. */
  int named = a->multi == NULL ? 0 : 1;
  int least = c->operands_min - named, most = c->operands_max - named;

  if (a->operand_count < least)
    return say_usage(c->name, "something is missing: dibs %s %s", c->name, c->operands);
  if (c->operands_max >= 0 && a->operand_count > most) {
    char shown[200];

    printable(a->operands[most], shown, sizeof(shown));
    if (named != 0)
      return say_usage(c->name, "\"%s\" is too much: --multi has all names", shown);
    if (c->has_inner)
      return say_usage(c->name, "\"%s\" is too much; a command goes behind --", shown);
    return say_usage(c->name, "\"%s\" is too much: dibs %s %s", shown, c->name,
                     c->operands);
  }
  return 0;
}

/* Which kind of thing to take. */
static int check_kind(const command *c, const arguments *a)
{
  bool has_semaphore = a->has_permits || a->take != 0;

  if (a->sharing != SHARING_NONE && has_semaphore)
    return say_usage(c->name, "--permits and --take are about a semaphore, --shared and "
                              "--exclusive about a read/write lock: choose one");
  if (a->multi != NULL && (a->sharing != SHARING_NONE || has_semaphore))
    return say_usage(c->name, "--multi takes exclusive locks: it excludes --shared, "
                              "--exclusive, --permits and --take");
  if (a->is_plain && strcmp(c->name, "run") != 0)
    return say_usage(c->name, "--plain-permits belongs to dibs run: permits without a lease have "
                              "no token by which somebody else could give them back");
  if (a->is_plain && !has_semaphore)
    return say_usage(c->name, "--plain-permits is about a semaphore: add --permits N or --take M");
  if (a->has_permits && a->take > a->permits)
    return say_usage(c->name, "--take %u is more than --permits %u: nobody could get them",
                     a->take, a->permits);
  return 0;
}

static int check_together(const command *c, arguments *a)
{
  if (a->wants_local && (a->url_count > 0 || a->refuses_local))
    return say_usage(c->name, "--local excludes --url and --no-local");
  /* A hard cap below the default lease shortens the lease; below a wanted one it is a
   * contradiction. */
  if (a->max_hold_ms != 0 && a->max_hold_ms < a->ttl_ms) {
    if (a->has_ttl)
      return say_usage(c->name, "--max-hold must not be shorter than --ttl");
    a->ttl_ms = a->max_hold_ms;
  }
  if (a->max_hold_ms != 0 && a->min_hold_ms > a->max_hold_ms)
    return say_usage(c->name, "--min-hold must not be longer than --max-hold");
  if (a->for_pid != 0 && a->is_not_renewed)
    return say_usage(c->name, "--for-pid renews, --no-renew does not: choose one");
  return check_kind(c, a);
}

/* Cuts off what stands behind the first "--", where that is a command line of its own. */
static int split_inner(const command *c, int argc, char **argv, arguments *a)
{
  for (int i = 1; c->has_inner && i < argc; i++) {
    if (strcmp(argv[i], "--") == 0) {
      a->inner = argv + i + 1;
      a->inner_count = argc - i - 1;
      argv[i] = NULL;
      return i;
    }
  }
  return argc;
}

int options_read(const command *c, int argc, char **argv, arguments *ret_arguments)
{
  getopt_form f;
  int value, code;

  form_make(c, &f);
  arguments_init(ret_arguments);
  argc = split_inner(c, argc, argv, ret_arguments);
  opterr = 0;
  while ((value = getopt_long(argc, argv, f.letters, f.longs, NULL)) != -1) {
    const option_row *row;

    if (value == ':')
      return say_usage(c->name, "%s wants a value", argv[optind - 1]);
    row = value == '?' ? NULL : form_row(&f, value);
    if (row == NULL)
      return unknown_option(c, &f, argv[optind - 1]);
    if (row->id == OPTION_HELP)
      return -1;
    code = option_set(c, row, optarg, ret_arguments);
    if (code != 0)
      return code;
  }
  ret_arguments->operands = argv + optind;
  ret_arguments->operand_count = argc - optind;
  code = check_operands(c, ret_arguments);
  return code != 0 ? code : check_together(c, ret_arguments);
}
