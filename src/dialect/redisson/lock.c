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
  assert(c->ttl_ms > 0);
  request_begin(out, &script_redisson_acquire);
  request_put(out, c->name, c->name_size);
  put_ask_key(n, out, "over", c->name, c->name_size, n->client, c->ask);
  if (c->kind == LOCK_FAIR) {
    put_tagged(out, "redisson_lock_queue", c->name, c->name_size);
    put_tagged(out, "redisson_lock_timeout", c->name, c->name_size);
  } else if (c->kind == LOCK_FENCED) {
    put_tagged(out, "redisson_lock_token", c->name, c->name_size);
  } else if (n->is_voter) {
    put_token_key(n, out, c->name, c->name_size);
  }
  request_keys_end(out);
  put_owner(out, n->client, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_text(out, kind_words(c));
  put_uint(out, c->min_token);
  return !out->is_incomplete;
}

/* Release and cancel: of an ask that ends with it. */
static bool call_over(const protocol *n, request *out, const script *s, const void *name,
                      size_t size, const char *client, uint64_t ask, int64_t copies_ms)
{
  request_begin(out, s);
  request_put(out, name, size);
  put_ask_key(n, out, "over", name, size, client, ask);
  put_tagged(out, "redisson_lock_queue", name, size);
  put_tagged(out, "redisson_lock_timeout", name, size);
  request_keys_end(out);
  put_owner(out, client, ask);
  put_time(out, copies_ms);
  put_publish(n, out);
  put_tagged(out, "redisson_lock__channel", name, size);
  return !out->is_incomplete;
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
  uint8_t permit[PERMIT_ID_SIZE] = { 0 };

  (void)estimate_us;
  (void)text_base64url_16_read(lease->client, permit);
  request_begin(out, &script_redisson_break);
  request_put(out, name, name_size);
  put_tagged(out, "redisson_lock_queue", name, name_size);
  put_tagged(out, "redisson_lock_timeout", name, name_size);
  put_reading(out, name, name_size, lease->client, lease->ask);
  put_behind(out, name, name_size, "timeout");
  request_keys_end(out);
  put_owner(out, lease->client, lease->ask);
  put_publish(n, out);
  put_tagged(out, "redisson_lock__channel", name, name_size);
  put_tagged(out, "redisson_rwlock", name, name_size);
  put_tagged(out, "redisson_sc", name, name_size);
  request_put(out, permit, sizeof(permit));
  return request_limit(out);
}

bool redisson_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                    int64_t estimate_us)
{
  (void)n;
  (void)estimate_us;
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  request_begin(out, &script_redisson_renew);
  for (size_t i = 0; i < count; i++)
    request_put(out, items[i].name, items[i].name_size);
  request_keys_end(out);
  for (size_t i = 0; i < count; i++) {
    put_owner(out, items[i].lease->client, items[i].lease->ask);
    put_time(out, items[i].ttl_ms);
  }
  return !out->is_incomplete;
}

bool redisson_raise(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, uint64_t token)
{
  request_begin(out, &script_redisson_raise);
  request_put(out, name, name_size);
  put_token_key(n, out, name, name_size);
  request_keys_end(out);
  put_owner(out, lease->client, lease->ask);
  put_uint(out, token);
  return !out->is_incomplete;
}

bool redisson_inspect(const protocol *n, request *out, const void *name, size_t name_size)
{
  (void)n;
  request_begin(out, &script_redisson_inspect);
  request_put(out, name, name_size);
  put_tagged(out, "redisson_lock_queue", name, name_size);
  put_tagged(out, "redisson_lock_token", name, name_size);
  put_behind(out, name, name_size, "timeout");
  request_keys_end(out);
  return !out->is_incomplete;
}
