/* SPDX-License-Identifier: MIT */
/* local - the private server: find, start, join, stop; and the sandbox.
 *
 * It owns one directory for each user of a machine (place.h), its files and the server's
 * processes. Each user has one private server in a pid name space, whatever /tmp and
 * network the programs have (others.h); DIBS_LOCAL_DIR selects another. May include base/
 * and <dibs/...> only; it has its own small RESP reader (ask.c).
 *
 *   server.sock      socket of the server
 *   start.lock       flock: a process that starts, adopts or stops the server
 *   users.lock       flock, shared: each process that uses it. Its mtime is the last join
 *   supervisor.lock  record lock: the supervisor. Other processes only query it (F_GETLK)
 *   server.log       of the present server only
 *   locks/           one file for each name that a client with degrade=local has ever used
 *
 * Invariants: lock files are never unlinked. The socket is unlinked only under start.lock,
 * when no process listens on it and no supervisor lives. The server is stopped as idle
 * only under start.lock and an exclusive users.lock (so no process uses or joins it), and
 * only without keys and connections. A user locks users.lock before it looks for the
 * server, so the server that it finds stays. All locks belong to the kernel and end with
 * their process: a crash needs no repair. */
#ifndef LOCAL_H
#define LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/local.h>
#include <dibs/status.h>

/* Starts the private server if needed and joins its users. `ret_url` receives unix://...,
 * at most 320 bytes. `ret_use_fd` is CLOEXEC; closing it leaves. Returns as
 * dibs_local_start(). Thread: any; blocks at most 5 s. */
dibs_status local_join(char *ret_url, size_t url_size, int *ret_use_fd,
                       dibs_error *error);

/* Writes "dibs: " and the message to standard error, once per process. Thread: any. */
void local_notice(const char *message);

/* ---- what calls.c exports as dibs_...: local.c, sandbox.c ---- */

dibs_status local_start(int32_t idle_ms, bool with_aof, dibs_local_info *ret_info,
                        dibs_error *error);
dibs_status local_stop(bool forgets, dibs_error *error);
dibs_status local_status(dibs_local_info *ret_info, dibs_error *error);
dibs_status sandbox_start(const dibs_sandbox_options *options, dibs_sandbox **ret_sandbox,
                          char *ret_url, size_t url_size, dibs_error *error);
int64_t sandbox_keep(dibs_sandbox *sandbox);
dibs_sandbox *sandbox_stop(dibs_sandbox *sandbox);

/* ---- lock_file.c: locks of this machine ---- */

#define LOCAL_FENCES ((uint64_t)1 << 40)      /* above all local fences, below those of
                                                 servers */

/* An open lock file. The program may have closed the descriptor, as it may close all that it does
 * not know, and have another file there: then it is not used, and not closed. */
typedef struct local_lock {
  int fd;                          /* -1: not open */
  uint64_t device, inode;          /* of the file that was opened */
} local_lock;

/* Opens the lock file of a name; `digest` has 64 hexadecimal digits. CLOEXEC. */
dibs_status local_lock_open(const char *digest, local_lock *ret_lock, dibs_error *error);
/* DIBS_OK: locked, and the fence is above those of all earlier grants. DIBS_BUSY; DIBS_LOST: the
 * file was removed or closed, open it again; DIBS_ERR_SYSTEM. Does not wait. A shared lock of this
 * descriptor ends in any case. */
dibs_status local_lock_try(const local_lock *l, uint64_t *ret_fence);
/* DIBS_OK: locked together with others that share it; then local_lock_try() is DIBS_BUSY elsewhere.
 * DIBS_BUSY; DIBS_LOST, as above; DIBS_ERR_SYSTEM. Does not wait. */
dibs_status local_lock_share(const local_lock *l);
/* Whether it is open and the file has its name: the lock of a removed one excludes no later
 * process. */
bool local_lock_is_named(const local_lock *l);
/* A copy of the descriptor shares its lock. false: no descriptor left, or it was closed. */
bool local_lock_copy(const local_lock *l, local_lock *ret_copy);
/* Closes it; others may have copies. Calls only what a signal handler may. */
void local_lock_close(local_lock *l);
/* Unlocks and closes, also if other processes have copies of the descriptor. */
void local_lock_end(local_lock *l);

#endif
