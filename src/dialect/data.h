/* SPDX-License-Identifier: MIT */
/* dialect/data.h - maps, lists and sets in Redisson's layout: calls and answers;
 * protocol.md 21. The key is the name, bytes are stored unchanged. */
#ifndef DIALECT_DATA_H
#define DIALECT_DATA_H

#include "dialect/native.h"

#define DATA_BYTES_MAX ((size_t)1 << 20)   /* of a value or element; a link accepts twice that */
#define DATA_PAGE_BYTES ((size_t)3 << 19)  /* in the reply to a page */
#define DATA_PAGE_COUNT 256        /* most entries; the first page of a walk has fewer */
#define DATA_CURSOR_SIZE 24

typedef enum data_verb {
  DATA_MAP_SET = 1, DATA_MAP_ADD, DATA_MAP_PUT, DATA_MAP_REPLACE, DATA_MAP_REPLACE_IF,
  DATA_MAP_GET, DATA_MAP_HAS, DATA_MAP_SIZE, DATA_MAP_REMOVE, DATA_MAP_TAKE,
  DATA_MAP_REMOVE_IF, DATA_MAP_PAGE,
  DATA_LIST_ADD, DATA_LIST_ADD_FIRST, DATA_LIST_GET, DATA_LIST_SET, DATA_LIST_INSERT,
  DATA_LIST_REMOVE, DATA_LIST_REMOVE_AT, DATA_LIST_SIZE, DATA_LIST_PAGE, DATA_LIST_POP,
  DATA_SET_ADD, DATA_SET_REMOVE, DATA_SET_HAS, DATA_SET_SIZE, DATA_SET_PAGE, DATA_SET_POP,
  DATA_EXPIRE, DATA_PERSIST, DATA_TTL, DATA_DELETE
} data_verb;

/* The fields of a call; the verb decides which are used. */
typedef struct data_call {
  data_verb verb;
  resp_argument name;
  resp_argument key, value;
  resp_argument expected;
  int64_t number;           /* an index, or milliseconds */
  int64_t count;
  const char *cursor;
} data_call;

/* It changes nothing, and so may be repeated without a reply. */
bool data_is_read(data_verb verb);
/* Fills the request; false: no memory. */
bool data_encode(const protocol *n, request *out, const data_call *c);

/* ---- answers; false when the reply has another form ---- */

bool data_integer_answer(const resp_reply *r, int64_t *ret_value);

typedef struct data_value {
  bool is_there;
  const char *bytes;        /* borrowed from the reply; NULL: longer than the limit */
  size_t size;
} data_value;

/* Value of a node: a string, nil, or the size of a value that was too long. */
bool data_value_read(const resp_node *node, data_value *ret_value);
bool data_value_answer(const resp_reply *r, data_value *ret_value);

typedef struct data_page {
  char cursor[DATA_CURSOR_SIZE];   /* "0": it was the last page */
  const resp_node *entries;        /* an array of values, in pairs for a map */
  size_t count;
  size_t bytes;                    /* of all values */
  bool has_gaps;                   /* a value was too long */
} data_page;

/* Of map_page and set_page; a page of a map has an even count. */
bool data_page_answer(const resp_reply *r, data_page *ret_page);
/* Of list_page. */
bool data_list_page_answer(const resp_reply *r, data_page *ret_page);

/* ---- names of the locks that belong to a key or member; in data_name.c ---- */

/* `{N}:<h>:<kind>`, or `N:<h>:<kind>` where N has a `{`: h is the hash of the key's bytes. */
void data_lock_name(const char *name, resp_argument key, const char *kind, text *out);

#endif
