/* SPDX-License-Identifier: MIT */
/* dibs/local.h - the private server: one per user and machine, started when needed. */
#ifndef DIBS_LOCAL_H
#define DIBS_LOCAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_local_info {
  size_t size;             /* of the record the caller has; 0: sizeof(dibs_local_info) */
  bool is_running;
  int64_t server_pid;      /* 0: not running, or not in this pid name space */
  int64_t users;           /* processes that use it now, if known; -1: unknown */
  char directory[256];
  char url[320];           /* unix://... */
  char program[256];       /* the server program found, or "" */
  int64_t keys;            /* stored in it; -1: unknown. Since 0.5 */
} dibs_local_info;

/* Finds or starts the private server of this user on this machine: one, whatever the
 * environment, /tmp and network of the program. Programs with another DIBS_LOCAL_DIR (an
 * absolute path of at most 89 bytes, in the environment) have another.
 *
 * `idle_ms`: how long it stays without users; 0: 60000. It also stays while it has keys or
 * connections: a lease may outlive the program that took it. `with_aof`: keeps its data on
 * disk from now on, over restarts, until dibs_local_stop() with `forgets` (the same with
 * DIBS_LOCAL_AOF=1). `ret_info` and `error` may be NULL.
 * Returns DIBS_OK, DIBS_ERR_ARGUMENT (idle_ms is negative), DIBS_ERR_NO_SERVER (no program found;
 * the text names the package), DIBS_ERR_CONFIG (directory of another user, one that cannot be
 * reached from here, DIBS_NO_LOCAL, inside Kubernetes, a library built with -Dlocal=disabled),
 * DIBS_ERR_UNREACHABLE (it did not answer; with the end of its log), DIBS_ERR_SYSTEM.
 * Thread: any; blocks at most 5 s. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_local_start(
  int32_t idle_ms, bool with_aof, dibs_local_info *ret_info, dibs_error *error);

/* Stops the private server, also while programs use it and leases exist; these are lost, unless
 * it keeps its data. `forgets`: removes its data on disk; the next one starts empty and keeps
 * nothing. `error` may be NULL.
 * Returns DIBS_OK (also if none runs), DIBS_ERR_CONFIG (its directory, or a library built without
 * it: dibs_local_start() says more), DIBS_ERR_UNREACHABLE (it does not end, or another process
 * that starts or stops it does not), DIBS_ERR_SYSTEM.
 * Thread: any; blocks at most 10 s. Since 0.1, `forgets` since 0.5 */
DIBS_API dibs_status dibs_local_stop(bool forgets, dibs_error *error);

/* Reads the state of the private server without starting one. `ret_info` and `error` may be NULL.
 * Returns DIBS_OK (also if none runs, or it does not answer), DIBS_ERR_CONFIG (its directory, or a
 * library built without it), DIBS_ERR_SYSTEM.
 * Thread: any; waits at most 1 s for its answer. Since 0.1 */
DIBS_API dibs_status dibs_local_status(dibs_local_info *ret_info, dibs_error *error);

/* A temporary server. A pointer, not a checked handle. */
typedef struct dibs_sandbox dibs_sandbox;

/* Starts a temporary server in a new directory. It ends with this process, even if that is
 * killed.
 *
 * `ret_sandbox` written on DIBS_OK only. The caller owns it: dibs_sandbox_stop().
 * `ret_url`     receives the server's address; 320 bytes are enough.
 * `error`       may be NULL.
 * Returns DIBS_OK, DIBS_ERR_ARGUMENT (no room for the URL), DIBS_ERR_NO_SERVER (no program
 * found), DIBS_ERR_UNREACHABLE (the server ended), DIBS_ERR_SYSTEM, DIBS_ERR_NO_MEMORY,
 * DIBS_ERR_CONFIG (a library built with -Dlocal=disabled).
 * Thread: any; blocks at most 40 s. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_sandbox_start(
  dibs_sandbox **ret_sandbox, char *ret_url, size_t url_size, dibs_error *error);

typedef enum dibs_sandbox_kind {
  DIBS_SANDBOX_SERVER = 0,    /* one server, on a unix socket */
  DIBS_SANDBOX_CLUSTER = 1,   /* a Redis Cluster: primaries, without replicas */
  DIBS_SANDBOX_SENTINEL = 2,  /* a primary, two replicas, and three sentinels */
  DIBS_SANDBOX_QUORUM = 3     /* independent servers */
} dibs_sandbox_kind;

typedef struct dibs_sandbox_options {
  size_t size;                /* sizeof(dibs_sandbox_options) */
  dibs_sandbox_kind kind;
  int32_t servers;            /* CLUSTER: 1 to 8, 0: 3. QUORUM: odd, 1 to 9, 0: 5 */
} dibs_sandbox_options;

#define DIBS_SANDBOX_OPTIONS_INIT \
  { sizeof(dibs_sandbox_options), DIBS_SANDBOX_SERVER, 0 }

/* The same for a deployment of several real servers on ports of 127.0.0.1, ready for
 * use on return. `options` are copied; NULL: one server. 512 bytes are enough for the URL
 * of any. `error` may be NULL.
 * Returns DIBS_OK, DIBS_ERR_ARGUMENT (kind, number, no room for the URL),
 * DIBS_ERR_NO_SERVER, DIBS_ERR_UNREACHABLE (a server ended, or they did not become a
 * deployment in time; the text says which), DIBS_ERR_SYSTEM, DIBS_ERR_NO_MEMORY, DIBS_ERR_CONFIG
 * (a library built with -Dlocal=disabled).
 * Thread: any; blocks at most 40 s. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_sandbox_start_with(
  const dibs_sandbox_options *options, dibs_sandbox **ret_sandbox, char *ret_url,
  size_t url_size, dibs_error *error);

/* A server of a sandbox. Later versions add fields at the end. */
typedef struct dibs_sandbox_server {
  size_t size;
  const char *role;           /* as it was started: "server", "primary", "replica", "sentinel" */
  const char *url;            /* redis://127.0.0.1:PORT, or unix://... */
  const char *socket;         /* path of its unix socket, also where it has a port */
  const char *directory;      /* its data */
  const char *log;            /* path of its log */
  int64_t pid;
  int32_t port;               /* of 127.0.0.1; 0: none */
  uint32_t reserved;          /* 0 */
} dibs_sandbox_server;

/* Describes the server `index`, from 0; NULL: there are fewer. A primary comes before replicas,
 * these before sentinels. Valid until dibs_sandbox_keep() or dibs_sandbox_stop(), also after the
 * end of the server. Thread: any. Since 0.5 */
DIBS_API const dibs_sandbox_server *dibs_sandbox_server_at(
  const dibs_sandbox *sandbox, size_t index);

/* Names the directory that is removed with the sandbox. Only this user can open it; a program
 * may put files there. Valid as dibs_sandbox_server_at(). Thread: any. Since 0.5 */
DIBS_API const char *dibs_sandbox_directory(const dibs_sandbox *sandbox);

/* Lets the server outlive this process. Returns the process that SIGTERM ends together with the
 * servers and their directory; `sandbox` is freed. 0: it was not kept, and `sandbox` is
 * still valid. Thread: any. Since 0.5 */
DIBS_API int64_t dibs_sandbox_keep(dibs_sandbox *sandbox);

/* Ends the servers and removes their directory. Returns NULL; NULL is allowed. */
DIBS_API dibs_sandbox *dibs_sandbox_stop(dibs_sandbox *sandbox);

#ifdef __cplusplus
}
#endif

#endif
