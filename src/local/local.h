/* SPDX-License-Identifier: MIT */
/* local - the private server: find, start, join, stop; and the sandbox.
 *
 * Owns one directory per user, four files in it and the processes of the server. May
 * include base/ and <dibs/...> only; it has its own few lines of RESP (ask.c).
 *
 *   server.sock      where the server listens
 *   start.lock       flock: whoever starts, adopts or stops the server
 *   users.lock       flock, shared: each process that uses it. Its mtime is the last join
 *   supervisor.lock  record lock: the supervisor. Others only ask who has it (F_GETLK)
 *   server.log       of the present server only
 *   locks/           one file for each name that was ever locked without a server
 *
 * Invariants: lock files are never unlinked. The socket is unlinked only under
 * start.lock, when nobody listens on it and no supervisor lives. The server is stopped
 * for idleness only under start.lock and an exclusive users.lock: no user can be there or
 * appear. A user takes users.lock first and looks for the server after, so what it found
 * then stays. All locks are the kernel's and end with their process; nothing has to be
 * repaired after a crash of anybody. */
#ifndef LOCAL_H
#define LOCAL_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/local.h>
#include <dibs/status.h>

/* Starts the private server if needed and joins its users. `ret_url` gets unix://...,
 * 320 bytes are enough. `ret_use_fd` is CLOEXEC; closing it leaves.
 * Returns as dibs_local_start(). Thread: any; blocks at most 5 s. */
dibs_status local_join(char *ret_url, size_t url_size, int *ret_use_fd,
                       dibs_error *error);

/* ---- lock_file.c: locks of this machine ---- */

#define LOCAL_FENCES ((uint64_t)1 << 40)      /* all are below it, and so below any server's */

/* Opens what stands for the name of which `digest` is 64 hexadecimal digits. CLOEXEC. */
dibs_status local_lock_open(const char *digest, int *ret_fd, dibs_error *error);
/* DIBS_OK: it is had, with a number above that of every grant before. DIBS_BUSY;
 * DIBS_ERR_SYSTEM. Does not wait. */
dibs_status local_lock_try(int fd, uint64_t *ret_fence);
/* Gives it back and closes. Copies of the descriptor in other processes do not keep it. */
void local_lock_end(int fd);

#endif
