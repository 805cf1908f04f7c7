/* SPDX-License-Identifier: MIT */
/* base/hash_tag.h - the part of a key in braces that Redis Cluster hashes, and names that are
 * one lock because they have one key. */
#ifndef BASE_HASH_TAG_H
#define BASE_HASH_TAG_H

#include <stdbool.h>
#include <stddef.h>

/* Whether a cluster would hash only a part of these bytes. */
bool hash_tag_is_in(const void *bytes, size_t size);

/* `x` for `{x}`, which has the same key in the native format: in memory, in messages and in
 * DIBS_HOLD_HELD a lock has one name. Moves `*name` within its bytes. */
void hash_tag_spell(const void **name, size_t *size);

#endif
