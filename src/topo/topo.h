/* SPDX-License-Identifier: MIT */
/* topo - which server serves a name: what a URL says, slots of a cluster, and the search for
 * the servers of today (finder.h).
 *
 * Pure: reads no file, environment or clock. May include link/, resp/, base/. */
#ifndef TOPO_H
#define TOPO_H

#include "base/base.h"
#include "resp/resp.h"

typedef enum server_transport {
  SERVER_TCP = 1, SERVER_TLS, SERVER_UNIX, SERVER_LOCAL
} server_transport;

typedef enum url_degrade { DEGRADE_FAIL = 1, DEGRADE_WAIT, DEGRADE_LOCAL } url_degrade;
typedef enum url_dialect { URL_NATIVE = 1, URL_REDISSON, URL_SPRING, URL_PLAIN } url_dialect;
typedef enum url_choice { CHOICE_YES = 1, CHOICE_NO } url_choice;

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
  char *registry;         /* SPRING: the key of its registry */
  int32_t connect_timeout_ms, command_timeout_ms, close_timeout_ms;
  int32_t clock_rate_error_ppm;
  int32_t quarantine_ms;  /* era guard; 0: none */
  url_degrade degrade;    /* 0: not said */
  url_dialect dialect;    /* likewise */
  url_choice pubsub, functions, sharded;  /* 0: not said */
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
  DEPLOYMENT_REPLICATED,  /* redis://h1,h2,h3:6379/0: whichever is the primary */
  DEPLOYMENT_SENTINEL,    /* redis+sentinel://h1,h2,h3/service/0 */
  DEPLOYMENT_CLUSTER,     /* redis+cluster://h1,h2 */
  DEPLOYMENT_QUORUM       /* several URLs, parted by blanks or by a comma before a scheme */
} deployment_kind;

/* An address as servers tell it, and the one to use instead: NAT, containers. */
typedef struct address_mapping {
  char *from_host; int from_port;      /* port 0: any, and kept */
  char *to_host; int to_port;
} address_mapping;

#define SEEDS_MAX 64

typedef struct deployment {
  memory memory;
  deployment_kind kind;
  size_t seed_count;
  server_url *seeds;      /* whom to ask: servers, sentinels, nodes. Complete: each has what it
                             takes to log in there (sentinels: their own user, password, TLS) */
  server_url data;        /* what holds for servers that are found: no host. Options of the
                             client (prefix, timeouts, note, ...) of every kind are here */
  char *service;          /* SENTINEL: what the primary is called there */
  size_t mapping_count;
  address_mapping *mappings;           /* `map=` */
} deployment;

/* As server_url_parse(); `url` may name several servers. */
dibs_status deployment_parse(const memory *m, const char *url, deployment *ret, text *why);
void deployment_deinit(deployment *d);
/* For people: all that was named, without users and passwords. */
void deployment_show(const deployment *d, text *out);
/* A URL for the server at host:port, as the servers told it: the template `data`, mapped. */
dibs_status deployment_url(const deployment *d, const char *host, int port,
                           server_url *ret_url);
dibs_status server_url_copy(const server_url *from, server_url *ret);  /* NO_MEMORY */
bool server_url_same_place(const server_url *a, const server_url *b);

/* ---- slots of a cluster ---- */

#define SLOT_COUNT 16384
#define NODES_MAX 1000

/* Its hash tag, inside of it; the whole key where it has none, or an empty one. */
const char *tag_of_key(const char *key, size_t size, size_t *ret_size);
/* CRC16 of the hash tag, as CLUSTER KEYSLOT. */
uint16_t slot_of_key(const char *key, size_t size);

typedef struct slot_node { char *host; int port; } slot_node;

typedef struct slot_map {
  memory memory;
  size_t node_count;
  slot_node *nodes;                  /* primaries only; host "" means: whom we asked */
  uint16_t node_of[SLOT_COUNT];      /* index into nodes; SLOT_NOBODY */
  bool has_sharded_channels;         /* it knows CLUSTER SHARDS: so 7.0 or newer */
} slot_map;
#define SLOT_NOBODY UINT16_MAX

/* Replies to CLUSTER SHARDS and CLUSTER SLOTS. Replicas are passed over; slots of a shard
 * without a healthy primary have nobody. `is_tls`: SHARDS tells two ports of a node, and this
 * is the one we want. false: it is no such reply, it is beyond the limits, or there is no
 * memory; nothing is written then. */
bool slot_map_read_shards(const memory *m, const resp_reply *reply, bool is_tls,
                          slot_map *ret);
bool slot_map_read_slots(const memory *m, const resp_reply *reply, slot_map *ret);
void slot_map_deinit(slot_map *map);              /* harmless to repeat */

/* -MOVED 3999 127.0.0.1:6381, -ASK ...: false for anything else. Host may be "" (the node
 * that answered) and may be IPv6 without brackets; it is cut at 255 bytes: false. */
typedef struct redirect {
  bool is_ask;
  uint16_t slot;
  char host[256];
  int port;
} redirect;
bool redirect_read(const char *error, size_t size, redirect *ret);

#endif
