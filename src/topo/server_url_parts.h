/* SPDX-License-Identifier: MIT */
/* topo/server_url_parts.h - the pieces that reading a URL is made of; inner to topo/. A
 * `part` is a stretch of the URL; the functions take it apart. */
#ifndef TOPO_SERVER_URL_PARTS_H
#define TOPO_SERVER_URL_PARTS_H

#include "topo/topo.h"

typedef struct part { const char *at; size_t size; } part;

typedef struct url_host { char *host; int port; } url_host;

typedef struct url_reading {
  server_url url;         /* what is said once for all hosts; its own host stays NULL */
  text *why;
  bool may_show;          /* false: what looks like an option may be a secret */
  bool has_database;
  uint32_t options_seen;  /* a bit for each option of the query */
  deployment_kind kind;   /* never QUORUM: that is several URLs */
  size_t host_count;
  url_host *hosts;        /* TCP, TLS */
  char *service;          /* SENTINEL, and what follows */
  char *sentinel_user, *sentinel_password;
  url_choice sentinel_tls;
  size_t mapping_count;
  address_mapping *mappings;
} url_reading;

bool part_is(part p, const char *words);
bool part_has(part p, char c);
void part_skip(part *p, size_t size);
/* Cuts `rest` at the first `c`: what is before it, and what is behind. */
bool part_split(part *rest, char c, part *ret_before);
/* The same, and what is left where there is no `c`; false when nothing was left. */
bool part_next(part *rest, char c, part *ret_item);
size_t part_count(part p, char c);

/* One whole URL, of any kind but QUORUM. */
dibs_status url_read(url_reading *r, part url);
void url_reading_deinit(url_reading *r);

/* Says `words` and answers DIBS_ERR_CONFIG. */
dibs_status url_fault(url_reading *r, const char *words);
/* A percent-decoded copy of `p`; `name` ("the host") is for messages. */
dibs_status url_decode(url_reading *r, part p, const char *name, char **ret_text);
dibs_status url_database_read(url_reading *r, part words);
/* Between the scheme and the query. */
dibs_status url_place_read(url_reading *r, part rest);
dibs_status url_options_read(url_reading *r, part query);
/* An option that was given and says how the client works, not how this server is reached;
 * NULL: none. */
const char *url_option_of_client(const url_reading *r);
/* `map=`, decoded. */
dibs_status url_mappings_read(url_reading *r, part value);

/* host[:port], IPv6 in brackets, cut where it is to be cut. */
typedef struct address_parts { part host, port; bool is_bracketed, has_port; } address_parts;
dibs_status address_cut(url_reading *r, part words, address_parts *ret);
/* Of what was cut and decoded; without a port it stays as it is. */
dibs_status address_check(url_reading *r, const address_parts *a, const char *host,
                          int *ret_port);

/* Letters, digits, '.', '-', '_': what hosts are made of. */
bool url_is_word(char c);
/* Names of hosts know no big and small letters. */
bool host_is_same(const char *a, const char *b);

/* A host as servers tell it: IPv6 without brackets; "" and "?" are "". false: unfit. */
#define HOST_TOLD_SIZE 256
bool host_told_read(part words, char ret_host[HOST_TOLD_SIZE]);

#define URL_DIALECTS "native, redisson, spring or plain"
url_dialect url_dialect_of(const char *words, size_t size);       /* 0: none of them */

/* The one of `words` that `p` is most likely a misspelling of, or NULL. */
const char *words_nearest(part p, const char *const *words, size_t count);

#endif
