/* SPDX-License-Identifier: MIT */
/* cli/break.h - dibs break, also by the old spelling dibs release --force. */
#ifndef CLI_BREAK_H
#define CLI_BREAK_H

#include "cli/options.h"

typedef struct break_arguments {
  command_line line;
  bool is_confirmed;
  uint64_t only_fence;         /* 0: any */
  const char *note;
} break_arguments;

/* Breaks the leases of the first operand; the exit code. */
int break_name(const break_arguments *a);

#endif
