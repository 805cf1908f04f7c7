/* SPDX-License-Identifier: MIT */
/* base/random.c - a small random generator for jitter: fast, seedable, not for secrets.
 *
 * The step is xoroshiro128+ (Blackman and Vigna); splitmix64 spreads the seed, so that
 * neighbouring seeds give unrelated sequences. */
#include "base/base.h"

#include <assert.h>

static uint64_t rotate(uint64_t value, int bits)
{
  return value << bits | value >> (64 - bits);
}

static uint64_t spread(uint64_t *seed)
{
  uint64_t z = *seed += UINT64_C(0x9e3779b97f4a7c15);

  z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
  return z ^ z >> 31;
}

void random_seed(random_source *r, uint64_t seed)
{
  r->state[0] = spread(&seed);
  r->state[1] = spread(&seed);
  /* The generator never leaves the state zero. */
  if (r->state[0] == 0 && r->state[1] == 0)
    r->state[0] = 1;
}

uint64_t seed_of_bytes(const uint8_t bytes[8])
{
  uint64_t seed = 0;

  for (int i = 7; i >= 0; i--)
    seed = seed << 8 | bytes[i];
  return seed;
}

uint64_t random_next(random_source *r)
{
  uint64_t a = r->state[0];
  uint64_t b = r->state[1];
  uint64_t result = a + b;

  b ^= a;
  r->state[0] = rotate(a, 24) ^ b ^ b << 16;
  r->state[1] = rotate(b, 37);
  return result;
}

uint64_t random_below(random_source *r, uint64_t limit)
{
  uint64_t reject;
  uint64_t value;

  assert(limit > 0);
  /* Rejects the first 2^64 mod limit values, so that all results are equally likely. */
  reject = ((uint64_t)0 - limit) % limit;
  do {
    value = random_next(r);
  } while (value < reject);
  return value % limit;
}

span random_span(random_source *r, span low, span high)
{
  uint64_t width;
  uint64_t offset;

  assert(low.ns <= high.ns);
  width = (uint64_t)high.ns - (uint64_t)low.ns;
  offset = width == UINT64_MAX ? random_next(r) : random_below(r, width + 1);
  return (span){ (int64_t)((uint64_t)low.ns + offset) };
}
