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
  size_t size;
  bool is_running;
  int64_t server_pid;      /* 0 when not running */
  int64_t users;           /* processes that use it now, as far as can be told; -1 */
  char directory[256];
  char url[320];           /* unix://... */
  char program[256];       /* the server program found, or "" */
} dibs_local_info;

/* Finds or starts the private server. `idle_ms`: how long it stays without users, 0:
 * 60000. `with_aof`: keeps data over restarts (also by DIBS_LOCAL_AOF=1).
 * `ret_info` and `error` may be NULL.
 * Returns DIBS_OK, DIBS_ERR_NO_SERVER (no program found; the text names the package),
 * DIBS_ERR_CONFIG (directory of somebody else, DIBS_NO_LOCAL, inside Kubernetes),
 * DIBS_ERR_UNREACHABLE (it did not answer; with the tail of its log).
 * Thread: any; blocks at most 5 s. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_local_start(
  int32_t idle_ms, bool with_aof, dibs_local_info *ret_info, dibs_error *error);

/* Stops it, also under its users. DIBS_OK also when none runs. Since 0.1 */
DIBS_API dibs_status dibs_local_stop(dibs_error *error);

/* Tells about it without starting it. Since 0.1 */
DIBS_API dibs_status dibs_local_status(dibs_local_info *ret_info, dibs_error *error);

/* A server of one's own in a fresh directory, gone with this process even if that is
 * killed. `ret_url` gets its address (320 bytes are enough). Since 0.1 */
typedef struct dibs_sandbox dibs_sandbox;

DIBS_API DIBS_MUST_CHECK dibs_status dibs_sandbox_start(
  dibs_sandbox **ret_sandbox, char *ret_url, size_t url_size, dibs_error *error);

DIBS_API dibs_sandbox *dibs_sandbox_stop(dibs_sandbox *sandbox);

#ifdef __cplusplus
}
#endif

#endif
