/* SPDX-License-Identifier: MIT */
/* dialect/call_text.c - texts and numbers as arguments of a call. libdibs-data has a copy of this
 * file: it needs nothing of a client. */
#include "dialect/call_words.h"

#include <assert.h>

resp_argument word_of(const text *t)
{
  assert(!t->is_cut);
  return (resp_argument){ t->at, t->used };
}

resp_argument word_uint(char bytes[NUMBER_SIZE], uint64_t value)
{
  text t = text_over(bytes, NUMBER_SIZE);

  text_add_uint(&t, value);
  return word_of(&t);
}
