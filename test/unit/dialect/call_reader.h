/* SPDX-License-Identifier: MIT */
/* call_reader.h - what a call of a script says, word for word. */
#ifndef CALL_READER_H
#define CALL_READER_H

#include "answer_reader.h"
#include "script/script.h"

/* The last argument of a script that takes a limit, until the sender sets it. */
#define NO_LIMIT "0"

/* The command in `out` must be these words, behind its verb and digest. */
static void check_words(buffer *out, const script *s, const char *const *words, size_t count)
{
  resp_reply *r;

  assert_true(buffer_append(out, "", 1));
  r = reply_of(buffer_bytes(out));
  assert_int_equal(resp_root(r)->integer, count + 2);
  assert_string_equal(resp_child(r, resp_root(r), 0)->bytes, "EVALSHA");
  assert_string_equal(resp_child(r, resp_root(r), 1)->bytes, s->sha1);
  for (size_t i = 0; i < count; i++)
    assert_string_equal(resp_child(r, resp_root(r), i + 2)->bytes, words[i]);
  resp_reply_free(r);
  buffer_clear(out);
}

#define CHECK_WORDS(out, s, ...)                                                              \
  do {                                                                                        \
    static const char *const words[] = { __VA_ARGS__ };                                       \
    check_words((out), (s), words, sizeof(words) / sizeof(words[0]));                         \
  } while (0)

#endif
