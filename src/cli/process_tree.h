/* SPDX-License-Identifier: MIT */
/* cli/process_tree.h - descendants of this process, by /proc: their states, and an end for all.
 * Async-signal-safe. */
#ifndef CLI_PROCESS_TREE_H
#define CLI_PROCESS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Returns false if the descendant `pid` is certainly not stopped now: it runs, or has ended. */
bool process_may_be_stopped(pid_t pid);

/* One pass over /proc: SIGKILL to every descendant of this process that has not ended, but the
 * supervisor of a private server and what is below it. Returns how many got it; 0 also where /proc
 * is missing. /proc may be of another PID namespace, as after `unshare -pf` without --mount-proc.
 * Processes that this user may not signal are skipped. Repeat until it returns 0: a process may
 * fork while the pass goes on. */
int process_tree_kill(void);

/* SIGKILL to every child but `kept` and such a supervisor, ended ones included, which are reaped.
 * Returns how many: 0 when no other descendant is left to kill, because each that runs has an
 * ancestor here, if this process is their subreaper; 0 also if the kernel has no list of children,
 * or /proc is of another PID namespace. */
int process_children_kill(pid_t kept);

#endif
