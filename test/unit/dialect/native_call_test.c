/* SPDX-License-Identifier: MIT */
/* The calls of the native scripts, word for word; the longest ones; refused memory. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>

#include "answer_reader.h"
#include "call_reader.h"
#include "dialect/native.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"

static const native here = { "dibs", ANNA };
static const lease_id lease = { .client = ANNA, .ask = 7, .token = 1700000000000000 };

static void an_acquire_says_all_its_arguments(void **state)
{
  lease_id watched = { .client = BERT, .ask = 3, .token = 99 };
  acquire_call c = { .name = "two words", .name_size = 9, .ask = 8, .ttl_ms = 30000,
    .waits = true, .lingers = true, .until_us = 11, .estimate_us = 12, .floor = 13,
    .give_up_us = 14, .watched = &watched, .watched_renewals = 15 };
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  assert_true(native_acquire(&here, &out, false, &c));
  CHECK_WORDS(&out, &script_native_acquire, "1", "dibs:m:{two words}", ANNA, "8", "30000",
              "11", "13", "12", "w 14 " BERT ":3:99 15 dibs two words", "1");
  buffer_deinit(&out);
}

static void what_is_in_other_hands_is_named_at_the_end(void **state)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .detached = &lease };
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  assert_true(native_acquire(&here, &out, false, &c));
  CHECK_WORDS(&out, &script_native_acquire, "1", "dibs:m:{x}", ANNA, "8", "100", "0", "0", "0",
              "t 0 - 0 dibs x", "0", ANNA ":7:1700000000000000");
  assert_true(native_cancel(&here, &out, false, "x", 1, 9, 123, 77, &lease));
  CHECK_WORDS(&out, &script_native_cancel, "1", "dibs:m:{x}", ANNA, "9", "123", "dibs x", "77",
              ANNA ":7:1700000000000000");
  buffer_deinit(&out);
}

static void a_plain_try_says_what_it_has_not(void **state)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .until_us = -5 };
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  assert_true(native_acquire(&here, &out, false, &c));
  CHECK_WORDS(&out, &script_native_acquire, "1", "dibs:m:{x}", ANNA, "8", "100", "0", "0", "0",
              "t 0 - 0 dibs x");
  buffer_deinit(&out);
}

static void releases_and_breaks_name_the_lease(void **state)
{
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  assert_true(native_release(&here, &out, false, "x", 1, &lease, 77));
  CHECK_WORDS(&out, &script_native_release, "1", "dibs:m:{x}", ANNA ":7:1700000000000000",
              "dibs x", "77");
  assert_true(native_break(&here, &out, false, "x", 1, &lease, 77));
  CHECK_WORDS(&out, &script_native_break, "1", "dibs:m:{x}", ANNA ":7:1700000000000000",
              "dibs x", "77");
  buffer_deinit(&out);
}

static void a_cancel_names_the_ask(void **state)
{
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  assert_true(native_cancel(&here, &out, false, "x", 1, 9, 123, 77, NULL));
  CHECK_WORDS(&out, &script_native_cancel, "1", "dibs:m:{x}", ANNA, "9", "123", "dibs x", "77");
  buffer_deinit(&out);
}

static void a_renewal_names_all_locks_and_then_all_leases(void **state)
{
  renew_item items[2] = { { "x", 1, &lease, 100 }, { "{y}", 3, &lease, 200 } };
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  assert_true(native_renew(&here, &out, false, items, 2, 55));
  CHECK_WORDS(&out, &script_native_renew, "2", "dibs:m:{x}", "dibs:m:{y}",
              ANNA ":7:1700000000000000", "100", ANNA ":7:1700000000000000", "200", "55");
  buffer_deinit(&out);
}

static void the_longest_calls_fit(void **state)
{
  static char name[NAME_MAX_BYTES];
  static renew_item items[RENEW_BATCH_MAX];
  lease_id longest = { .client = ANNA, .ask = UINT64_MAX, .token = UINT64_MAX };
  native far = { .client = ANNA };
  acquire_call c = { .name = name, .name_size = sizeof(name), .ask = UINT64_MAX,
    .ttl_ms = INT64_MAX, .waits = true, .lingers = true, .until_us = INT64_MAX,
    .estimate_us = INT64_MAX, .floor = UINT64_MAX, .give_up_us = INT64_MAX,
    .detached = &longest, .watched = &longest, .watched_renewals = UINT64_MAX };
  buffer out;

  (void)state;
  buffer_init(&out, &reader_heap);
  memset(name, 'n', sizeof(name));
  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (renew_item){ name, sizeof(name), &longest, INT64_MAX };
  assert_true(native_acquire(&far, &out, true, &c));
  assert_true(native_release(&far, &out, true, name, sizeof(name), &longest, INT64_MAX));
  assert_true(native_cancel(&far, &out, true, name, sizeof(name), UINT64_MAX, INT64_MAX,
                            INT64_MAX, &longest));
  assert_true(native_renew(&far, &out, true, items, RENEW_BATCH_MAX, INT64_MAX));
  buffer_deinit(&out);
}

static void *refuse_allocation(size_t bytes, void *data)
{
  (void)bytes;
  (void)data;
  return NULL;
}

static void *refuse_growth(void *old, size_t bytes, void *data)
{
  (void)old;
  (void)bytes;
  (void)data;
  return NULL;
}

static void refused_memory_leaves_nothing_in_the_buffer(void **state)
{
  const memory refusing = { refuse_allocation, refuse_growth, reader_release, NULL };
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100 };
  renew_item item = { "x", 1, &lease, 100 };
  buffer out;

  (void)state;
  buffer_init(&out, &refusing);
  assert_false(native_acquire(&here, &out, false, &c));
  assert_false(native_release(&here, &out, false, "x", 1, &lease, 77));
  assert_false(native_break(&here, &out, false, "x", 1, &lease, 77));
  assert_false(native_cancel(&here, &out, false, "x", 1, 9, 0, 0, NULL));
  assert_false(native_inspect(&here, &out, false, "x", 1));
  assert_false(native_renew(&here, &out, false, &item, 1, 0));
  assert_int_equal(buffer_size(&out), 0);
  buffer_deinit(&out);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_acquire_says_all_its_arguments),
    cmocka_unit_test(what_is_in_other_hands_is_named_at_the_end),
    cmocka_unit_test(a_plain_try_says_what_it_has_not),
    cmocka_unit_test(releases_and_breaks_name_the_lease),
    cmocka_unit_test(a_cancel_names_the_ask),
    cmocka_unit_test(a_renewal_names_all_locks_and_then_all_leases),
    cmocka_unit_test(the_longest_calls_fit),
    cmocka_unit_test(refused_memory_leaves_nothing_in_the_buffer),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
