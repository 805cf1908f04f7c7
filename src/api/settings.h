/* SPDX-License-Identifier: MIT */
/* api/settings.h - the settings of a client: the program's options win over the URL, the
 * URL over the config file, the file over the passwords of the environment. */
#ifndef API_SETTINGS_H
#define API_SETTINGS_H

#include <limits.h>

#include "api/api.h"
#include "api/config.h"

/* All sources that dibs_open() reads; freed at its end. */
typedef struct opening {
  memory memory;
  dibs_options options;
  config config;
  deployment servers;
  bool is_private;
  bool is_unnamed;                /* no source names a server: the private one is used */
  bool is_inherited;              /* the URL is DIBS_INHERITED_URL */
  int local_use_fd;
  dibs_error local_error;
  text *why;
  char path[PATH_MAX];
} opening;

/* The value of an environment variable, or NULL when it is not set or empty. */
const char *environment(const char *name);

/* Merges into `o->servers`, which then holds all that other programs need to reach the
 * same locks (deployment_write()). `o->why` names what does not fit. */
dibs_status settings_merge(opening *o);

/* The timeouts of this client, with the defaults. */
client_times times_of(const opening *o, const server_url *data);
/* Sets all fields except host, client_id and seed. */
void engine_settings_set(const client_record *c, const opening *o, engine_settings *s);

/* The program's allocator, or malloc() and free() (open.c). */
memory memory_of(const dibs_allocator *a);

#endif
