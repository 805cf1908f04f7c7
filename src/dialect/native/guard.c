/* SPDX-License-Identifier: MIT */
/* dialect/native/guard.c - the calls of the guarded writes: keys and arguments for
 * lua/native/shared/guard.lua, and the answers. */
#include "dialect/native/guard.h"

#include <assert.h>
#include <string.h>

#include "base/hash_tag.h"
#include "dialect/call_words.h"

#define HEAD 4             /* arguments that every guarded write begins with */

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

  text_add(out, n->prefix);
  text_add(out, kind);
  text_add(out, is_tagged ? ":" : "{");
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
  text_add(out, ":");
  text_add(out, n->client);
}

/* ---- calls ---- */

typedef struct guard_words {
  char fence_key[GUARD_KEY_TEXT_SIZE], counted_key[GUARD_KEY_TEXT_SIZE];
  char fence[NUMBER_SIZE], number[NUMBER_SIZE], settled[NUMBER_SIZE];
  resp_argument keys[3], head[HEAD];
} guard_words;

static void guard_words_of(const protocol *n, const guard_call *c, guard_words *w)
{
  text fence_key = text_over(w->fence_key, sizeof(w->fence_key));
  text counted_key = text_over(w->counted_key, sizeof(w->counted_key));

  assert(native_guard_fault(c->key, c->key_size) == NULL);
  assert(c->fence > 0 && c->fence <= GUARD_FENCE_MAX);
  assert(c->settled <= c->number);
  native_fence_key(n, c->key, c->key_size, &fence_key);
  add_counted_key(n, c, &counted_key);
  w->keys[0] = (resp_argument){ c->key, c->key_size };
  w->keys[1] = word_of(&fence_key);
  w->keys[2] = word_of(&counted_key);
  w->head[0] = word_uint(w->fence, c->fence);
  w->head[1] = (resp_argument){ n->client, strlen(n->client) };
  w->head[2] = word_uint(w->number, c->number);
  w->head[3] = word_uint(w->settled, c->settled);
}

/* The head, then these arguments. */
static bool guard_send(const protocol *n, request *out, const script *s,
                       const guard_call *c, const resp_argument *words, size_t count)
{
  size_t key_count = s == &script_native_guarded_incr ? 3 : 2;
  guard_words w;

  guard_words_of(n, c, &w);
  return request_script(out, s, w.keys, key_count, w.head, HEAD) &&
         request_add(out, words, count) && request_limit(out);
}

bool native_guarded_set(const protocol *n, request *out, const guard_call *c,
                        resp_argument value, int64_t ttl_ms)
{
  char ttl[NUMBER_SIZE];
  resp_argument words[2];

  assert(ttl_ms >= 0);
  words[0] = value;
  words[1] = word_uint(ttl, (uint64_t)ttl_ms);
  return guard_send(n, out, &script_native_guarded_set, c, words, 2);
}

bool native_guarded_hset(const protocol *n, request *out, const guard_call *c,
                         const resp_argument *words, size_t count)
{
  assert(count >= 2 && count % 2 == 0 && count / 2 <= GUARD_FIELDS_MAX);
  return guard_send(n, out, &script_native_guarded_hset, c, words, count);
}

bool native_guarded_hdel(const protocol *n, request *out, const guard_call *c,
                         const resp_argument *names, size_t count)
{
  assert(count >= 1 && count <= GUARD_FIELDS_MAX);
  return guard_send(n, out, &script_native_guarded_hdel, c, names, count);
}

bool native_guarded_del(const protocol *n, request *out, const guard_call *c)
{
  return guard_send(n, out, &script_native_guarded_del, c, NULL, 0);
}

bool native_guarded_incr(const protocol *n, request *out, const guard_call *c, int64_t by)
{
  char bytes[NUMBER_SIZE];
  text t = text_over(bytes, sizeof(bytes));
  resp_argument word;

  text_add_int(&t, by);
  word = word_of(&t);
  return guard_send(n, out, &script_native_guarded_incr, c, &word, 1);
}

bool native_guarded_get(const protocol *n, request *out, resp_argument key,
                        const resp_argument *field, size_t most)
{
  char fence_bytes[GUARD_KEY_TEXT_SIZE], most_bytes[NUMBER_SIZE];
  text fence_key = text_over(fence_bytes, sizeof(fence_bytes));
  resp_argument keys[2], limit = word_uint(most_bytes, most);

  assert(native_guard_fault(key.bytes, key.size) == NULL);
  native_fence_key(n, key.bytes, key.size, &fence_key);
  keys[0] = key;
  keys[1] = word_of(&fence_key);
  return request_script(out, &script_native_guarded_get, keys, 2, &limit, 1) &&
         (field == NULL || request_add(out, field, 1));
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

bool native_guarded_value(const resp_reply *r, data_value *ret_value, uint64_t *ret_fence)
{
  const resp_node *root = resp_root(r), *value = resp_child(r, root, 0);
  const resp_node *fence = resp_child(r, root, 1);

  return value != NULL && fence != NULL && root->integer == 2 && fence->kind == RESP_STRING &&
         text_to_uint(fence->bytes, fence->size, ret_fence) && data_value_read(value, ret_value);
}
