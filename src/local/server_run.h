/* SPDX-License-Identifier: MIT */
/* local/server_run.h - builds the server's command line and starts it. */
#ifndef LOCAL_SERVER_RUN_H
#define LOCAL_SERVER_RUN_H

#include <stdbool.h>
#include <sys/types.h>

#include "local/place.h"
#include "local/server_program.h"

enum { SERVER_RUN_ARGUMENTS_MAX = 64 };

/* Contains pointers to itself: do not copy. */
typedef struct server_run {
  server_program program;
  place place;
  char *arguments[SERVER_RUN_ARGUMENTS_MAX];
  size_t argument_count;
  char port[16], configuration[PLACE_SOCKET_MAX + 16];
  char *environment[3];
  char path_variable[1024];
  char library_variable[1024];
} server_run;

/* A server without port and persistence; `with_aof`: an append-only file, synced always. */
void server_run_prepare(server_run *r, const server_program *program, const place *p,
                        bool with_aof);

/* A sentinel at a port. Its configuration file must exist. */
void server_run_prepare_sentinel(server_run *r, const server_program *program,
                                 const place *p, int port);
/* Adds options, which override earlier ones: pairs, NULL at the end; not copied. */
void server_run_add(server_run *r, const char *const *options);
/* Makes it listen at this port of 127.0.0.1, too. */
void server_run_listen(server_run *r, int port);

/* Starts it as a child. `dies_with_me`: killed whenever this process ends. `report`:
 * receives the errno of a failed exec as an int; CLOEXEC. Async-signal-safe. */
pid_t server_run_start(const server_run *r, bool dies_with_me, int report);

#endif
