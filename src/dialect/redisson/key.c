/* SPDX-License-Identifier: MIT */
/* dialect/redisson/key.c - keys, channels and owners of Redisson's format. */
#include "dialect/redisson/internal.h"

#include <string.h>

#include "dialect/call_words.h"

/* Redisson tests for a '{' anywhere, not for a tag. */
static bool has_brace(const void *name, size_t size)
{
  return memchr(name, '{', size) != NULL;
}

void redisson_braced(const void *name, size_t size, text *out)
{
  bool is_bare = !has_brace(name, size);

  text_add(out, is_bare ? "{" : "");
  text_add_bytes(out, name, size);
  text_add(out, is_bare ? "}" : "");
}

void redisson_tagged(const char *kind, const void *name, size_t size, text *out)
{
  text_add(out, kind);
  text_add(out, ":");
  redisson_braced(name, size, out);
}

/* A single brace gives the keys of a name different slots. */
const char *redisson_name_fault(const void *name, size_t size)
{
  const char *bytes = name;
  const char *open = memchr(bytes, '{', size), *close = memchr(bytes, '}', size);

  if (open == NULL && close == NULL)
    return NULL;
  if (open == NULL || close == NULL || close < open + 2)
    return "in a cluster, a name of Redisson's has no braces, or one whole tag in braces";
  return NULL;
}

bool redisson_uuid(const char client[CLIENT_ID_SIZE], char ret_uuid[UUID_SIZE])
{
  static const char digits[] = "0123456789abcdef";
  uint8_t bytes[16];
  size_t used = 0;

  if (strlen(client) != CLIENT_ID_SIZE - 1 || !text_base64url_16_read(client, bytes))
    return false;
  for (size_t i = 0; i < sizeof(bytes); i++) {
    if (i == 4 || i == 6 || i == 8 || i == 10)
      ret_uuid[used++] = '-';
    ret_uuid[used++] = digits[bytes[i] >> 4];
    ret_uuid[used++] = digits[bytes[i] & 15];
  }
  ret_uuid[used] = 0;
  return true;
}

void redisson_owner(const char client[CLIENT_ID_SIZE], uint64_t ask, text *out)
{
  char uuid[UUID_SIZE];

  text_add(out, redisson_uuid(client, uuid) ? uuid : "nobody");
  text_add(out, ":");
  text_add_uint(out, ask);
}

void redisson_channel(const protocol *n, const void *name, size_t size, char mode,
                      lock_kind kind, uint64_t ask, text *out)
{
  redisson_tagged(mode == 'p' ? "redisson_sc"
                  : mode == 'r' || mode == 'w' ? "redisson_rwlock" : "redisson_lock__channel",
                  name, size, out);
  if (kind == LOCK_FAIR) {
    text_add(out, ":");
    redisson_owner(n->client, ask, out);
  }
}

void redisson_permit_id(const char client[CLIENT_ID_SIZE], uint64_t ask,
                        uint8_t ret_id[PERMIT_ID_SIZE])
{
  memset(ret_id, 0, PERMIT_ID_SIZE);
  (void)text_base64url_16_read(client, ret_id);
  for (int i = 0; i < 8; i++)
    ret_id[4 + i] ^= (uint8_t)(ask >> (56 - 8 * i));
}

/* ---- as arguments ---- */

resp_argument word_tagged(char bytes[REDISSON_KEY_SIZE], const char *kind, const void *name,
                          size_t size)
{
  text t = text_over(bytes, REDISSON_KEY_SIZE);

  redisson_tagged(kind, name, size, &t);
  return word_of(&t);
}

static void add_behind(text *t, const void *name, size_t size, const char *kind)
{
  bool is_bare = !has_brace(name, size);

  text_add(t, is_bare ? "{" : "");
  text_add_bytes(t, name, size);
  text_add(t, is_bare ? "}:" : ":");
  text_add(t, kind);
}

resp_argument word_behind(char bytes[REDISSON_KEY_SIZE], const void *name, size_t size,
                          const char *kind)
{
  text t = text_over(bytes, REDISSON_KEY_SIZE);

  add_behind(&t, name, size, kind);
  return word_of(&t);
}

resp_argument word_owner(char bytes[OWNER_SIZE], const char *client, uint64_t ask)
{
  text t = text_over(bytes, OWNER_SIZE);

  redisson_owner(client, ask, &t);
  return word_of(&t);
}

resp_argument word_reading(char bytes[REDISSON_KEY_SIZE], const void *name, size_t size,
                           const char *client, uint64_t ask)
{
  text t = text_over(bytes, REDISSON_KEY_SIZE);

  add_behind(&t, name, size, "");
  redisson_owner(client, ask, &t);
  text_add(&t, ":rwlock_timeout:1");
  return word_of(&t);
}

/* `<prefix>:kind:{N}` */
static void add_beside(const protocol *n, const char *kind, const void *name, size_t size,
                       text *t)
{
  char front[PREFIX_MAX_BYTES + 16];
  text f = text_over(front, sizeof(front));

  text_add(&f, n->prefix);
  text_add(&f, ":");
  text_add(&f, kind);
  redisson_tagged(front, name, size, t);
}

resp_argument word_ask_key(const protocol *n, char bytes[REDISSON_KEY_SIZE], const char *kind,
                           const void *name, size_t size, const char *client, uint64_t ask)
{
  text t = text_over(bytes, REDISSON_KEY_SIZE);

  add_beside(n, kind, name, size, &t);
  text_add(&t, ":");
  redisson_owner(client, ask, &t);
  return word_of(&t);
}

resp_argument word_token_key(const protocol *n, char bytes[REDISSON_KEY_SIZE], const void *name,
                             size_t size)
{
  text t = text_over(bytes, REDISSON_KEY_SIZE);

  add_beside(n, "token", name, size, &t);
  return word_of(&t);
}

resp_argument word_publish(const protocol *n)
{
  return n->has_tags && n->has_sharded_channels ? RESP_TEXT("SPUBLISH") : RESP_TEXT("PUBLISH");
}
