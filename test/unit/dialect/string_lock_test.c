/* SPDX-License-Identifier: MIT */
/* test/unit/dialect/string_lock_test.c - the calls of the dialects spring and plain, word for word:
 * keys, owners and channels as Spring Integration and others have them. */
#include "tests.h"

#include <string.h>

#include "call_reader.h"
#include "dialect/dialect.h"
#include "dialect/string/lock.h"
#include "rendered.h"

#define CLIENT "uYPBU3QhRpqt20T7kiWaGw"
#define UUID "b983c153-7421-469a-addb-44fb92259a1b"

static const protocol spring = { .dialect = &spring_dialect, .prefix = "dibs", .registry = "orders",
                                 .client = CLIENT };
static const protocol plain = { .dialect = &plain_dialect, .prefix = "dibs", .client = CLIENT };
static const lease_id lease = { .client = CLIENT, .ask = 7, .token = 99 };

TEST(a_call_of_spring_names_lock_end_and_ask)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 7, .ttl_ms = 500, .waits = true,
                     .until_us = 12, .min_token = 3 };

  assert_true(RENDERED(spring.dialect->acquire, &spring, &sent, false, &c));
  CHECK_WORDS(&sent, &script_spring_acquire, "3", "orders:x", "dibs:over:{orders:x}:" UUID ":7",
              "dibs:ask:{orders:x}", UUID ":7", "500", "12", "w", "3");
  assert_true(RENDERED(spring.dialect->release, &spring, &sent, false, "x", 1, &lease, 0, 0));
  CHECK_WORDS(&sent, &script_spring_release, "3", "orders:x", "dibs:over:{orders:x}:" UUID ":7",
              "dibs:ask:{orders:x}", UUID ":7", "0", "orders-channel:orders:x",
              "orders-channel");
  assert_true(RENDERED(spring.dialect->cancel, &spring, &sent, false, "x", 1, 7, 3000000, 1000000,
                       NULL));
  CHECK_WORDS(&sent, &script_spring_cancel, "3", "orders:x", "dibs:over:{orders:x}:" UUID ":7",
              "dibs:ask:{orders:x}", UUID ":7", "2001", "orders-channel:orders:x",
              "orders-channel");
  assert_true(RENDERED(spring.dialect->break_lease, &spring, &sent, false, "x", 1, &lease, 0));
  CHECK_WORDS(&sent, &script_spring_break, "2", "orders:x", "dibs:ask:{orders:x}", UUID ":7",
              "orders-channel:orders:x", "orders-channel", NO_LIMIT);
  assert_true(RENDERED(spring.dialect->inspect, &spring, &sent, false, "x", 1));
  CHECK_WORDS(&sent, &script_spring_inspect, "2", "orders:x", "dibs:ask:{orders:x}");
}

TEST(a_plain_call_names_the_lock_as_it_is)
{
  acquire_call c = { .name = "x", .name_size = 1, .ask = 7, .ttl_ms = 500 };

  assert_true(RENDERED(plain.dialect->acquire, &plain, &sent, false, &c));
  CHECK_WORDS(&sent, &script_plain_acquire, "3", "x", "dibs:over:{x}:" UUID ":7",
              "dibs:token:{x}", UUID ":7", "500", "0", "t", "0");
  assert_true(RENDERED(plain.dialect->release, &plain, &sent, false, "x", 1, &lease, 1, 0));
  CHECK_WORDS(&sent, &script_plain_release, "2", "x", "dibs:over:{x}:" UUID ":7", UUID ":7",
              "10000");
  assert_true(RENDERED(plain.dialect->raise, &plain, &sent, false, "x", 1, &lease, 1000));
  CHECK_WORDS(&sent, &script_plain_raise, "2", "x", "dibs:token:{x}", UUID ":7", "1000");
  assert_true(RENDERED(plain.dialect->break_lease, &plain, &sent, false, "x", 1, &lease, 0));
  CHECK_WORDS(&sent, &script_plain_break, "1", "x", UUID ":7", NO_LIMIT);
  assert_true(RENDERED(plain.dialect->inspect, &plain, &sent, false, "x", 1));
  CHECK_WORDS(&sent, &script_plain_inspect, "1", "x");
}

