/* SPDX-License-Identifier: MIT */
/* script/script_call.c - one script call as a command: EVALSHA sha n keys arguments,
 * or EVAL with the text when the server does not know it yet. */
#include "script/script.h"

#include <assert.h>
#include <string.h>

/* The largest call is a renewal of 100 leases: a key each, and a few words for each. */
#define KEYS_MAX 100
#define ARGUMENTS_MAX 260
#define WORDS_MAX (3 + KEYS_MAX + ARGUMENTS_MAX)

bool script_call(buffer *out, const script *s, bool with_text,
                 const resp_argument *keys, size_t key_count,
                 const resp_argument *arguments, size_t argument_count)
{
  resp_argument words[WORDS_MAX];
  char number[24];
  text number_text = text_over(number, sizeof(number));
  size_t used = 0;

  assert(key_count <= KEYS_MAX);
  assert(argument_count <= ARGUMENTS_MAX);

  text_add_uint(&number_text, key_count);
  if (with_text) {
    words[used++] = RESP_TEXT("EVAL");
    words[used++] = (resp_argument){ s->bytes, s->size };
  } else {
    words[used++] = RESP_TEXT("EVALSHA");
    words[used++] = (resp_argument){ s->sha1, 40 };
  }
  words[used++] = (resp_argument){ number, number_text.used };
  if (key_count > 0)
    memcpy(words + used, keys, key_count * sizeof(*keys));
  used += key_count;
  if (argument_count > 0)
    memcpy(words + used, arguments, argument_count * sizeof(*arguments));
  used += argument_count;
  return resp_command(out, words, used);
}
