/* SPDX-License-Identifier: MIT */
/* script/script_call.c - one script call as a command: EVALSHA sha n keys arguments,
 * EVAL with the text when the server does not know it yet, or FCALL. */
#include "script/script.h"

#include <string.h>

/* Enough for a renewal of 100 leases: a key each, and a few words for each. Larger ones,
 * writes of many fields, have their words in memory of their own. */
#define WORDS_FEW 363

static size_t add_words(resp_argument *words, size_t used, const resp_argument *more,
                        size_t count)
{
  if (count > 0)
    memcpy(words + used, more, count * sizeof(*more));
  return used + count;
}

static size_t add_script(resp_argument *words, const script *s, script_form form)
{
  switch (form) {
  case SCRIPT_BY_DIGEST:
    words[0] = RESP_TEXT("EVALSHA");
    words[1] = (resp_argument){ s->sha1, 40 };
    break;
  case SCRIPT_BY_TEXT:
    words[0] = RESP_TEXT("EVAL");
    words[1] = (resp_argument){ s->bytes, s->size };
    break;
  case SCRIPT_BY_FUNCTION:
    words[0] = RESP_TEXT("FCALL");
    words[1] = (resp_argument){ s->function, strlen(s->function) };
    break;
  }
  return 2;
}

bool script_call(buffer *out, const script *s, script_form form,
                 const resp_argument *keys, size_t key_count,
                 const resp_argument *arguments, size_t argument_count)
{
  resp_argument few[WORDS_FEW], *words = few;
  size_t used, total = 3 + key_count + argument_count;
  char number[24];
  text number_text = text_over(number, sizeof(number));
  bool is_done;

  if (total > WORDS_FEW)
    words = mem_alloc(&out->memory, total * sizeof(*words));
  if (words == NULL)
    return false;
  text_add_uint(&number_text, key_count);
  used = add_script(words, s, form);
  words[used++] = (resp_argument){ number, number_text.used };
  used = add_words(words, used, keys, key_count);
  used = add_words(words, used, arguments, argument_count);
  is_done = resp_command(out, words, used);
  if (words != few)
    mem_free(&out->memory, words);
  return is_done;
}
