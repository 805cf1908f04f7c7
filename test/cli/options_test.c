/* SPDX-License-Identifier: MIT */
/* The rows of the options of all subcommands: what a compiler cannot check. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"

typedef void row_check(const command *c, const option_set *set, const option_row *row);

static void each_row(row_check *check)
{
  for (const command *const *c = commands; *c != NULL; c++)
    for (const option_set *set = (*c)->options; set->rows != NULL; set++)
      for (const option_row *row = set->rows; !option_is_end(row); row++)
        check(*c, set, row);
}

static bool has_no_field(const option_row *row)
{
  return row->type == option_refused || row->type == option_ignored || row->type == option_help;
}

/* ---- names ---- */

static void row_is_found_by_its_name(const command *c, const option_set *set, const option_row *row)
{
  (void)set;
  for (const option_set *s = c->options; s->rows != NULL; s++) {
    for (const option_row *other = s->rows; !option_is_end(other); other++) {
      if (other != row && row->name != NULL && other->name != NULL &&
          strcmp(other->name, row->name) == 0)
        fail_msg("dibs %s has --%s twice", c->name, row->name);
      if (other != row && row->letter != 0 && other->letter == row->letter)
        fail_msg("dibs %s has -%c twice", c->name, row->letter);
    }
  }
}

TEST(no_subcommand_has_a_name_or_letter_twice)
{
  each_row(row_is_found_by_its_name);
}

static void another_spelling_takes_what_the_first_takes(const command *c, const option_set *set,
                                                        const option_row *row)
{
  if (row->type == NULL && row == set->rows)
    fail_msg("dibs %s: the first row of a set has no type", c->name);
  if (row->type == NULL && (row->value == NULL) != (row[-1].value == NULL))
    fail_msg("dibs %s: --%s is another spelling with another value", c->name, row->name);
  if (row->type == NULL && row->help != NULL)
    fail_msg("dibs %s: --%s is another spelling and has help", c->name, row->name);
}

TEST(another_spelling_follows_the_first_one)
{
  each_row(another_spelling_takes_what_the_first_takes);
}

/* ---- values ---- */

static void value_is_as_the_type_needs_it(const command *c, const option_set *set,
                                          const option_row *row)
{
  bool takes_none = row->type == option_flag || row->type == option_bit ||
                    row->type == option_constant || row->type == option_ignored ||
                    row->type == option_help;

  (void)set;
  if (row->type == NULL || row->type == option_refused)
    return;
  if (takes_none != (row->value == NULL))
    fail_msg("dibs %s: --%s: the type and the value do not agree", c->name, row->name);
  if (row->type == option_one_of && row->choices == NULL)
    fail_msg("dibs %s: --%s has no choices", c->name, row->name);
}

TEST(every_option_takes_a_value_if_its_type_reads_one)
{
  each_row(value_is_as_the_type_needs_it);
}

static void field_is_inside_the_struct(const command *c, const option_set *set,
                                       const option_row *row)
{
  if (row->type != NULL && !has_no_field(row) && set->at + row->at >= c->size)
    fail_msg("dibs %s: --%s is stored outside of the struct", c->name, row->name);
}

TEST(every_field_is_inside_the_struct_of_its_subcommand)
{
  each_row(field_is_inside_the_struct);
}

/* ---- subcommands ---- */

TEST(every_subcommand_has_a_command_line_and_few_enough_rows)
{
  for (const command *const *c = commands; *c != NULL; c++) {
    size_t rows = 0;
    bool has_line = false;

    for (const option_set *set = (*c)->options; set->rows != NULL; set++) {
      has_line = has_line || ((set->rows == options_common || set->rows == OPTIONS_OF_TEXT) &&
                              set->at == 0);
      for (const option_row *row = set->rows; !option_is_end(row); row++)
        rows++;
    }
    if (!has_line || rows > OPTIONS_MAX || (*c)->defaults == NULL ||
        (*c)->size < sizeof(command_line))
      fail_msg("dibs %s: %zu rows", (*c)->name, rows);
  }
}

RUN_TESTS(NULL, NULL)
