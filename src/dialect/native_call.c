/* SPDX-License-Identifier: MIT */
/* dialect/native_call.c - the calls of the native scripts. Which argument means what is
 * said at the head of each lua/native/<verb>.lua; constant ones travel as one word. */
#include "dialect/native.h"

#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/parts.h"

resp_argument word_of(const text *t)
{
  assert(!t->is_cut);
  return (resp_argument){ t->at, t->used };
}

resp_argument word_uint(char bytes[NUMBER_SIZE], uint64_t value)
{
  text t = text_over(bytes, NUMBER_SIZE);

  text_add_uint(&t, value);
  return word_of(&t);
}

resp_argument word_time(char bytes[NUMBER_SIZE], int64_t us)
{
  return word_uint(bytes, us > 0 ? (uint64_t)us : 0);
}

resp_argument word_lease(char bytes[LEASE_TEXT_SIZE], const lease_id *lease)
{
  text t = text_over(bytes, LEASE_TEXT_SIZE);

  lease_id_write(lease, &t);
  return word_of(&t);
}

resp_argument word_key(const native *n, char bytes[KEY_TEXT_SIZE], const void *name,
                       size_t size)
{
  text t = text_over(bytes, KEY_TEXT_SIZE);

  assert(native_name_fault(name, size) == NULL);
  native_key(n, name, size, &t);
  return word_of(&t);
}

void add_place(const native *n, text *t, const void *name, size_t size)
{
  text_add(t, n->prefix);
  text_add(t, " ");
  text_add_bytes(t, name, size);
}

resp_argument word_place(const native *n, char bytes[PLACE_SIZE], const void *name,
                         size_t size)
{
  text t = text_over(bytes, PLACE_SIZE);

  add_place(n, &t, name, size);
  return word_of(&t);
}

void add_time(text *t, int64_t us)
{
  text_add_uint(t, us > 0 ? (uint64_t)us : 0);
  text_add(t, " ");
}

void add_watching(const native *n, text *t, int64_t give_up_us, const lease_id *watched,
                  uint64_t renewals, const void *name, size_t size)
{
  add_time(t, give_up_us);
  if (watched != NULL)
    lease_id_write(watched, t);
  else
    text_add(t, "-");
  text_add(t, " ");
  text_add_uint(t, watched != NULL ? renewals : 0);
  text_add(t, " ");
  add_place(n, t, name, size);
}

bool native_acquire(const native *n, buffer *out, bool with_text, const acquire_call *c)
{
  char key[KEY_TEXT_SIZE], ask[NUMBER_SIZE], ttl[NUMBER_SIZE], until[NUMBER_SIZE];
  char floor[NUMBER_SIZE], estimate[NUMBER_SIZE];
  char contention[3 + 2 * NUMBER_SIZE + LEASE_TEXT_SIZE + PLACE_SIZE];
  text t = text_over(contention, sizeof(contention));
  char detached[LEASE_TEXT_SIZE];
  resp_argument keys[1], arguments[9];
  size_t count = 7;

  assert(c->ttl_ms > 0);
  /* The seventh argument: what only a contended acquire looks at. */
  text_add(&t, c->waits ? "w " : "t ");
  add_watching(n, &t, c->give_up_us, c->watched, c->watched_renewals, c->name, c->name_size);
  keys[0] = word_key(n, key, c->name, c->name_size);
  arguments[0] = (resp_argument){ n->client, strlen(n->client) };
  arguments[1] = word_uint(ask, c->ask);
  arguments[2] = word_uint(ttl, (uint64_t)c->ttl_ms);
  arguments[3] = word_time(until, c->until_us);
  arguments[4] = word_uint(floor, c->floor);
  arguments[5] = word_time(estimate, c->estimate_us);
  arguments[6] = word_of(&t);
  /* Both are seldom there, and each word costs the server. */
  if (c->lingers || c->detached != NULL)
    arguments[count++] = c->lingers ? RESP_TEXT("1") : RESP_TEXT("0");
  if (c->detached != NULL)
    arguments[count++] = word_lease(detached, c->detached);
  return script_call(out, &script_native_acquire, with_text, keys, 1, arguments, count);
}

static bool call_with_lease(const native *n, buffer *out, bool with_text, const script *s,
                            const void *name, size_t name_size, const lease_id *lease,
                            int64_t estimate_us)
{
  char key[KEY_TEXT_SIZE], id[LEASE_TEXT_SIZE], place[PLACE_SIZE], estimate[NUMBER_SIZE];
  resp_argument keys[1], arguments[3];

  keys[0] = word_key(n, key, name, name_size);
  arguments[0] = word_lease(id, lease);
  arguments[1] = word_place(n, place, name, name_size);
  arguments[2] = word_time(estimate, estimate_us);
  return script_call(out, s, with_text, keys, 1, arguments, 3);
}

bool native_release(const native *n, buffer *out, bool with_text, const void *name,
                    size_t name_size, const lease_id *lease, int64_t estimate_us)
{
  return call_with_lease(n, out, with_text, &script_native_release, name, name_size, lease,
                         estimate_us);
}

bool native_break(const native *n, buffer *out, bool with_text, const void *name,
                  size_t name_size, const lease_id *lease, int64_t estimate_us)
{
  return call_with_lease(n, out, with_text, &script_native_break, name, name_size, lease,
                         estimate_us);
}

bool native_cancel(const native *n, buffer *out, bool with_text, const void *name,
                   size_t name_size, uint64_t ask, int64_t until_us, int64_t estimate_us,
                   const lease_id *detached)
{
  char key[KEY_TEXT_SIZE], number[NUMBER_SIZE], until[NUMBER_SIZE], place[PLACE_SIZE];
  char estimate[NUMBER_SIZE], lease[LEASE_TEXT_SIZE];
  resp_argument keys[1], arguments[6];

  keys[0] = word_key(n, key, name, name_size);
  arguments[0] = (resp_argument){ n->client, strlen(n->client) };
  arguments[1] = word_uint(number, ask);
  arguments[2] = word_time(until, until_us);
  arguments[3] = word_place(n, place, name, name_size);
  arguments[4] = word_time(estimate, estimate_us);
  if (detached != NULL)
    arguments[5] = word_lease(lease, detached);
  return script_call(out, &script_native_cancel, with_text, keys, 1, arguments,
                     detached != NULL ? 6 : 5);
}

bool native_renew(const native *n, buffer *out, bool with_text, const renew_item *items,
                  size_t count, int64_t estimate_us)
{
  char key[RENEW_BATCH_MAX][KEY_TEXT_SIZE];
  char id[RENEW_BATCH_MAX][LEASE_TEXT_SIZE], ttl[RENEW_BATCH_MAX][NUMBER_SIZE];
  char estimate[NUMBER_SIZE];
  resp_argument keys[RENEW_BATCH_MAX], arguments[2 * RENEW_BATCH_MAX + 1];

  assert(count > 0 && count <= RENEW_BATCH_MAX);
  for (size_t i = 0; i < count; i++) {
    keys[i] = word_key(n, key[i], items[i].name, items[i].name_size);
    arguments[2 * i] = word_lease(id[i], items[i].lease);
    arguments[2 * i + 1] = word_time(ttl[i], items[i].ttl_ms);
  }
  arguments[2 * count] = word_time(estimate, estimate_us);
  return script_call(out, &script_native_renew, with_text, keys, count, arguments,
                     2 * count + 1);
}
