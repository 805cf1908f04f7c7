/* SPDX-License-Identifier: MIT */
/* dialect/dialect_list.c - which keys of a database are locks of a dialect that has no prefix
 * for them. */
#include <string.h>

#include "dialect/dialect.h"
#include "dialect/string_lock.h"

static bool is_spring(const native *n)
{
  return n->dialect == DIALECT_SPRING;
}

static void add_plain(text *out, const char *bytes, size_t size)
{
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0 && strchr("*?[]\\^-", bytes[i]) != NULL)
      text_add(out, "\\");
    text_add_bytes(out, bytes + i, 1);
  }
}

/* Only what stands in front of the first byte that means something: the rest is said by
 * fnmatch(), whose patterns are not quite the server's. */
void dialect_list_match(const native *n, const char *pattern, text *out)
{
  if (is_spring(n)) {
    add_plain(out, n->registry, strlen(n->registry));
    text_add(out, ":");
  }
  if (pattern != NULL)
    add_plain(out, pattern, strcspn(pattern, "*?[\\"));
  text_add(out, "*");
}

const char *dialect_list_type(const native *n)
{
  return n->dialect == DIALECT_REDISSON ? "hash" : "string";
}

bool dialect_list_is_everything(const native *n)
{
  return n->dialect == DIALECT_REDISSON || n->dialect == DIALECT_PLAIN;
}

/* What dibs keeps beside locks has its prefix in front. */
static bool is_ours(const native *n, const char *key, size_t size)
{
  size_t prefix = strlen(n->prefix);

  return size > prefix && memcmp(key, n->prefix, prefix) == 0 && key[prefix] == ':';
}

bool dialect_list_name(const native *n, const char *key, size_t size, const char **ret_name,
                       size_t *ret_size)
{
  size_t front = is_spring(n) ? strlen(n->registry) + 1 : 0;

  if (size <= front || (front > 0 && (memcmp(key, n->registry, front - 1) != 0 ||
                                      key[front - 1] != ':')))
    return false;
  if ((front == 0 && is_ours(n, key, size)) ||
      dialect_name_fault(n, key + front, size - front) != NULL)
    return false;
  *ret_name = key + front;
  *ret_size = size - front;
  return true;
}

bool dialect_list_is_owner(const native *n, const char *client)
{
  return n->dialect != DIALECT_REDISSON || client[0] != '.';
}
