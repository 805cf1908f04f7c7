/* SPDX-License-Identifier: MIT */
/* Many renewals due at once: in batches, and not all batches together. How long a reply is
 * waited for. */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_memory.h"
#include "lock/lock.h"

#define NAMES 3000
#define BATCH 100
#define UNDER_WAY 16

static const memory heap = PLAIN_MEMORY;
static const instant start = { 1000000000 };

static resp_reply *reply_of(const char *bytes)
{
  resp_reader *r = resp_reader_new(&heap, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;

  assert_int_equal(resp_reader_feed(r, bytes, strlen(bytes)), DIBS_OK);
  assert_int_equal(resp_reader_next(r, &reply), DIBS_OK);
  assert_non_null(reply);
  (void)resp_reader_free(r);
  return reply;
}

static void answer(lock_table *t, uint64_t tag, const char *bytes, instant now)
{
  resp_reply *reply = reply_of(bytes);

  assert_int_equal(lock_answer(t, tag, now, reply, now), LOCK_FINE);
  (void)resp_reply_free(reply);
}

/* All commands that may be sent now; the first one's tag. */
static size_t commands(lock_table *t, uint64_t *ret_first, instant now)
{
  size_t count = 0;
  lock_command k;
  request out;

  request_init(&out, &heap);
  while (lock_next_command(t, 0, &out, &k, now))
    if (count++ == 0)
      *ret_first = k.tag;
  request_deinit(&out);
  return count;
}

static lock_table *holding(int names, span ttl, hold_front **ret_front)
{
  protocol spoken = { .dialect = &native_dialect, .prefix = "dibs",
                      .client = "AAAAAAAAAAAAAAAAAAAAAA" };
  lock_settings s = { .memory = &heap, .protocol = &spoken,
                      .seed = 1, .route_count = 1, .connect_timeout = SPAN_MS(5000),
                      .command_timeout = SPAN_MS(2000), .clock_rate_error_ppm = 10000 };
  lock_table *t = lock_table_new(&s);
  hold_front *f = hold_front_new(&heap);
  char name[16], granted[32];
  uint64_t id, tag = 0;

  hold_front_add(f, lock_backend(t));
  lock_link_up(t, 0, start);
  for (int i = 0; i < names; i++) {
    lock_spec w = { .name = name, .ttl = ttl, .give_up_at = INSTANT_NEVER };

    w.name_size = (size_t)snprintf(name, sizeof(name), "n%d", i);
    assert_int_equal(hold_claim(f, &w, start, &id), DIBS_OK);
    assert_int_equal(commands(t, &tag, start), 1);
    (void)snprintf(granted, sizeof(granted), ":%d\r\n", 1000000 + i);
    answer(t, tag, granted, start);
  }
  assert_int_equal(hold_counts(f).holds, names);
  *ret_front = f;
  return t;
}

TEST(a_new_connection_renews_all_but_a_few_batches_at_a_time)
{
  hold_front *front;
  lock_table *t = holding(NAMES, SPAN_MS(30000), &front);
  instant later = instant_add(start, SPAN_MS(1000));
  char answers[16 + 16 * BATCH * 2] = "*201\r\n:2000000\r\n";
  uint64_t tag = 0;

  lock_link_down(t, 0, DIBS_ERR_UNREACHABLE, "gone", later);
  lock_link_up(t, 0, later);
  assert_int_equal(commands(t, &tag, later), UNDER_WAY);
  for (int i = 0; i < BATCH; i++)
    (void)strcat(answers, ":0\r\n:30000\r\n");
  answer(t, tag, answers, later);
  assert_int_equal(hold_counts(front).renewed, BATCH);
  assert_int_equal(commands(t, &tag, later), 1);

  lock_link_down(t, 0, DIBS_ERR_UNREACHABLE, "gone again", later);
  lock_link_up(t, 0, later);
  assert_int_equal(commands(t, &tag, later), UNDER_WAY);
  (void)hold_front_free(front);
  (void)lock_table_free(t);
}

/* The first connection answered at once, and this one takes 800 ms: a third would be too late. */
TEST(a_reply_is_waited_for_as_long_as_its_connection_takes_to_answer)
{
  hold_front *front;
  lock_table *t = holding(1, SPAN_MS(3000), &front);
  instant down = instant_add(start, SPAN_MS(100)), up = instant_add(down, SPAN_MS(800));
  uint64_t tag = 0;

  lock_link_down(t, 0, DIBS_ERR_UNREACHABLE, "gone", down);
  lock_server_time(t, 0, 2000000, down, up);
  lock_link_up(t, 0, up);
  assert_int_equal(commands(t, &tag, up), 1);
  hold_tick(front, instant_add(up, SPAN_MS(1599)));
  assert_false(lock_link_is_doubtful(t, 0));
  hold_tick(front, instant_add(up, SPAN_MS(1600)));
  assert_true(lock_link_is_doubtful(t, 0));
  (void)hold_front_free(front);
  (void)lock_table_free(t);
}

RUN_TESTS(NULL, NULL)
