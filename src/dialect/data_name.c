/* SPDX-License-Identifier: MIT */
/* dialect/data_name.c - the lock that belongs to a key of a map, or to a member of a set:
 * a name that Java computes too. */
#include <string.h>

#include "dialect/data.h"
#include "dialect/redisson/redisson.h"

static void add_hash(resp_argument key, text *out)
{
  static const uint64_t hash_key[4] = { 0x9e3779b97f4a7c15, 0xf39cc0605cedc834,
                                        0x1082276bf3a27251, 0xf86c6a11d0c18e95 };
  uint64_t words[2];
  uint8_t bytes[16];
  char shown[23];

  highway_hash_128(hash_key, key.bytes, key.size, words);
  for (int i = 0; i < 16; i++)
    bytes[i] = (uint8_t)(words[i / 8] >> (56 - i % 8 * 8));
  text_base64_16(bytes, shown);
  text_add(out, shown);
}

void data_lock_name(const char *name, resp_argument key, const char *kind, text *out)
{
  redisson_braced(name, strlen(name), out);
  text_add(out, ":");
  add_hash(key, out);
  text_add(out, ":");
  text_add(out, kind);
}
