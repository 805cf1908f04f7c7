/* SPDX-License-Identifier: MIT */
/* local/sandbox_watcher.h - the process that owns the servers of a sandbox.
 *
 *   owner  <- socket pair ->  watcher  -- parent, death signal ->  servers
 *     ^------- pidfd ------------'
 *
 * The watcher waits for the end of the owner (its pidfd: children of the owner that
 * inherited descriptors do not count), a byte on the socket pair or SIGTERM. Then it kills
 * the servers, removes the directory and exits. If the watcher is killed, the kernel kills
 * the servers, and the directory stays until the next sandbox of this user, which finds
 * the owner's pid in its name. A sandbox that is kept has no owner: only SIGTERM ends it. */
#ifndef LOCAL_SANDBOX_WATCHER_H
#define LOCAL_SANDBOX_WATCHER_H

#include <sys/types.h>

#include <dibs/status.h>

#include "local/sandbox_plan.h"

/* Messages of the owner to the watcher, a byte each. The reply to `keep` is the watcher's pid. */
extern const char sandbox_word_stop, sandbox_word_keep;

/* Messages of the watcher, an int each: a positive one is the errno of a failed exec, or the
 * reply to `keep`. This one, less the index of the server: it has ended. */
enum { SANDBOX_SERVER_ENDED = -1 };

/* Starts the watcher and, as its children, the servers. `ret_control`: the owner's end of the
 * socket pair, CLOEXEC; it closes when the watcher has ended. */
dibs_status sandbox_watcher_start(const sandbox_plan *plan, const char *directory, pid_t owner,
                                  int *ret_control, dibs_error *error);

#endif
