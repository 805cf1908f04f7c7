/* SPDX-License-Identifier: MIT */
/* The calls of the native scripts, word for word; the longest ones; refused memory. */

#include "tests.h"
#include "answer_reader.h"
#include "call_reader.h"
#include "dialect/native.h"
#include "failing_heap.h"
#include "rendered.h"

#define ANNA "AAAAAAAAAAAAAAAAAAAAAA"
#define BERT "BBBBBBBBBBBBBBBBBBBBBB"

static const protocol here = { .prefix = "dibs", .client = ANNA };
static const lease_id lease = { .client = ANNA, .ask = 7, .token = 1700000000000000 };

TEST(an_acquire_says_all_its_arguments)
{
  lease_id watched = { .client = BERT, .ask = 3, .token = 99 };
  acquire_call c = { .name = "two words", .name_size = 9, .ask = 8, .ttl_ms = 30000,
    .waits = true, .nonce = 42, .lingers = true, .until_us = 11, .estimate_us = 12, .min_token = 13,
    .give_up_us = 14, .watched = &watched, .watched_renewals = 15 };

  assert_true(RENDERED(native_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_acquire, "1", "dibs:m:{two words}", ANNA, "8", "30000",
              "11", "13", "12", "w00000000000000000042 14 " BERT ":3:99 15 dibs two words", "1");
}

/* One server, Cluster, Cluster with channels of slots, each with and without an era guard. */
TEST(the_deployment_stands_behind_the_prefix)
{
  static const struct { protocol n; const char *place, *era; } all[] = {
    { { .has_sharded_channels = true }, "t 0 - 0 dibs x{y}", NULL },
    { { .quarantine_ms = 7000 }, "t 0 - 0 dibs{q7000 x{y}", "dibs:era" },
    { { .has_tags = true }, "t 0 - 0 dibs{c x{y}", NULL },
    { { .has_tags = true, .has_sharded_channels = true }, "t 0 - 0 dibs{s x{y}", NULL },
    { { .has_tags = true, .quarantine_ms = 1 }, "t 0 - 0 dibs{cq1 x{y}", "dibs:era:{y}" },
    { { .has_tags = true, .has_sharded_channels = true, .quarantine_ms = 1 },
      "t 0 - 0 dibs{sq1 x{y}", "dibs:era:{y}" },
  };
  acquire_call c = { .name = "x{y}", .name_size = 4, .ask = 8, .ttl_ms = 100 };

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
    const char *words[10] = { all[i].era != NULL ? "2" : "1", "dibs:m:x{y}" };
    size_t count = 2;
    protocol n = all[i].n;

    memcpy(n.prefix, "dibs", 5);
    memcpy(n.client, ANNA, sizeof(ANNA));
    if (all[i].era != NULL)
      words[count++] = all[i].era;
    for (const char *const *more = (const char *const[]){ ANNA, "8", "100", "0", "0", "0",
                                                          all[i].place, NULL }; *more != NULL;
         more++)
      words[count++] = *more;
    assert_true(RENDERED(native_acquire, &n, &sent, false, &c));
    check_words(&sent, &script_native_acquire, words, count);
  }
}

TEST(who_polls_says_so)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .waits = true,
                     .polls = true, .give_up_us = 14 };

  assert_true(RENDERED(native_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_acquire, "1", "dibs:m:{x}", ANNA, "8", "100", "0", "0", "0",
              "p 14 - 0 dibs x");
}

TEST(a_raise_names_the_lease_and_its_token_to_be)
{
  assert_true(RENDERED(native_raise, &here, &sent, false, "x", 1, &lease,
                       1700000000000005));
  CHECK_WORDS(&sent, &script_native_raise, "1", "dibs:m:{x}", ANNA ":7:1700000000000000",
              "1700000000000005");
  assert_true(RENDERED(native_share_raise, &here, &sent, false, "x", 1, &lease,
                       1700000000000005));
  CHECK_WORDS(&sent, &script_native_share_raise, "1", "dibs:m:{x}", ANNA ":7:1700000000000000",
              "1700000000000005");
}

