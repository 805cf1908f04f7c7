/* SPDX-License-Identifier: MIT */
/* dialect/native/key.c - names of locks and prefixes, and their keys and channels. A key
 * has its name as hash tag, so that scripts run in a cluster; a name with its own tag
 * keeps it, so that `x` and `{x}` are one lock (F21). */
#include "dialect/native.h"

#include <string.h>

#include "base/hash_tag.h"
#include "dialect/internal.h"

#define KIND ":m:"
#define KIND_SIZE (sizeof(KIND) - 1)

const char *native_name_fault(const void *name, size_t size)
{
  const char *bytes = name;

  if (size == 0)
    return "the name is empty";
  if (size > NAME_MAX_BYTES)
    return "the name is longer than 512 bytes";
  /* Its hash tag would be empty, and its keys on any node (F21). */
  if (bytes[0] == '}')
    return "the name begins with '}'";
  return NULL;
}

/* With the prefix `a:m`, a lock `x` would be the lock `m:{x}` of the prefix `a`. */
static bool has_kind(const char *prefix)
{
  const char *at = prefix[0] == '\0' ? NULL : strstr(prefix + 1, ":m");

  while (at != NULL && at[2] != ':' && at[2] != '\0')
    at = strstr(at + 1, ":m");
  return at != NULL;
}

const char *native_prefix_fault(const char *prefix)
{
  size_t size = strlen(prefix);

  if (size == 0)
    return "the prefix is empty";
  if (size > PREFIX_MAX_BYTES)
    return "the prefix is longer than 64 bytes";
  for (size_t i = 0; i < size; i++) {
    unsigned char c = (unsigned char)prefix[i];
    if (c <= ' ' || c == 0x7f)
      return "the prefix has a blank or a control character in it";
    if (c == '{' || c == '}')
      return "the prefix has a brace in it";
  }
  if (has_kind(prefix))
    return "the prefix has the part \"m\" after another one, as keys of locks have; "
           "use another word";
  return NULL;
}

void tagged_write(const protocol *n, const char *kind, const void *name, size_t size, text *out)
{
  bool keeps = hash_tag_is_in(name, size);

  text_add(out, n->prefix);
  text_add(out, kind);
  if (!keeps)
    text_add(out, "{");
  text_add_bytes(out, name, size);
  if (!keeps)
    text_add(out, "}");
}

void native_key(const protocol *n, const void *name, size_t size, text *out)
{
  tagged_write(n, KIND, name, size, out);
}

bool native_key_name(const protocol *n, const char *key, size_t size, const char **ret_name,
                     size_t *ret_name_size)
{
  size_t prefix = strlen(n->prefix), inside;
  const void *name;

  if (size <= prefix + KIND_SIZE || memcmp(key, n->prefix, prefix) != 0 ||
      memcmp(key + prefix, KIND, KIND_SIZE) != 0)
    return false;
  name = key + prefix + KIND_SIZE;
  size -= prefix + KIND_SIZE;
  inside = size;
  hash_tag_spell(&name, &inside);
  if (inside == size && !hash_tag_is_in(name, size))
    return false;
  if (native_name_fault(name, inside) != NULL)
    return false;
  *ret_name = name;
  *ret_name_size = inside;
  return true;
}

void native_inbox(const protocol *n, text *out)
{
  text_add(out, n->prefix);
  text_add(out, ":inbox:");
  text_add(out, n->client);
}

/* The part of a name that the server hashes: its tag, or the one that tagged_write()
 * makes. That one ends at the first '}', which a name without a tag may have inside. */
static void add_tag(const void *name, size_t size, text *out)
{
  const char *bytes = name, *close;

  if (hash_tag_is_in(name, size)) {
    const char *open = memchr(bytes, '{', size);
    size -= (size_t)(open + 1 - bytes);
    bytes = open + 1;
  }
  close = memchr(bytes, '}', size);
  text_add(out, "{");
  text_add_bytes(out, bytes, close != NULL ? (size_t)(close - bytes) : size);
  text_add(out, "}");
}

void native_name_inbox(const protocol *n, const void *name, size_t size, text *out)
{
  if (!n->has_tags) {
    native_inbox(n, out);
    return;
  }
  text_add(out, n->prefix);
  text_add(out, ":inbox:");
  add_tag(name, size, out);
  text_add(out, ":");
  text_add(out, n->client);
}

void native_era_key(const protocol *n, const void *name, size_t size, text *out)
{
  text_add(out, n->prefix);
  text_add(out, ":era");
  if (n->has_tags) {
    text_add(out, ":");
    add_tag(name, size, out);
  }
}

void native_client_key(const protocol *n, const char *client, text *out)
{
  text_add(out, n->prefix);
  text_add(out, ":client:");
  text_add(out, client);
}
