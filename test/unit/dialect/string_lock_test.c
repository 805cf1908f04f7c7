/* SPDX-License-Identifier: MIT */
/* Names, channels and keys of the dialects spring and plain, as Spring Integration and others have
 * them. */
#include "tests.h"

#include <string.h>

#include "dialect/dialect.h"
#include "dialect/string/lock.h"

#define CLIENT "uYPBU3QhRpqt20T7kiWaGw"

static const protocol spring = { .dialect = &spring_dialect, .prefix = "dibs", .registry = "orders",
                                 .client = CLIENT };
static const protocol plain = { .dialect = &plain_dialect, .prefix = "dibs", .client = CLIENT };

TEST(half_a_tag_is_refused_in_a_cluster)
{
  protocol many = spring;

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

RUN_TESTS(NULL, NULL)
