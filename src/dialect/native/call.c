/* SPDX-License-Identifier: MIT */
/* dialect/native/call.c - the calls of the native scripts. The heads of
 * lua/native/<verb>.lua define the arguments; constant ones are sent as one argument. */
#include "dialect/native.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/internal.h"

#define SHORT_TTL_MS 900000       /* kept for an hour, without a calculation by the script */
#define TIME_DIGITS 16           /* of times that are compared as text. Clocks after
                                   2255 have no tokens: TOKEN_MAX */

/* The times between which lua/native/acquire.lua grants without reading a number. */
static uint64_t plain_after(const acquire_call *c)
{
  uint64_t earliest = c->estimate_us > CLOCKS_AGREE_US
                        ? (uint64_t)c->estimate_us - CLOCKS_AGREE_US - 1 : 0;

  return c->min_token > earliest ? c->min_token : earliest;
}

static uint64_t plain_before(const acquire_call *c)
{
  int64_t latest = c->estimate_us + CLOCKS_AGREE_US;

  if (c->estimate_us <= 0 || c->ttl_ms > SHORT_TTL_MS)
    return 0;
  return (uint64_t)(c->until_us > 0 && c->until_us < latest ? c->until_us : latest);
}

/* How the string of a lease ends that no clock was in doubt of: lua/native/acquire.lua stores it
 * as it is sent. */
static void add_string_end(text *t, const lease_string *stored)
{
  text_add(t, " ");
  add_time(t, stored->ttl_ms);           /* ahead, and a blank */
  add_time(t, stored->ttl_ms);           /* length */
  text_add(t, stored->lingers ? "0 1" : "0 0");
}

bool native_acquire(const protocol *n, request *out, const acquire_call *c)
{
  char own_bytes[LEASE_TEXT_SIZE], before_bytes[NUMBER_SIZE], end_bytes[3 * NUMBER_SIZE];
  char wish_bytes[3 + 7 * NUMBER_SIZE + LEASE_TEXT_SIZE + PLACE_SIZE];
  text own = text_over(own_bytes, sizeof(own_bytes));
  text wish = text_over(wish_bytes, sizeof(wish_bytes));
  text before = text_over(before_bytes, sizeof(before_bytes));
  text end = text_over(end_bytes, sizeof(end_bytes));

  assert(c->ttl_ms > 0);
  text_add(&own, "=");
  text_add(&own, n->client);
  text_add(&own, ":");
  text_add_uint(&own, c->ask);
  text_add(&own, ":");
  uint_write_padded(plain_after(c), TIME_DIGITS, &wish);
  text_add(&wish, " ");
  add_time(&wish, c->until_us);
  text_add_uint(&wish, c->min_token);
  text_add(&wish, " ");
  add_time(&wish, c->estimate_us);
  add_mode(&wish, c->waits, c->polls, c->nonce);
  add_watching(&wish, c->give_up_us, c->watched, c->watched_renewals);
  add_place(n, &wish, c->name, c->name_size);
  uint_write_padded(plain_before(c), TIME_DIGITS, &before);
  add_string_end(&end, &(lease_string){ c->ttl_ms, c->lingers });
  begin_with_era(n, out, &script_native_acquire, c->name, c->name_size);
  put_of(out, &own);
  put_of(out, &wish);
  put_of(out, &before);
  put_of(out, &end);
  if (c->detached != NULL)
    put_lease(out, c->detached);
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
  char bytes[NUMBER_SIZE + PLACE_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  /* Of a token, the sender writes the estimate: it is an argument of its own. */
  add_time(&t, estimate_us);
  add_place(n, &t, name, name_size);
  begin_with_era(n, out, &script_native_release, name, name_size);
  put_lease(out, lease);
  put_of(out, &t);
  if (estimate_us == ESTIMATE_AT_SENDING)
    put_estimate(out, estimate_us);
  return !out->is_incomplete;
}

bool native_release_ifeq(const protocol *n, request *out, const void *name, size_t name_size,
                         const lease_id *lease, const lease_string *stored)
{
  char free_bytes[1 + LEASE_TEXT_SIZE], held_bytes[LEASE_TEXT_SIZE + 2 * NUMBER_SIZE + 8];
  text as_free = text_over(free_bytes, sizeof(free_bytes));
  text as_held = text_over(held_bytes, sizeof(held_bytes));

  text_add(&as_free, "=");
  lease_id_write(lease, &as_free);
  lease_id_write(lease, &as_held);
  add_string_end(&as_held, stored);
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
  begin_with_era(n, out, &script_native_break, name, name_size);
  put_lease(out, lease);
  put_place(n, out, name, name_size);
  put_estimate(out, estimate_us);
  return request_limit(out);
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
