/* SPDX-License-Identifier: MIT */
/* cli/options.h - one row per option: getopt_long, --help and completions read it. */
#ifndef CLI_OPTIONS_H
#define CLI_OPTIONS_H

#include <stddef.h>

#include "cli/cli.h"

enum option_id {
  /* all */
  OPTION_HELP = 1000, OPTION_QUIET, OPTION_VERBOSE, OPTION_JSON,
  /* connection */
  OPTION_URL, OPTION_DATABASE, OPTION_USER, OPTION_ASKPASS, OPTION_PASS_FILE,
  OPTION_CACERT, OPTION_CERT, OPTION_KEY, OPTION_SNI, OPTION_PREFIX,
  OPTION_DIALECT, OPTION_REGISTRY,
  OPTION_CONNECT_TIMEOUT, OPTION_CONFIG, OPTION_LOCAL, OPTION_NO_LOCAL,
  /* taking */
  OPTION_NONBLOCK, OPTION_WAIT, OPTION_CONFLICT_CODE, OPTION_EXCLUSIVE,
  OPTION_TTL, OPTION_MAX_HOLD, OPTION_SKIP_OK, OPTION_REASON, OPTION_PROGRESS,
  OPTION_FAIR, OPTION_SPIN, OPTION_FENCED,
  /* what to take */
  OPTION_SHARED, OPTION_PERMITS, OPTION_TAKE, OPTION_PLAIN_PERMITS, OPTION_MULTI, OPTION_ALWAYS,
  /* run */
  OPTION_COMMAND, OPTION_MIN_HOLD, OPTION_ON_LOST, OPTION_KILL_AFTER, OPTION_FOREGROUND,
  OPTION_QUIET_ON_SUCCESS, OPTION_STATUS_FILE, OPTION_STATUS_FD, OPTION_NOTIFY,
  /* tokens */
  OPTION_FOR_PID, OPTION_NO_RENEW, OPTION_SHELL, OPTION_FORCE, OPTION_YES, OPTION_FENCE,
  /* looking */
  OPTION_ONLY_HELD, OPTION_ONLY_WAITING, OPTION_SORT, OPTION_WATCH,
  OPTION_UNTIL_FREE, OPTION_UNTIL_HELD, OPTION_UNTIL_ZERO, OPTION_UNTIL_LEADER,
  OPTION_COUNT, OPTION_INTERVAL, OPTION_KIND, OPTION_GRAPH, OPTION_DOT,
  /* election */
  OPTION_VALUE, OPTION_OBSERVE, OPTION_LOOP, OPTION_RESIGN, OPTION_ON_ELECTED,
  OPTION_ON_DEPOSED,
  /* rate */
  OPTION_PER_CLIENT,
  /* latch, barrier */
  OPTION_COUNT_ID, OPTION_PARTIES,
  /* acl, doctor */
  OPTION_MODE, OPTION_LATCHES, OPTION_GUARDED, OPTION_LIMITERS, OPTION_DATA, OPTION_LOCKS,
  OPTION_FUNCTIONS, OPTION_SENTINEL, OPTION_STRICT,
  /* local */
  OPTION_IDLE, OPTION_AOF,
  /* known elsewhere, refused here with a reason */
  OPTION_REFUSED
};

struct option_row {
  const char *name;   /* the long form; NULL at the end of a set */
  char letter;        /* 0: none */
  const char *value;  /* what it takes, "DUR"; "[=DUR]" optional; NULL: nothing */
  int id;
  const char *help;   /* NULL: another spelling of the row before, not shown */
};

extern const option_row options_common[], options_connection[], options_taking[],
  options_kind[], options_permits[], options_run[], options_acquire[], options_renew[],
  options_release[], options_status[], options_wait[], options_ping[], options_local[],
  options_elect[], options_latch[], options_rate[], options_barrier[], options_acl[],
  options_doctor[];

/* Reads argv[1..] of a subcommand into `ret_arguments`. Where a command
 * line may follow, options end at the first operand.
 * Returns 0; CODE_USAGE after saying what is wrong; or -1 when help is wanted. */
int options_read(const command *c, int argc, char **argv, arguments *ret_arguments);

/* The defaults, and one option given: 0, or CODE_USAGE after saying what is wrong
 * (option_values.c). */
void arguments_init(arguments *a);
int option_set(const command *c, const option_row *row, const char *value, arguments *a);

/* Whether people should see the row. */
static inline bool option_is_shown(const option_row *row)
{
  return row->help != NULL && row->id != OPTION_REFUSED;
}

/* The word of `count` nearest to `word`; NULL when none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

#endif