TEST(all_that_makes_owners_gets_the_era_behind_its_keys)
{
  protocol guarded = here;
  renew_item items[] = { { "x", 1, &lease, 100 }, { "y", 1, &lease, 200 } };

  guarded.quarantine_ms = 9;
  assert_true(RENDERED(native_release, &guarded, &sent, false, "x", 1, &lease, 77));
  CHECK_WORDS(&sent, &script_native_release, "2", "dibs:m:{x}", "dibs:era",
              ANNA ":7:1700000000000000", "dibs{q9 x", "77");
  assert_true(RENDERED(native_break, &guarded, &sent, false, "x", 1, &lease, 77));
  CHECK_WORDS(&sent, &script_native_break, "2", "dibs:m:{x}", "dibs:era",
              ANNA ":7:1700000000000000", "dibs{q9 x", "77", NO_LIMIT);
  assert_true(RENDERED(native_cancel, &guarded, &sent, false, "x", 1, 9, 0, 77, NULL));
  CHECK_WORDS(&sent, &script_native_cancel, "2", "dibs:m:{x}", "dibs:era", ANNA, "9", "0",
              "dibs{q9 x", "77");
  assert_true(RENDERED(native_renew, &guarded, &sent, false, items, 2, 55));
  CHECK_WORDS(&sent, &script_native_renew, "3", "dibs:m:{x}", "dibs:m:{y}", "dibs:era",
              ANNA ":7:1700000000000000", "100", ANNA ":7:1700000000000000", "200", "55");
}

TEST(what_is_in_other_hands_is_named_at_the_end)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .detached = &lease };

  assert_true(RENDERED(native_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_acquire, "1", "dibs:m:{x}", ANNA, "8", "100", "0", "0", "0",
              "t 0 - 0 dibs x", "0", ANNA ":7:1700000000000000");
  assert_true(RENDERED(native_cancel, &here, &sent, false, "x", 1, 9, 123, 77, &lease));
  CHECK_WORDS(&sent, &script_native_cancel, "1", "dibs:m:{x}", ANNA, "9", "123", "dibs x", "77",
              ANNA ":7:1700000000000000");
}

TEST(a_plain_try_says_what_it_has_not)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100, .until_us = -5 };

  assert_true(RENDERED(native_acquire, &here, &sent, false, &c));
  CHECK_WORDS(&sent, &script_native_acquire, "1", "dibs:m:{x}", ANNA, "8", "100", "0", "0", "0",
              "t 0 - 0 dibs x");
}

TEST(releases_and_breaks_name_the_lease)
{
  assert_true(RENDERED(native_release, &here, &sent, false, "x", 1, &lease, 77));
  CHECK_WORDS(&sent, &script_native_release, "1", "dibs:m:{x}", ANNA ":7:1700000000000000",
              "dibs x", "77");
  assert_true(RENDERED(native_break, &here, &sent, false, "x", 1, &lease, 77));
  CHECK_WORDS(&sent, &script_native_break, "1", "dibs:m:{x}", ANNA ":7:1700000000000000",
              "dibs x", "77", NO_LIMIT);
}

/* The words of the string are those of lua/native/acquire.lua. */
TEST(a_release_by_ifeq_names_the_whole_string)
{
  static const lease_string plain = { .ttl_ms = 30000 }, lingers = { 2000, true };

  assert_true(RENDERED(native_release_ifeq, &here, &sent, false, "x", 1, &lease, &plain));
  assert_true(RENDERED(native_release_ifeq, &here, &sent, false, "x", 1, &lease, &lingers));
  assert_true(buffer_append(&sent, "", 1));
  assert_string_equal(
    buffer_bytes(&sent),
    "*6\r\n$3\r\nSET\r\n$10\r\ndibs:m:{x}\r\n$42\r\n=" ANNA ":7:1700000000000000\r\n"
    "$4\r\nIFEQ\r\n$57\r\n" ANNA ":7:1700000000000000 30000 30000 0 0\r\n$7\r\nKEEPTTL\r\n"
    "*6\r\n$3\r\nSET\r\n$10\r\ndibs:m:{x}\r\n$42\r\n=" ANNA ":7:1700000000000000\r\n"
    "$4\r\nIFEQ\r\n$55\r\n" ANNA ":7:1700000000000000 2000 2000 0 1\r\n$7\r\nKEEPTTL\r\n");
}

