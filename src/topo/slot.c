/* SPDX-License-Identifier: MIT */
/* topo/slot.c - computes the slot of a key, and reads the redirections of a cluster. */
#include "topo/topo.h"

#include "topo/server_url_parts.h"

#include <string.h>

/* The text between the first '{' and the next '}'. If it is empty, the key has no tag,
 * even when another '{' follows. */
static part tag_of(part key)
{
  part rest = key;
  part before, tag;

  if (part_split(&rest, '{', &before) && part_split(&rest, '}', &tag) && tag.size > 0)
    return tag;
  return key;
}

const char *tag_of_key(const char *key, size_t size, size_t *ret_size)
{
  part tag = tag_of((part){ key, size });

  *ret_size = tag.size;
  return tag.at;
}

uint16_t slot_of_key(const char *key, size_t size)
{
  part tag = tag_of((part){ key, size });

  return slot_of_bytes(tag.at, tag.size);
}

static bool word_take(part *rest, const char *word)
{
  size_t size = strlen(word);

  if (rest->size < size || memcmp(rest->at, word, size) != 0)
    return false;
  part_skip(rest, size);
  return true;
}

bool host_reported_read(part words, char ret_host[HOST_REPORTED_SIZE])
{
  /* A server without a known name, or one that hides it: the address that was asked. "?"
   * is a server that should have a name and has none. */
  if (words.size == 1 && words.at[0] == '?')
    words.size = 0;
  if (words.size >= HOST_REPORTED_SIZE)
    return false;
  for (size_t i = 0; i < words.size; i++)
    if (!url_is_word(words.at[i]) && words.at[i] != ':' && words.at[i] != '%')
      return false;
  if (words.size > 0)
    memcpy(ret_host, words.at, words.size);
  ret_host[words.size] = 0;
  return true;
}

/* "host:port" without brackets around IPv6, so the last colon separates them. */
static bool address_read(part words, redirect *r)
{
  size_t colon = words.size;
  part host;
  uint64_t port;

  while (colon > 0 && words.at[colon - 1] != ':')
    colon--;
  if (colon == 0 || words.size - colon > 5
      || !text_to_uint(words.at + colon, words.size - colon, &port) || port < 1 || port > 65535)
    return false;
  host = (part){ words.at, colon - 1 };
  if (host.size >= 2 && host.at[0] == '[' && host.at[host.size - 1] == ']')
    host = (part){ host.at + 1, host.size - 2 };
  r->port = (int)port;
  return host_reported_read(host, r->host);
}

bool redirect_read(const char *error, size_t size, redirect *ret)
{
  redirect r = { .is_ask = false };
  part rest = { error, size };
  part number;
  uint64_t at;

  word_take(&rest, "-");
  if (word_take(&rest, "ASK "))
    r.is_ask = true;
  else if (!word_take(&rest, "MOVED "))
    return false;
  if (!part_split(&rest, ' ', &number) || !text_to_uint(number.at, number.size, &at)
      || at >= SLOT_COUNT || !address_read(rest, &r))
    return false;
  r.slot = (uint16_t)at;
  *ret = r;
  return true;
}
