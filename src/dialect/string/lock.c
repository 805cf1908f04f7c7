/* SPDX-License-Identifier: MIT */
/* dialect/string/lock.c - the calls of lua/spring and lua/plain. */
#include "dialect/string/lock.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/dialect.h"
#include "dialect/redisson/internal.h"

#define STRING_KEY_SIZE (REGISTRY_MAX_BYTES + 1 + NAME_MAX_BYTES + 1)
#define BESIDE_SIZE (REDISSON_KEY_SIZE + REGISTRY_MAX_BYTES + 1)
#define CHANNEL_SIZE (2 * REGISTRY_MAX_BYTES + NAME_MAX_BYTES + 16)

static bool is_spring(const protocol *n)
{
  return n->dialect->has_registry;
}

/* ---- names ---- */

const char *spring_registry_fault(const char *registry)
{
  size_t size = strlen(registry);

  if (size == 0)
    return "it is empty";
  if (size > REGISTRY_MAX_BYTES)
    return "it is longer than 64 bytes";
  for (size_t i = 0; i < size; i++)
    if ((unsigned char)registry[i] < ' ' || registry[i] == 0x7f)
      return "it has a control character in it";
  return NULL;
}

void string_key(const protocol *n, const void *name, size_t size, text *out)
{
  if (is_spring(n))
    text_format(out, "%s:", n->registry);
  text_add_bytes(out, name, size);
}

void spring_old_channel(const protocol *n, text *out)
{
  text_format(out, "%s-channel", n->registry);
}

void spring_channel(const protocol *n, const void *name, size_t size, text *out)
{
  spring_old_channel(n, out);
  text_add(out, ":");
  string_key(n, name, size, out);
}

/* A tag puts the keys of a lock into its slot, which a single brace would prevent. */
const char *string_name_fault(const protocol *n, const void *name, size_t size)
{
  char bytes[STRING_KEY_SIZE];
  text key = text_over(bytes, sizeof(bytes));

  string_key(n, name, size, &key);
  return redisson_name_fault(bytes, key.used) == NULL
           ? NULL : "in a cluster, the key of a lock has no braces, or one whole tag in braces";
}

/* ---- arguments ---- */

static void put_lock(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[STRING_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  string_key(n, name, size, &t);
  put_of(out, &t);
}

/* A key of dibs for the lock, `<p><kind>:{key}`. */
static void add_beside(const protocol *n, const char *kind, const void *name, size_t size,
                       text *out)
{
  char bytes[PREFIX_MAX_BYTES + 8], key[STRING_KEY_SIZE];
  text t = text_over(bytes, sizeof(bytes)), lock = text_over(key, sizeof(key));

  text_format(&t, "%s%s", n->prefix, kind);
  string_key(n, name, size, &lock);
  redisson_tagged(bytes, key, lock.used, out);
}

/* The record that this ask has ended. */
static void put_over(const protocol *n, request *out, const void *name, size_t size,
                     const char *client, uint64_t ask)
{
  char bytes[BESIDE_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_beside(n, ":over", name, size, &t);
  text_add(&t, ":");
  redisson_owner(client, ask, &t);
  put_of(out, &t);
}

/* The extra key of a lock. Spring: the ask that has it; plain: the last token. */
static void put_note(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[BESIDE_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  add_beside(n, is_spring(n) ? ":ask" : ":token", name, size, &t);
  put_of(out, &t);
}

/* Spring: the channels of a release. */
static void put_channels(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[2][CHANNEL_SIZE];
  text channel = text_over(bytes[0], CHANNEL_SIZE), old = text_over(bytes[1], CHANNEL_SIZE);

  if (!is_spring(n))
    return;
  spring_channel(n, name, size, &channel);
  spring_old_channel(n, &old);
  put_of(out, &channel);
  put_of(out, &old);
}

/* ---- calls ---- */

bool string_acquire(const protocol *n, request *out, const acquire_call *c)
{
  assert(c->ttl_ms > 0);
  request_begin(out, is_spring(n) ? &script_spring_acquire : &script_plain_acquire);
  put_lock(n, out, c->name, c->name_size);
  put_over(n, out, c->name, c->name_size, n->client, c->ask);
  put_note(n, out, c->name, c->name_size);
  request_keys_end(out);
  put_owner(out, n->client, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_text(out, c->waits ? "w" : "t");
  put_uint(out, c->min_token);
  return !out->is_incomplete;
}

/* Release and cancel: of an ask that ends with it. */
static bool call_over(const protocol *n, request *out, const script *s, const void *name,
                      size_t size, const char *client, uint64_t ask, int64_t copies_ms)
{
  request_begin(out, s);
  put_lock(n, out, name, size);
  put_over(n, out, name, size, client, ask);
  if (is_spring(n))
    put_note(n, out, name, size);
  request_keys_end(out);
  put_owner(out, client, ask);
  put_time(out, copies_ms);
  put_channels(n, out, name, size);
  return !out->is_incomplete;
}

bool string_release(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t copies_us, int64_t estimate_us)
{
  return call_over(n, out, is_spring(n) ? &script_spring_release : &script_plain_release,
                   name, name_size, lease->client, lease->ask,
                   dialect_copies_ms(copies_us, estimate_us));
}

bool string_cancel(const protocol *n, request *out, const void *name, size_t name_size,
                   uint64_t ask, int64_t copies_us, int64_t estimate_us,
                   const lease_id *detached)
{
  (void)detached;
  return call_over(n, out, is_spring(n) ? &script_spring_cancel : &script_plain_cancel,
                   name, name_size, n->client, ask, dialect_copies_ms(copies_us, estimate_us));
}

bool string_break(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, int64_t estimate_us)
{
  (void)estimate_us;
  request_begin(out, is_spring(n) ? &script_spring_break : &script_plain_break);
  put_lock(n, out, name, name_size);
  if (is_spring(n))
    put_note(n, out, name, name_size);
  request_keys_end(out);
  put_owner(out, lease->client, lease->ask);
  put_channels(n, out, name, name_size);
  return request_limit(out);
}

bool string_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                  int64_t estimate_us)
{
  (void)estimate_us;
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  request_begin(out, is_spring(n) ? &script_spring_renew : &script_plain_renew);
  for (size_t i = 0; i < count; i++) {
    put_lock(n, out, items[i].name, items[i].name_size);
    if (is_spring(n))
      put_note(n, out, items[i].name, items[i].name_size);
  }
  request_keys_end(out);
  for (size_t i = 0; i < count; i++) {
    put_owner(out, items[i].lease->client, items[i].lease->ask);
    put_time(out, items[i].ttl_ms);
  }
  return !out->is_incomplete;
}

bool string_inspect(const protocol *n, request *out, const void *name, size_t name_size)
{
  request_begin(out, is_spring(n) ? &script_spring_inspect : &script_plain_inspect);
  put_lock(n, out, name, name_size);
  if (is_spring(n))
    put_note(n, out, name, name_size);
  request_keys_end(out);
  return !out->is_incomplete;
}

bool plain_raise(const protocol *n, request *out, const void *name, size_t name_size,
                 const lease_id *lease, uint64_t token)
{
  request_begin(out, &script_plain_raise);
  put_lock(n, out, name, name_size);
  put_note(n, out, name, name_size);
  request_keys_end(out);
  put_owner(out, lease->client, lease->ask);
  put_uint(out, token);
  return !out->is_incomplete;
}