TEST(a_cancel_names_the_ask)
{
  assert_true(RENDERED(native_cancel, &here, &sent, false, "x", 1, 9, 123, 77, NULL));
  CHECK_WORDS(&sent, &script_native_cancel, "1", "dibs:m:{x}", ANNA, "9", "123", "dibs x", "77");
}

TEST(a_renewal_names_all_locks_and_then_all_leases)
{
  renew_item items[2] = { { "x", 1, &lease, 100 }, { "{y}", 3, &lease, 200 } };

  assert_true(RENDERED(native_renew, &here, &sent, false, items, 2, 55));
  CHECK_WORDS(&sent, &script_native_renew, "2", "dibs:m:{x}", "dibs:m:{y}",
              ANNA ":7:1700000000000000", "100", ANNA ":7:1700000000000000", "200", "55");
}

TEST(the_longest_calls_fit)
{
  static char name[NAME_MAX_BYTES];
  static renew_item items[RENEW_BATCH_MAX];
  lease_id longest = { .client = ANNA, .ask = UINT64_MAX, .token = UINT64_MAX };
  protocol far = { .client = ANNA, .has_tags = true, .has_sharded_channels = true,
                   .quarantine_ms = INT64_MAX };
  acquire_call c = { .name = name, .name_size = sizeof(name), .ask = UINT64_MAX,
    .ttl_ms = INT64_MAX, .waits = true, .polls = true, .lingers = true, .until_us = INT64_MAX,
    .estimate_us = INT64_MAX, .min_token = UINT64_MAX, .give_up_us = INT64_MAX,
    .detached = &longest, .watched = &longest, .watched_renewals = UINT64_MAX };
  const lease_string longest_string = { INT64_MAX, true };

  memset(name, 'n', sizeof(name));
  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (renew_item){ name, sizeof(name), &longest, INT64_MAX };
  assert_true(RENDERED(native_acquire, &far, &sent, true, &c));
  assert_true(RENDERED(native_release, &far, &sent, true, name, sizeof(name), &longest,
                       INT64_MAX));
  assert_true(RENDERED(native_release_ifeq, &far, &sent, true, name, sizeof(name), &longest,
                       &longest_string));
  assert_true(RENDERED(native_cancel, &far, &sent, true, name, sizeof(name), UINT64_MAX,
                       INT64_MAX, INT64_MAX, &longest));
  assert_true(RENDERED(native_renew, &far, &sent, true, items, RENEW_BATCH_MAX,
                       INT64_MAX));
}

TEST(refused_memory_leaves_nothing_in_the_buffer)
{
  failing_heap heap = { .fail_at = 1, .keeps_failing = true };
  memory refusing = FAILING_HEAP_AS(memory, &heap);
  acquire_call c = { .name = "x", .name_size = 1, .ask = 8, .ttl_ms = 100 };
  renew_item item = { "x", 1, &lease, 100 };
  buffer none;

  buffer_init(&none, &refusing);
  assert_false(RENDERED(native_acquire, &here, &none, false, &c));
  assert_false(RENDERED(native_release, &here, &none, false, "x", 1, &lease, 77));
  assert_false(RENDERED(native_break, &here, &none, false, "x", 1, &lease, 77));
  assert_false(RENDERED(native_cancel, &here, &none, false, "x", 1, 9, 0, 0, NULL));
  assert_false(RENDERED(native_inspect, &here, &none, false, "x", 1));
  assert_false(RENDERED(native_renew, &here, &none, false, &item, 1, 0));
  assert_int_equal(buffer_size(&none), 0);
  buffer_deinit(&none);
}

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)
