/* SPDX-License-Identifier: MIT */
/* dialect/redisson/lock.c - the calls of lua/redisson for exclusive locks. */
#include "dialect/redisson/internal.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"

static const char *kind_words(const acquire_call *c)
{
  static const char *const waits[] = { "w lock", "w fair", "w spin", "w fenced" };
  static const char *const tries[] = { "t lock", "t fair", "t spin", "t fenced" };

  return (c->waits ? waits : tries)[c->kind];
}

bool redisson_acquire(const protocol *n, request *out, const acquire_call *c)
{
  char over[REDISSON_KEY_SIZE], third[REDISSON_KEY_SIZE], deadlines[REDISSON_KEY_SIZE];
  char owner[OWNER_SIZE], ttl[NUMBER_SIZE], until[NUMBER_SIZE], min_token[NUMBER_SIZE];
  const char *words = kind_words(c);
  resp_argument keys[4], arguments[5];
  size_t key_count = 2;

  assert(c->ttl_ms > 0);
  keys[0] = (resp_argument){ c->name, c->name_size };
  keys[1] = word_ask_key(n, over, "over", c->name, c->name_size, n->client, c->ask);
  if (c->kind == LOCK_FAIR) {
    keys[key_count++] = word_tagged(third, "redisson_lock_queue", c->name, c->name_size);
    keys[key_count++] = word_tagged(deadlines, "redisson_lock_timeout", c->name, c->name_size);
  } else if (c->kind == LOCK_FENCED) {
    keys[key_count++] = word_tagged(third, "redisson_lock_token", c->name, c->name_size);
  } else if (n->is_voter) {
    keys[key_count++] = word_token_key(n, third, c->name, c->name_size);
  }
  arguments[0] = word_owner(owner, n->client, c->ask);
  arguments[1] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[2] = word_time(until, c->until_us);
  arguments[3] = (resp_argument){ words, strlen(words) };
  arguments[4] = word_uint(min_token, c->min_token);
  return request_script(out, &script_redisson_acquire, keys, key_count, arguments,
                     5);
}

/* Release and cancel: of an ask that ends with it. */
static bool call_over(const protocol *n, request *out, const script *s, const void *name,
                      size_t size, const char *client, uint64_t ask, int64_t copies_ms)
{
  char over[REDISSON_KEY_SIZE], queue[REDISSON_KEY_SIZE], deadlines[REDISSON_KEY_SIZE];
  char owner[OWNER_SIZE], copies[NUMBER_SIZE], channel[REDISSON_KEY_SIZE];
  resp_argument keys[4], arguments[4];

  keys[0] = (resp_argument){ name, size };
  keys[1] = word_ask_key(n, over, "over", name, size, client, ask);
  keys[2] = word_tagged(queue, "redisson_lock_queue", name, size);
  keys[3] = word_tagged(deadlines, "redisson_lock_timeout", name, size);
  arguments[0] = word_owner(owner, client, ask);
  arguments[1] = word_time(copies, copies_ms);
  arguments[2] = word_publish(n);
  arguments[3] = word_tagged(channel, "redisson_lock__channel", name, size);
  return request_script(out, s, keys, 4, arguments, 4);
}

bool redisson_release(const protocol *n, request *out, const void *name, size_t name_size,
                      const lease_id *lease, int64_t copies_us, int64_t estimate_us)
{
  return call_over(n, out, &script_redisson_release, name, name_size, lease->client,
                   lease->ask, dialect_copies_ms(copies_us, estimate_us));
}

bool redisson_cancel(const protocol *n, request *out, const void *name, size_t name_size,
                     uint64_t ask, int64_t copies_us, int64_t estimate_us,
                     const lease_id *detached)
{
  (void)detached;
  return call_over(n, out, &script_redisson_cancel, name, name_size, n->client, ask,
                   dialect_copies_ms(copies_us, estimate_us));
}

bool redisson_break(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t estimate_us)
{
  char queue[REDISSON_KEY_SIZE], deadlines[REDISSON_KEY_SIZE], reading[REDISSON_KEY_SIZE];
  char permits[REDISSON_KEY_SIZE], channels[3][REDISSON_KEY_SIZE], owner[OWNER_SIZE];
  uint8_t permit[PERMIT_ID_SIZE] = { 0 };
  resp_argument keys[5], arguments[6];

  (void)estimate_us;
  (void)text_base64url_16_read(lease->client, permit);
  keys[0] = (resp_argument){ name, name_size };
  keys[1] = word_tagged(queue, "redisson_lock_queue", name, name_size);
  keys[2] = word_tagged(deadlines, "redisson_lock_timeout", name, name_size);
  keys[3] = word_reading(reading, name, name_size, lease->client, lease->ask);
  keys[4] = word_behind(permits, name, name_size, "timeout");
  arguments[0] = word_owner(owner, lease->client, lease->ask);
  arguments[1] = word_publish(n);
  arguments[2] = word_tagged(channels[0], "redisson_lock__channel", name, name_size);
  arguments[3] = word_tagged(channels[1], "redisson_rwlock", name, name_size);
  arguments[4] = word_tagged(channels[2], "redisson_sc", name, name_size);
  arguments[5] = (resp_argument){ (const char *)permit, sizeof(permit) };
  return request_script(out, &script_redisson_break, keys, 5, arguments, 6) && request_limit(out);
}

bool redisson_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                    int64_t estimate_us)
{
  char owner[OWNER_SIZE], ttl[NUMBER_SIZE];

  (void)n;
  (void)estimate_us;
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  (void)request_script(out, &script_redisson_renew, NULL, 0, NULL, 0);
  for (size_t i = 0; i < count; i++)
    (void)request_add_key(out, (resp_argument){ items[i].name, items[i].name_size });
  for (size_t i = 0; i < count; i++) {
    resp_argument pair[2];

    pair[0] = word_owner(owner, items[i].lease->client, items[i].lease->ask);
    pair[1] = word_time(ttl, items[i].ttl_ms);
    (void)request_add(out, pair, 2);
  }
  return !out->is_incomplete;
}

bool redisson_raise(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, uint64_t token)
{
  char last[REDISSON_KEY_SIZE], owner[OWNER_SIZE], number[NUMBER_SIZE];
  resp_argument keys[2], arguments[2];

  keys[0] = (resp_argument){ name, name_size };
  keys[1] = word_token_key(n, last, name, name_size);
  arguments[0] = word_owner(owner, lease->client, lease->ask);
  arguments[1] = word_uint(number, token);
  return request_script(out, &script_redisson_raise, keys, 2, arguments, 2);
}

bool redisson_inspect(const protocol *n, request *out, const void *name, size_t name_size)
{
  char queue[REDISSON_KEY_SIZE], token[REDISSON_KEY_SIZE], permits[REDISSON_KEY_SIZE];
  resp_argument keys[4];

  (void)n;
  keys[0] = (resp_argument){ name, name_size };
  keys[1] = word_tagged(queue, "redisson_lock_queue", name, name_size);
  keys[2] = word_tagged(token, "redisson_lock_token", name, name_size);
  keys[3] = word_behind(permits, name, name_size, "timeout");
  return request_script(out, &script_redisson_inspect, keys, 4, NULL, 0);
}
