/* SPDX-License-Identifier: MIT */
/* cli/child.h - the command that runs inside: its process group, its terminal, its end.
 *
 * The command leads a process group of its own (not with `is_foreground`), so that one
 * signal reaches all of it. It gets the terminal at once when stdin and stdout are the
 * terminal and we are in its foreground; otherwise when it first asks for it, by being
 * stopped for reading or setting it. So `dibs run x -- a | less` leaves it to less.
 *
 * A guardian (guardian.h) is its parent and ends it with all its descendants when this process
 * dies, or is stopped past the times of its last child_guard(). Between fork and exec only
 * async-signal-safe calls, since the library has threads. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/guardian.h"
#include "cli/signals.h"

typedef struct child_plan {
  char *const *arguments;
  char *const *environment;
  const signal_watch *signals;
  bool is_foreground;
  bool has_lock_files;     /* as of guardian_plan */
  int output, error;       /* what it gets as stdout and stderr; -1: ours */
  guardian_order order;    /* until the first child_guard() */
  int lost_signal;         /* of the guardian */
} child_plan;

typedef struct child {
  pid_t pid;               /* 0: none */
  pid_t guardian, second;  /* the second one is a child of this process */
  int fd;                  /* readable: child_look() has news; -1: none */
  bool has_group;
  int terminal;            /* -1: none */
  bool has_terminal;
  bool ended_with_terminal;  /* the keys of the terminal came to its group, not to ours */
  bool was_hung_up;        /* it asked for a terminal, and there is none */
  bool is_by_guardian;     /* the guardian signalled or killed it */
  bool is_unguarded;       /* the guardian was killed, and so was the command */
  int64_t ended_before_ms; /* it ended before this last time of the guardian; 0: perhaps not */
  int status;              /* after CHILD_ENDED: as from waitpid() */
} child;

enum child_state { CHILD_RUNS, CHILD_STOPPED, CHILD_ENDED };

/* Returns 0, or the errno of what failed; *ret_is_exec: that was exec. ETIME, and not by exec: it
 * was too late by `order`, and nothing was started. 0 and no pid: the guardian
 * was killed before it named the command, and nothing of it is left. */
int child_start(child *c, const child_plan *plan, bool *ret_is_exec);

/* To its whole group, where it has one, and SIGCONT after a signal that is to end it; SIGKILL
 * also to all other descendants. false: the kernel permits it for none of them, as the command is
 * another user's (sudo). */
bool child_signal(const child *c, int number);

/* Names the times at which the guardian acts by itself. */
void child_guard(const child *c, const guardian_order *order);

/* Looks whether its state changed, without waiting. `ret_detail`: the stopping signal.
 * CHILD_ENDED leaves it to be reaped, so that its group's number stays its own. */
enum child_state child_look(child *c, int *ret_detail);

/* After CHILD_ENDED: takes the terminal back, ends the guardian and returns the command's wait
 * status. `ends_tree`: first kills what is left of its descendants. */
int child_reap(child *c, bool ends_tree);

/* The same for a command that came to its own end, of which nothing is to be killed: does not wait
 * for the end of the guardians, as child_await() does. */
int child_leave(child *c);
void child_await(child *c);

/* After a stop: gives it the terminal if it only wanted that, else stops this process
 * too, as the shell expects; where no shell is left it is hung up (SIGHUP). true when
 * this process was stopped, and has been continued: continuing the command is then up to
 * the caller, child_continue(). */
bool child_share_stop(child *c, int stop_signal);
void child_continue(child *c);

#endif
