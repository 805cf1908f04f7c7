/* SPDX-License-Identifier: MIT */
/* dialect/dialect.c - which dialect's call it is. */
#include "dialect/dialect.h"

#include <string.h>

#include <dibs/semaphore.h>

#include "dialect/redisson.h"
#include "dialect/string_lock.h"

#define COPIES_MS 10000        /* where the server's time is not known */

static const dialect_traits traits[] = {
  [DIALECT_NATIVE] = { .name = "native", .hands_over = true, .has_shares = true,
                       .has_sets = true, .has_quorums = true, .is_sharded = true,
                       .guide = "doc/guide/which-one.md" },
  [DIALECT_REDISSON] = { .name = "redisson", .has_shares = true, .has_flavours = true,
                         .has_quorums = true, .is_sharded = true,
                         .guide = "doc/guide/java.md" },
  /* As often as Spring itself by default, whose spinning registries publish nothing: seldomer,
   * and those would nearly always be first. */
  [DIALECT_SPRING] = { .name = "spring", .look_first_ms = 100, .look_most_ms = 100,
                       .guide = "doc/guide/other-languages.md" },
  [DIALECT_PLAIN] = { .name = "plain", .has_quorums = true, .is_silent = true,
                      .look_first_ms = 10, .look_most_ms = 250,
                      .guide = "doc/guide/other-languages.md" },
};

/* Calls for exclusive locks of a format that is not ours. */
typedef struct format {
  bool (*acquire)(const native *n, buffer *out, bool with_text, const acquire_call *c);
  bool (*release)(const native *n, buffer *out, bool with_text, const void *name,
                  size_t name_size, const lease_id *lease, int64_t copies_ms);
  bool (*cancel)(const native *n, buffer *out, bool with_text, const void *name,
                 size_t name_size, uint64_t ask, int64_t copies_ms);
  bool (*break_lease)(const native *n, buffer *out, bool with_text, const void *name,
                      size_t name_size, const lease_id *lease);
  bool (*renew)(const native *n, buffer *out, bool with_text, const renew_item *items,
                size_t count);
  bool (*inspect)(const native *n, buffer *out, bool with_text, const void *name,
                  size_t name_size);
  bool (*raise)(const native *n, buffer *out, bool with_text, const void *name,
                size_t name_size, const lease_id *lease, uint64_t token);   /* on a quorum */
} format;

static const format redisson_format = { redisson_acquire, redisson_release, redisson_cancel,
                                        redisson_break, redisson_renew, redisson_inspect,
                                        redisson_raise };
static const format string_format = { string_acquire, string_release, string_cancel,
                                      string_break, string_renew, string_inspect,
                                      plain_raise };

/* NULL: it is ours. */
static const format *format_of(const native *n)
{
  static const format *const formats[] = { [DIALECT_NATIVE] = NULL,
                                           [DIALECT_REDISSON] = &redisson_format,
                                           [DIALECT_SPRING] = &string_format,
                                           [DIALECT_PLAIN] = &string_format };

  return formats[n->dialect];
}

static bool is_redisson(const native *n)
{
  return n->dialect == DIALECT_REDISSON;
}

static bool is_string(const native *n)
{
  return n->dialect == DIALECT_SPRING || n->dialect == DIALECT_PLAIN;
}

const dialect_traits *dialect_traits_of(const native *n)
{
  return &traits[n->dialect];
}

bool dialect_has_channels(const native *n)
{
  return n->has_tags || !traits[n->dialect].hands_over;
}

const char *dialect_name_fault(const native *n, const void *name, size_t size)
{
  const char *fault = native_name_fault(name, size);

  if (fault == NULL && is_redisson(n) && n->has_tags)
    fault = redisson_name_fault(name, size);
  if (fault == NULL && is_string(n) && n->has_tags)
    fault = string_name_fault(n, name, size);
  return fault;
}

void dialect_key(const native *n, const void *name, size_t size, text *out)
{
  if (is_redisson(n))
    text_add_bytes(out, name, size);
  else if (is_string(n))
    string_key(n, name, size, out);
  else
    native_key(n, name, size, out);
}

void dialect_channel(const native *n, const void *name, size_t size, char mode,
                     lock_flavour flavour, uint64_t ask, text *out)
{
  if (is_redisson(n))
    redisson_channel(n, name, size, mode, flavour, ask, out);
  else if (n->dialect == DIALECT_SPRING)
    spring_channel(n, name, size, out);
  else
    native_name_inbox(n, name, size, out);
}

bool dialect_side_channel(const native *n, text *out)
{
  if (n->dialect != DIALECT_SPRING)
    return false;
  spring_old_channel(n, out);
  return true;
}

bool dialect_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c)
{
  const format *f = format_of(n);

  return f != NULL ? f->acquire(n, out, with_text, c)
                   : native_acquire(n, out, with_text, c);
}

static int64_t copies_ms(int64_t copies_us, int64_t estimate_us)
{
  if (copies_us == 0)
    return 0;
  return estimate_us > 0 && copies_us > estimate_us ? (copies_us - estimate_us) / 1000 + 1
                                                    : COPIES_MS;
}

