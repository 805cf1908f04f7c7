/* SPDX-License-Identifier: MIT */
/* cli/options.h - one row per option: getopt_long, --help and completions read it.
 *
 * A row names a type and the field that stores the value:
 *
 *     { "held", 0, NULL, FLAG(status_arguments, only_held), "only names that are held" },
 *
 * An option that needs more than the types below has a function of its own as its type. The rows of
 * one struct are a set; a subcommand has one set for its own options, and one for each group that
 * it shares with others. test/cli/options_test.c checks all rows. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>

#include "cli/cli.h"

/* One option as it was given. */
typedef struct option_given {
  const command *command;
  const option_row *row;    /* never a second spelling */
  const char *name;         /* as written, for messages */
  const char *value;        /* NULL: none */
} option_given;

/* Stores the option in `options`, the struct in which the row's field is. 0; CODE_USAGE after
 * saying what is wrong; or OPTION_WANTS_HELP. */
typedef int option_type(const option_given *g, void *options);

typedef struct option_choice {
  const char *word;         /* NULL at the end */
  int meaning;
} option_choice;

struct option_row {
  const char *name;         /* the long form; NULL at the end of the rows */
  char letter;              /* 0: none */
  const char *value;        /* what it takes, "DUR"; "[=DUR]" optional; NULL: nothing */
  option_type *type;        /* NULL: another spelling of the row before */
  size_t at;                /* offset of the field */
  uint64_t least, most;     /* as the type needs them */
  const option_choice *choices;  /* of the value, also for completions; NULL: any value. Of a
                                    number: the one word that may stand for it */
  const char *help;         /* NULL: not shown. Of a refused option: the reason */
};

struct option_set {
  const option_row *rows;   /* NULL at the end */
  size_t at;                /* where the struct of the fields is in that of the subcommand */
};

/* In a `command`: the sets of rows, and the struct of the options with its defaults. */
#define OPTIONS(...) .options = (const option_set[]){ __VA_ARGS__, { NULL, 0 } }
#define GROUP(rows, s, f) { rows, offsetof(s, f) }
/* Those of every subcommand, and of one that asks a server, in its command_line. */
#define COMMON { options_common, 0 }
#define SERVER GROUP(options_connection, command_line, connection)
#define ARGUMENTS(s, ...) .size = sizeof(s), .defaults = &(const s){ __VA_ARGS__ }

#define OPTION_WANTS_HELP (-1)
#define OPTIONS_MAX 80      /* rows of a subcommand */

/* ---- types (option_types.c) ---- */

option_type option_flag, option_bit, option_constant, option_text, option_output, option_duration,
  option_int, option_uint32, option_uint64, option_one_of, option_wait, option_refused,
  option_ignored, option_help;

/* The offset of field `f` of struct `s`, if it has the type `t`. */
/* NOLINTNEXTLINE(bugprone-macro-parentheses): a type and a field */
#define OPTION_AT(t, s, f) _Generic(((s *)0)->f, t: offsetof(s, f))
#define OPTION_AT_ENUM(s, f) \
  (offsetof(s, f) + 0 * sizeof(char[sizeof(((s *)0)->f) == sizeof(int) ? 1 : -1]))

/* What stands in a row between `value` and `help`. */
#define FLAG(s, f) option_flag, OPTION_AT(bool, s, f), 0, 0, NULL
#define BIT(s, f, bit) option_bit, OPTION_AT(uint32_t, s, f), 0, bit, NULL
#define CONSTANT(s, f, meaning) option_constant, OPTION_AT_ENUM(s, f), 0, meaning, NULL
#define TEXT(s, f) option_text, OPTION_AT(const char *, s, f), 0, 0, NULL
#define SHORT_TEXT(s, f, most_bytes) \
  option_text, OPTION_AT(const char *, s, f), 0, most_bytes, NULL
#define FULL_TEXT(s, f) option_text, OPTION_AT(const char *, s, f), 1, 0, NULL /* never empty */
#define OUTPUT(s, f) option_output, OPTION_AT(const char *, s, f), 0, 0, NULL
#define DURATION(s, f, least_ms) option_duration, OPTION_AT(int32_t, s, f), least_ms, 0, NULL
#define INT(s, f, least, most) option_int, OPTION_AT(int, s, f), least, most, NULL
#define UINT32(s, f, least, most) option_uint32, OPTION_AT(uint32_t, s, f), least, most, NULL
#define UINT64(s, f, least, most) option_uint64, OPTION_AT(uint64_t, s, f), least, most, NULL
#define ONE_OF(s, f, choices) option_one_of, OPTION_AT_ENUM(s, f), 0, 0, choices
#define WAIT(s, f) option_wait, OPTION_AT(wait_option, s, f), 0, 0, NULL
#define OWN(type) type, 0, 0, 0, NULL
#define SPELLING NULL, 0, 0, 0, NULL
#define IGNORED option_ignored, 0, 0, 0, NULL
#define REFUSED option_refused, 0, 0, 0, NULL

/* For types: the field of the row. */
static inline void *option_field(const option_given *g, void *options)
{
  return (char *)options + g->row->at;
}

/* For types: read `value` as one of `choices`, and the option's value as a time from `least_ms`. 0,
 * or CODE_USAGE after saying what is allowed. */
int option_read_choice(const option_given *g, const char *value, const option_choice *choices,
                       int *ret_meaning);
int option_read_duration(const option_given *g, int32_t least_ms, int32_t *ret_ms);

/* Says that the value is not `allowed`; CODE_USAGE. */
int option_bad_value(const option_given *g, const char *allowed);

/* ---- rows ---- */

extern const option_row options_common[];
extern const option_row options_connection[];    /* connection.c */

/* The same without --json, for output that is no data. */
#define OPTIONS_OF_TEXT (options_common + 1)

static inline bool option_is_end(const option_row *row)
{
  return row->name == NULL && row->letter == 0;
}

/* Whether help and completions show the row. */
static inline bool option_is_shown(const option_row *row)
{
  return row->help != NULL && row->type != option_refused;
}

/* ---- the command line ---- */

/* Reads argv[1..] of a subcommand into `options`, which begins with a command_line and has the
 * defaults. Where a command line may follow, options end at the first operand.
 * Returns 0; CODE_USAGE after saying what is wrong; or OPTION_WANTS_HELP. */
int options_read(const command *c, int argc, char **argv, void *options);

/* argv[1..] of dibs: the index of the first word that is no option of all subcommands or of the
 * connection (early_options.c): the subcommand, or an option that cannot be here, or `argc`. */
int options_before_command(int argc, char **argv);

/* The long names of the options that were given, each once. --wait 0 is there as nonblock. */
typedef struct option_names {
  const char *names[OPTIONS_MAX + 1];
  size_t count;
} option_names;

/* ---- option_pairs.c ---- */

void option_names_add(option_names *n, const char *name);
bool option_names_have(const option_names *n, const char *name);

/* Whether `name` is an option of the subcommand, not one of all or of the connection. */
bool option_is_own(const command *c, const char *name);

/* Refuses two options that exclude each other. 0, or CODE_USAGE after saying which. */
int option_pairs_check(const command *c, const option_names *given);

/* ---- for messages ---- */

/* The word of `count` nearest to `word`; NULL when none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

/* The operand at `place`, from 0, of a usage line such as "NAME [--] CMD"; "argument" where that
 * has no word for it. Cuts to `size`. Returns ret_word. */
const char *operand_word(const char *operands, int place, char *ret_word, size_t size);

#endif
