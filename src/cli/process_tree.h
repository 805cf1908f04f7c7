/* SPDX-License-Identifier: MIT */
/* cli/process_tree.h - kills all descendants of a process. Async-signal-safe. */
#ifndef CLI_PROCESS_TREE_H
#define CLI_PROCESS_TREE_H

/* One pass over /proc: SIGKILL to every descendant of this process that has not ended. Returns
 * how many got it; 0 also where /proc is missing. /proc may be of another PID namespace, as after
 * `unshare -pf` without --mount-proc. Processes that this user may not signal are skipped.
 * Repeat until it returns 0: a process may fork while the pass goes on. */
int process_tree_kill(void);

#endif
