/* SPDX-License-Identifier: MIT */
/* dialect/data.h - maps, lists and sets as Redisson keeps them: calls and answers;
 * protocol.md 21. The key is the name as it is, bytes are stored as they are. */
#ifndef DIALECT_DATA_H
#define DIALECT_DATA_H

#include "dialect/native.h"

#define DATA_BYTES_MAX ((size_t)1 << 20)   /* of a value or element; a link takes twice that */
#define DATA_KEY_MAX ((size_t)64 << 10)    /* of a key of a map, or a member of a set */
#define DATA_PAGE_BYTES ((size_t)3 << 19)  /* in the answer to a page */
#define DATA_PAGE_COUNT 256        /* entries at the most; the first page of a walk has fewer */
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

/* What a call says; which of it matters tells the verb. */
typedef struct data_call {
  data_verb verb;
  resp_argument name;
  resp_argument key, value;
  resp_argument expected;
  int64_t number;           /* an index, or milliseconds */
  int64_t count;
  const char *cursor;
} data_call;

/* It changes nothing, and so may be asked again when no answer came. */
bool data_is_read(data_verb verb);
/* A script: has to be encoded by text, too. */
bool data_is_script(data_verb verb);
/* Appends the command; false when memory is refused. */
bool data_encode(const native *n, buffer *out, bool with_text, const data_call *c);

/* ---- answers; false when the reply has not the shape that is promised ---- */

bool data_integer_answer(const resp_reply *r, int64_t *ret_value);

typedef struct data_value {
  bool is_there;
  const char *bytes;        /* borrowed from the reply; NULL: longer than may be told */
  size_t size;
} data_value;

/* Value of a node: a string, nil, or the size of what was left out. */
bool data_value_read(const resp_node *node, data_value *ret_value);
bool data_value_answer(const resp_reply *r, data_value *ret_value);

typedef struct data_page {
  char cursor[DATA_CURSOR_SIZE];   /* "0": it was the last */
  const resp_node *entries;        /* an array of values, in pairs for a map */
  size_t count;
  size_t bytes;                    /* in all of them */
  bool has_gaps;                   /* something was left out */
} data_page;

/* Of map_page and set_page; a page of a map has an even count. */
bool data_page_answer(const resp_reply *r, data_page *ret_page);
/* Of list_page. */
bool data_list_page_answer(const resp_reply *r, data_page *ret_page);

/* ---- names of the locks that belong to a key or member; in data_name.c ---- */

/* `{N}:<h>:<kind>`, or `N:<h>:<kind>` where N has a `{`: h is the hash of the key's bytes. */
void data_lock_name(const char *name, resp_argument key, const char *kind, text *out);

#endif
