/* SPDX-License-Identifier: MIT */
/* lock/asking.c: how long a cancel is sent again to a server that does not answer: as long as what
 * it removes would delay other clients. */
#include "tests.h"
#include "nodes.h"

enum { TTL_MS = 2000, AS_LEASES_MS = 2 * TTL_MS + 1000, FAIR_PLACE_MS = 30000 };

/* Waits behind another client, cancels, and the connection breaks before the reply. */
static struct nodes *cancelled(const dialect_ops *dialect, lock_kind kind)
{
  struct nodes *l = nodes_new_of(dialect);
  lock_spec w = nodes_wish("x");
  uint64_t id;

  w.kind = kind;
  w.ttl = SPAN_MS(TTL_MS);
  id = nodes_lock_with(l, &w);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :5]", nodes_us(l));
  assert_true(hold_cancel(l->front, id, l->now));
  assert_string_equal(nodes_next(l, 0), "cancel");
  lock_link_down(l->table, 0, DIBS_ERR_UNREACHABLE, "it broke", l->now);
  return l;
}

static void expect_after(struct nodes *l, int64_t ms, const char *verb)
{
  nodes_pass(l, ms);
  lock_link_up(l->table, 0, l->now);
  assert_string_equal(nodes_next(l, 0), verb);
  nodes_free(l);
}

TEST(a_cancel_is_repeated_for_two_leases_and_a_second)
{
  expect_after(cancelled(&native_dialect, LOCK_MUTEX), AS_LEASES_MS - 100, "cancel");
  expect_after(cancelled(&native_dialect, LOCK_MUTEX), AS_LEASES_MS + 100, "");
}

/* At the head of a fair queue of Redisson's a place outlasts a short lease. */
TEST(a_place_in_a_fair_queue_is_given_up_as_long_as_it_holds_others_up)
{
  expect_after(cancelled(&redisson_dialect, LOCK_FAIR), FAIR_PLACE_MS - 100, "cancel");
  expect_after(cancelled(&redisson_dialect, LOCK_FAIR), FAIR_PLACE_MS + 100, "");
}

RUN_TESTS(NULL, NULL)
