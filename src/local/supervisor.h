/* SPDX-License-Identifier: MIT */
/* local/supervisor.h - the process that stops the private server when it is unused and empty.
 *
 * While it lives it holds a record lock on supervisor.lock, so there is at most one. It is the
 * parent of the server that it started. If it is killed, the server goes on; the next program
 * that joins starts another supervisor, which adopts that server. */
#ifndef LOCAL_SUPERVISOR_H
#define LOCAL_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "local/place.h"
#include "local/server_run.h"

/* Messages on the report pipe, an int each: SUPERVISOR_STARTED once it has its lock and a
 * server; then an errno if the program could not be executed. The pipe ends with the
 * server. NOT_NEEDED: another supervisor has the lock. NOT_ALONE: another private server
 * of this user runs or is being started (others.h), or /proc cannot be read. */
enum { SUPERVISOR_STARTED = 0, SUPERVISOR_NOT_NEEDED = -1, SUPERVISOR_NOT_ALONE = -2 };

/* Starts a supervisor. `run` is the server to start, or NULL to adopt the process
 * `adopted`. `ret_report` is the read end. Call under start.lock. false: see errno. */
bool supervisor_start(const place *p, const server_run *run, pid_t adopted,
                      int64_t idle_ms, int *ret_report);

/* Whether a supervisor lives. */
bool supervisor_is_there(const place *p);

#endif
