/* SPDX-License-Identifier: MIT */
/* cli/wait_view.h - shows why a wait lasts, and how long it may take.
 *
 * Asks the server on a thread of its own, so that a server that does not answer never
 * keeps the waiter from being granted or interrupted. On a terminal two lines are redrawn
 * each second; elsewhere a line is written when something changed. */
#ifndef CLI_WAIT_VIEW_H
#define CLI_WAIT_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include <dibs/client.h>

#include "cli/cli.h"
#include "cli/target.h"

typedef struct wait_view wait_view;

/* `mode` is not PROGRESS_AUTO; `started_ms` is on clock_ms(). `t` is borrowed until
 * wait_view_end(). NULL when the system refuses: then nothing is shown. */
wait_view *wait_view_start(dibs_client *client, const target *t, bool is_live,
                           enum progress mode, int64_t started_ms);

/* Nothing more is shown from here on. Whether something was. NULL allowed. */
bool wait_view_silence(wait_view *v);

/* Waits for the thread, before dibs_close(). false when it still waits for a server that
 * does not answer: then the client may not be closed, only abandoned. NULL is allowed. */
bool wait_view_end(wait_view *v);

#endif
