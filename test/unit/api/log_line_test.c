/* SPDX-License-Identifier: MIT */
/* test/unit/api/log_line_test.c - a line of the log is one line, whatever its values are. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "api/log_line.h"

static log_line line;

TEST(a_line_has_its_level_its_event_and_its_fields)
{
  log_line_begin(&line, DIBS_LOG_WARNING, "refused");
  log_line_add(&line, "name", "orders:42");
  log_line_add_uint(&line, "ttl_ms", 30000);
  log_line_add_ms(&line, "waited_ms", (span){ 12400007000 });
  log_line_add_ms(&line, "held_ms", (span){ 312999 });
  log_line_add(&line, "reason", "is held");
  assert_string_equal(line.shown.text, "level=warning event=refused name=orders:42 ttl_ms=30000 "
                                       "waited_ms=12400.007 held_ms=0.312 reason=\"is held\"");
  assert_int_equal(line.shown.level, DIBS_LOG_WARNING);
  assert_string_equal(line.shown.event, "refused");
  assert_int_equal(line.shown.field_count, 5);
  assert_string_equal(line.shown.fields[4]->key, "reason");
  assert_string_equal(line.shown.fields[4]->value, "is held");
}

TEST(nothing_leaves_its_line_or_its_quotes)
{
  log_line_begin(&line, DIBS_LOG_ERROR, "lost");
  log_line_add_bytes(&line, "name", "a\n\"b\\\x1b[2J\0c\xff", 12);
  log_line_add(&line, "class", "x=y");
  log_line_add(&line, "server", "");
  assert_string_equal(line.shown.text, "level=error event=lost "
                                       "name=\"a\\x0a\\\"b\\\\\\x1b[2J\\x00c\\xff\" class=\"x=y\"");
  assert_string_equal(line.shown.fields[0]->value, "a\\x0a\\\"b\\\\\\x1b[2J\\x00c\\xff");
  assert_int_equal(line.shown.field_count, 2);
}

TEST(values_that_have_no_room_are_cut)
{
  char name[512], reason[4000];

  memset(name, '\n', sizeof(name));
  memset(reason, 'r', sizeof(reason));
  log_line_begin(&line, DIBS_LOG_DEBUG, "granted");
  log_line_add_bytes(&line, "name", name, sizeof(name));
  log_line_add_bytes(&line, "reason", reason, sizeof(reason));
  log_line_add(&line, "server", "no room");
  assert_int_equal(line.shown.field_count, 2);
  assert_int_equal(strlen(line.shown.fields[0]->value), 4 * sizeof(name));
  assert_int_equal(line.values.used, LOG_VALUES_SIZE);
  assert_int_equal(strlen(line.shown.text), line.line.used);
  assert_false(line.line.is_cut);
  for (int i = 0; i < 2 * LOG_FIELDS_MAX; i++)
    log_line_add_uint(&line, "n", 1);
}

TEST(of_many_fields_some_are_left_out)
{
  log_line_begin(&line, DIBS_LOG_INFO, "connected");
  for (int i = 0; i < 2 * LOG_FIELDS_MAX; i++)
    log_line_add_uint(&line, "n", 1);
  assert_int_equal(line.shown.field_count, LOG_FIELDS_MAX);
}

RUN_TESTS(NULL, NULL)
