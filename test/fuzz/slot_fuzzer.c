/* SPDX-License-Identifier: MIT */
/* Fuzz: any bytes as a key, as a redirect, and as what a node of a cluster tells of its
 * slots. Facts checked: a map leads to nodes that it has and that can be asked; a redirect,
 * written again, is the same; a key is in the slot of its tag. */
#include "fuzz.h"

#include "topo/topo.h"

#include <string.h>

static const memory heap = PLAIN_MEMORY;

static void check_host(const char *host)
{
  FUZZ_CHECK(strlen(host) <= 255);
  for (; *host != 0; host++)
    FUZZ_CHECK(*host > ' ' && *host < 0x7f && strchr("/@?#,>[]", *host) == NULL);
}

static void check_map(slot_map *map)
{
  FUZZ_CHECK(map->node_count <= NODES_MAX);
  for (size_t i = 0; i < SLOT_COUNT; i++)
    FUZZ_CHECK(map->node_of[i] == SLOT_UNSERVED || map->node_of[i] < map->node_count);
  for (size_t i = 0; i < map->node_count; i++) {
    FUZZ_CHECK(map->nodes[i].port >= 1 && map->nodes[i].port <= 65535);
    check_host(map->nodes[i].host);
  }
  slot_map_deinit(map);
}

static void check_reply(const uint8_t *bytes, size_t size)
{
  resp_reader *r = resp_reader_new(&heap, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;
  slot_map map;

  FUZZ_CHECK(r != NULL);
  if (resp_reader_feed(r, bytes, size) == DIBS_OK && resp_reader_next(r, &reply) == DIBS_OK
      && reply != NULL) {
    if (slot_map_read_shards(&heap, reply, size % 2 == 1, &map))
      check_map(&map);
    if (slot_map_read_slots(&heap, reply, &map))
      check_map(&map);
  }
  resp_reply_free(reply);
  resp_reader_free(r);
}

static void check_redirect(const char *bytes, size_t size)
{
  redirect r, again;
  char words[400];
  text out = text_over(words, sizeof(words));

  if (!redirect_read(bytes, size, &r))
    return;
  FUZZ_CHECK(r.slot < SLOT_COUNT && r.port >= 1 && r.port <= 65535);
  check_host(r.host);
  text_add(&out, r.is_ask ? "ASK " : "MOVED ");
  text_add_uint(&out, r.slot);
  text_add(&out, " ");
  text_add(&out, r.host);
  text_add(&out, ":");
  text_add_int(&out, r.port);
  FUZZ_CHECK(redirect_read(words, out.used, &again));
  FUZZ_CHECK(again.is_ask == r.is_ask && again.slot == r.slot && again.port == r.port);
  FUZZ_CHECK(strcmp(again.host, r.host) == 0);
}

/* The rule once more, in other words: byte by byte, bit by bit. */
static uint16_t slot_again(const char *key, size_t size)
{
  const char *open = size > 0 ? memchr(key, '{', size) : NULL;
  const char *close = open != NULL ? memchr(open, '}', size - (size_t)(open - key)) : NULL;
  unsigned crc = 0;

  if (close != NULL && close - open > 1) {
    key = open + 1;
    size = (size_t)(close - open) - 1;
  }
  for (size_t i = 0; i < size; i++) {
    crc ^= (unsigned)(unsigned char)key[i] << 8;
    for (int bit = 0; bit < 8; bit++)
      crc = crc << 1 ^ ((crc & 0x8000) != 0 ? 0x11021u : 0);
  }
  return (uint16_t)(crc & 0x3fff);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  const char *words = (const char *)bytes;

  FUZZ_CHECK(slot_of_key(words, size) == slot_again(words, size));
  check_redirect(words, size);
  check_reply(bytes, size);
  return 0;
}
