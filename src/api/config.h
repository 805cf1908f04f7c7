/* SPDX-License-Identifier: MIT */
/* api/config.h - where a client's server and settings come from when the program leaves it
 * to the user: environment variables and the config file.
 *
 *   # ~/.config/dibs/config
 *   url = rediss://locks.example:6380
 *   password_file = /run/secrets/dibs
 *
 * `key = value` lines without sections; comments begin with # or ;. Unknown keys are
 * faults: a setting silently dropped is found in production. Each key stands once; only of
 * `url` there may be several, the servers of a quorum. */
#ifndef API_CONFIG_H
#define API_CONFIG_H

#include "topo/topo.h"

/* NULL and 0: not given. All texts owned. */
typedef struct config {
  memory memory;
  char *url, *prefix, *user, *password, *password_file, *sentinel_user, *sentinel_password;
  char *registry;
  char *ca_file, *cert_file, *key_file, *server_name, *note;
  int32_t connect_timeout_ms, command_timeout_ms, close_timeout_ms, clock_rate_error_ppm;
  int32_t quarantine_ms;
  url_degrade degrade;
  url_dialect dialect;
  url_choice pubsub, functions, sharded;
} config;

void config_init(config *c, const memory *m);
void config_deinit(config *c);                 /* wipes passwords */

/* Reads the bytes of a file. DIBS_OK, DIBS_ERR_NO_MEMORY, or DIBS_ERR_CONFIG: `why`
 * names `file`, the line and what is allowed. Pure. */
dibs_status config_parse(config *c, const char *bytes, size_t size, const char *file,
                         text *why);

/* Reads the user's file, or the machine's; neither there: DIBS_OK and nothing set. Also
 * reads password_file. */
dibs_status config_find(config *c, text *why);

/* Whole small file without its final line end; wiped and freed by mem_free_secret(). */
dibs_status config_file_read(const memory *m, const char *path, char **ret_bytes,
                             size_t *ret_size, bool *ret_missing, text *why);

#endif
