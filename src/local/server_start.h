/* SPDX-License-Identifier: MIT */
/* local/server_start.h - makes sure that one server and one supervisor run. */
#ifndef LOCAL_SERVER_START_H
#define LOCAL_SERVER_START_H

#include <stdbool.h>
#include <stdint.h>

#include <dibs/status.h>

#include "local/place.h"
#include "local/server_program.h"

/* The caller has users.lock. Under start.lock, starts what is missing until a server
 * replies and a supervisor lives, or until `until` (clock_ms). A server with data in the
 * directory reads and keeps them, also without `with_aof`. DIBS_BUSY: the private server
 * is or was elsewhere (others.h); call place_find() again. */
dibs_status server_ensure(const place *p, int64_t idle_ms, bool with_aof, int64_t until,
                          dibs_error *error);

/* Opens and locks a lock file, `how` as for flock. `ret_fd` is CLOEXEC. */
dibs_status lock_file(const char *path, int how, int64_t until, int *ret_fd,
                      dibs_error *error);

/* server_program_find() with a message if there is none. */
dibs_status server_program_get(server_program *ret_program, dibs_error *error);

/* The end of a log as one line, "(empty)" if there is none. */
void log_tail(const char *path, char *ret_words, size_t size);

#endif
