/* SPDX-License-Identifier: MIT */
/* cli/take.h - gets what is wanted, as long as nobody interrupts: for run, acquire and elect.
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
  bool has_shown;        /* the person was told that we wait */
  wait_view *view;       /* to be ended by take_end() */
  bool is_stuck;         /* a thread is left in the client */
} take_result;

/* First what has to be known before: a `dibs run` around this process that holds the same
 * name on the same server is refused with 78, as it would wait for itself; a semaphore is
 * told how many permits it has, and has to agree. Then the ask. `flags` DIBS_LOCK_* bits.
 * `t` lives until the session is closed. */
void take_lock(session *s, const arguments *a, const target *t, uint32_t flags,
               signal_watch *signals, take_result *ret_result);

/* Closes the session. false when a server that does not answer keeps a thread in it: then
 * there is nothing more to tell it either, and the process ends by _exit(). */
bool take_end(session *s, take_result *taken);

/* Ends what take_lock() left behind, but not the session: to take again. */
bool take_again(take_result *taken);

/* How progress is to be shown here: never PROGRESS_AUTO. */
enum progress take_progress(const arguments *a, bool *ret_is_live);

#endif
