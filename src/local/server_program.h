/* SPDX-License-Identifier: MIT */
/* local/server_program.h - finds an installed server program.
 *
 * Only this file knows program names. redis-tools and valkey-tools contain the server
 * without its package: their check-rdb is the same multi-call program, which runs as the
 * server if argv[0] names it. */
#ifndef LOCAL_SERVER_PROGRAM_H
#define LOCAL_SERVER_PROGRAM_H

#include <stdbool.h>

typedef struct server_program {
  char path[256];   /* to execute */
  char argv0[64];   /* its argv[0] */
} server_program;

/* Tries DIBS_SERVER (a path or a name on PATH; if set, nothing else), then valkey-server,
 * redis-server, redict-server, keydb-server, valkey-check-rdb, redis-check-rdb. false:
 * none; `ret_program` is unchanged. */
bool server_program_find(server_program *ret_program);

#endif
