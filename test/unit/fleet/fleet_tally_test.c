/* SPDX-License-Identifier: MIT */
/* Unit: fleet - classes of names, when a report is due, what a refused report becomes, and that
 * refused memory loses counts and nothing else. */

#include "tests.h"

#include <stdio.h>
#include <string.h>

#include "failing_heap.h"
#include "fleet/fleet.h"

static protocol names;
static instant now = { 7000000000 };

static fleet_settings settings_of(const memory *m)
{
  names = (protocol){ .prefix = "dibs", .client = "AAAAAAAAAAAAAAAAAAAAAA" };
  return (fleet_settings){ .memory = *m, .names = &names, .host = "h", .program = "p", .note = "",
                           .pid = 1, .every = SPAN_MS(10000), .history = HISTORY_ALL,
                           .history_max = 100, .history_over = SPAN_MS(1000) };
}

static void expect_class(const char *name, size_t size, const char *wanted)
{
  char shown[FLEET_CLASS_SIZE];

  assert_false(fleet_class_name(NULL, name, size, shown));
  assert_string_equal(shown, wanted);
}

TEST(classes_are_bounded_and_printable)
{
  static const struct { const char *name, *wanted; } rows[] = {
    { "orders:17", "orders" },
    { "orders", "orders" },
    { "job-123-of-9", "job-*-of-*" },
    { "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "*" },
    { "build-9f86d081884c7d65", "build-*" },
    { "deadbeef", "deadbeef" },
    { "facade2", "facade*" },
    { ":x", ":x" },
    { "a\nb\x1b[31m\"q\"", "a?b??*m?q?" },
    { "{tag}", "?tag?" },
    { "gr\xc3\xbc\xc3\x9f" "e", "gr\xc3\xbc\xc3\x9f" "e" },
    { "bad\xff\xfe\xc3", "bad???" },
    { "\xc0\xaf\xed\xa0\x80", "?????" },
  };
  char many[600];

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    expect_class(rows[i].name, strlen(rows[i].name), rows[i].wanted);
  memset(many, 'x', sizeof(many));
  (void)fleet_class_name(NULL, many, sizeof(many), many + 500);
  assert_true(strlen(many + 500) < FLEET_CLASS_SIZE);
}

TEST(the_first_pattern_that_fits_is_the_class)
{
  static const char patterns[] = "orders:eu:*, orders:*,*:lock , job-*-of-*,a*b*c,gr\xc3\xbc*";
  static const struct { const char *name, *wanted; bool fits; } rows[] = {
    { "orders:eu:17", "orders:eu:*", true },
    { "orders:17", "orders:*", true },
    { "orders:", "orders:*", true },
    { "orders", "orders", false },
    { "orders:17:lock", "orders:*", true },
    { "user:17:lock", "*:lock", true },
    { "user:17", "user", false },
    { "job-3-of-9", "job-*-of-*", true },
    { "abcbc", "a*b*c", true },
    { "abcb", "abcb", false },
    { "gr\xc3\xbc\xc3\x9f" "e", "gr\xc3\xbc*", true },
    { "", "", false },
  };
  char shown[FLEET_CLASS_SIZE];

  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    assert_int_equal(fleet_class_name(patterns, rows[i].name, strlen(rows[i].name), shown),
                     rows[i].fits);
    assert_string_equal(shown, rows[i].wanted);
  }
  assert_true(fleet_class_name("*", "a\0b", 3, shown));
  assert_int_equal(fleet_classes_count(patterns), 6);
  assert_int_equal(fleet_classes_count(""), 0);
}

static void expect_patterns(const char *patterns, const char *fault)
{
  char bytes[400] = "";
  text why = text_over(bytes, sizeof(bytes));

  assert_int_equal(fleet_classes_check(patterns, &why), fault == NULL);
  if (fault != NULL)
    assert_non_null(strstr(bytes, fault));
}

TEST(a_pattern_that_cannot_be_a_class_is_named)
{
  char many[3 * 65 + 1] = "", full[1100];

  expect_patterns(NULL, NULL);
  expect_patterns("orders:*, user:*,", NULL);
  expect_patterns("a*,,b*", "pattern 2 is empty");
  expect_patterns(" ", "pattern 1 is empty");
  expect_patterns("a*, b c", "pattern 2, \"b c\", has a character");
  expect_patterns("a?", "pattern 1, \"a?\", has a character");
  expect_patterns("[ab]*", "has a character");
  expect_patterns("{a}", "has a character");
  expect_patterns("a\xff", "has a character");
  memset(full, 'x', sizeof(full));
  full[65] = 0;
  expect_patterns(full, "is longer than 64 bytes");
  full[65] = 'x';
  full[1025] = 0;
  expect_patterns(full, "classes is longer than 1024 bytes");
  for (size_t i = 0; i < 65; i++)
    memcpy(many + 3 * i, i < 64 ? "a*," : "a*", i < 64 ? 3 : 2);
  expect_patterns(many, "more than 64 patterns");
  many[3 * 64 - 1] = 0;
  expect_patterns(many, NULL);
}

