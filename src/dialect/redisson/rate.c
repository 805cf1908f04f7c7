/* SPDX-License-Identifier: MIT */
/* dialect/redisson/rate.c - calls and answers of lua/redisson/rate_*.lua. */
#include "dialect/redisson/rate.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/children.h"
#include "dialect/internal.h"
#include "dialect/redisson/redisson.h"

#define BESIDE_SIZE (NAME_MAX_BYTES + UUID_SIZE + 16)
#define REPORTED_SIZE (KEY_TEXT_SIZE + CLIENT_ID_SIZE + NUMBER_SIZE + 4)

const char *rate_name_fault(const protocol *n, const void *name, size_t size)
{
  return n->has_tags ? redisson_name_fault(name, size) : NULL;
}

/* ---- keys ---- */

static void put_beside(request *out, const rate_call *c, const char *kind, const char *client)
{
  char bytes[BESIDE_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  redisson_braced(c->name, c->name_size, &t);
  text_format(&t, "%s%s", kind, client);
  put_of(out, &t);
}

/* The answer to this request: a client's numbers count for all its limiters. */
static void put_reported(const protocol *n, request *out, const rate_call *c)
{
  char bytes[REPORTED_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  tagged_write(n, ":r:", c->name, c->name_size, &t);
  text_format(&t, ":%s:%" PRIu64, n->client, c->number);
  put_of(out, &t);
}

/* ---- calls ---- */

/* Then come the arguments. false: no client of dibs has such an id. */
static bool begin(const protocol *n, request *out, const script *s, const rate_call *c,
                  bool is_change)
{
  char uuid[UUID_SIZE];

  assert(c->name_size > 0 && c->name_size <= NAME_MAX_BYTES);
  if (!redisson_uuid(n->client, uuid))
    return false;
  request_begin(out, s);
  request_put(out, c->name, c->name_size);
  put_beside(out, c, ":value", "");
  put_beside(out, c, ":value:", uuid);
  put_beside(out, c, ":permits", "");
  put_beside(out, c, ":permits:", uuid);
  if (is_change)
    put_reported(n, out, c);
  request_keys_end(out);
  return true;
}

bool rate_cancel(const protocol *n, request *out, const rate_call *c)
{
  if (!begin(n, out, &script_redisson_rate_cancel, c, false))
    return false;
  put_uint(out, c->permits);
  request_put(out, c->id, RATE_ID_SIZE);
  return !out->is_incomplete;
}

bool rate_acquire(const protocol *n, request *out, const rate_call *c)
{
  if (!begin(n, out, &script_redisson_rate_acquire, c, false))
    return false;
  put_uint(out, c->permits);
  request_put(out, c->id, RATE_ID_SIZE);
  return request_limit(out);
}

bool rate_release(const protocol *n, request *out, const rate_call *c)
{
  if (!begin(n, out, &script_redisson_rate_release, c, true))
    return false;
  put_uint(out, c->permits);
  return request_limit(out);
}

bool rate_look(const protocol *n, request *out, const rate_call *c)
{
  return begin(n, out, &script_redisson_rate_look, c, false) && !out->is_incomplete;
}

bool rate_set(const protocol *n, request *out, const rate_call *c)
{
  if (!begin(n, out, &script_redisson_rate_set, c, true))
    return false;
  put_uint(out, c->rate);
  put_uint(out, c->interval_ms);
  put_uint(out, c->keepalive_ms);
  put_uint(out, c->type);
  request_put(out, &c->how, 1);
  return request_limit(out);
}

bool rate_delete(const protocol *n, request *out, const rate_call *c)
{
  return begin(n, out, &script_redisson_rate_delete, c, true) && request_limit(out);
}

/* ---- answers ---- */

/* `{-1}`, the answer to any request. */
static bool is_not_set(const resp_reply *r)
{
  int64_t first;

  return has_children(r, 1) && child_int(r, 0, &first) && first == -1;
}

bool rate_acquire_answer(const resp_reply *r, rate_answer *ret)
{
  int64_t first;

  *ret = (rate_answer){ .outcome = RATE_NOT_SET };
  if (is_not_set(r))
    return true;
  if (has_children(r, 3) && child_int(r, 0, &first) && first == -2) {
    ret->outcome = RATE_TOO_MANY;
    return child_int(r, 1, &ret->rate) && child_int(r, 2, &ret->interval_ms);
  }
  if (!has_children(r, 2) || !child_int(r, 0, &first) || (first != 0 && first != 1))
    return false;
  ret->outcome = first == 1 ? RATE_GRANTED : RATE_LATER;
  return child_int(r, 1, first == 1 ? &ret->left : &ret->wait_ms) && ret->left >= 0 &&
         ret->wait_ms >= 0;
}

bool rate_release_answer(const resp_reply *r, int64_t *ret_given)
{
  const resp_node *root = resp_root(r);
  uint64_t given;

  *ret_given = -1;
  if (is_not_set(r))
    return true;
  if (root->kind != RESP_STRING || !text_to_uint(root->bytes, root->size, &given) ||
      given > INT64_MAX)
    return false;
  *ret_given = (int64_t)given;
  return true;
}

bool rate_look_answer(const resp_reply *r, rate_state *ret)
{
  *ret = (rate_state){ .is_set = false };
  if (is_not_set(r))
    return true;
  ret->is_set = true;
  return has_children(r, 5) && child_int(r, 0, &ret->rate) && child_int(r, 1, &ret->interval_ms) &&
         child_int(r, 2, &ret->keepalive_ms) && child_int(r, 3, &ret->type) &&
         child_int(r, 4, &ret->left);
}

bool rate_change_answer(const resp_reply *r, int64_t *ret_done)
{
  const resp_node *root = resp_root(r);
  bool is_negative;

  if (root->kind != RESP_STRING || root->size == 0)
    return false;
  is_negative = root->bytes[0] == '-';
  if (root->size != 1 + (size_t)is_negative)
    return false;
  *ret_done = is_negative ? -1 : root->bytes[0] == '1';
  return is_negative ? root->bytes[1] == '1' : root->bytes[0] == '0' || root->bytes[0] == '1';
}
