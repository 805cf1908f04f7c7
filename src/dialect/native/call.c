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
  char key[KEY_TEXT_SIZE], ask[NUMBER_SIZE], ttl[NUMBER_SIZE], until[NUMBER_SIZE];
  char min_token[NUMBER_SIZE], estimate[NUMBER_SIZE];
  char contention[3 + 3 * NUMBER_SIZE + LEASE_TEXT_SIZE + PLACE_SIZE];
  text t = text_over(contention, sizeof(contention));
  char detached[LEASE_TEXT_SIZE], era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[9];
  size_t count = 7, key_count = 1;

  assert(c->ttl_ms > 0);
  /* The seventh argument: read by a contended acquire only. */
  add_mode(&t, c->waits, c->polls, c->nonce);
  add_watching(n, &t, c->give_up_us, c->watched, c->watched_renewals, c->name, c->name_size);
  keys[0] = word_key(n, key, c->name, c->name_size);
  key_count += add_era(n, keys + 1, era, c->name, c->name_size);
  arguments[0] = (resp_argument){ n->client, strlen(n->client) };
  arguments[1] = word_uint(ask, c->ask);
  arguments[2] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[3] = word_time(until, c->until_us);
  arguments[4] = word_uint(min_token, c->min_token);
  arguments[5] = word_time(estimate, c->estimate_us);
  arguments[6] = word_of(&t);
  /* Both are rare, and each argument costs the server time. */
  if (c->lingers || c->detached != NULL)
    arguments[count++] = c->lingers ? RESP_TEXT("1") : RESP_TEXT("0");
  if (c->detached != NULL)
    arguments[count++] = word_lease(detached, c->detached);
  return request_script(out, &script_native_acquire, keys, key_count, arguments,
                     count);
}

static bool call_with_lease(const protocol *n, request *out, const script *s,
                            const void *name, size_t name_size, const lease_id *lease,
                            int64_t estimate_us)
{
  char key[KEY_TEXT_SIZE], id[LEASE_TEXT_SIZE], place[PLACE_SIZE], estimate[NUMBER_SIZE];
  char era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[3];
  size_t key_count = 1;

  keys[0] = word_key(n, key, name, name_size);
  key_count += add_era(n, keys + 1, era, name, name_size);
  arguments[0] = word_lease(id, lease);
  arguments[1] = word_place(n, place, name, name_size);
  arguments[2] = word_time(estimate, estimate_us);
  return request_script(out, s, keys, key_count, arguments, 3);
}

static bool call_raise(const protocol *n, request *out, const script *s, const void *name,
                       size_t name_size, const lease_id *lease, uint64_t token)
{
  char key[KEY_TEXT_SIZE], id[LEASE_TEXT_SIZE], number[NUMBER_SIZE];
  resp_argument keys[1], arguments[2];

  keys[0] = word_key(n, key, name, name_size);
  arguments[0] = word_lease(id, lease);
  arguments[1] = word_uint(number, token);
  return request_script(out, s, keys, 1, arguments, 2);
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
  char key[KEY_TEXT_SIZE], free_bytes[1 + LEASE_TEXT_SIZE];
  char held_bytes[LEASE_TEXT_SIZE + 2 * NUMBER_SIZE + 8];
  text as_free = text_over(free_bytes, sizeof(free_bytes));
  text as_held = text_over(held_bytes, sizeof(held_bytes));
  resp_argument command[6] = { RESP_TEXT("SET") };

  text_add(&as_free, "=");
  lease_id_write(lease, &as_free);
  add_string(&as_held, lease, stored);
  command[1] = word_key(n, key, name, name_size);
  command[2] = word_of(&as_free);
  command[3] = RESP_TEXT("IFEQ");
  command[4] = word_of(&as_held);
  command[5] = RESP_TEXT("KEEPTTL");
  return request_command(out, command, 6);
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
  char key[KEY_TEXT_SIZE], number[NUMBER_SIZE], until[NUMBER_SIZE], place[PLACE_SIZE];
  char estimate[NUMBER_SIZE], lease[LEASE_TEXT_SIZE], era[KEY_TEXT_SIZE];
  resp_argument keys[2], arguments[6];
  size_t key_count = 1;

  keys[0] = word_key(n, key, name, name_size);
  key_count += add_era(n, keys + 1, era, name, name_size);
  arguments[0] = (resp_argument){ n->client, strlen(n->client) };
  arguments[1] = word_uint(number, ask);
  arguments[2] = word_time(until, until_us);
  arguments[3] = word_place(n, place, name, name_size);
  arguments[4] = word_time(estimate, estimate_us);
  if (detached != NULL)
    arguments[5] = word_lease(lease, detached);
  return request_script(out, &script_native_cancel, keys, key_count, arguments,
                     detached != NULL ? 6 : 5);
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
  char key[KEY_TEXT_SIZE], id[LEASE_TEXT_SIZE], number[NUMBER_SIZE];
  resp_argument pair[2];

  assert(count > 0 && count <= RENEW_BATCH_MAX);
  (void)request_script(out, &script_native_renew, NULL, 0, NULL, 0);
  for (size_t i = 0; i < count; i++)
    (void)request_add_key(out, word_key(n, key, items[i].name, items[i].name_size));
  if (add_era(n, pair, key, items[0].name, items[0].name_size) > 0)
    (void)request_add_key(out, pair[0]);
  for (size_t i = 0; i < count; i++) {
    pair[0] = word_lease(id, items[i].lease);
    if (i == 0 || items[i].ttl_ms != items[i - 1].ttl_ms)      /* most have the same */
      pair[1] = word_time(number, items[i].ttl_ms);
    (void)request_add(out, pair, 2);
  }
  pair[0] = word_time(number, estimate_us);
  return request_add(out, pair, 1);
}
