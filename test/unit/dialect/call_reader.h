/* SPDX-License-Identifier: MIT */
/* call_reader.h - what a call of a script says, word for word: tests write it into `sent`, which
 * call_begin() and call_end() around each make and free. */
#ifndef CALL_READER_H
#define CALL_READER_H

#include "answer_reader.h"
#include "script/script.h"

/* The last argument of a script that takes a limit, until the sender sets it. */
#define NO_LIMIT "0"

static buffer sent;

static int call_begin(void **state)
{
  (void)state;
  buffer_init(&sent, &reader_heap);
  return 0;
}

static int call_end(void **state)
{
  (void)state;
  buffer_deinit(&sent);
  return 0;
}

/* The command in `from` must be these words, behind its verb and digest; it is cleared. */
static void check_words(buffer *from, const script *s, const char *const *words, size_t count)
{
  resp_reply *r;

  assert_true(buffer_append(from, "", 1));
  r = reply_of(buffer_bytes(from));
  assert_int_equal(resp_root(r)->integer, count + 2);
  assert_string_equal(resp_child(r, resp_root(r), 0)->bytes, "EVALSHA");
  assert_string_equal(resp_child(r, resp_root(r), 1)->bytes, s->sha1);
  for (size_t i = 0; i < count; i++)
    assert_string_equal(resp_child(r, resp_root(r), i + 2)->bytes, words[i]);
  resp_reply_free(r);
  buffer_clear(from);
}

#define CHECK_WORDS(from, s, ...)                                                             \
  do {                                                                                        \
    static const char *const wanted[] = { __VA_ARGS__ };                                      \
    check_words((from), (s), wanted, sizeof(wanted) / sizeof(wanted[0]));                     \
  } while (0)

#endif
