/* SPDX-License-Identifier: MIT */
/* dialect/dialect_list.c - finds the locks of a dialect without a prefix among the keys of
 * a database. */
#include <string.h>

#include "dialect/dialect.h"

/* The suffix of a key of a Redisson semaphore: the permits that are granted. */
#define PERMITS_OUT ":timeout"

static void add_plain(text *out, const char *bytes, size_t size)
{
  for (size_t i = 0; i < size; i++) {
    if (bytes[i] != 0 && strchr("*?[]\\^-", bytes[i]) != NULL)
      text_add(out, "\\");
    text_add_bytes(out, bytes + i, 1);
  }
}

/* What is before the name in the key of a lock. */
static text front_of(const protocol *n, char bytes[KEY_TEXT_SIZE])
{
  text key = text_over(bytes, KEY_TEXT_SIZE);

  n->dialect->key(n, "", 0, &key);
  return key;
}

/* Only the part before the first special byte: fnmatch() checks the rest, because its
 * patterns differ from the server's. */
void dialect_list_match(const protocol *n, list_kind kind, const char *pattern, text *out)
{
  char bytes[KEY_TEXT_SIZE];
  text front = front_of(n, bytes);

  if (kind == LIST_PERMITS) {
    text_add(out, "*" PERMITS_OUT);
    return;
  }
  add_plain(out, front.at, front.used);
  if (pattern != NULL)
    add_plain(out, pattern, strcspn(pattern, "*?[\\"));
  text_add(out, "*");
}

const char *dialect_list_type(const protocol *n, list_kind kind)
{
  const dialect_ops *d = n->dialect;

  return kind == LIST_PERMITS ? d->permits_type : d->lock_type;
}

bool dialect_list_is_everything(const protocol *n)
{
  return n->dialect->lists_all_keys;
}

/* Keys that dibs keeps for locks begin with its prefix. */
static bool is_ours(const protocol *n, const char *key, size_t size)
{
  size_t prefix = strlen(n->prefix);

  return size > prefix && memcmp(key, n->prefix, prefix) == 0 && key[prefix] == ':';
}

static size_t lock_names(const protocol *n, const char *key, size_t size, many_name *ret)
{
  char bytes[KEY_TEXT_SIZE];
  text front = front_of(n, bytes);

  if (size <= front.used || memcmp(key, front.at, front.used) != 0)
    return 0;
  if ((front.used == 0 && is_ours(n, key, size)) ||
      dialect_name_fault(n, key + front.used, size - front.used) != NULL)
    return 0;
  *ret = (many_name){ key + front.used, size - front.used };
  return 1;
}

/* `{N}:timeout` stands for the name N; or for `{N}`, which has a brace and gets no other. */
static size_t permit_names(const protocol *n, const char *key, size_t size, many_name ret[2])
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

size_t dialect_list_names(const protocol *n, list_kind kind, const char *key, size_t size,
                          many_name ret_names[LIST_NAMES_MAX])
{
  return kind == LIST_PERMITS ? permit_names(n, key, size, ret_names)
                              : lock_names(n, key, size, ret_names);
}

bool dialect_list_is_owner(const protocol *n, const char *client)
{
  return !n->dialect->checks_owner || client[0] != '.';
}
