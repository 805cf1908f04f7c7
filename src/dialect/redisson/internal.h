/* SPDX-License-Identifier: MIT */
/* dialect/redisson/internal.h - keys and arguments of Redisson's format, for the redisson
 * files of src/dialect. */
#ifndef DIALECT_REDISSON_INTERNAL_H
#define DIALECT_REDISSON_INTERNAL_H

#include "dialect/redisson/redisson.h"

#define OWNER_SIZE (UUID_SIZE + 1 + 20)
#define REDISSON_KEY_SIZE (PREFIX_MAX_BYTES + NAME_MAX_BYTES + OWNER_SIZE + 40)

/* `kind:{N}`, or without braces if N has a `{` anywhere. */
void redisson_tagged(const char *kind, const void *name, size_t size, text *out);

/* Keys and arguments of calls, as in call_words.h. */
void put_tagged(request *out, const char *kind, const void *name, size_t size);
/* `{N}:kind`, with braces by the same rule. */
void put_behind(request *out, const void *name, size_t size, const char *kind);
void put_owner(request *out, const char *client, uint64_t ask);
/* `{N}:U:K:rwlock_timeout:1`: the end of this owner's reading. Clients of dibs hold each
 * ask once. */
void put_reading(request *out, const void *name, size_t size, const char *client, uint64_t ask);
/* `<prefix>:kind:{N}:U:K`, a key of dibs for the lock. */
void put_ask_key(const protocol *n, request *out, const char *kind, const void *name, size_t size,
                 const char *client, uint64_t ask);
/* `<prefix>:token:{N}`, a key of dibs for the lock: in a quorum, its last token. */
void put_token_key(const protocol *n, request *out, const void *name, size_t size);
void put_publish(const protocol *n, request *out);

#endif