TEST(renewals_name_the_ask_beside_each_lock_of_spring)
{
  const renew_item items[] = { { "x", 1, &lease, 500 }, { "y", 1, &lease, 600 } };

  assert_true(RENDERED(spring.dialect->renew, &spring, &sent, false, items, 2, 0));
  CHECK_WORDS(&sent, &script_spring_renew, "4", "orders:x", "dibs:ask:{orders:x}", "orders:y",
              "dibs:ask:{orders:y}", UUID ":7", "500", UUID ":7", "600");
  assert_true(RENDERED(plain.dialect->renew, &plain, &sent, false, items, 2, 0));
  CHECK_WORDS(&sent, &script_plain_renew, "2", "x", "y", UUID ":7", "500", UUID ":7", "600");
}

TEST(a_tag_is_kept_and_half_a_one_refused_in_a_cluster)
{
  protocol many = spring;
  renew_item item = { "{t}x", 4, &lease, 500 };

  assert_true(RENDERED(spring.dialect->renew, &spring, &sent, false, &item, 1, 0));
  CHECK_WORDS(&sent, &script_spring_renew, "2", "orders:{t}x", "dibs:ask:orders:{t}x", UUID ":7",
              "500");
  assert_null(dialect_name_fault(&spring, "a}b", 3));
  many.has_tags = true;
  assert_null(dialect_name_fault(&many, "a{b}c", 5));
  assert_non_null(dialect_name_fault(&many, "a}b", 3));
  memcpy(many.registry, "{ord", 5);
  assert_non_null(dialect_name_fault(&many, "ab", 2));
}

/* As dibs.redis_py publishes, which knows no prefix. */
TEST(a_plain_lock_has_a_channel_of_its_key)
{
  char bytes[64];
  text channel = text_over(bytes, sizeof(bytes));
  protocol other = plain;

  memcpy(other.prefix, "jobs", 5);
  plain_dialect.channel(&other, "{x}y", 4, 0, LOCK_MUTEX, 7, &channel);
  assert_string_equal(bytes, "dibs:free:{x}y");
}

TEST(only_spring_has_a_second_channel)
{
  char bytes[64];
  text channel = text_over(bytes, sizeof(bytes));

  assert_null(plain_dialect.side_channel);
  spring_dialect.side_channel(&spring, &channel);
  assert_string_equal(bytes, "orders-channel");
  channel = text_over(bytes, sizeof(bytes));
  spring.dialect->channel(&spring, "x", 1, 0, LOCK_MUTEX, 7, &channel);
  assert_string_equal(bytes, "orders-channel:orders:x");
}

TEST(a_registry_is_1_to_64_bytes_without_control_characters)
{
  char longest[REGISTRY_MAX_BYTES + 2];

  memset(longest, 'r', sizeof(longest));
  longest[REGISTRY_MAX_BYTES + 1] = 0;
  assert_non_null(spring_registry_fault(longest));
  longest[REGISTRY_MAX_BYTES] = 0;
  assert_null(spring_registry_fault(longest));
  assert_non_null(spring_registry_fault(""));
  assert_non_null(spring_registry_fault("a\tb"));
  assert_null(spring_registry_fault("my registry"));
}

TEST(the_longest_names_fit)
{
  char name[NAME_MAX_BYTES];
  protocol far = spring;
  lease_id last = { .client = CLIENT, .ask = UINT64_MAX, .token = 1 };
  renew_item items[RENEW_BATCH_MAX];

  memset(name, 'n', sizeof(name));
  memset(far.prefix, 'p', PREFIX_MAX_BYTES);
  memset(far.registry, 'r', REGISTRY_MAX_BYTES);
  for (size_t i = 0; i < RENEW_BATCH_MAX; i++)
    items[i] = (renew_item){ name, sizeof(name), &last, INT64_MAX };
  assert_true(RENDERED(far.dialect->release, &far, &sent, false, name, sizeof(name), &last, 1,
                       0));
  assert_true(RENDERED(far.dialect->break_lease, &far, &sent, false, name, sizeof(name), &last, 0));
  assert_true(RENDERED(far.dialect->renew, &far, &sent, false, items, RENEW_BATCH_MAX, 0));
}

/* ---- which keys are locks ---- */

