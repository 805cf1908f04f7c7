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

/* The bytes of the arguments of one call. */
typedef struct call_texts {
  char lock[KEY_TEXT_SIZE], key[KEY_TEXT_SIZE], channel[ELECTION_CHANNEL_SIZE + 1];
  char lease[LEASE_TEXT_SIZE];
  char fence[NUMBER_SIZE], publication[NUMBER_SIZE], kept[NUMBER_SIZE];
} call_texts;

static resp_argument word_election(const protocol *n, call_texts *at, const void *name,
                                   size_t size)
{
  text t = text_over(at->key, sizeof(at->key));

  native_election_key(n, name, size, &t);
  return word_of(&t);
}

static resp_argument word_channel(const protocol *n, call_texts *at, const publish_call *c)
{
  text t = text_over(at->channel, sizeof(at->channel));

  add_channel_mark(n, &t);
  native_election_channel(n, c->name, c->name_size, &t);
  return word_of(&t);
}

/* Kept as long as the lock itself. */
static resp_argument word_kept(call_texts *at, int64_t ttl_ms)
{
  int64_t kept = ttl_ms > HOUR_MS / 4 ? 4 * ttl_ms : HOUR_MS;

  return word_uint(at->kept, (uint64_t)kept);
}

bool native_elect_publish(const protocol *n, request *out, const publish_call *c)
{
  call_texts at;
  resp_argument keys[] = { word_key(n, at.lock, c->name, c->name_size),
                           word_election(n, &at, c->name, c->name_size) };
  resp_argument arguments[] = {
    word_lease(at.lease, c->lease), word_uint(at.fence, c->fence),
    word_uint(at.publication, c->publication), word_kept(&at, c->ttl_ms),
    word_channel(n, &at, c), { c->value, c->value_size },
  };

  assert(c->value_size <= ELECTION_VALUE_MAX);
  return request_script(out, &script_native_elect_publish, keys, 2, arguments, 6) &&
         request_limit(out);
}

bool native_elect_clear(const protocol *n, request *out, const publish_call *c)
{
  call_texts at;
  resp_argument key = word_election(n, &at, c->name, c->name_size);
  resp_argument arguments[] = { word_lease(at.lease, c->lease), word_uint(at.fence, c->fence),
                                word_kept(&at, c->ttl_ms), word_channel(n, &at, c) };

  return request_script(out, &script_native_elect_clear, &key, 1, arguments, 4);
}

bool native_elect_look(const protocol *n, request *out, const void *name, size_t name_size)
{
  call_texts at;
  resp_argument keys[] = { word_key(n, at.lock, name, name_size),
                           word_election(n, &at, name, name_size) };

  return request_script(out, &script_native_elect_look, keys, 2, NULL, 0);
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
