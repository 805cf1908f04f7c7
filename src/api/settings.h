/* SPDX-License-Identifier: MIT */
/* api/settings.h - what a client works with: what the program says wins over the URL, the URL
 * over the config file, that over the environment's passwords. */
#ifndef API_SETTINGS_H
#define API_SETTINGS_H

#include "api/api.h"
#include "api/config.h"

/* All that is read on the way to a client; freed at the end of dibs_open(). */
typedef struct opening {
  memory memory;
  dibs_options options;
  config config;
  deployment servers;
  bool is_private;
  int local_use_fd;
  dibs_error local_error;
  text *why;
} opening;

/* An environment variable that is set and not empty, or NULL. */
const char *environment(const char *name);

/* Into the URLs of all servers; says what does not fit. */
dibs_status settings_merge(opening *o);

/* What is no part of a URL; of a deployment that is the client's by now. */
client_times times_of(const opening *o, const server_url *data);
url_degrade degrade_of(const opening *o, const server_url *data);
/* All but who asks: host, client_id, seed. */
void engine_settings_set(const dibs_client *c, const opening *o, engine_settings *s);

/* The program's own, else malloc() and its like (open.c). */
memory memory_of(const dibs_allocator *a);

#endif
