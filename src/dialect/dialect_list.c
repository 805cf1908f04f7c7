/* SPDX-License-Identifier: MIT */
/* dialect/dialect_list.c - which keys of a database are locks of a dialect that has no prefix
 * for them. */
#include <string.h>

#include "dialect/dialect.h"
#include "dialect/string_lock.h"

/* What a key beside a semaphore of Redisson's ends with: the permits that are out. */
#define PERMITS_OUT ":timeout"

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
void dialect_list_match(const native *n, list_kind kind, const char *pattern, text *out)
{
  if (kind == LIST_PERMITS) {
    text_add(out, "*" PERMITS_OUT);
    return;
  }
  if (is_spring(n)) {
    add_plain(out, n->registry, strlen(n->registry));
    text_add(out, ":");
  }
  if (pattern != NULL)
    add_plain(out, pattern, strcspn(pattern, "*?[\\"));
  text_add(out, "*");
}

const char *dialect_list_type(const native *n, list_kind kind)
{
  if (kind == LIST_PERMITS)
    return n->dialect == DIALECT_REDISSON ? "zset" : NULL;
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

static size_t lock_names(const native *n, const char *key, size_t size, many_name *ret)
{
  size_t front = is_spring(n) ? strlen(n->registry) + 1 : 0;

  if (size <= front || (front > 0 && (memcmp(key, n->registry, front - 1) != 0 ||
                                      key[front - 1] != ':')))
    return 0;
  if ((front == 0 && is_ours(n, key, size)) ||
      dialect_name_fault(n, key + front, size - front) != NULL)
    return 0;
  *ret = (many_name){ key + front, size - front };
  return 1;
}

/* Of `{N}:timeout` the name is N; or `{N}`, which has a brace already, and gets no other. */
static size_t permit_names(const native *n, const char *key, size_t size, many_name ret[2])
{
  size_t end = strlen(PERMITS_OUT), count = 0, whole;

  if (size <= end || memcmp(key + size - end, PERMITS_OUT, end) != 0 || is_ours(n, key, size))
    return 0;
  whole = size - end;
  if (whole > 2 && key[0] == '{' && key[whole - 1] == '}' &&
      memchr(key + 1, '{', whole - 1) == NULL &&
      dialect_name_fault(n, key + 1, whole - 2) == NULL)
    ret[count++] = (many_name){ key + 1, whole - 2 };
  if (memchr(key, '{', whole) != NULL && dialect_name_fault(n, key, whole) == NULL)
    ret[count++] = (many_name){ key, whole };
  return count;
}

size_t dialect_list_names(const native *n, list_kind kind, const char *key, size_t size,
                          many_name ret_names[LIST_NAMES_MAX])
{
  return kind == LIST_PERMITS ? permit_names(n, key, size, ret_names)
                              : lock_names(n, key, size, ret_names);
}

bool dialect_list_is_owner(const native *n, const char *client)
{
  return n->dialect != DIALECT_REDISSON || client[0] != '.';
}
