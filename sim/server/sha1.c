/* SPDX-License-Identifier: MIT */
/* SHA-1 (FIPS 180-4): the names of scripts. */
#include "server/value.h"

#include <string.h>

static uint32_t left(uint32_t x, int by) { return x << by | x >> (32 - by); }

static void mix(uint32_t h[5], const unsigned char *block)
{
  uint32_t w[80], a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];

  for (int i = 0; i < 16; i++)
    w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
           (uint32_t)block[4 * i + 2] << 8 | (uint32_t)block[4 * i + 3];
  for (int i = 16; i < 80; i++)
    w[i] = left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
  for (int i = 0; i < 80; i++) {
    uint32_t f = i < 20 ? (b & c) | (~b & d)
      : i < 40 || i >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
    uint32_t k = i < 20 ? 0x5A827999U : i < 40 ? 0x6ED9EBA1U
      : i < 60 ? 0x8F1BBCDCU : 0xCA62C1D6U;
    uint32_t next = left(a, 5) + f + e + k + w[i];

    e = d;
    d = c;
    c = left(b, 30);
    b = a;
    a = next;
  }
  h[0] += a;
  h[1] += b;
  h[2] += c;
  h[3] += d;
  h[4] += e;
}

void slice_sha1(slice s, char ret_hex[41])
{
  uint32_t h[5] = { 0x67452301U, 0xEFCDAB89U, 0x98BADCFEU, 0x10325476U, 0xC3D2E1F0U };
  unsigned char last[128] = { 0 };
  size_t whole = s.size / 64 * 64, rest = s.size - whole;
  size_t end = rest < 56 ? 64 : 128;

  for (size_t at = 0; at < whole; at += 64)
    mix(h, (const unsigned char *)s.bytes + at);
  if (rest > 0)
    memcpy(last, s.bytes + whole, rest);
  last[rest] = 0x80;
  for (size_t i = 0; i < 8; i++)
    last[end - 1 - i] = (unsigned char)((uint64_t)s.size * 8 >> 8 * i);
  for (size_t at = 0; at < end; at += 64)
    mix(h, last + at);
  for (int i = 0; i < 40; i++)
    ret_hex[i] = "0123456789abcdef"[h[i / 8] >> (28 - i % 8 * 4) & 15];
  ret_hex[40] = 0;
}
