/* SPDX-License-Identifier: MIT */
/* local/server_program.h - which installed program can be run as the server.
 *
 * The one place that knows the names. redis-tools and valkey-tools carry the server
 * without its package: their check-rdb is the same multi-call program, which becomes the
 * server when its argv[0] says so. */
#ifndef LOCAL_SERVER_PROGRAM_H
#define LOCAL_SERVER_PROGRAM_H

#include <stdbool.h>

typedef struct server_program {
  char path[256];   /* what to execute */
  char argv0[64];   /* under which name */
} server_program;

/* Looks for DIBS_SERVER (a path or a name on PATH; when it is set nothing else counts),
 * then valkey-server, redis-server, redict-server, keydb-server, valkey-check-rdb,
 * redis-check-rdb. Returns false, with `ret_program` untouched, when there is none. */
bool server_program_find(server_program *ret_program);

#endif
