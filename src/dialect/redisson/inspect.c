/* SPDX-License-Identifier: MIT */
/* dialect/redisson/inspect.c - the holders of a lock or permits of Redisson's, as far as
 * its format has them. */
#include "dialect/redisson/internal.h"

#include <string.h>

#include <dibs/client.h>

#include "dialect/children.h"
#include "dialect/internal.h"

#define HEAD_COUNT 8

static int hex_value(char c)
{
  return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool uuid_read(const char *at, uint8_t ret_bytes[16])
{
  size_t used = 0;

  for (size_t i = 0; i < UUID_SIZE - 1;) {
    int high = hex_value(at[i]), low = hex_value(at[i + 1]);

    if (i == 8 || i == 13 || i == 18 || i == 23) {
      if (at[i++] != '-')
        return false;
      continue;
    }
    if (high < 0 || low < 0)
      return false;
    ret_bytes[used++] = (uint8_t)(high << 4 | low);
    i += 2;
  }
  return used == 16;
}

/* K of Java is any long; it is kept as its 64 bits. */
static bool thread_read(const char *bytes, size_t size, uint64_t *ret_ask)
{
  bool is_negative = size > 0 && bytes[0] == '-';
  size_t digits = is_negative;
  uint64_t most = (uint64_t)INT64_MAX + is_negative, value;

  while (digits < size && bytes[digits] >= '0' && bytes[digits] <= '9')
    digits++;
  if (!uint_read(bytes + is_negative, digits - is_negative, &value) || value > most)
    return false;
  *ret_ask = is_negative ? 0 - value : value;
  return true;
}

/* `U:K`, and `U:K:write`; anything else is an unknown owner. */
static void owner_read(const char *bytes, size_t size, char ret_client[CLIENT_ID_SIZE],
                       uint64_t *ret_ask)
{
  uint8_t uuid[16];

  memset(ret_client, '.', CLIENT_ID_SIZE - 1);
  ret_client[CLIENT_ID_SIZE - 1] = 0;
  *ret_ask = 0;
  if (size < UUID_SIZE || bytes[UUID_SIZE - 1] != ':' || !uuid_read(bytes, uuid))
    return;
  if (thread_read(bytes + UUID_SIZE, size - UUID_SIZE, ret_ask))
    text_base64url_16(uuid, ret_client);
}

static bool is_writer(const resp_node *owner)
{
  static const char mark[] = ":write";
  size_t size = sizeof(mark) - 1;

  return owner->size > size && memcmp(owner->bytes + owner->size - size, mark, size) == 0;
}

static void times_fill(inspect_holder *h, int64_t left)
{
  h->lease.token = 1;
  h->remaining_ms = h->lease_ms = left < 0 ? 0 : left < DIBS_MS_MAX ? left : DIBS_MS_MAX;
}

static bool holder_read(const resp_reply *r, size_t at, const inspect_answer *a, int64_t left,
                        inspect_holder *h)
{
  const resp_node *owner = child_string(r, at), *holds = child_string(r, at + 1);

  if (owner == NULL || holds == NULL || !text_to_uint(holds->bytes, holds->size, &h->units))
    return false;
  owner_read(owner->bytes, owner->size, h->lease.client, &h->lease.ask);
  if (left == -1)                        /* it has no end: taken until it is deleted */
    left = DIBS_MS_MAX;
  h->mode = a->kind == NATIVE_MUTEX ? 'x' : is_writer(owner) ? 'w' : 'r';
  times_fill(h, left);
  return true;
}

/* The format has no owner of a permit: its id replaces that of a client. */
static bool permit_read(const resp_reply *r, size_t at, const inspect_answer *a,
                        inspect_holder *h)
{
  const resp_node *id = child_string(r, at), *end = child_string(r, at + 1);
  uint64_t end_ms;

  if (id == NULL || end == NULL || !text_to_uint(end->bytes, end->size, &end_ms) ||
      end_ms > INT64_MAX)
    return false;
  if (id->size == PERMIT_ID_SIZE)
    text_base64url_16((const uint8_t *)id->bytes, h->lease.client);
  else
    owner_read("", 0, h->lease.client, &h->lease.ask);
  h->lease.ask = 1;
  h->mode = 'p';
  h->units = 1;
  times_fill(h, (int64_t)end_ms - a->server_us / 1000);
  return true;
}

static bool waiter_read(const resp_reply *r, size_t at, inspect_waiter *w)
{
  const resp_node *owner = child_string(r, at);

  if (owner == NULL)
    return false;
  owner_read(owner->bytes, owner->size, w->client, &w->ask);
  w->mode = 'x';
  w->units = 1;
  return true;
}

/* The part before holders and waiters. */
static bool head_read(const resp_reply *r, inspect_answer *ret, int64_t *ret_left)
{
  uint64_t waiters, holders, shown, kind;
  int64_t free_permits;

  if (!child_int(r, 0, &ret->server_us) || !is_time(ret->server_us) ||
      !child_count(r, 1, &ret->last_token) || !child_int(r, 2, ret_left) ||
      !child_count(r, 3, &waiters) || !child_count(r, 4, &holders) ||
      !child_count(r, 5, &shown) || shown > INSPECT_HOLDERS_MAX || shown > holders ||
      !child_count(r, 6, &kind) || kind > NATIVE_SEMAPHORE || !child_int(r, 7, &free_permits))
    return false;
  ret->kind = (native_kind)kind;
  ret->holder_count = (size_t)holders;
  ret->shown_holders = (size_t)shown;
  ret->waiter_count = (size_t)waiters;
  if (ret->kind == NATIVE_SEMAPHORE) {
    int64_t limit = (int64_t)holders + free_permits;

    ret->used = holders;
    ret->limit = limit > 0 ? (uint64_t)limit : 0;
  }
  return true;
}

bool redisson_inspect_answer(const resp_reply *r, inspect_answer *ret)
{
  const resp_node *root = resp_root(r);
  int64_t left;
  size_t at = HEAD_COUNT;

  memset(ret, 0, sizeof(*ret));
  if (root->kind != RESP_ARRAY || !head_read(r, ret, &left) ||
      (size_t)root->integer < at + 2 * ret->shown_holders)
    return false;
  ret->shown = (size_t)root->integer - at - 2 * ret->shown_holders;
  if (ret->shown > INSPECT_WAITERS_MAX)
    return false;
  for (size_t i = 0; i < ret->shown_holders; i++, at += 2)
    if (!(ret->kind == NATIVE_SEMAPHORE ? permit_read(r, at, ret, &ret->holders[i])
                                        : holder_read(r, at, ret, left, &ret->holders[i])))
      return false;
  for (size_t i = 0; i < ret->shown; i++, at++)
    if (!waiter_read(r, at, &ret->waiters[i]))
      return false;
  return true;
}
