/* SPDX-License-Identifier: MIT */
/* dialect/native/inspect.c - the holders and waiters of a name of any kind. */
#include "dialect/native.h"

#include <string.h>

#include "dialect/call_words.h"
#include "dialect/children.h"
#include "dialect/internal.h"

#define HEAD_COUNT 9      /* elements before the holders */
#define HOLDER_COUNT 6    /* elements of each holder */
#define WAITER_COUNT 5    /* elements of each waiter */

bool native_inspect(const protocol *n, request *out, const void *name, size_t name_size)
{
  request_begin(out, &script_native_inspect);
  put_key(n, out, name, name_size);
  request_keys_end(out);
  put_prefix(n, out);
  return !out->is_incomplete;
}

bool native_inspect_in_doubt(const protocol *n, request *out, const void *name, size_t name_size)
{
  (void)native_inspect(n, out, name, name_size);
  put_text(out, "0");
  return !out->is_incomplete;
}

static bool read_mode(const resp_reply *r, size_t i, char *ret_mode)
{
  const resp_node *mode = child_string(r, i);

  if (mode == NULL || mode->size != 1 || mode->bytes[0] == 0 ||
      strchr("xrwp", mode->bytes[0]) == NULL)
    return false;
  *ret_mode = mode->bytes[0];
  return true;
}

static bool read_holder(const resp_reply *r, size_t at, inspect_holder *h)
{
  return child_lease(r, at, &h->lease) && read_mode(r, at + 1, &h->mode) &&
         child_count(r, at + 2, &h->units) && child_int(r, at + 3, &h->remaining_ms) &&
         child_int(r, at + 4, &h->lease_ms) && child_count(r, at + 5, &h->renewals) &&
         is_remaining(h->remaining_ms, h->lease_ms);
}

/* The waiter of a multi-lock is shown as its client. */
static bool read_waiter(const resp_reply *r, size_t at, inspect_waiter *w)
{
  const resp_node *client = child_string(r, at), *ask = child_string(r, at + 1);
  const resp_node *queued = child_string(r, at + 2);
  uint64_t queued_us;
  uint32_t set;

  if (client == NULL || ask == NULL || queued == NULL ||
      !asker_read(client->bytes, client->size, w->client, &set) ||
      !uint_read(ask->bytes, ask->size, &w->ask) ||
      !text_to_uint(queued->bytes, queued->size, &queued_us) || queued_us > INT64_MAX)
    return false;
  w->queued_us = (int64_t)queued_us;
  return read_mode(r, at + 3, &w->mode) && child_count(r, at + 4, &w->units);
}

static bool read_head(const resp_reply *r, inspect_answer *a)
{
  uint64_t kind, holders, waiters, shown;

  if (!child_int(r, 0, &a->server_us) || !is_time(a->server_us) ||
      !child_count(r, 1, &kind) || kind > NATIVE_SEMAPHORE ||
      !child_count(r, 2, &a->last_token) || a->last_token > TOKEN_MAX ||
      !child_count(r, 3, &a->limit) || !child_count(r, 4, &a->used) ||
      !child_count(r, 5, &a->generation) || !child_count(r, 6, &holders) ||
      !child_count(r, 7, &waiters) || !child_count(r, 8, &shown) ||
      shown > holders || shown > INSPECT_HOLDERS_MAX)
    return false;
  a->kind = (native_kind)kind;
  a->holder_count = (size_t)holders;
  a->waiter_count = (size_t)waiters;
  a->shown_holders = (size_t)shown;
  return true;
}

bool native_inspect_answer(const resp_reply *r, inspect_answer *ret)
{
  const resp_node *root = resp_root(r);
  size_t at = HEAD_COUNT, left;

  memset(ret, 0, sizeof(*ret));
  if (root->kind != RESP_ARRAY || !read_head(r, ret))
    return false;
  if ((size_t)root->integer < at + HOLDER_COUNT * ret->shown_holders)
    return false;
  left = (size_t)root->integer - at - HOLDER_COUNT * ret->shown_holders;
  ret->shown = left / WAITER_COUNT;
  if (left % WAITER_COUNT != 0 || ret->shown > INSPECT_WAITERS_MAX)
    return false;
  for (size_t i = 0; i < ret->shown_holders; i++, at += HOLDER_COUNT)
    if (!read_holder(r, at, &ret->holders[i]))
      return false;
  for (size_t i = 0; i < ret->shown; i++, at += WAITER_COUNT)
    if (!read_waiter(r, at, &ret->waiters[i]))
      return false;
  return true;
}