static void hold(fleet *f, const char *name)
{
  fleet_note n = { .ttl_ms = 1000 };

  fleet_began(f, &n, name, strlen(name), now);
  fleet_granted(f, &n, now);
  fleet_tell(f, &n, fleet_end_words[DIBS_FLEET_RELEASED], name, strlen(name), 7, now);
  fleet_ended(f, &n, DIBS_FLEET_RELEASED, now);
}

TEST(a_report_is_due_only_after_something_happened)
{
  failing_heap heap = { .fail_at = 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  fleet_settings s = settings_of(&m);
  fleet *f = fleet_new(&s, now);

  assert_true(instant_is_never(fleet_due(f)));
  assert_false(fleet_report_begin(f, true, now));
  hold(f, "orders:1");
  assert_int_equal(fleet_due(f).ns, now.ns + SPAN_MS(10000).ns);
  assert_true(fleet_report_begin(f, false, now));
  fleet_report_done(f, 0, true);
  fleet_report_end(f, now);
  assert_true(instant_is_never(fleet_due(f)));
  assert_null(fleet_free(f));
  assert_int_equal(heap.live, 0);
}

static bool one_life(failing_heap *heap, void *data)
{
  memory m = FAILING_HEAP_AS(memory, heap);
  fleet_settings s = settings_of(&m);
  fleet *f = fleet_new(&s, now);
  request r;
  bool done = f != NULL;

  (void)data;
  if (f == NULL)
    return false;
  request_init(&r, &m);
  hold(f, "orders:1");
  hold(f, "users:1");
  if (fleet_report_begin(f, false, now)) {
    done = fleet_report_write(f, 0, now, &r);
    fleet_report_end(f, now);
  }
  request_deinit(&r);
  assert_null(fleet_free(f));
  return done;
}

TEST(without_memory_counts_are_missing_and_nothing_else)
{
  failing_heap_try_all(one_life, NULL);
}

TEST(more_than_64_classes_are_other)
{
  failing_heap heap = { .fail_at = 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  fleet_settings s = settings_of(&m);
  fleet *f = fleet_new(&s, now);
  char name[40];

  for (char a = 'a'; a <= 'z'; a++)
    for (char b = 'a'; b <= 'e'; b++) {
      (void)snprintf(name, sizeof(name), "%c%c:1", a, b);
      hold(f, name);
    }
  names.has_tags = true;
  assert_true(fleet_report_begin(f, false, now));
  assert_int_equal(fleet_report_parts(f), FLEET_CLASSES_MAX + 1 + 2);
  assert_null(fleet_free(f));
}

/* 63 of names that fit no pattern, one of the pattern, which comes last, and `other`. */
TEST(a_pattern_has_its_place_among_64_classes)
{
  failing_heap heap = { .fail_at = 0 };
  memory m = FAILING_HEAP_AS(memory, &heap);
  fleet_settings s = settings_of(&m);
  fleet_reading r = { .memory = m };
  fleet *f;
  char name[40];
  uint64_t found = 0, others = 0;

  s.classes = "late:*";
  f = fleet_new(&s, now);
  for (int i = 0; i < 100; i++) {
    (void)snprintf(name, sizeof(name), "%c%c:1", 'a' + i / 26, 'a' + i % 26);
    hold(f, name);
  }
  hold(f, "late:1");
  hold(f, "late:2");
  assert_true(fleet_read_own(f, &r) && fleet_read_show(&r));
  assert_int_equal(r.fleet.count, FLEET_CLASSES_MAX + 1);
  for (size_t i = 0; i < r.fleet.count; i++) {
    if (strcmp(r.shown[i]->class_name, "late:*") == 0)
      found += r.shown[i]->waits[DIBS_FLEET_OK].count;
    if (strcmp(r.shown[i]->class_name, "other") == 0)
      others += r.shown[i]->waits[DIBS_FLEET_OK].count;
  }
  assert_int_equal(found, 2);
  assert_int_equal(others, 100 - 63);
  fleet_reading_deinit(&r);
  assert_null(fleet_free(f));
  assert_int_equal(heap.live, 0);
}

RUN_TESTS(NULL, NULL)
