/* SPDX-License-Identifier: MIT */
/* dialect/data_call.c - the calls for maps, lists and sets: a command of the server if
 * there is one, which a change sends inside a script that checks its limit; otherwise a
 * script of lua/redisson/. */
#include <assert.h>
#include <string.h>

#include "dialect/call_words.h"
#include "dialect/data.h"
#include "dialect/native/guard.h"

#define MARK_SIZE (CLIENT_ID_SIZE + 5)
#define WORDS_MAX 6

/* One of `command` and `script`, or both: a command that changes something is executed by a
 * script, which checks its limit. Then its arguments after the name, a letter each: k the
 * key, v the value, x the expected value, i the number, c the count, s the cursor, m the
 * longest value, p the longest page, o a mark of this client. */
typedef struct call_form {
  const char *command;
  const script *script;
  const char *words;
  bool is_read;
} call_form;

#define ADD &script_redisson_data_add
#define REMOVE &script_redisson_data_remove
#define END &script_redisson_data_end

static const call_form forms[] = {
  [DATA_MAP_SET] = { "HSET", ADD, "kv", false },
  [DATA_MAP_ADD] = { "HSETNX", ADD, "kv", false },
  [DATA_MAP_PUT] = { NULL, &script_redisson_map_put, "kvm", false },
  [DATA_MAP_REPLACE] = { NULL, &script_redisson_map_replace, "kv", false },
  [DATA_MAP_REPLACE_IF] = { NULL, &script_redisson_map_replace, "kvx", false },
  [DATA_MAP_GET] = { NULL, &script_redisson_map_get, "km", true },
  [DATA_MAP_HAS] = { "HEXISTS", NULL, "k", true },
  [DATA_MAP_SIZE] = { "HLEN", NULL, "", true },
  [DATA_MAP_REMOVE] = { "HDEL", REMOVE, "k", false },
  [DATA_MAP_TAKE] = { NULL, &script_redisson_map_take, "km", false },
  [DATA_MAP_REMOVE_IF] = { NULL, &script_redisson_map_remove_if, "kx", false },
  [DATA_MAP_PAGE] = { NULL, &script_redisson_map_page, "scp", true },
  [DATA_LIST_ADD] = { "RPUSH", ADD, "v", false },
  [DATA_LIST_ADD_FIRST] = { "LPUSH", ADD, "v", false },
  [DATA_LIST_GET] = { NULL, &script_redisson_list_get, "im", true },
  [DATA_LIST_SET] = { NULL, &script_redisson_list_set, "iv", false },
  [DATA_LIST_INSERT] = { NULL, &script_redisson_list_insert, "ivo", false },
  [DATA_LIST_REMOVE] = { "LREM", REMOVE, "cv", false },
  [DATA_LIST_REMOVE_AT] = { NULL, &script_redisson_list_remove_at, "io", false },
  [DATA_LIST_SIZE] = { "LLEN", NULL, "", true },
  [DATA_LIST_PAGE] = { NULL, &script_redisson_list_page, "icp", true },
  [DATA_LIST_POP] = { NULL, &script_redisson_list_pop, "im", false },
  [DATA_SET_ADD] = { "SADD", ADD, "k", false },
  [DATA_SET_REMOVE] = { "SREM", REMOVE, "k", false },
  [DATA_SET_HAS] = { "SISMEMBER", NULL, "k", true },
  [DATA_SET_SIZE] = { "SCARD", NULL, "", true },
  [DATA_SET_PAGE] = { NULL, &script_redisson_set_page, "scp", true },
  [DATA_SET_POP] = { NULL, &script_redisson_set_pop, "m", false },
  [DATA_EXPIRE] = { NULL, END, "i", false },
  [DATA_PERSIST] = { NULL, END, "", false },
  [DATA_TTL] = { "PTTL", NULL, "", true },
  [DATA_DELETE] = { "UNLINK", END, "", false },
};

bool data_is_read(data_verb verb)
{
  return forms[verb].is_read;
}

/* The bytes of composed arguments. */
typedef struct made_words {
  char number[NUMBER_SIZE], count[NUMBER_SIZE], limit[NUMBER_SIZE], mark[MARK_SIZE];
} made_words;

static resp_argument word_int(char bytes[NUMBER_SIZE], int64_t value)
{
  text t = text_over(bytes, NUMBER_SIZE);

  text_add_int(&t, value);
  return word_of(&t);
}

static resp_argument word_mark(const protocol *n, char bytes[MARK_SIZE])
{
  text t = text_over(bytes, MARK_SIZE);

  text_add(&t, "dibs:");
  text_add(&t, n->client);
  return word_of(&t);
}

static resp_argument word(const protocol *n, char letter, const data_call *c, made_words *made)
{
  switch (letter) {
  case 'k': return c->key;
  case 'v': return c->value;
  case 'x': return c->expected;
  case 'i': return word_int(made->number, c->number);
  case 'c': return word_int(made->count, c->count);
  case 's': return (resp_argument){ c->cursor, strlen(c->cursor) };
  case 'm': return word_uint(made->limit, DATA_BYTES_MAX);
  case 'p': return word_uint(made->limit, DATA_PAGE_BYTES);
  default: break;
  }
  assert(letter == 'o');
  return word_mark(n, made->mark);
}

bool data_encode(const protocol *n, request *out, const data_call *c)
{
  const call_form *f = &forms[c->verb];
  resp_argument words[WORDS_MAX], keys[2] = { c->name };
  size_t used = 0, key_count = 1;
  char bytes[GUARD_KEY_TEXT_SIZE];
  text fence = text_over(bytes, sizeof(bytes));
  made_words made;

  if (f->command != NULL)
    words[used++] = (resp_argument){ f->command, strlen(f->command) };
  if (f->script == NULL)
    words[used++] = c->name;
  for (const char *letter = f->words; *letter != 0; letter++)
    words[used++] = word(n, *letter, c, &made);
  if (f->script == NULL)
    return request_command(out, words, used);
  if (f->script == END && native_guard_fault(c->name.bytes, c->name.size) == NULL) {
    native_fence_key(n, c->name.bytes, c->name.size, &fence);
    keys[key_count++] = word_of(&fence);
  }
  return request_script(out, f->script, keys, key_count, words, used) &&
         (f->is_read || request_limit(out));
}
