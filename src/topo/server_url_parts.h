/* SPDX-License-Identifier: MIT */
/* topo/server_url_parts.h - functions that cut and read a URL; internal to topo/. A `part`
 * is a range of the URL. */
#ifndef TOPO_SERVER_URL_PARTS_H
#define TOPO_SERVER_URL_PARTS_H

#include "topo/topo.h"

typedef struct part { const char *at; size_t size; } part;

typedef struct url_host { char *host; int port; } url_host;

typedef struct url_reading {
  server_url url;         /* common to all hosts; its own host stays NULL */
  text *why;
  bool may_show;          /* false: an apparent option may be a secret */
  bool has_database;
  uint32_t options_seen;  /* one bit for each option of the query */
  deployment_kind kind;   /* never QUORUM: that is several URLs */
  size_t host_count;
  url_host *hosts;        /* TCP, TLS */
  char *service;          /* SENTINEL, and the next ones */
  char *sentinel_user, *sentinel_password;
  url_choice sentinel_tls;
  size_t mapping_count;
  address_mapping *mappings;
} url_reading;

bool part_is(part p, const char *words);
bool part_has(part p, char c);
void part_skip(part *p, size_t size);
/* Cuts `rest` at the first `c` into the text before it and the text after it. */
bool part_split(part *rest, char c, part *ret_before);
/* As part_split(); without `c` the item is all that is left. false: nothing was left. */
bool part_next(part *rest, char c, part *ret_item);
size_t part_count(part p, char c);

/* Reads one URL of any kind but QUORUM. */
dibs_status url_read(url_reading *r, part url);
void url_reading_deinit(url_reading *r);

/* Adds the message and returns DIBS_ERR_CONFIG. */
dibs_status url_fault(url_reading *r, const char *words);
/* A percent-decoded copy of `p`; `name` ("the host") is for messages. */
dibs_status url_decode(url_reading *r, part p, const char *name, char **ret_text);
dibs_status url_database_read(url_reading *r, part words);
/* Reads the text between the scheme and the query. */
dibs_status url_place_read(url_reading *r, part rest);
dibs_status url_options_read(url_reading *r, part query);
/* The name of a given option that configures the client, not the connection to this
 * server; NULL: none. */
const char *url_option_of_client(const url_reading *r);
/* `map=`: reads the decoded value; writes it encoded. */
dibs_status url_mappings_read(url_reading *r, part value);
void url_mappings_write(const url_reading *r, text *out);
/* The query of one URL with its '?', empty if no option is set: server options from
 * `server`, client options from `client` (NULL: another URL has them). */
void url_options_write(const url_reading *server, const url_reading *client,
                       bool with_passwords, text *out);

/* Percent-encodes all but letters, digits, ".-_" and `plain`. */
void url_encoded_add(text *out, const char *words, char plain);
/* host:port, IPv6 in brackets. */
void url_place_add(text *out, const server_url *u);

/* host[:port], IPv6 in brackets, cut into its parts. */
typedef struct address_parts { part host, port; bool is_bracketed, has_port; } address_parts;
dibs_status address_cut(url_reading *r, part words, address_parts *ret);
/* Checks a cut and decoded address; without a port, `*ret_port` is unchanged. */
dibs_status address_check(url_reading *r, const address_parts *a, const char *host,
                          int *ret_port);

/* Letters, digits, '.', '-', '_': the characters of hosts. */
bool url_is_word(char c);
/* Case is insignificant in host names. */
bool host_is_same(const char *a, const char *b);

/* Reads a host of a reply: IPv6 without brackets; "" and "?" become "". false: invalid. */
#define HOST_REPORTED_SIZE 256
bool host_reported_read(part words, char ret_host[HOST_REPORTED_SIZE]);

/* The element of `words` that `p` probably misspells, or NULL. */
const char *words_nearest(part p, const char *const *words, size_t count);

#endif
