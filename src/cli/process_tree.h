/* SPDX-License-Identifier: MIT */
/* cli/process_tree.h - kills all descendants of a process. Async-signal-safe. */
#ifndef CLI_PROCESS_TREE_H
#define CLI_PROCESS_TREE_H

#include <sys/types.h>

/* One pass over /proc: SIGKILL to every descendant of this process that has not ended. Returns
 * how many got it; 0 also where /proc is missing. /proc may be of another PID namespace, as after
 * `unshare -pf` without --mount-proc. Processes that this user may not signal are skipped.
 * Repeat until it returns 0: a process may fork while the pass goes on. */
int process_tree_kill(void);

/* SIGKILL to every child but `kept`, ended ones included, which are reaped. Returns how many: 0
 * when no other descendant is left, because each that runs has an ancestor here, if this process
 * is their subreaper; 0 also if the kernel has no list of children, or /proc is of another PID
 * namespace. */
int process_children_kill(pid_t kept);

#endif
