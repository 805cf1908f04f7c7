/* SPDX-License-Identifier: MIT */
/* lock/detached.c: what a client knows of a lease that continues without it. */
#include "tests.h"
#include "nodes.h"

static uint64_t granted(struct nodes *l, const char *note, int token)
{
  lock_spec w = nodes_wish("x");
  uint64_t id;

  w.note = note;
  id = nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :%d]", nodes_us(l), token);
  assert_string_equal(nodes_events(l), "g");
  return id;
}

static struct nodes *detached_with_a_note(void)
{
  struct nodes *l = nodes_new();
  uint64_t id = granted(l, "of monday", 60);

  assert_string_equal(nodes_next(l, 0), "HSET");
  assert_int_equal(hold_detach(l->front, id, l->now), DIBS_OK);
  assert_string_equal(nodes_events(l), "d");
  assert_string_equal(nodes_next(l, 0), "");           /* the note is that of the lease */
  return l;
}

TEST(the_note_of_a_detached_hold_is_removed_with_the_next_grant_of_the_name)
{
  struct nodes *l = detached_with_a_note();

  granted(l, NULL, 61);
  assert_string_equal(nodes_next(l, 0), "HDEL");
  assert_non_null(strstr(nodes_words(l), " n:x"));
  assert_string_equal(nodes_next(l, 0), "");
  nodes_free(l);
}

TEST(the_note_of_a_detached_hold_is_replaced_by_that_of_the_next_one)
{
  struct nodes *l = detached_with_a_note();

  granted(l, "of tuesday", 61);
  assert_string_equal(nodes_next(l, 0), "HSET");
  assert_string_equal(nodes_next(l, 0), "");
  nodes_free(l);
}

RUN_TESTS(NULL, NULL)
