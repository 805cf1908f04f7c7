/* SPDX-License-Identifier: MIT */
/* dialect/redisson/row.c - the row of Redisson's format. */
#include "dialect/call_words.h"
#include "dialect/dialect.h"
#include "dialect/redisson/redisson.h"

static const char *name_fault(const protocol *n, const void *name, size_t size)
{
  (void)n;
  return redisson_name_fault(name, size);
}

static void key(const protocol *n, const void *name, size_t size, text *out)
{
  (void)n;
  text_add_bytes(out, name, size);
}

/* Permits without a lease must not be returned twice: their release is recorded as long as
 * it may be repeated. */
static int64_t ending_ms(const share_ending *e)
{
  int64_t ms = dialect_copies_ms(e->copies_us, e->estimate_us);

  return e->kind == LOCK_COUNTER && ms < e->ttl_ms + DIALECT_COPIES_MS
           ? e->ttl_ms + DIALECT_COPIES_MS : ms;
}

static bool share_release(const protocol *n, request *out, const share_ending *e)
{
  return redisson_share_release(n, out, e, false, ending_ms(e));
}

static bool share_cancel(const protocol *n, request *out, const share_ending *e)
{
  return redisson_share_release(n, out, e, true,
                                dialect_copies_ms(e->copies_us, e->estimate_us));
}

const dialect_ops redisson_dialect = {
  .traits = { .name = "redisson", .has_shares = true, .has_lock_kinds = true, .has_quorums = true,
              .token_is_fence = true, .is_sharded = true,
              .readers_ttl_ms = REDISSON_READERS_TTL_MS, .guide = "doc/guide/java.md" },
  .cluster_name_fault = name_fault, .key = key, .channel = redisson_channel,
  .owner_show = redisson_owner,
  .acquire = redisson_acquire, .release = redisson_release, .cancel = redisson_cancel,
  .break_lease = redisson_break, .renew = redisson_renew, .raise = redisson_raise,
  .inspect = redisson_inspect, .inspect_answer = redisson_inspect_answer,
  .leased_permits_max = REDISSON_PERMITS_MAX,
  .share_acquire = redisson_share_acquire, .share_release = share_release,
  .share_cancel = share_cancel, .share_renew = redisson_share_renew,
  .share_raise = redisson_raise, .share_set = redisson_share_set,
  .lock_type = "hash", .permits_type = "zset", .lists_all_keys = true, .checks_owner = true,
  .rights = { .keys = "~%n ~%t:* ~redisson_lock_queue:%t ~redisson_lock_timeout:%t"
                      " ~redisson_lock_token:%t",
              .channels = "&redisson_lock__channel:%t* &redisson_rwlock:%t &redisson_sc:%t",
              .commands = "+decrby +hexists +incrby +type +zadd +zcount +zrangebyscore +zrem"
                          " +zremrangebyscore +zscore +lindex +lpop +rpush +lrem +llen +incr"
                          " +hincrby +lrange +zcard +zincrby +zrange" },
};
