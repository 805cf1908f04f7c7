/* SPDX-License-Identifier: MIT */
/* dialect/string/row.c - the rows of the dialects whose locks are strings: Spring's
 * registry, and plain SET NX PX. */
#include <dibs/semaphore.h>

#include "dialect/dialect.h"
#include "dialect/redisson/redisson.h"
#include "dialect/string/lock.h"

static void spring_lock_channel(const protocol *n, const void *name, size_t size, char mode,
                                lock_kind kind, uint64_t ask, text *out)
{
  (void)mode;
  (void)kind;
  (void)ask;
  spring_channel(n, name, size, out);
}

static void plain_lock_channel(const protocol *n, const void *name, size_t size, char mode,
                               lock_kind kind, uint64_t ask, text *out)
{
  (void)n;
  (void)mode;
  (void)kind;
  (void)ask;
  text_add(out, "dibs:free:");             /* as lua/plain/shared/let_go.lua and dibs.redis_py */
  text_add_bytes(out, name, size);
}

#define STRING_LOCK                                                                            \
  .cluster_name_fault = string_name_fault, .key = string_key, .acquire = string_acquire,       \
  .release = string_release, .cancel = string_cancel, .break_lease = string_break,             \
  .renew = string_renew, .raise = plain_raise, .inspect = string_inspect,                      \
  .inspect_answer = redisson_inspect_answer, .leased_permits_max = DIBS_PERMITS_MAX,           \
  .lock_type = "string"

/* Polls as often as Spring by default, because its spinning registries publish nothing: with
 * longer pauses dibs would nearly always be later. */
const dialect_ops spring_dialect = {
  STRING_LOCK,
  .traits = { .name = "spring", .look_first_ms = 100, .look_most_ms = 100,
              .guide = "doc/guide/other-languages.md" },
  .channel = spring_lock_channel, .side_channel = spring_old_channel, .has_registry = true,
  .rights = { .keys = "~%r:%n", .channels = "&%r-channel &%r-channel:*", .commands = "+unlink" },
};

/* Only dibs publishes: other libraries are found by polls. */
const dialect_ops plain_dialect = {
  STRING_LOCK,
  .traits = { .name = "plain", .has_quorums = true, .look_first_ms = 10, .look_most_ms = 250,
              .guide = "doc/guide/other-languages.md" },
  .channel = plain_lock_channel, .lists_all_keys = true,
  .rights = { .keys = "~%n", .channels = "&dibs:free:%n", .commands = "" },
};
