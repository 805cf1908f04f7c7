/* SPDX-License-Identifier: MIT */
/* cli/take.h - takes a target, unless a signal interrupts: for run, acquire and elect.
 *
 * Interrupted by INT, TERM, HUP, QUIT, USR1 or USR2 it gives up within half a second, and
 * leaves no entry in the queue where the server can be reached. Ctrl-Z stops the waiting
 * process; its place in the queue is kept. */
#ifndef CLI_TAKE_H
#define CLI_TAKE_H

#include <dibs/async.h>

#include "cli/session.h"
#include "cli/signals.h"
#include "cli/target.h"
#include "cli/wait_view.h"

typedef struct take_result {
  dibs_hold *hold;       /* not NULL: taken */
  int signal;            /* not 0: interrupted by it */
  int code;              /* neither: what to exit with; the reason has been said */
  int64_t waited_ms;
  bool has_shown;        /* that it waits was shown */
  wait_view *view;       /* to be ended by take_end() */
  bool is_stuck;         /* a thread is left in the client */
} take_result;

/* What take_lock() is to take; the target and the options live until the session is closed. */
typedef struct take_order {
  const target *target;
  const taking_options *options;
  uint32_t flags;              /* DIBS_LOCK_* */
  bool is_quiet_on_success;    /* of dibs run: no progress, and no message when it is busy */
} take_order;

/* First what has to be known before: a `dibs run` around this process that holds the same
 * name on the same server is refused with 80, as it would wait for itself; a semaphore gets its
 * number of permits, and is refused if it has another. Then the ask. */
void take_lock(session *s, const take_order *o, signal_watch *signals, take_result *ret_result);

/* Closes the session. false when a server that does not reply keeps a thread in it: then
 * the server gets no more requests either, and the process ends by _exit(). */
bool take_end(session *s, take_result *taken);

/* Ends what take_lock() started, but not the session: to take again. */
bool take_again(take_result *taken);

/* How progress is to be shown here: never PROGRESS_AUTO. */
enum progress take_progress(const command_line *line, const take_order *o, bool *ret_is_live);

#endif
