/* SPDX-License-Identifier: MIT */
/* Many renewals due at once: in batches, and not all batches together. */
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

static lock_table *holding_many(hold_front **ret_front)
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
  for (int i = 0; i < NAMES; i++) {
    lock_spec w = { .name = name, .ttl = SPAN_MS(30000), .give_up_at = INSTANT_NEVER };

    w.name_size = (size_t)snprintf(name, sizeof(name), "n%d", i);
    assert_int_equal(hold_claim(f, &w, start, &id), DIBS_OK);
    assert_int_equal(commands(t, &tag, start), 1);
    (void)snprintf(granted, sizeof(granted), ":%d\r\n", 1000000 + i);
    answer(t, tag, granted, start);
  }
  assert_int_equal(hold_counts(f).holds, NAMES);
  *ret_front = f;
  return t;
}

TEST(a_new_connection_renews_all_but_a_few_batches_at_a_time)
{
  hold_front *front;
  lock_table *t = holding_many(&front);
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

RUN_TESTS(NULL, NULL)
