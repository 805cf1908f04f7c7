/* SPDX-License-Identifier: MIT */
/* local/server_start.h - makes sure that one server and one supervisor run. */
#ifndef LOCAL_SERVER_START_H
#define LOCAL_SERVER_START_H

#include <stdbool.h>
#include <stdint.h>

#include <dibs/status.h>

#include "local/place.h"
#include "local/server_program.h"

/* For whoever holds users.lock: looks, and under start.lock starts what is missing, until
 * a server answers and a supervisor lives; or `until` (clock_ms) is over. */
dibs_status server_ensure(const place *p, int64_t idle_ms, bool with_aof, int64_t until,
                          dibs_error *error);

/* Opens and locks one of the lock files, `how` as for flock. `ret_fd` is CLOEXEC. */
dibs_status lock_file(const char *path, int how, int64_t until, int *ret_fd,
                      dibs_error *error);

/* server_program_find() with words when there is none. */
dibs_status server_program_get(server_program *ret_program, dibs_error *error);

/* The end of a log as one line, "(empty)" when there is none. */
void log_tail(const char *path, char *ret_words, size_t size);

#endif
