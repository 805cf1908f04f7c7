/* SPDX-License-Identifier: MIT */
/* dialect/string_lock.c - the calls of lua/spring and lua/plain. */
#include "dialect/string_lock.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/redisson_parts.h"

#define STRING_KEY_SIZE (REGISTRY_MAX_BYTES + 1 + NAME_MAX_BYTES + 1)
#define BESIDE_SIZE (REDISSON_KEY_SIZE + REGISTRY_MAX_BYTES + 1)
#define CHANNEL_SIZE (2 * REGISTRY_MAX_BYTES + NAME_MAX_BYTES + 16)

static bool is_spring(const native *n)
{
  return n->dialect == DIALECT_SPRING;
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

void string_key(const native *n, const void *name, size_t size, text *out)
{
  if (is_spring(n)) {
    text_add(out, n->registry);
    text_add(out, ":");
  }
  text_add_bytes(out, name, size);
}

void spring_old_channel(const native *n, text *out)
{
  text_add(out, n->registry);
  text_add(out, "-channel");
}

void spring_channel(const native *n, const void *name, size_t size, text *out)
{
  spring_old_channel(n, out);
  text_add(out, ":");
  string_key(n, name, size, out);
}

/* The keys beside a lock are in its slot by a tag, which a lone brace would spoil. */
const char *string_name_fault(const native *n, const void *name, size_t size)
{
  char bytes[STRING_KEY_SIZE];
  text key = text_over(bytes, sizeof(bytes));

  string_key(n, name, size, &key);
  return redisson_name_fault(bytes, key.used) == NULL
           ? NULL : "in a cluster, the key of a lock has no braces, or one whole tag in braces";
}

/* ---- words ---- */

static resp_argument word_lock(const native *n, char bytes[STRING_KEY_SIZE], const void *name,
                               size_t size)
{
  text t = text_over(bytes, STRING_KEY_SIZE);

  string_key(n, name, size, &t);
  return word_of(&t);
}

/* A key of ours beside the lock, `<p><kind>:{key}`. */
static void add_beside(const native *n, const char *kind, resp_argument lock, text *out)
{
  char bytes[PREFIX_MAX_BYTES + 8];
  text t = text_over(bytes, sizeof(bytes));

  text_add(&t, n->prefix);
  text_add(&t, kind);
  redisson_tagged(bytes, lock.bytes, lock.size, out);
}

/* This ask is over. */
static resp_argument word_over(const native *n, char bytes[BESIDE_SIZE], resp_argument lock,
                               const char *client, uint64_t ask)
{
  text t = text_over(bytes, BESIDE_SIZE);

  add_beside(n, ":over", lock, &t);
  text_add(&t, ":");
  redisson_owner(client, ask, &t);
  return word_of(&t);
}

/* What the dialect keeps beside a lock. Spring: which ask has it; plain: the last token. */
static resp_argument word_note(const native *n, char bytes[BESIDE_SIZE], resp_argument lock)
{
  text t = text_over(bytes, BESIDE_SIZE);

  add_beside(n, is_spring(n) ? ":ask" : ":token", lock, &t);
  return word_of(&t);
}

/* Spring: where a release is told. Returns how many words. */
static size_t add_channels(const native *n, resp_argument ret_words[2],
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

bool string_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c)
{
  char lock[STRING_KEY_SIZE], over[BESIDE_SIZE], note[BESIDE_SIZE];
  char owner[OWNER_SIZE], ttl[NUMBER_SIZE], until[NUMBER_SIZE], floor[NUMBER_SIZE];
  resp_argument keys[3], arguments[5];

  assert(c->ttl_ms > 0);
  keys[0] = word_lock(n, lock, c->name, c->name_size);
  keys[1] = word_over(n, over, keys[0], n->client, c->ask);
  keys[2] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, n->client, c->ask);
  arguments[1] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[2] = word_time(until, c->until_us);
  arguments[3] = c->waits ? RESP_TEXT("w") : RESP_TEXT("t");
  arguments[4] = word_uint(floor, c->floor);
  return call_script(n, out, with_text,
                     is_spring(n) ? &script_spring_acquire : &script_plain_acquire, keys, 3,
                     arguments, 5);
}

