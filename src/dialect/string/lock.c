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
  if (is_spring(n)) {
    text_add(out, n->registry);
    text_add(out, ":");
  }
  text_add_bytes(out, name, size);
}

void spring_old_channel(const protocol *n, text *out)
{
  text_add(out, n->registry);
  text_add(out, "-channel");
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

static resp_argument word_lock(const protocol *n, char bytes[STRING_KEY_SIZE], const void *name,
                               size_t size)
{
  text t = text_over(bytes, STRING_KEY_SIZE);

  string_key(n, name, size, &t);
  return word_of(&t);
}

/* A key of dibs for the lock, `<p><kind>:{key}`. */
static void add_beside(const protocol *n, const char *kind, resp_argument lock, text *out)
{
  char bytes[PREFIX_MAX_BYTES + 8];
  text t = text_over(bytes, sizeof(bytes));

  text_add(&t, n->prefix);
  text_add(&t, kind);
  redisson_tagged(bytes, lock.bytes, lock.size, out);
}

/* The record that this ask has ended. */
static resp_argument word_over(const protocol *n, char bytes[BESIDE_SIZE], resp_argument lock,
                               const char *client, uint64_t ask)
{
  text t = text_over(bytes, BESIDE_SIZE);

  add_beside(n, ":over", lock, &t);
  text_add(&t, ":");
  redisson_owner(client, ask, &t);
  return word_of(&t);
}

/* The extra key of a lock. Spring: the ask that has it; plain: the last token. */
static resp_argument word_note(const protocol *n, char bytes[BESIDE_SIZE], resp_argument lock)
{
  text t = text_over(bytes, BESIDE_SIZE);

  add_beside(n, is_spring(n) ? ":ask" : ":token", lock, &t);
  return word_of(&t);
}

/* Spring: the channels of a release. Returns their number. */
static size_t add_channels(const protocol *n, resp_argument ret_words[2],
                           char bytes[2][CHANNEL_SIZE], const void *name, size_t size)
{
  text channel = text_over(bytes[0], CHANNEL_SIZE), old = text_over(bytes[1], CHANNEL_SIZE);

  if (!is_spring(n))
    return 0;
  spring_channel(n, name, size, &channel);
  spring_old_channel(n, &old);
  ret_words[0] = word_of(&channel);
  ret_words[1] = word_of(&old);
  return 2;
}

/* ---- calls ---- */

bool string_acquire(const protocol *n, request *out, const acquire_call *c)
{
  char lock[STRING_KEY_SIZE], over[BESIDE_SIZE], note[BESIDE_SIZE];
  char owner[OWNER_SIZE], ttl[NUMBER_SIZE], until[NUMBER_SIZE], min_token[NUMBER_SIZE];
  resp_argument keys[3], arguments[5];

  assert(c->ttl_ms > 0);
  keys[0] = word_lock(n, lock, c->name, c->name_size);
  keys[1] = word_over(n, over, keys[0], n->client, c->ask);
  keys[2] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, n->client, c->ask);
  arguments[1] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[2] = word_time(until, c->until_us);
  arguments[3] = c->waits ? RESP_TEXT("w") : RESP_TEXT("t");
  arguments[4] = word_uint(min_token, c->min_token);
  return request_script(out, is_spring(n) ? &script_spring_acquire : &script_plain_acquire, keys, 3,
                     arguments, 5);
}

/* Release and cancel: of an ask that ends with it. */
static bool call_over(const protocol *n, request *out, const script *s, const void *name,
                      size_t size, const char *client, uint64_t ask, int64_t copies_ms)
{
  char lock[STRING_KEY_SIZE], over[BESIDE_SIZE], note[BESIDE_SIZE];
  char owner[OWNER_SIZE], copies[NUMBER_SIZE], channels[2][CHANNEL_SIZE];
  resp_argument keys[3], arguments[4];
  size_t count = 2;

  keys[0] = word_lock(n, lock, name, size);
  keys[1] = word_over(n, over, keys[0], client, ask);
  keys[2] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, client, ask);
  arguments[1] = word_time(copies, copies_ms);
  count += add_channels(n, arguments + count, channels, name, size);
  return request_script(out, s, keys, is_spring(n) ? 3 : 2, arguments, count);
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
  char lock[STRING_KEY_SIZE], note[BESIDE_SIZE], owner[OWNER_SIZE];
  char channels[2][CHANNEL_SIZE];
  resp_argument keys[2], arguments[3];
  size_t count = 1;

  (void)estimate_us;
  keys[0] = word_lock(n, lock, name, name_size);
  keys[1] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, lease->client, lease->ask);
  count += add_channels(n, arguments + count, channels, name, name_size);
  return (is_spring(n) ? request_script(out, &script_spring_break, keys, 2, arguments, count)
                       : request_script(out, &script_plain_break, keys, 1, arguments, count)) &&
         request_limit(out);
}

bool string_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                  int64_t estimate_us)
{
  (void)estimate_us;
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  (void)request_script(out, is_spring(n) ? &script_spring_renew : &script_plain_renew, NULL, 0,
                       NULL, 0);
  for (size_t i = 0; i < count; i++) {
    char lock[STRING_KEY_SIZE], ask[BESIDE_SIZE];
    resp_argument key = word_lock(n, lock, items[i].name, items[i].name_size);

    (void)request_add_key(out, key);
    if (is_spring(n))
      (void)request_add_key(out, word_note(n, ask, key));
  }
  for (size_t i = 0; i < count; i++) {
    char owner[OWNER_SIZE], ttl[NUMBER_SIZE];
    const lease_id *lease = items[i].lease;
    resp_argument arguments[2] = { word_owner(owner, lease->client, lease->ask),
                                   word_time(ttl, items[i].ttl_ms) };

    (void)request_add(out, arguments, 2);
  }
  return !out->is_incomplete;
}

bool string_inspect(const protocol *n, request *out, const void *name, size_t name_size)
{
  char lock[STRING_KEY_SIZE], note[BESIDE_SIZE];
  resp_argument keys[2];

  keys[0] = word_lock(n, lock, name, name_size);
  keys[1] = word_note(n, note, keys[0]);
  return is_spring(n) ? request_script(out, &script_spring_inspect, keys, 2, NULL, 0)
                      : request_script(out, &script_plain_inspect, keys, 1, NULL, 0);
}

bool plain_raise(const protocol *n, request *out, const void *name, size_t name_size,
                 const lease_id *lease, uint64_t token)
{
  char note[BESIDE_SIZE], owner[OWNER_SIZE], number[NUMBER_SIZE];
  resp_argument keys[2], arguments[2];

  keys[0] = (resp_argument){ name, name_size };
  keys[1] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, lease->client, lease->ask);
  arguments[1] = word_uint(number, token);
  return request_script(out, &script_plain_raise, keys, 2, arguments, 2);
}
