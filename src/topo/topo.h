/* SPDX-License-Identifier: MIT */
/* topo - which server serves a name. Today: one server, written in a URL.
 *
 * Pure: reads no file, environment or clock. May include link/, resp/, base/. */
#ifndef TOPO_H
#define TOPO_H

#include "base/base.h"

typedef enum server_transport {
  SERVER_TCP = 1, SERVER_TLS, SERVER_UNIX, SERVER_LOCAL
} server_transport;

/* What a URL says. Texts are NULL where it is silent; all owned. Times 0 likewise. */
typedef struct server_url {
  memory memory;
  server_transport transport;
  char *host;             /* TCP, TLS; brackets of IPv6 removed */
  int port;               /* 6379 by default */
  char *path;             /* unix socket */
  int database;
  char *user, *password;
  char *prefix, *ca_file, *cert_file, *key_file, *server_name, *note;
  int32_t connect_timeout_ms, command_timeout_ms, close_timeout_ms;
  int32_t clock_rate_error_ppm;
} server_url;

/* Reads a URL. On a fault `why` (>= 256 bytes) names the part and what is allowed, with
 * a suggestion for a misspelt scheme or option; never a password. DIBS_OK,
 * DIBS_ERR_CONFIG, DIBS_ERR_NO_MEMORY. */
dibs_status server_url_parse(const memory *m, const char *url, server_url *ret_url,
                             text *why);
void server_url_deinit(server_url *u);            /* wipes the password */

/* The URL without user and password, for people. */
void server_url_show(const server_url *u, text *out);

#endif
