/* SPDX-License-Identifier: MIT */
/* base/hash.h - hashes that clients of all versions, or servers, compute equally; one for tables
 * in memory; and one that cannot be guessed without its key. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* ---- 64-bit FNV-1a ---- */

#define FNV1A_START UINT64_C(14695981039346656037)
#define FNV1A_PRIME UINT64_C(1099511628211)

/* Continues from `hash`: FNV1A_START or the hash of the preceding bytes. */
uint64_t fnv1a(uint64_t hash, const void *bytes, size_t size);

/* ---- tables in memory ---- */

/* Eight bytes at a time: for a name of 22 bytes a tenth of fnv1a(). May change between
 * versions and machines. */
uint32_t hash_in_memory(const void *bytes, size_t size);

/* ---- slots of Redis Cluster ---- */

#define SLOT_COUNT 16384

/* CRC-16/XMODEM of all bytes, modulo SLOT_COUNT; the caller selects the tag. */
uint16_t slot_of_bytes(const void *bytes, size_t size);

/* ---- SipHash-2-4 ---- */

/* Of `count` numbers of 8 bytes, the lowest byte of each first. */
uint64_t siphash(const uint64_t key[2], const uint64_t *values, size_t count);

#endif
