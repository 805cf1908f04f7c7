/* SPDX-License-Identifier: MIT */
/* local/others.h - finds private servers of this user outside of its own directory.
 *
 * A program with its own /tmp (PrivateTmp=, unshare -m) does not see the directory of the
 * private server, and locks on paths or socket names do not reach across mount and network
 * name spaces. Processes do: /proc shows those of this user in the same pid name space. So
 * "this machine" means a pid name space; a container is another machine.
 *
 * Each supervisor of a default place sets its process name (SUPERVISOR_NAME) before it
 * looks for others, and starts a server only if it found none. If two start at once, at
 * least one sees the other, so there is never a second server; if both give up, their
 * starters retry after different times. */
#ifndef LOCAL_OTHERS_H
#define LOCAL_OTHERS_H

#include <stdbool.h>
#include <sys/types.h>

/* In /proc/<pid>/status, at most 15 bytes: of the default place, and of all others. */
#define SUPERVISOR_NAME "dibs-private"
#define SUPERVISOR_NAME_CHOSEN "dibs-supervisor"

typedef struct others {
  pid_t server;         /* a private server in a default place of this user; 0: none */
  pid_t supervisor;     /* its supervisor; 0: none. It may be about to start a server */
} others;

/* Searches all processes but the caller. false: /proc cannot be read, see errno.
 * Async-signal-safe. */
bool others_look(others *ret_others);

#endif
