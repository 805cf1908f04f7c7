/* SPDX-License-Identifier: MIT */
/* local/detach.h - starts a process that is independent of the caller.
 *
 * It is a plain fork, not a program of dibs: the library may be linked statically, and no
 * file of dibs needs to be installed. So the new process keeps a copy-on-write image of
 * the caller's memory. fork() would run the caller's pthread_atfork handlers, take the
 * locks of malloc, and raise SIGCHLD in a program that made no child. The new process may
 * call async-signal-safe functions only: threads of the caller may have held any lock. */
#ifndef LOCAL_DETACH_H
#define LOCAL_DETACH_H

#include <dibs/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { DETACH_KEPT_MAX = 4 };

/* Runs `work(data)` in a grandchild: own session, working directory "/", umask 077, no signal
 * handlers, no blocked signals, SIGPIPE and SIGXFSZ ignored, stdio on /dev/null; of all descriptors
 * only `kept` (each above 2). `work` must not return. `name` is shown by ps. false: see errno. */
bool detach(void (*work)(void *data), void *data, const char *name, const int *kept,
            size_t kept_count);

/* fork() without the C library; raises no SIGCHLD at its end, so wait with __WALL. */
pid_t bare_fork(void);

/* A CLOEXEC pipe or socket pair with descriptors above 2: a program that closed its stdio
 * may use dibs, too. */
bool detach_pipe(int ret_ends[2]);
bool detach_socket_pair(int ret_ends[2]);

/* A descriptor that becomes readable when `pid` ends; -1: not supported by the kernel. */
int watch_process(pid_t pid);

#endif
