/* SPDX-License-Identifier: MIT */
/* cli/status.h - dibs status, for the verb ls of other subcommands. */
#ifndef CLI_STATUS_H
#define CLI_STATUS_H

#include "cli/object.h"

/* Shows all names of one kind, or those that match the first operand; the exit code. */
int status_of_kind(const command_line *line, enum kind_filter kind);

#endif
