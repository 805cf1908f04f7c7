/* SPDX-License-Identifier: MIT */
/* dialect/parts.h - reading word by word, for the files of this room. */
#ifndef DIALECT_PARTS_H
#define DIALECT_PARTS_H

#include "dialect/native.h"

/* What is left to read. */
typedef struct words {
  const char *at;
  size_t size;
} words;

/* Takes the bytes before the next `end`, and `end` itself; false when there is none. */
bool words_take(words *w, char end, const char **ret_bytes, size_t *ret_size);
/* The same, for a number in its one shortest form. */
bool words_take_uint(words *w, char end, uint64_t *ret_value);
bool words_take_lease(words *w, char end, lease_id *ret_lease);

/* Decimal digits as text_to_uint() takes them, and no needless zero in front. */
bool uint_read(const char *bytes, size_t size, uint64_t *ret_value);

/* Scripts go no further (2^53 us: the year 2255), so that fences stay below 2^63. */
#define TOKEN_MAX 9007199254740992

/* Who asks: a client, `C`, or one of its sets of names, `C.set` (set 0: none). */
void asker_write(const char *client, uint32_t set, text *out);
bool asker_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE],
                uint32_t *ret_set);
bool words_take_asker(words *w, char end, char ret_client[CLIENT_ID_SIZE], uint32_t *ret_set);

/* `<prefix><kind>{N}`, or without the braces where N brings a tag: all keys and channels of
 * one name are on one node. */
void tagged_write(const native *n, const char *kind, const void *name, size_t size, text *out);

bool client_id_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE]);

#endif
