/* SPDX-License-Identifier: MIT */
/* cli/capture.h - --quiet-on-success: keeps a command's output until it is known how it
 * ended. Where stdout and stderr are the same file, so they are here: the order stays. */
#ifndef CLI_CAPTURE_H
#define CLI_CAPTURE_H

#include <stdbool.h>

#include "cli/signals.h"

typedef struct capture {
  int output, error;   /* -1: not captured */
} capture;

/* false when the system refuses. */
bool capture_begin(capture *c);

/* Writes what was kept, if `is_shown`, and forgets it. Waits for readers without an end. Returns 0,
 * or the number of a signal that ended this. */
int capture_end(capture *c, bool is_shown, signal_watch *signals);

#endif
