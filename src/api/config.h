/* SPDX-License-Identifier: MIT */
/* api/config.h - server and settings of a client from environment variables and the config
 * file, when the program names none.
 *
 *   # ~/.config/dibs/config
 *   url = rediss://locks.example:6380
 *   password_file = /run/secrets/dibs
 *
 * `key = value` lines without sections; comments begin with # or ;. Unknown keys are
 * faults: a setting silently dropped is found in production. Each key may occur once,
 * except `url`: several of it are the servers of a quorum. */
#ifndef API_CONFIG_H
#define API_CONFIG_H

#include "topo/topo.h"

/* NULL and 0: not given. All texts are owned. */
typedef struct config {
  memory memory;
  char *url, *prefix, *user, *password, *password_file, *sentinel_user, *sentinel_password;
  char *file;             /* the one that was read; NULL: none */
  char *registry, *classes;
  char *ca_file, *cert_file, *key_file, *server_name, *note;
  int32_t connect_timeout_ms, command_timeout_ms, close_timeout_ms, clock_rate_error_ppm;
  int32_t quarantine_ms;
  int32_t report_ms, history_max, history_over_ms;   /* report off: -1 */
  url_history history;
  url_degrade degrade;
  url_dialect dialect;
  url_choice pubsub, functions, sharded;
} config;

void config_init(config *c, const memory *m);
void config_deinit(config *c);                 /* wipes passwords */

/* Parses the bytes of a file. DIBS_OK, DIBS_ERR_NO_MEMORY, or DIBS_ERR_CONFIG: `why` names
 * `file`, the line and what is allowed. Pure. */
dibs_status config_parse(config *c, const char *bytes, size_t size, const char *file,
                         text *why);

/* Reads the file `named`; NULL: the file of DIBS_CONFIG, of the user or of the machine;
 * without one, DIBS_OK and nothing set. Also reads password_file. */
dibs_status config_find(config *c, const char *named, text *why);

/* Reads the password of a file again. */
dibs_status password_file_read(const memory *m, const char *path, password_place place,
                               char **ret_password, text *why);

/* Returns a message that follows the file's name when it is not a regular file, so that
 * reading it may block. NULL: no fault. */
const char *config_file_fault(const char *path);

/* Reads a small file without its final line end; wiped and freed by mem_free_secret(). */
dibs_status config_file_read(const memory *m, const char *path, char **ret_bytes,
                             size_t *ret_size, bool *ret_missing, text *why);

#endif