/* Release and cancel: of an ask that is over then. */
static bool call_over(const native *n, buffer *out, bool with_text, const script *s,
                      const void *name, size_t size, const char *client, uint64_t ask,
                      int64_t copies_ms)
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
  return call_script(n, out, with_text, s, keys, is_spring(n) ? 3 : 2, arguments, count);
}

bool string_release(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, const lease_id *lease, int64_t copies_ms)
{
  return call_over(n, out, with_text,
                   is_spring(n) ? &script_spring_release : &script_plain_release, name,
                   name_size, lease->client, lease->ask, copies_ms);
}

bool string_cancel(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, uint64_t ask, int64_t copies_ms)
{
  return call_over(n, out, with_text,
                   is_spring(n) ? &script_spring_cancel : &script_plain_cancel, name,
                   name_size, n->client, ask, copies_ms);
}

bool string_break(const native *n, buffer *out, bool with_text, const void *name,
                  size_t name_size, const lease_id *lease)
{
  char lock[STRING_KEY_SIZE], note[BESIDE_SIZE], owner[OWNER_SIZE];
  char channels[2][CHANNEL_SIZE];
  resp_argument keys[2], arguments[3];
  size_t count = 1;

  keys[0] = word_lock(n, lock, name, name_size);
  keys[1] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, lease->client, lease->ask);
  count += add_channels(n, arguments + count, channels, name, name_size);
  return is_spring(n) ? call_script(n, out, with_text, &script_spring_break, keys, 2,
                                    arguments, count)
                      : call_script(n, out, with_text, &script_plain_break, keys, 1,
                                    arguments, count);
}

/* Too much for the stack of a thread that may have a small one. */
typedef struct renew_bytes {
  char lock[STRING_KEY_SIZE], ask[BESIDE_SIZE], owner[OWNER_SIZE], ttl[NUMBER_SIZE];
} renew_bytes;

bool string_renew(const native *n, buffer *out, bool with_text, const renew_item *items,
                  size_t count)
{
  renew_bytes *bytes = mem_alloc(&out->memory, count * sizeof(*bytes));
  resp_argument keys[2 * RENEW_BATCH_MAX], arguments[2 * RENEW_BATCH_MAX];
  size_t used = 0;
  bool is_done;

  assert(count > 0 && count <= RENEW_BATCH_MAX);
  if (bytes == NULL)
    return false;
  for (size_t i = 0; i < count; i++) {
    const renew_item *item = &items[i];

    keys[used++] = word_lock(n, bytes[i].lock, item->name, item->name_size);
    if (is_spring(n)) {
      keys[used] = word_note(n, bytes[i].ask, keys[used - 1]);
      used++;
    }
    arguments[2 * i] = word_owner(bytes[i].owner, item->lease->client, item->lease->ask);
    arguments[2 * i + 1] = word_time(bytes[i].ttl, item->ttl_ms);
  }
  is_done = call_script(n, out, with_text,
                        is_spring(n) ? &script_spring_renew : &script_plain_renew, keys, used,
                        arguments, 2 * count);
  mem_free(&out->memory, bytes);
  return is_done;
}

bool string_inspect(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size)
{
  char lock[STRING_KEY_SIZE], note[BESIDE_SIZE];
  resp_argument keys[2];

  keys[0] = word_lock(n, lock, name, name_size);
  keys[1] = word_note(n, note, keys[0]);
  return is_spring(n) ? call_script(n, out, with_text, &script_spring_inspect, keys, 2, NULL, 0)
                      : call_script(n, out, with_text, &script_plain_inspect, keys, 1, NULL, 0);
}

bool plain_raise(const native *n, buffer *out, bool with_text, const void *name,
                 size_t name_size, const lease_id *lease, uint64_t token)
{
  char note[BESIDE_SIZE], owner[OWNER_SIZE], number[NUMBER_SIZE];
  resp_argument keys[2], arguments[2];

  keys[0] = (resp_argument){ name, name_size };
  keys[1] = word_note(n, note, keys[0]);
  arguments[0] = word_owner(owner, lease->client, lease->ask);
  arguments[1] = word_uint(number, token);
  return call_script(n, out, with_text, &script_plain_raise, keys, 2, arguments, 2);
}
