/* SPDX-License-Identifier: MIT */
/* cli/latch.h - dibs latch wait, for dibs wait --zero. */
#ifndef CLI_LATCH_H
#define CLI_LATCH_H

#include "cli/options.h"

/* Until the latch that the first operand names is at zero, as the limit says; the exit code. */
int latch_wait_for_zero(const command_line *line, const wait_option *wait);

#endif