bool dialect_release(const native *n, buffer *out, bool with_text, const void *name,
                     size_t name_size, const lease_id *lease, int64_t copies_us,
                     int64_t estimate_us)
{
  const format *f = format_of(n);

  return f != NULL ? f->release(n, out, with_text, name, name_size, lease,
                                copies_ms(copies_us, estimate_us))
                   : native_release(n, out, with_text, name, name_size, lease, estimate_us);
}

bool dialect_cancel(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, uint64_t ask, int64_t copies_us, int64_t estimate_us,
                    const lease_id *detached)
{
  const format *f = format_of(n);

  return f != NULL ? f->cancel(n, out, with_text, name, name_size, ask,
                               copies_ms(copies_us, estimate_us))
                   : native_cancel(n, out, with_text, name, name_size, ask, copies_us,
                                   estimate_us, detached);
}

bool dialect_break(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, const lease_id *lease, int64_t estimate_us)
{
  const format *f = format_of(n);

  return f != NULL ? f->break_lease(n, out, with_text, name, name_size, lease)
                   : native_break(n, out, with_text, name, name_size, lease, estimate_us);
}

bool dialect_renew(const native *n, buffer *out, bool with_text, const renew_item *items,
                   size_t count, int64_t estimate_us)
{
  const format *f = format_of(n);

  return f != NULL ? f->renew(n, out, with_text, items, count)
                   : native_renew(n, out, with_text, items, count, estimate_us);
}

bool dialect_raise(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, const lease_id *lease, uint64_t token)
{
  const format *f = format_of(n);

  return f != NULL ? f->raise(n, out, with_text, name, name_size, lease, token)
                   : native_raise(n, out, with_text, name, name_size, lease, token);
}

bool dialect_inspect(const native *n, buffer *out, bool with_text, const void *name,
                     size_t name_size)
{
  const format *f = format_of(n);

  return f != NULL ? f->inspect(n, out, with_text, name, name_size)
                   : native_inspect(n, out, with_text, name, name_size);
}

void dialect_owner_show(const native *n, const char *client, uint64_t ask, text *out)
{
  if (is_redisson(n))
    redisson_owner(client, ask, out);
}

bool dialect_inspect_answer(const native *n, const resp_reply *r, inspect_answer *ret)
{
  return n->dialect == DIALECT_NATIVE ? native_inspect_answer(r, ret)
                                      : redisson_inspect_answer(r, ret);
}

/* ---- what shares a name ---- */

bool dialect_share_acquire(const native *n, buffer *out, bool with_text, const share_call *c)
{
  return is_redisson(n) ? redisson_share_acquire(n, out, with_text, c)
                        : native_share_acquire(n, out, with_text, c);
}

/* What is taken without a lease must not come back twice: its release is remembered for as
 * long as it may be repeated. */
static int64_t ending_ms(const share_ending *e)
{
  int64_t ms = copies_ms(e->copies_us, e->estimate_us);

  return e->flavour == FLAVOUR_UNLEASED && ms < e->ttl_ms + COPIES_MS ? e->ttl_ms + COPIES_MS
                                                                      : ms;
}

bool dialect_share_release(const native *n, buffer *out, bool with_text,
                           const share_ending *e)
{
  return is_redisson(n)
           ? redisson_share_release(n, out, with_text, e, false, ending_ms(e))
           : native_share_release(n, out, with_text, e->name, e->name_size, &e->lease,
                                  e->copies_us, e->estimate_us);
}

bool dialect_share_cancel(const native *n, buffer *out, bool with_text, const share_ending *e)
{
  return is_redisson(n)
           ? redisson_share_release(n, out, with_text, e, true,
                                    copies_ms(e->copies_us, e->estimate_us))
           : native_share_cancel(n, out, with_text, e->name, e->name_size, e->lease.ask,
                                 e->copies_us, e->estimate_us);
}

bool dialect_share_renew(const native *n, buffer *out, bool with_text,
                         const share_renew_item *items, size_t count, int64_t estimate_us)
{
  return is_redisson(n) ? redisson_share_renew(n, out, with_text, items, count)
                        : native_share_renew(n, out, with_text, items, count, estimate_us);
}

bool dialect_share_raise(const native *n, buffer *out, bool with_text, const void *name,
                         size_t name_size, const lease_id *lease, uint64_t token)
{
  return is_redisson(n)
           ? redisson_raise(n, out, with_text, name, name_size, lease, token)
           : native_share_raise(n, out, with_text, name, name_size, lease, token);
}

bool dialect_share_set(const native *n, buffer *out, bool with_text, const void *name,
                       size_t name_size, share_set_what what, uint64_t permits,
                       int64_t estimate_us)
{
  return is_redisson(n)
           ? redisson_share_set(n, out, with_text, name, name_size, what, permits)
           : native_share_set(n, out, with_text, name, name_size, what, permits, estimate_us);
}

uint64_t dialect_permits_max(const native *n, lock_flavour flavour)
{
  return is_redisson(n) && flavour != FLAVOUR_UNLEASED ? REDISSON_PERMITS_MAX
                                                       : DIBS_PERMITS_MAX;
}