static const char *match_of(const protocol *n, const char *pattern)
{
  static char words[2 * KEY_TEXT_SIZE];
  text t = text_over(words, sizeof(words));

  dialect_list_match(n, LIST_LOCKS, pattern, &t);
  return words;
}

/* What means something to the server is escaped, what means something to fnmatch() left to it. */
TEST(a_walk_asks_for_what_stands_in_front_of_the_pattern)
{
  static const protocol odd = { .dialect = &spring_dialect, .prefix = "dibs", .registry = "a*[b]" };

  assert_string_equal(match_of(&plain, "orders:*"), "orders:*");
  assert_string_equal(match_of(&plain, "a-b^c"), "a\\-b\\^c*");
  assert_string_equal(match_of(&plain, "a[!b]c"), "a*");
  assert_string_equal(match_of(&plain, "a\\*"), "a*");
  assert_string_equal(match_of(&plain, "*"), "*");
  assert_string_equal(match_of(&spring, NULL), "orders:*");
  assert_string_equal(match_of(&odd, "x?"), "a\\*\\[b\\]:x*");
}

static bool is_named(const protocol *n, const char *key, const char *wanted)
{
  many_name found[LIST_NAMES_MAX];

  return dialect_list_names(n, LIST_LOCKS, key, strlen(key), found) == 1 &&
         found[0].size == strlen(wanted) && memcmp(found[0].name, wanted, found[0].size) == 0;
}

static void lock_key(const protocol *n, const void *name, size_t size, text *out)
{
  (void)n;
  text_add(out, "lock:");
  text_add_bytes(out, name, size);
}

TEST(a_walk_knows_what_a_dialect_writes_before_its_names)
{
  static const dialect_ops ops = { .key = lock_key };
  static const protocol fronted = { .dialect = &ops, .prefix = "dibs" };

  assert_string_equal(match_of(&fronted, "orders:*"), "lock:orders:*");
  assert_true(is_named(&fronted, "lock:x", "x"));
  assert_false(is_named(&fronted, "x", "x"));
}

/* Assert: the key beside permits stands for those names, NULL: for no more. */
static void expect_permits(const char *key, const char *first, const char *second)
{
  static const protocol redisson = { .dialect = &redisson_dialect, .prefix = "dibs" };
  const char *const wanted[] = { first, second };
  many_name found[LIST_NAMES_MAX];
  size_t count = dialect_list_names(&redisson, LIST_PERMITS, key, strlen(key), found);

  assert_int_equal(count, (first != NULL) + (second != NULL));
  for (size_t i = 0; i < count; i++) {
    assert_int_equal(found[i].size, strlen(wanted[i]));
    assert_memory_equal(found[i].name, wanted[i], found[i].size);
  }
}

/* Redisson puts braces around a name that has none, and both keys are the same then. */
TEST(a_key_beside_permits_has_the_name_with_or_without_braces)
{
  expect_permits("{orders}:timeout", "orders", "{orders}");
  expect_permits("{a}:b:timeout", "{a}:b", NULL);
  expect_permits("x{a}:timeout", "x{a}", NULL);
  expect_permits("{a}{b}:timeout", "{a}{b}", NULL);
  expect_permits("orders:timeout", NULL, NULL);
  expect_permits("{}:timeout", "{}", NULL);
  expect_permits(":timeout", NULL, NULL);
  expect_permits("{orders}:timeouts", NULL, NULL);
  assert_null(dialect_list_type(&plain, LIST_PERMITS));
}

TEST(a_key_has_a_name_unless_it_is_of_another_kind)
{
  assert_true(is_named(&plain, "orders", "orders"));
  assert_true(is_named(&plain, "dibsy:x", "dibsy:x"));
  assert_false(is_named(&plain, "dibs:token:{x}", "dibs:token:{x}"));
  assert_false(is_named(&plain, "}x", "}x"));
  assert_true(is_named(&spring, "orders:x:y", "x:y"));
  assert_true(is_named(&spring, "orders:dibs:x", "dibs:x"));
  assert_false(is_named(&spring, "orders:", ""));
  assert_false(is_named(&spring, "ordersX:y", "y"));
  assert_false(is_named(&spring, "other:x", "x"));
}

RUN_TESTS_EACH(NULL, NULL, call_begin, call_end)
