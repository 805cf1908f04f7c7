/* SPDX-License-Identifier: MIT */
/* dialect/native/call.c - the calls of the native scripts. The heads of
 * lua/native/<verb>.lua define the arguments; constant ones are sent as one argument. */
#include "dialect/native.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/internal.h"

bool native_acquire(const protocol *n, request *out, const acquire_call *c)
{
  char contention[3 + 3 * NUMBER_SIZE + LEASE_TEXT_SIZE + PLACE_SIZE];
  text t = text_over(contention, sizeof(contention));

  assert(c->ttl_ms > 0);
  /* The seventh argument: read by a contended acquire only. */
  add_mode(&t, c->waits, c->polls, c->nonce);
  add_watching(&t, c->give_up_us, c->watched, c->watched_renewals);
  add_place(n, &t, c->name, c->name_size);
  begin_with_era(n, out, &script_native_acquire, c->name, c->name_size);
  put_text(out, n->client);
  put_uint(out, c->ask);
  put_uint(out, (uint64_t)c->ttl_ms);
  put_time(out, c->until_us);
  put_uint(out, c->min_token);
  put_estimate(out, c->estimate_us);
  put_of(out, &t);
  /* Both are rare, and each argument costs the server time. */
  if (c->lingers || c->detached != NULL)
    put_text(out, c->lingers ? "1" : "0");
  if (c->detached != NULL)
    put_lease(out, c->detached);
  return !out->is_incomplete;
}

static bool call_with_lease(const protocol *n, request *out, const script *s,
                            const void *name, size_t name_size, const lease_id *lease,
                            int64_t estimate_us)
{
  begin_with_era(n, out, s, name, name_size);
  put_lease(out, lease);
  put_place(n, out, name, name_size);
  put_estimate(out, estimate_us);
  return !out->is_incomplete;
}

static bool call_raise(const protocol *n, request *out, const script *s, const void *name,
                       size_t name_size, const lease_id *lease, uint64_t token)
{
  request_begin(out, s);
  put_key(n, out, name, name_size);
  request_keys_end(out);
  put_lease(out, lease);
  put_uint(out, token);
  return !out->is_incomplete;
}

bool native_release(const protocol *n, request *out, const void *name, size_t name_size,
                    const lease_id *lease, int64_t estimate_us)
{
  return call_with_lease(n, out, &script_native_release, name, name_size, lease,
                         estimate_us);
}

/* As lua/native/acquire.lua writes it, without the flag of a doubt. */
static void add_string(text *t, const lease_id *lease, const lease_string *stored)
{
  lease_id_write(lease, t);
  text_add(t, " ");
  add_time(t, stored->ttl_ms);           /* ahead, and a blank */
  add_time(t, stored->ttl_ms);           /* length */
  text_add(t, stored->lingers ? "0 1" : "0 0");
}

bool native_release_ifeq(const protocol *n, request *out, const void *name, size_t name_size,
                         const lease_id *lease, const lease_string *stored)
{
  char free_bytes[1 + LEASE_TEXT_SIZE], held_bytes[LEASE_TEXT_SIZE + 2 * NUMBER_SIZE + 8];
  text as_free = text_over(free_bytes, sizeof(free_bytes));
  text as_held = text_over(held_bytes, sizeof(held_bytes));

  text_add(&as_free, "=");
  lease_id_write(lease, &as_free);
  add_string(&as_held, lease, stored);
  request_begin(out, NULL);
  put_text(out, "SET");
  put_key(n, out, name, name_size);
  put_of(out, &as_free);
  put_text(out, "IFEQ");
  put_of(out, &as_held);
  put_text(out, "KEEPTTL");
  return !out->is_incomplete;
}

bool native_break(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, int64_t estimate_us)
{
  return call_with_lease(n, out, &script_native_break, name, name_size, lease,
                         estimate_us) &&
         request_limit(out);
}

bool native_cancel(const protocol *n, request *out, const void *name, size_t name_size,
                   uint64_t ask, int64_t until_us, int64_t estimate_us,
                   const lease_id *detached)
{
  begin_with_era(n, out, &script_native_cancel, name, name_size);
  put_text(out, n->client);
  put_uint(out, ask);
  put_time(out, until_us);
  put_place(n, out, name, name_size);
  put_estimate(out, estimate_us);
  if (detached != NULL)
    put_lease(out, detached);
  return !out->is_incomplete;
}

bool native_raise(const protocol *n, request *out, const void *name, size_t name_size,
                  const lease_id *lease, uint64_t token)
{
  return call_raise(n, out, &script_native_raise, name, name_size, lease, token);
}

bool native_share_raise(const protocol *n, request *out, const void *name, size_t name_size,
                        const lease_id *lease, uint64_t token)
{
  return call_raise(n, out, &script_native_share_raise, name, name_size, lease, token);
}

bool native_renew(const protocol *n, request *out, const renew_item *items, size_t count,
                  int64_t estimate_us)
{
  assert(count > 0 && count <= RENEW_BATCH_MAX);
  request_begin(out, &script_native_renew);
  for (size_t i = 0; i < count; i++)
    put_key(n, out, items[i].name, items[i].name_size);
  put_era(n, out, items[0].name, items[0].name_size);
  request_keys_end(out);
  for (size_t i = 0; i < count; i++) {
    put_lease(out, items[i].lease);
    put_time(out, items[i].ttl_ms);
  }
  put_estimate(out, estimate_us);
  return !out->is_incomplete;
}
