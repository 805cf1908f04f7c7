/* SPDX-License-Identifier: MIT */
/* local/server_run.h - the server's command line, and running it. */
#ifndef LOCAL_SERVER_RUN_H
#define LOCAL_SERVER_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "local/place.h"
#include "local/server_program.h"

enum { SERVER_RUN_ARGUMENTS_MAX = 40 };

/* Points into itself: not to be copied. */
typedef struct server_run {
  server_program program;
  place place;
  char *arguments[SERVER_RUN_ARGUMENTS_MAX];
  char *environment[3];
  char path_variable[1024];
  char library_variable[1024];
} server_run;

/* A server without port that keeps nothing on disk; `with_aof`: everything, at once. */
void server_run_prepare(server_run *r, const server_program *program, const place *p,
                        bool with_aof);

/* Starts it as a child. `dies_with_me`: killed when this process ends, however it ends.
 * `report`: gets the errno of a failed exec as an int; CLOEXEC. Async-signal-safe. */
pid_t server_run_start(const server_run *r, bool dies_with_me, int report);

#endif
