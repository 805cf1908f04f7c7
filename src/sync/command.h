/* SPDX-License-Identifier: MIT */
/* sync/command.h - one request that the caller has made, whose reply it reads itself. */
#ifndef SYNC_COMMAND_H
#define SYNC_COMMAND_H

#include "sync/sync.h"

extern const sync_row command_row;       /* EFFECT_ANSWERED has the reply */

typedef struct command_op {
  sync_op op;
  const request *command;                /* borrowed until engine_run() returns */
} command_op;

#endif
