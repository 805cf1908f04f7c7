/* SPDX-License-Identifier: MIT */
/* dialect/native/guard.c - the calls of the guarded writes: keys and arguments for
 * lua/native/shared/guard.lua, and the answers. */
#include "dialect/native/guard.h"

#include <assert.h>
#include <string.h>

#include "base/hash_tag.h"
#include "dialect/call_words.h"

/* ---- keys ---- */

const char *native_guard_fault(const void *key, size_t size)
{
  if (size == 0)
    return "the key is empty";
  if (size > NAME_MAX_BYTES)
    return "the key is longer than 512 bytes";
  if (!hash_tag_is_in(key, size) && memchr(key, '}', size) != NULL)
    return "the key has a '}' in it and no hash tag, so its fence cannot be in its slot";
  return NULL;
}

static void add_key(const protocol *n, const char *kind, const void *key, size_t size,
                    text *out)
{
  bool is_tagged = hash_tag_is_in(key, size);

  text_format(out, "%s%s%s", n->prefix, kind, is_tagged ? ":" : "{");
  text_add_bytes(out, key, size);
  if (!is_tagged)
    text_add(out, "}");
}

void native_fence_key(const protocol *n, const void *key, size_t size, text *out)
{
  add_key(n, ":f:", key, size, out);
}

/* Sums of this client there whose replies may be lost. */
static void add_counted_key(const protocol *n, const guard_call *c, text *out)
{
  add_key(n, ":c:", c->key, c->key_size, out);
  text_format(out, ":%s", n->client);
}

/* ---- calls ---- */

static void put_fence_key(const protocol *n, request *out, const void *key, size_t size)
{
  char bytes[GUARD_KEY_TEXT_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  assert(native_guard_fault(key, size) == NULL);
  native_fence_key(n, key, size, &t);
  put_of(out, &t);
}

/* What every guarded write begins with. */
static void begin(const protocol *n, request *out, const script *s, const guard_call *c)
{
  char counted[GUARD_KEY_TEXT_SIZE];
  text counted_key = text_over(counted, sizeof(counted));

  assert(c->fence > 0 && c->fence <= GUARD_FENCE_MAX);
  assert(c->settled <= c->number);
  request_begin(out, s);
  request_put(out, c->key, c->key_size);
  put_fence_key(n, out, c->key, c->key_size);
  if (s == &script_native_guarded_incr) {
    add_counted_key(n, c, &counted_key);
    put_of(out, &counted_key);
  }
  request_keys_end(out);
  put_uint(out, c->fence);
  put_text(out, n->client);
  put_uint(out, c->number);
  put_uint(out, c->settled);
}

bool native_guarded_set(const protocol *n, request *out, const guard_call *c,
                        resp_argument value, int64_t ttl_ms)
{
  assert(ttl_ms >= 0);
  begin(n, out, &script_native_guarded_set, c);
  request_put(out, value.bytes, value.size);
  put_uint(out, (uint64_t)ttl_ms);
  return request_limit(out);
}

bool native_guarded_hset(const protocol *n, request *out, const guard_call *c,
                         const resp_argument *words, size_t count)
{
  assert(count >= 2 && count % 2 == 0 && count / 2 <= GUARD_FIELDS_MAX);
  begin(n, out, &script_native_guarded_hset, c);
  return request_add(out, words, count) && request_limit(out);
}

bool native_guarded_hdel(const protocol *n, request *out, const guard_call *c,
                         const resp_argument *names, size_t count)
{
  assert(count >= 1 && count <= GUARD_FIELDS_MAX);
  begin(n, out, &script_native_guarded_hdel, c);
  return request_add(out, names, count) && request_limit(out);
}

bool native_guarded_del(const protocol *n, request *out, const guard_call *c)
{
  begin(n, out, &script_native_guarded_del, c);
  return request_limit(out);
}

bool native_guarded_incr(const protocol *n, request *out, const guard_call *c, int64_t by)
{
  char bytes[NUMBER_SIZE];
  text t = text_over(bytes, sizeof(bytes));

  text_add_int(&t, by);
  begin(n, out, &script_native_guarded_incr, c);
  put_of(out, &t);
  return request_limit(out);
}

bool native_guarded_get(const protocol *n, request *out, resp_argument key,
                        const resp_argument *field, size_t most)
{
  request_begin(out, &script_native_guarded_get);
  request_put(out, key.bytes, key.size);
  put_fence_key(n, out, key.bytes, key.size);
  request_keys_end(out);
  put_uint(out, most);
  if (field != NULL)
    request_put(out, field->bytes, field->size);
  return !out->is_incomplete;
}

/* ---- answers ---- */

static bool int_read(const resp_node *node, int64_t *ret_value)
{
  bool is_negative = node->size > 0 && node->bytes[0] == '-';
  uint64_t magnitude;

  if (node->kind != RESP_STRING ||
      !text_to_uint(node->bytes + is_negative, node->size - is_negative, &magnitude) ||
      magnitude > (uint64_t)INT64_MAX + is_negative)
    return false;
  if (is_negative)
    *ret_value = magnitude == 0 ? 0 : -(int64_t)(magnitude - 1) - 1;
  else
    *ret_value = (int64_t)magnitude;
  return true;
}

static bool outcome_read(const resp_node *node, guard_outcome *ret_outcome)
{
  if (node->kind != RESP_INTEGER || node->integer < 0 || node->integer > 2)
    return false;
  *ret_outcome = node->integer == 1   ? GUARD_WRITTEN
                 : node->integer == 0 ? GUARD_FENCED
                                      : GUARD_LATE;
  return true;
}

bool native_guard_answer(const resp_reply *r, guard_outcome *ret_outcome, int64_t *ret_value)
{
  const resp_node *root = resp_root(r), *word, *value;
  guard_outcome outcome;

  if (root->kind != RESP_ARRAY) {
    if (!outcome_read(root, &outcome) || (outcome == GUARD_WRITTEN && ret_value != NULL))
      return false;
    *ret_outcome = outcome;
    return true;
  }
  word = resp_child(r, root, 0);
  value = resp_child(r, root, 1);
  if (ret_value == NULL || root->integer != 2 || !outcome_read(word, &outcome) ||
      outcome != GUARD_WRITTEN || !int_read(value, ret_value))
    return false;
  *ret_outcome = outcome;
  return true;
}

bool native_guard_denies(const resp_node *error)
{
  return resp_fault_of(error->bytes, error->size) == RESP_FAULT_WRONG_TYPE ||
         resp_error_has(error->bytes, error->size, "would overflow");
}

bool native_guarded_value(const resp_reply *r, data_value *ret_value, uint64_t *ret_fence)
{
  const resp_node *root = resp_root(r), *value = resp_child(r, root, 0);
  const resp_node *fence = resp_child(r, root, 1);

  return value != NULL && fence != NULL && root->integer == 2 && fence->kind == RESP_STRING &&
         text_to_uint(fence->bytes, fence->size, ret_fence) && data_value_read(value, ret_value);
}
