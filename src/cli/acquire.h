/* SPDX-License-Identifier: MIT */
/* cli/acquire.h - dibs acquire, and the verbs of dibs sem that take permits: a lock for a script,
 * named by a token. */
#ifndef CLI_ACQUIRE_H
#define CLI_ACQUIRE_H

#include "cli/options.h"
#include "cli/session.h"
#include "cli/take.h"
#include "cli/taking.h"
#include "cli/target.h"

typedef struct token_options {
  int for_pid;                 /* 0: none */
  bool is_not_renewed, wants_shell;
} token_options;

extern const option_row options_token[];

typedef struct acquire_arguments {
  command_line line;
  kind_options what;
  taking_options taking;
  token_options token;
} acquire_arguments;

/* Takes it and prints the token; the exit code. */
int acquire_run(const acquire_arguments *a);

/* Looks for --sh in `words`, which have not been read: a wrong word ends the reading before it. */
void acquire_find_sh(char *const *words);

/* With --sh prints, once, what ends in a script's `eval` with `code`. */
void acquire_failed(int code);

/* After SIGINT, in place of signals_leave(), which may kill this process. */
int acquire_interrupted(const signal_watch *signals);

/* ---- token_grant.c ---- */

/* Also what goes through a pipe from the keeper to the command that started it. */
typedef struct token_grant {
  uint64_t fence;
  uint32_t units;          /* permits; 1 for locks */
  int64_t waited_ms;
  bool is_private;
  char text[DIBS_TOKEN_SIZE];
} token_grant;

/* false when it could not be written to stdout, which is said then: the caller cannot know the
 * token, and what was taken must be released. */
bool token_print(const acquire_arguments *a, const target *t, const token_grant *g);

/* Fills all of it for what was taken. DIBS_ERR_ARGUMENT: several names too long for it. */
dibs_status token_grant_fill(token_grant *g, const session *s, const take_result *taken);

/* Says why the lock `name`, which is held, has no token; returns the exit code for it. */
int token_refused(const session *s, dibs_status status, const char *name);

/* ---- keeper.c ---- */

/* Renews for another process; the child side of --for-pid (keeper.c). */
int keeper_run(const acquire_arguments *a, const target *t);

#endif
