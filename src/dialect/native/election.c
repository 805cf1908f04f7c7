/* SPDX-License-Identifier: MIT */
/* dialect/native/election.c - calls and answers of lua/native/elect_*.lua. */
#include "dialect/native/election.h"

#include <assert.h>

#include <dibs/client.h>

#include "base/fence.h"
#include "dialect/call_words.h"
#include "dialect/children.h"
#include "dialect/internal.h"

#define HOUR_MS 3600000

void native_election_key(const protocol *n, const void *name, size_t size, text *out)
{
  tagged_write(n, ":e:", name, size, out);
}

void native_election_channel(const protocol *n, const void *name, size_t size, text *out)
{
  tagged_write(n, ":elect:", name, size, out);
}

/* ---- calls ---- */

static void put_election(const protocol *n, request *out, const void *name, size_t size)
{
  char bytes[KEY_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  native_election_key(n, name, size, &t);
  put_of(out, &t);
}

static void put_channel(const protocol *n, request *out, const publish_call *c)
{
  char bytes[ELECTION_CHANNEL_SIZE + 1];
  text t = text_over(bytes, sizeof(bytes));

  add_channel_mark(n, &t);
  native_election_channel(n, c->name, c->name_size, &t);
  put_of(out, &t);
}

/* Kept as long as the lock itself. */
static void put_kept(request *out, int64_t ttl_ms)
{
  put_uint(out, (uint64_t)(ttl_ms > HOUR_MS / 4 ? 4 * ttl_ms : HOUR_MS));
}

bool native_elect_publish(const protocol *n, request *out, const publish_call *c)
{
  assert(c->value_size <= ELECTION_VALUE_MAX);
  request_begin(out, &script_native_elect_publish);
  put_key(n, out, c->name, c->name_size);
  put_election(n, out, c->name, c->name_size);
  request_keys_end(out);
  put_lease(out, c->lease);
  put_uint(out, c->fence);
  put_uint(out, c->publication);
  put_kept(out, c->ttl_ms);
  put_channel(n, out, c);
  request_put(out, c->value, c->value_size);
  return request_limit(out);
}

bool native_elect_clear(const protocol *n, request *out, const publish_call *c)
{
  request_begin(out, &script_native_elect_clear);
  put_election(n, out, c->name, c->name_size);
  request_keys_end(out);
  put_lease(out, c->lease);
  put_uint(out, c->fence);
  put_kept(out, c->ttl_ms);
  put_channel(n, out, c);
  return !out->is_incomplete;
}

bool native_elect_look(const protocol *n, request *out, const void *name, size_t name_size)
{
  request_begin(out, &script_native_elect_look);
  put_key(n, out, name, name_size);
  put_election(n, out, name, name_size);
  request_keys_end(out);
  return !out->is_incomplete;
}

/* ---- answers ---- */

bool native_elect_publish_answer(const resp_reply *r, bool *ret_reported)
{
  const resp_node *root = resp_root(r);

  if (root->kind != RESP_INTEGER || root->integer < 0 || root->integer > 1)
    return false;
  *ret_reported = root->integer == 1;
  return true;
}

/* The last leader's own number, unless a lease was granted since. */
static bool read_epoch(const resp_reply *r, elect_answer *a)
{
  const resp_node *fence = child_string(r, 6);
  uint64_t reported = 0;

  if (fence == NULL || (fence->size > 0 && (!uint_read(fence->bytes, fence->size, &reported) ||
                                            token_of_fence(reported) > TOKEN_MAX)))
    return false;
  a->is_published = a->value_size > 0 ||
                    (reported > 0 && token_of_fence(reported) == a->lease.token);
  a->epoch = fence_of_token(a->lease.token, 0);
  if (a->epoch < reported)
    a->epoch = reported;
  return true;
}

bool native_elect_look_answer(const resp_reply *r, elect_answer *ret)
{
  const resp_node *lease = child_string(r, 2), *value = child_string(r, 7);
  uint64_t state;

  *ret = (elect_answer){ .is_held = false };
  if (lease == NULL || value == NULL || value->size > ELECTION_VALUE_MAX ||
      !child_int(r, 0, &ret->server_us) || !child_count(r, 1, &state) || state > 2 ||
      !child_int(r, 3, &ret->remaining_ms) || !child_int(r, 4, &ret->lease_ms) ||
      !child_count(r, 5, &ret->renewals))
    return false;
  /* A name that was never held has no last lease either. */
  if ((state > 0 || lease->size > 0) && !child_lease(r, 2, &ret->lease))
    return false;
  if (ret->lease_ms < 0 || ret->lease_ms > DIBS_MS_MAX || ret->remaining_ms > ret->lease_ms)
    return false;
  ret->is_held = state > 0;
  ret->is_leaving = state == 2;
  ret->value = value->bytes;
  ret->value_size = value->size;
  return read_epoch(r, ret);
}
