/* SPDX-License-Identifier: MIT */
/* cli/token_print.h - a token that was got, for scripts. */
#ifndef CLI_TOKEN_PRINT_H
#define CLI_TOKEN_PRINT_H

#include <dibs/lock.h>

#include "cli/cli.h"
#include "cli/session.h"
#include "cli/take.h"
#include "cli/target.h"

/* What goes through a pipe from the keeper to the command that started it, too. */
typedef struct token_grant {
  uint64_t fence;
  uint32_t units;          /* permits; 1 for locks */
  int64_t waited_ms;
  bool is_private;
  char text[DIBS_TOKEN_SIZE];
} token_grant;

/* false when stdout did not take it: then nobody knows the token. */
bool token_print(const arguments *a, const target *t, const token_grant *g);

/* Fills all of it for what was taken. DIBS_ERR_ARGUMENT: several names too long for it. */
dibs_status token_grant_fill(token_grant *g, const session *s, const take_result *taken);

/* Renews for another process; the child side of --for-pid (keeper.c). */
int keeper_run(const arguments *a, const target *t);

#endif
