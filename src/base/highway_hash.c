/* SPDX-License-Identifier: MIT */
/* base/highway_hash.c - HighwayHash with 128 bits, as published by its authors: four lanes
 * of 64 bits that multiply, shuffle their bytes and add, 32 bytes at a time. For names
 * that other programs compute, too; the key is no secret. */
#include "base/base.h"

#include <string.h>

#define LANES 4
#define PACKET 32
#define ROUNDS_AT_THE_END 6

typedef struct highway {
  uint64_t v0[LANES], v1[LANES], mul0[LANES], mul1[LANES];
} highway;

/* Constants of the algorithm: the initial products. */
static const uint64_t first_mul0[LANES] = { 0xdbe6d5d5fe4cce2f, 0xa4093822299f31d0,
                                            0x13198a2e03707344, 0x243f6a8885a308d3 };
static const uint64_t first_mul1[LANES] = { 0x3bd39e10cb0ef593, 0xc0acf169b5f18a8c,
                                            0xbe5466cf34e90c6c, 0x452821e638d01377 };

static uint64_t halves_swapped(uint64_t x)
{
  return x >> 32 | x << 32;
}

static uint64_t little_endian(const uint8_t bytes[8])
{
  uint64_t value = 0;

  for (int i = 7; i >= 0; i--)
    value = value << 8 | bytes[i];
  return value;
}

static highway begin(const uint64_t key[LANES])
{
  highway h;

  for (int i = 0; i < LANES; i++) {
    h.mul0[i] = first_mul0[i];
    h.mul1[i] = first_mul1[i];
    h.v0[i] = first_mul0[i] ^ key[i];
    h.v1[i] = first_mul1[i] ^ halves_swapped(key[i]);
  }
  return h;
}

/* Byte `number` of a 64-bit value, 0 being the lowest, at its position. */
#define BYTE(word, number) ((word) & UINT64_C(0xff) << 8 * (number))

/* Adds to each of two lanes the bytes of both others, permuted so that the bytes mixed
 * least by a product get to the positions that are mixed most. Bytes with the same shift
 * move together. */
static void zipper_add(uint64_t to[2], const uint64_t from[2])
{
  uint64_t a = from[0], b = from[1];

  to[0] += (BYTE(a, 3) | BYTE(b, 4)) >> 24 | BYTE(a, 2) | (BYTE(a, 5) | BYTE(b, 6)) >> 16 |
           BYTE(a, 1) << 32 | BYTE(b, 7) >> 8 | BYTE(a, 0) << 56;
  to[1] += (BYTE(b, 3) | BYTE(a, 4)) >> 24 | BYTE(b, 2) | BYTE(b, 5) >> 16 |
           BYTE(b, 1) << 24 | BYTE(a, 6) >> 8 | BYTE(b, 0) << 48 | BYTE(a, 7);
}

static void update(highway *h, const uint64_t lanes[LANES])
{
  for (int i = 0; i < LANES; i++) {
    h->v1[i] += h->mul0[i] + lanes[i];
    h->mul0[i] ^= (h->v1[i] & 0xffffffff) * (h->v0[i] >> 32);
    h->v0[i] += h->mul1[i];
    h->mul1[i] ^= (h->v0[i] & 0xffffffff) * (h->v1[i] >> 32);
  }
  zipper_add(h->v0, h->v1);
  zipper_add(h->v0 + 2, h->v1 + 2);
  zipper_add(h->v1, h->v0);
  zipper_add(h->v1 + 2, h->v0 + 2);
}

static void update_by_packet(highway *h, const uint8_t packet[PACKET])
{
  uint64_t lanes[LANES];

  for (size_t i = 0; i < LANES; i++)
    lanes[i] = little_endian(packet + 8 * i);
  update(h, lanes);
}

static uint64_t halves_rotated(uint64_t x, unsigned by)
{
  uint32_t high = (uint32_t)(x >> 32), low = (uint32_t)x;

  high = high << by | high >> (32 - by);
  low = low << by | low >> (32 - by);
  return (uint64_t)high << 32 | low;
}

/* The last 1 to 31 bytes: first the groups of four, then the others at positions that
 * depend on their number. */
static void update_by_rest(highway *h, const uint8_t *bytes, size_t size)
{
  uint8_t packet[PACKET] = { 0 };
  size_t odd = size % 4, even = size - odd;

  for (int i = 0; i < LANES; i++) {
    h->v0[i] += (uint64_t)size << 32 | size;
    h->v1[i] = halves_rotated(h->v1[i], (unsigned)size);
  }
  memcpy(packet, bytes, even);
  if (size >= 16) {
    memcpy(packet + 28, bytes + size - 4, 4);
  } else if (odd > 0) {
    packet[16] = bytes[even];
    packet[17] = bytes[even + odd / 2];
    packet[18] = bytes[size - 1];
  }
  update_by_packet(h, packet);
}

static void mix(highway *h)
{
  uint64_t lanes[LANES];

  for (int i = 0; i < LANES; i++)
    lanes[i] = halves_swapped(h->v0[(i + 2) % LANES]);
  update(h, lanes);
}

void highway_hash_128(const uint64_t key[4], const void *bytes, size_t size,
                      uint64_t ret_words[2])
{
  const uint8_t *at = bytes;
  highway h = begin(key);

  for (; size >= PACKET; size -= PACKET, at += PACKET)
    update_by_packet(&h, at);
  if (size > 0)
    update_by_rest(&h, at, size);
  for (int i = 0; i < ROUNDS_AT_THE_END; i++)
    mix(&h);
  for (int i = 0; i < 2; i++)
    ret_words[i] = h.v0[i] + h.mul0[i] + h.v1[i + 2] + h.mul1[i + 2];
}
