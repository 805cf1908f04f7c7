/* SPDX-License-Identifier: MIT */
/* cli/token.h - dibs renew and dibs release, also as verbs of dibs sem. */
#ifndef CLI_TOKEN_H
#define CLI_TOKEN_H

#include "cli/options.h"

typedef struct renew_arguments {
  command_line line;
  int32_t ttl_ms;
} renew_arguments;

typedef struct release_arguments {
  command_line line;
  bool is_forced, is_confirmed;
  uint64_t only_fence;         /* 0: any */
  const char *note;
} release_arguments;

/* The first operand is the token, or with is_forced a name. Return the exit code. */
int token_renew(const renew_arguments *a);
int token_release(const release_arguments *a);

#endif
