/* SPDX-License-Identifier: MIT */
/* cli/connection.h - the options that say which server, and how to reach it. */
#ifndef CLI_CONNECTION_H
#define CLI_CONNECTION_H

#include "cli/options.h"

#define QUORUM_MAX 15          /* servers */

typedef struct connection_options {
  const char *urls[QUORUM_MAX];  /* several: a quorum */
  size_t url_count;
  const char *user, *pass_file, *cacert, *cert, *key, *sni, *prefix, *registry, *config;
  dibs_dialect dialect;
  int database;                  /* -1: not given */
  int32_t connect_timeout_ms;    /* 0: the library's default */
  dibs_degrade degrade;          /* 0: not given */
  bool wants_askpass, wants_local, refuses_local;
  const char *note;              /* --note, where the subcommand has that; NULL: none */
} connection_options;

#define CONNECTION_DEFAULTS { .database = -1 }

extern const option_row options_connection[];

#endif
