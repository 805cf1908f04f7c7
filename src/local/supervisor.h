/* SPDX-License-Identifier: MIT */
/* local/supervisor.h - the process that stops the private server when nobody uses it.
 *
 * It holds a record lock on supervisor.lock while it lives, so there is one at most, and
 * is the parent of the server it started. Killed, it leaves the server running; the next
 * program that joins starts another, which adopts that server. */
#ifndef LOCAL_SUPERVISOR_H
#define LOCAL_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "local/place.h"
#include "local/server_run.h"

/* What it says on the report pipe, each an int: SUPERVISOR_STARTED once it has its lock
 * and a server; after that an errno if the program could not be executed. The pipe ends
 * with the server it started. */
enum { SUPERVISOR_STARTED = 0, SUPERVISOR_NOT_NEEDED = -1 };

/* Starts one. `run` is the server to start, or NULL to adopt the process `adopted`.
 * `ret_report` is the read end. Call under start.lock. False: see errno. */
bool supervisor_start(const place *p, const server_run *run, pid_t adopted,
                      int64_t idle_ms, int *ret_report);

/* Whether one lives. */
bool supervisor_is_there(const place *p);

#endif
