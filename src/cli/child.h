/* SPDX-License-Identifier: MIT */
/* cli/child.h - the command that runs inside: its process group, its terminal, its end.
 *
 * The command leads a process group of its own (not with `is_foreground`), so that one
 * signal reaches all of it. It gets the terminal at once when stdin and stdout are the
 * terminal and we are in its foreground; otherwise when it first asks for it, by being
 * stopped for reading or setting it. So `dibs run x -- a | less` leaves it to less.
 *
 * The kernel kills the command when its wrapper dies (PR_SET_PDEATHSIG): nobody would
 * renew the lock then. Start it from the main thread: the kernel counts that as the
 * parent. Between fork and exec only async-signal-safe calls, since the library has
 * threads. */
#ifndef CLI_CHILD_H
#define CLI_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

#include "cli/signals.h"

typedef struct child_plan {
  char *const *arguments;
  char *const *environment;
  const signal_watch *signals;
  bool is_foreground;
  int output, error;       /* what it gets as stdout and stderr; -1: ours */
} child_plan;

typedef struct child {
  pid_t pid;               /* 0: none */
  bool has_group;
  int terminal;            /* -1: none */
  bool has_terminal;
  bool was_hung_up;        /* it asked for a terminal that nobody can give it */
} child;

enum child_state { CHILD_RUNS, CHILD_STOPPED, CHILD_ENDED };

/* Returns 0, or the errno of what failed; *ret_is_exec tells whether that was exec. */
int child_start(child *c, const child_plan *plan, bool *ret_is_exec);

/* To its whole group, where it has one. */
void child_signal(const child *c, int number);

/* Looks whether its state changed, without waiting. `ret_detail`: the stopping signal.
 * CHILD_ENDED leaves it to be reaped, so that its group's number stays its own. */
enum child_state child_look(const child *c, int *ret_detail);

/* Reaps it after CHILD_ENDED, takes the terminal back and returns its wait status. */
int child_reap(child *c);

/* After a stop: gives it the terminal if it only wanted that, else stops this process
 * too, as the shell expects; where no shell is left it is hung up (SIGHUP). true when
 * this process was stopped, and has been continued: continuing the command is then up to
 * the caller, child_continue(). */
bool child_share_stop(child *c, int stop_signal);
void child_continue(child *c);

/* Waits, at most `wait_ms`, until nobody of its group is left. */
void child_group_wait(pid_t group, int wait_ms);

#endif
