/* SPDX-License-Identifier: MIT */
/* dialect/native/row.c - the row of the native dialect. */
#include <dibs/semaphore.h>

#include "base/hash_tag.h"
#include "dialect/dialect.h"

void native_channel(const protocol *n, const void *name, size_t size, char mode,
                    lock_kind kind, uint64_t ask, text *out)
{
  (void)mode;
  (void)kind;
  (void)ask;
  native_name_inbox(n, name, size, out);
}

static bool release(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t copies_us, int64_t estimate_us)
{
  (void)copies_us;                         /* an ask that was granted is not granted again */
  return native_release(n, out, name, name_size, lease, estimate_us);
}

static bool share_release(const protocol *n, request *out, const share_ending *e)
{
  return native_share_release(n, out, e->name, e->name_size, &e->lease, e->copies_us,
                              e->estimate_us);
}

static bool share_cancel(const protocol *n, request *out, const share_ending *e)
{
  return native_share_cancel(n, out, e->name, e->name_size, e->lease.ask, e->copies_us,
                             e->estimate_us);
}

const dialect_ops native_dialect = {
  .traits = { .name = "native", .hands_over = true, .has_shares = true, .has_sets = true,
              .has_quorums = true, .is_sharded = true, .guide = "doc/guide/which-one.md" },
  .spell = hash_tag_spell, .key = native_key, .channel = native_channel,
  .acquire = native_acquire, .release = release,
  .release_ifeq = native_release_ifeq, .cancel = native_cancel,
  .break_lease = native_break, .renew = native_renew, .raise = native_raise,
  .inspect = native_inspect, .inspect_answer = native_inspect_answer,
  .leased_permits_max = DIBS_PERMITS_MAX,
  .share_acquire = native_share_acquire, .share_release = share_release,
  .share_cancel = share_cancel, .share_renew = native_share_renew,
  .share_raise = native_share_raise, .share_set = native_share_set,
  .rights = { .keys = "~%p:*", .channels = "&%p:inbox:* &%p:barrier:* &%p:elect:*" },
};
