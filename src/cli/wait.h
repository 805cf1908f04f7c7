/* SPDX-License-Identifier: MIT */
/* cli/wait.h - dibs wait, for the verb wait of dibs sem. */
#ifndef CLI_WAIT_H
#define CLI_WAIT_H

#include "cli/options.h"

/* Until the first operand is free, as the limit says; the exit code. */
int wait_until_free(const command_line *line, const wait_option *wait);

/* Says that the wait ended at its limit, and the state of the name; returns CODE_BUSY. */
int wait_timed_out(const char *name, const char *state, int32_t limit_ms);

#endif
