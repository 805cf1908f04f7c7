/* SPDX-License-Identifier: MIT */
/* base/hash.c - FNV-1a, a hash for tables in memory, and the slots of Redis Cluster. */
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
