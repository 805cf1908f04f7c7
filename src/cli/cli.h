/* SPDX-License-Identifier: MIT */
/* cli - the command `dibs`: a table of subcommands over the public headers.
 *
 * Includes only <dibs/...> and its own files. Data go to stdout, messages for people to
 * stderr (message.h). A subcommand is one file and one row of the table in commands.h. The file
 * defines the struct of its options and the rows that fill it; getopt, help and completions read
 * the same rows, so that they cannot differ. */
#ifndef CLI_H
#define CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>

#include "cli/exit_codes.h"

/* -w and -n. */
typedef struct wait_option {
  int32_t ms;                    /* 0: no limit was given */
  bool is_none;                  /* -n, or -w 0 */
} wait_option;

/* Which server, and how to reach it. */
#define QUORUM_MAX 15          /* servers */

typedef struct connection_options {
  const char *urls[QUORUM_MAX];  /* several: a quorum */
  size_t url_count;
  const char *user, *pass_file, *cacert, *cert, *key, *sni, *prefix, *registry, *config;
  dibs_dialect dialect;
  int database;                  /* -1: not given */
  int32_t connect_timeout_ms;    /* 0: the library's default */
  dibs_degrade degrade;          /* 0: not given */
  bool wants_askpass, wants_local, refuses_local;
  const char *note;              /* --note, where the subcommand has that; NULL: none */
} connection_options;

/* What every subcommand has; the first field of its options. Texts are borrowed from argv. */
typedef struct command_line {
  const char *subcommand;
  const struct option_names *given;  /* of the last options_read() */
  bool is_quiet, is_verbose, wants_json;
  char **operands;               /* NULL at the end */
  int operand_count;
  bool is_after_dashes;          /* "--" stood before the first operand */
  char **inner;                  /* what follows "--"; only where the row says so */
  int inner_count;
  int64_t count;                 /* of verbs: the number after the name, or 1 */
  connection_options connection;  /* of one that asks a server */
} command_line;

#define LINE_DEFAULTS { .connection = { .database = -1 } }

/* What a subcommand or verb does in a session (session.h): once, or with each operand. `options` is
 * its struct. Return an exit code. */
typedef struct session session;
typedef int session_work(session *s, const void *options);
typedef int session_one(session *s, const void *options, const char *name);

typedef struct option_row option_row;
typedef struct option_set option_set;

typedef struct command {
  const char *name;
  const char *alias;                    /* NULL: none */
  const char *operands;                 /* as shown in the usage line */
  const char *summary;                  /* one line */
  const option_set *options;            /* no rows at the end */
  int old_sets;                         /* the first ones: of old spellings, not shown */
  size_t size;                          /* of the struct of the options; a command_line is first */
  const void *defaults;                 /* what is in it where no option was given */
  int operands_min, operands_max;       /* -1: any number */
  const char *operand_words;            /* for completions; NULL: none */
  bool ends_with_reader;                /* a list: dies of SIGPIPE when its output is no longer
                                           read, as head(1) leaves it; all others go on */
  bool is_in_view;                      /* dibs-view has what it needs: view.h */
  bool has_inner;                       /* options may follow NAME, and a command line of
                                           its own begins after "--" */
  const char *examples[4];
  const char *notes;                    /* NULL: none; a few lines below the options */
  int (*check)(void *options);          /* refuses values that contradict each other, and fills
                                           in what others imply: 0 or CODE_USAGE; NULL: none */
  int (*run)(void *options);            /* returns an exit code; NULL: `work` does it */
  session_work *work;
  void (*failed)(int code);             /* what a script reads on stdout of a failure, also of
                                           the options; NULL: nothing */
} command;

/* For wait_ms of the library. */
static inline int32_t wait_limit(const wait_option *wait)
{
  return wait->is_none ? 0 : wait->ms == 0 ? DIBS_FOREVER : wait->ms;
}

#endif
