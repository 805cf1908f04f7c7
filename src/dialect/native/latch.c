/* SPDX-License-Identifier: MIT */
/* dialect/native/latch.c - calls and answers of lua/native/latch_*.lua. */
#include "dialect/native/latch.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "base/hash_tag.h"
#include "dialect/call_words.h"
#include "dialect/children.h"

#define CHANNEL "redisson_countdownlatch__channel__"
#define BESIDE_KEY_SIZE (KEY_TEXT_SIZE + CLIENT_ID_SIZE + 2 * NUMBER_SIZE)

static bool needs_number(const protocol *n, const void *name, size_t size)
{
  return n->has_tags && !hash_tag_is_in(name, size) && memchr(name, '}', size) != NULL;
}

/* `{t}:N`, t the lowest number in the slot of the name. Takes a millisecond for such names. */
static void add_numbered(const void *name, size_t size, text *out)
{
  unsigned wanted = slot_of_bytes(name, size);
  char digits[NUMBER_SIZE];
  text number;

  for (uint64_t i = 0;; i++) {
    number = text_over(digits, sizeof(digits));
    text_add_uint(&number, i);
    if (slot_of_bytes(digits, number.used) == wanted)
      break;
  }
  text_format(out, "{%s}:", digits);
  text_add_bytes(out, name, size);
}

void native_latch_channel(const protocol *n, const void *name, size_t size, text *out)
{
  bool has_slot = n->has_tags && n->has_sharded_channels;

  text_add(out, CHANNEL);
  if (has_slot && needs_number(n, name, size)) {
    add_numbered(name, size, out);
  } else if (has_slot && hash_tag_is_in(name, size)) {
    text_add(out, ":");
    text_add_bytes(out, name, size);
  } else {
    text_add(out, "{");
    text_add_bytes(out, name, size);
    text_add(out, "}");
  }
}

/* Latches `x` and `{x}` are two, so they need two hashes. */
static void add_beside(const protocol *n, const void *name, size_t size, text *out)
{
  bool is_tagged = hash_tag_is_in(name, size);

  text_add(out, n->prefix);
  if (needs_number(n, name, size)) {
    text_add(out, ":l:");
    add_numbered(name, size, out);
    return;
  }
  text_add(out, is_tagged ? ":l::" : ":l:{");
  text_add_bytes(out, name, size);
  if (!is_tagged)
    text_add(out, "}");
}

bool native_latch_name_at_end(const protocol *n, const char *key, size_t size,
                              const char **ret_name, size_t *ret_size)
{
  const char *tag_end = n->has_tags && size > 0 && key[0] == '{' ? memchr(key, '}', size) : NULL;
  size_t before = tag_end == NULL ? 0 : (size_t)(tag_end + 1 - key);

  if (before == size || key[before] != ':')
    return false;
  *ret_name = key + before + 1;
  *ret_size = size - before - 1;
  return true;
}

/* ---- calls ---- */

/* Then come other arguments, and a limit. */
static void begin(const protocol *n, request *out, const script *s, const latch_call *c)
{
  char channel[LATCH_CHANNEL_SIZE + 1], beside[BESIDE_KEY_SIZE];
  text channel_text = text_over(channel, sizeof(channel));
  text beside_text = text_over(beside, sizeof(beside));

  assert(native_name_fault(c->name, c->name_size) == NULL);
  request_begin(out, s);
  request_put(out, c->name, c->name_size);
  add_beside(n, c->name, c->name_size, &beside_text);
  put_of(out, &beside_text);
  text_format(&beside_text, ":%s:%" PRIu64, n->client, c->number);
  put_of(out, &beside_text);
  request_keys_end(out);
  add_channel_mark(n, &channel_text);
  native_latch_channel(n, c->name, c->name_size, &channel_text);
  put_of(out, &channel_text);
}

bool native_latch_set(const protocol *n, request *out, const latch_call *c)
{
  begin(n, out, &script_native_latch_set, c);
  put_uint(out, (uint64_t)c->count);
  return request_limit(out);
}

bool native_latch_down(const protocol *n, request *out, const latch_call *c)
{
  begin(n, out, &script_native_latch_down, c);
  put_uint(out, (uint64_t)c->count);
  request_put(out, c->id, c->id_size);
  return request_limit(out);
}

bool native_latch_delete(const protocol *n, request *out, const latch_call *c)
{
  begin(n, out, &script_native_latch_delete, c);
  return request_limit(out);
}

bool native_latch_look(const protocol *n, request *out, const void *name, size_t size)
{
  char beside[BESIDE_KEY_SIZE];
  text beside_text = text_over(beside, sizeof(beside));

  assert(native_name_fault(name, size) == NULL);
  add_beside(n, name, size, &beside_text);
  request_begin(out, &script_native_latch_look);
  request_put(out, name, size);
  put_of(out, &beside_text);
  request_keys_end(out);
  return !out->is_incomplete;
}

/* ---- answers ---- */

static bool is_text(const resp_node *n, const char *words)
{
  return n->kind == RESP_STRING && n->size == strlen(words) &&
         memcmp(n->bytes, words, n->size) == 0;
}

static bool count_read(const resp_node *n, int64_t *ret_count)
{
  uint64_t value;

  if (!text_to_uint(n->bytes, n->size, &value) || value > INT64_MAX)
    return false;
  *ret_count = (int64_t)value;
  return true;
}

bool native_latch_set_answer(const resp_reply *r, bool *ret_was_armed)
{
  const resp_node *root = resp_root(r);

  *ret_was_armed = is_text(root, "0");
  return *ret_was_armed || is_text(root, "1");
}

bool native_latch_down_answer(const resp_reply *r, int64_t *ret_left)
{
  const resp_node *root = resp_root(r);

  *ret_left = -1;
  return is_text(root, "-1") || (root->kind == RESP_STRING && count_read(root, ret_left));
}

static bool time_read(const resp_reply *r, size_t i, uint64_t *ret_us)
{
  const resp_node *n = child_string(r, i);

  *ret_us = 0;
  return n != NULL && (n->size == 0 || text_to_uint(n->bytes, n->size, ret_us));
}

/* A count that is not positive counts as none. */
static void left_read(const resp_node *n, latch_state *ret_state)
{
  bool is_negative = n->size > 1 && n->bytes[0] == '-';
  resp_node digits = *n;
  int64_t value = 0;

  digits.bytes += is_negative;
  digits.size -= is_negative;
  ret_state->is_number = n->size == 0 || count_read(&digits, &value);
  ret_state->left = is_negative ? 0 : value;
}

bool native_latch_look_answer(const resp_reply *r, latch_state *ret_state)
{
  const resp_node *count;

  *ret_state = (latch_state){ 0 };
  if (!has_children(r, 3) || (count = child_string(r, 0)) == NULL)
    return false;
  left_read(count, ret_state);
  return time_read(r, 1, &ret_state->zeroed_us) && time_read(r, 2, &ret_state->deleted_us);
}
