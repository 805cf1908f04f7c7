/* SPDX-License-Identifier: MIT */
/* local/detach.h - a process of its own beside the caller's.
 *
 * Why a plain fork and no program of ours: the library may be linked statically and no
 * file of dibs need be installed. The price is that the new process keeps a copy-on-write
 * image of the caller's memory while it lives. Why not fork(): it runs the caller's
 * pthread_atfork handlers, takes the locks of malloc, and its end would raise SIGCHLD in
 * a program that did not make a child. What runs in there may call async-signal-safe
 * functions only, as the caller may have threads that held any lock. */
#ifndef LOCAL_DETACH_H
#define LOCAL_DETACH_H

#include <dibs/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { DETACH_KEPT_MAX = 4 };

/* Runs `work(data)` in a grandchild: own session, working directory "/", umask 077, no
 * signal handlers, nothing blocked, SIGPIPE ignored, stdio on /dev/null, and of all
 * descriptors only `kept` (each above 2). `work` must not return. `name` is what ps
 * shows. False: the system refused, see errno. */
bool detach(void (*work)(void *data), void *data, const char *name, const int *kept,
            size_t kept_count);

/* fork() without the library's part in it; no SIGCHLD at its end, so wait with __WALL. */
pid_t bare_fork(void);

/* A CLOEXEC pipe or socket pair whose descriptors are all above 2: also a program that
 * closed its stdio may use dibs. */
bool detach_pipe(int ret_ends[2]);
bool detach_socket_pair(int ret_ends[2]);

/* A descriptor that turns readable when `pid` ends; -1 where the kernel has none. */
int watch_process(pid_t pid);

#endif
