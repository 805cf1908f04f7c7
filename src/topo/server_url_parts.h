/* SPDX-License-Identifier: MIT */
/* topo/server_url_parts.h - the pieces that reading a server URL is made of; inner to
 * topo/. A `part` is a stretch of the URL; the functions take it apart. */
#ifndef TOPO_SERVER_URL_PARTS_H
#define TOPO_SERVER_URL_PARTS_H

#include "topo/topo.h"

typedef struct part { const char *at; size_t size; } part;

typedef struct url_reading {
  server_url url;
  text *why;
  bool may_show;          /* false: what looks like an option may be a secret */
  bool has_database;
  uint32_t options_seen;  /* a bit for each option of the query */
} url_reading;

bool part_is(part p, const char *words);
bool part_has(part p, char c);
void part_skip(part *p, size_t size);
/* Cuts `rest` at the first `c`: what is before it, and what is behind. */
bool part_split(part *rest, char c, part *ret_before);

/* Says `words` and answers DIBS_ERR_CONFIG. */
dibs_status url_fault(url_reading *r, const char *words);
/* A percent-decoded copy of `p`; `name` ("the host") is for messages. */
dibs_status url_decode(url_reading *r, part p, const char *name, char **ret_text);
dibs_status url_database_read(url_reading *r, part words);
dibs_status url_options_read(url_reading *r, part query);

/* Letters, digits, '.', '-', '_': what hosts are made of. */
bool url_is_word(char c);

/* The one of `words` that `p` is most likely a misspelling of, or NULL. */
const char *words_nearest(part p, const char *const *words, size_t count);

#endif
