/* SPDX-License-Identifier: MIT */
/* dialect/redisson/key.c - keys, channels and owners of Redisson's format. */
#include "dialect/redisson/internal.h"

#include <inttypes.h>
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
  text_format(out, "%s:", kind);
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

  text_format(out, "%s:%" PRId64, redisson_uuid(client, uuid) ? uuid : "nobody", (int64_t)ask);
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

void put_tagged(request *out, const char *kind, const void *name, size_t size)
{
  char bytes[REDISSON_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  redisson_tagged(kind, name, size, &t);
  put_of(out, &t);
}

static void add_behind(text *t, const void *name, size_t size, const char *kind)
{
  bool is_bare = !has_brace(name, size);

  text_add(t, is_bare ? "{" : "");
  text_add_bytes(t, name, size);
  text_format(t, "%s:%s", is_bare ? "}" : "", kind);
}

void put_behind(request *out, const void *name, size_t size, const char *kind)
{
  char bytes[REDISSON_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_behind(&t, name, size, kind);
  put_of(out, &t);
}

void put_owner(request *out, const char *client, uint64_t ask)
{
  char bytes[OWNER_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  redisson_owner(client, ask, &t);
  put_of(out, &t);
}

void put_reading(request *out, const void *name, size_t size, const char *client, uint64_t ask)
{
  char bytes[REDISSON_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_behind(&t, name, size, "");
  redisson_owner(client, ask, &t);
  text_add(&t, ":rwlock_timeout:1");
  put_of(out, &t);
}

/* `<prefix>:kind:{N}` */
static void add_beside(const protocol *n, const char *kind, const void *name, size_t size,
                       text *t)
{
  char front[PREFIX_MAX_BYTES + 16];
  text f = text_over(front, sizeof(front));

  text_format(&f, "%s:%s", n->prefix, kind);
  redisson_tagged(front, name, size, t);
}

void put_ask_key(const protocol *n, request *out, const char *kind, const void *name, size_t size,
                 const char *client, uint64_t ask)
{
  char bytes[REDISSON_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_beside(n, kind, name, size, &t);
  text_add(&t, ":");
  redisson_owner(client, ask, &t);
  put_of(out, &t);
}

void put_token_key(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[REDISSON_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_beside(n, "token", name, size, &t);
  put_of(out, &t);
}

void put_publish(const protocol *n, request *out)
{
  put_text(out, n->has_tags && n->has_sharded_channels ? "SPUBLISH" : "PUBLISH");
}
