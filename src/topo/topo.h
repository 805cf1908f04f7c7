/* SPDX-License-Identifier: MIT */
/* topo - finds the server of a name: URLs, slots of a cluster, and the search for the
 * current servers (finder.h).
 *
 * Pure: reads no file, environment or clock. May include link/, request/, resp/, base/. */
#ifndef TOPO_H
#define TOPO_H

#include "base/base.h"
#include "base/dialects.h"
#include "base/hash.h"
#include "resp/resp.h"

typedef enum server_transport {
  SERVER_TCP = 1, SERVER_TLS, SERVER_UNIX, SERVER_LOCAL
} server_transport;

typedef enum url_degrade { DEGRADE_FAIL = 1, DEGRADE_WAIT, DEGRADE_LOCAL } url_degrade;
#define URL_DIALECT(number, NAME, word) URL_##NAME = (number),
typedef enum url_dialect { DIALECTS(URL_DIALECT) } url_dialect;
#undef URL_DIALECT
typedef enum url_history { URL_HISTORY_NOTABLE = 1, URL_HISTORY_ALL, URL_HISTORY_OFF } url_history;
typedef enum url_choice { CHOICE_YES = 1, CHOICE_NO } url_choice;

/* Where a password is in its file: the first line; a key of a configuration file. */
typedef enum password_place {
  PASSWORD_LINE = 0, PASSWORD_KEY, SENTINEL_PASSWORD_KEY
} password_place;

/* The settings of a URL. Unset: texts NULL, times and choices 0. All texts are owned. */
typedef struct server_url {
  memory memory;
  server_transport transport;
  char *host;             /* TCP, TLS; brackets of IPv6 removed */
  int port;               /* 6379 by default */
  char *path;             /* unix socket */
  int database;
  char *user, *password;
  char *password_file;    /* where the password was read: an absolute path; NULL: in no file */
  password_place password_in;          /* where in that file */
  char *prefix, *ca_file, *cert_file, *key_file, *server_name, *note;
  char *registry;         /* SPRING: the key of its registry */
  char *classes;          /* patterns of fleet/class.h */
  int32_t connect_timeout_ms, command_timeout_ms, close_timeout_ms;
  int32_t clock_rate_error_ppm;
  int32_t quarantine_ms;  /* era guard; 0: none */
  int32_t report_ms;      /* of what a client did; 0: the default; -1: off */
  int32_t history_max, history_over_ms;
  url_history history;
  url_degrade degrade;
  url_dialect dialect;
  url_choice pubsub, functions, sharded;
} server_url;

/* Reads a URL of one server. On a fault `why` (>= 400 bytes) names the part and what is
 * allowed, with a suggestion for a misspelt scheme or option; never a password. DIBS_OK,
 * DIBS_ERR_CONFIG, DIBS_ERR_NO_MEMORY. */
dibs_status server_url_parse(const memory *m, const char *url, server_url *ret_url,
                             text *why);
void server_url_deinit(server_url *u);            /* wipes the password */

/* The URL without user and password, for people. */
void server_url_show(const server_url *u, text *out);

/* ---- deployments: several servers in one URL ---- */

typedef enum deployment_kind {
  DEPLOYMENT_SINGLE = 1,
  DEPLOYMENT_REPLICATED,  /* redis://h1,h2,h3:6379/0: the one that is the primary */
  DEPLOYMENT_SENTINEL,    /* redis+sentinel://h1,h2,h3/service/0 */
  DEPLOYMENT_CLUSTER,     /* redis+cluster://h1,h2 */
  DEPLOYMENT_QUORUM       /* several URLs, separated by blanks or by a comma before a scheme */
} deployment_kind;

/* An address as servers report it, and the one to use instead: NAT, containers. */
typedef struct address_mapping {
  char *from_host; int from_port;      /* port 0: any, kept */
  char *to_host; int to_port;
} address_mapping;

#define SEEDS_MAX 64
#define QUORUM_SERVERS_MAX 15
#define PREFIX_DEFAULT "dibs"          /* of a URL without prefix */

typedef struct deployment {
  memory memory;
  deployment_kind kind;
  size_t seed_count;
  server_url *seeds;      /* addresses to ask: servers, sentinels, nodes. Complete: each
                             has its own log-in (sentinels: their own user, password, TLS) */
  server_url data;        /* template for discovered servers: no host. Client options
                             (prefix, timeouts, note, ...) of every kind are here */
  char *service;          /* SENTINEL: the name of the primary there */
  size_t mapping_count;
  address_mapping *mappings;           /* `map=` */
} deployment;

/* As server_url_parse(); `url` may name several servers. */
dibs_status deployment_parse(const memory *m, const char *url, deployment *ret, text *why);
void deployment_deinit(deployment *d);
/* Writes all addresses for people, without users and passwords. */
void deployment_show(const deployment *d, text *out);
/* Writes a deployment as one URL (a quorum: several, separated by blanks) that
 * deployment_parse() reads as the same deployment. Omits the note, and the passwords
 * unless `with_passwords`. */
void deployment_write(const deployment *d, bool with_passwords, text *out);
/* The URL of the server that servers report as host:port: the template `data`, with the
 * address mapped. */
dibs_status deployment_url(const deployment *d, const char *host, int port,
                           server_url *ret_url);
/* Whether its password was read at this place of this file. */
bool password_is_of(const server_url *u, const char *file, password_place place);
dibs_status server_url_copy(const server_url *from, server_url *ret);  /* NO_MEMORY */
bool server_url_same_address(const server_url *a, const server_url *b);

/* ---- slots of a cluster ---- */

#define NODES_MAX 1000

/* The hash tag of a key without its braces; the whole key if it has none, or an empty one. */
const char *tag_of_key(const char *key, size_t size, size_t *ret_size);
/* CRC16 of the hash tag, as in CLUSTER KEYSLOT. */
uint16_t slot_of_key(const char *key, size_t size);

typedef struct slot_node { char *host; int port; } slot_node;

typedef struct slot_map {
  memory memory;
  size_t node_count;
  slot_node *nodes;                  /* primaries only; host "": the node that was asked */
  uint16_t node_of[SLOT_COUNT];      /* index into nodes; SLOT_UNSERVED */
  bool has_sharded_channels;         /* the node knows CLUSTER SHARDS (7.0 or newer) */
} slot_map;
#define SLOT_UNSERVED UINT16_MAX

/* Read the replies to CLUSTER SHARDS and CLUSTER SLOTS. Replicas are skipped; slots of a shard
 * without a healthy primary get SLOT_UNSERVED. `is_tls`: use the TLS port of the two that SHARDS
 * reports. false: no such reply, beyond the limits, or no memory; `*ret` is unchanged. */
bool slot_map_read_shards(const memory *m, const resp_reply *reply, bool is_tls,
                          slot_map *ret);
bool slot_map_read_slots(const memory *m, const resp_reply *reply, slot_map *ret);
void slot_map_deinit(slot_map *map);              /* may be repeated */

/* Reads "-MOVED 3999 127.0.0.1:6381" or "-ASK ..."; false for any other error. Host may be
 * "" (the node that answered), may be IPv6 without brackets, and has at most 255 bytes. */
typedef struct redirect {
  bool is_ask;
  uint16_t slot;
  char host[256];
  int port;
} redirect;
bool redirect_read(const char *error, size_t size, redirect *ret);

#endif
