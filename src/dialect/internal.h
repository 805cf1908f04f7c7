/* SPDX-License-Identifier: MIT */
/* dialect/internal.h - reads texts part by part, for the files of src/dialect. */
#ifndef DIALECT_INTERNAL_H
#define DIALECT_INTERNAL_H

#include "dialect/native.h"

/* The rest of a text. */
typedef struct words {
  const char *at;
  size_t size;
} words;

/* Takes the bytes before the next `end`, and `end` itself; false without one. */
bool words_take(words *w, char end, const char **ret_bytes, size_t *ret_size);
/* The same, for a number in its shortest form. */
bool words_take_uint(words *w, char end, uint64_t *ret_value);
bool words_take_lease(words *w, char end, lease_id *ret_lease);

/* Decimal digits as text_to_uint() takes them, without leading zeros. */
bool uint_read(const char *bytes, size_t size, uint64_t *ret_value);

/* The limit of scripts (2^53 us: the year 2255), so that fences stay below 2^63. */
#define TOKEN_MAX 9007199254740992

/* The last `count` digits, with leading zeros; at most 20. */
void uint_write_padded(uint64_t value, size_t count, text *out);

/* The nonce of an ask, always 20 digits. */
#define NONCE_DIGITS 20
void nonce_write(uint64_t nonce, text *out);
bool nonce_read(const char *bytes, size_t size, uint64_t *ret_nonce);

/* The asker: a client, `C`, or one of its multi-locks, `C.set` (set 0: none). */
void asker_write(const char *client, uint32_t set, text *out);
bool asker_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE],
                uint32_t *ret_set);
bool words_take_asker(words *w, char end, char ret_client[CLIENT_ID_SIZE], uint32_t *ret_set);

/* `<prefix><kind>{N}`, or without the braces if N has a tag: all keys and channels of one
 * name are on one node. */
void tagged_write(const protocol *n, const char *kind, const void *name, size_t size, text *out);

bool client_id_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE]);

#endif
