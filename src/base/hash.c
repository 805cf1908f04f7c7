/* SPDX-License-Identifier: MIT */
/* base/hash.c - FNV-1a, a hash for tables in memory, the slots of Redis Cluster, and SipHash. */
#include "base/hash.h"

#include <string.h>

uint64_t fnv1a(uint64_t hash, const void *bytes, size_t size)
{
  const unsigned char *at = bytes;

  for (size_t i = 0; i < size; i++)
    hash = (hash ^ at[i]) * FNV1A_PRIME;
  return hash;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
  hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
  return hash ^ hash >> 32;
}

uint32_t hash_in_memory(const void *bytes, size_t size)
{
  const unsigned char *at = bytes;
  uint64_t hash = size, word;

  if (size < sizeof(word)) {
    word = 0;
    memcpy(&word, at, size);
    return (uint32_t)mix(hash, word);
  }
  for (; size > sizeof(word); at += sizeof(word), size -= sizeof(word)) {
    memcpy(&word, at, sizeof(word));
    hash = mix(hash, word);
  }
  memcpy(&word, at + size - sizeof(word), sizeof(word));     /* overlaps the one before */
  return (uint32_t)mix(hash, word);
}

/* Polynomial 0x1021, initial value 0, not reflected. No table: names are short. */
uint16_t slot_of_bytes(const void *bytes, size_t size)
{
  const unsigned char *at = bytes;
  unsigned crc = 0;

  for (size_t i = 0; i < size; i++) {
    crc = (crc >> 8 | crc << 8) & 0xffff;
    crc ^= at[i];
    crc ^= (crc & 0xff) >> 4;
    crc ^= crc << 12 & 0xffff;
    crc ^= (crc & 0xff) << 5;
  }
  return (uint16_t)(crc % SLOT_COUNT);
}

/* ---- SipHash-2-4, as published by its authors ---- */

static uint64_t rotated(uint64_t x, unsigned by)
{
  return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], int count)
{
  while (count-- > 0) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotated(v[1], 13) ^ v[0];
    v[3] = rotated(v[3], 16) ^ v[2];
    v[0] = rotated(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotated(v[1], 17) ^ v[2];
    v[3] = rotated(v[3], 21) ^ v[0];
    v[2] = rotated(v[2], 32);
  }
}

uint64_t siphash(const uint64_t key[2], const uint64_t *values, size_t count)
{
  uint64_t v[4] = { key[0] ^ 0x736f6d6570736575, key[1] ^ 0x646f72616e646f6d,
                    key[0] ^ 0x6c7967656e657261, key[1] ^ 0x7465646279746573 };

  for (size_t i = 0; i <= count; i++) {
    uint64_t value = i < count ? values[i] : (uint64_t)(8 * count) << 56;  /* the size ends it */

    v[3] ^= value;
    sip_rounds(v, 2);
    v[0] ^= value;
  }
  v[2] ^= 0xff;
  sip_rounds(v, 4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
