/* SPDX-License-Identifier: MIT */
/* Unit: watch/top.h - what dibs top shows of a reading, in lines of any length, and the rates
 * between two readings of the totals. */

#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "watch/top.h"

#define NOW 100000

/* ---- a screen of characters ---- */

#define LINES 12
#define WIDTH 200

static char screen[LINES][WIDTH + 1];
static enum top_style styles[LINES][WIDTH];
static size_t width_seen;
static watch_cells *cells;

static size_t two_beyond_ascii(const char *character, size_t size)
{
  (void)character;
  return size > 1 ? 2 : 1;
}

static void put_character(const top_cell *cell, size_t at, char c)
{
  assert_true(at < WIDTH);
  screen[cell->line][at] = c;
  styles[cell->line][at] = cell->style;
}

static void put(const top_cell *cell, void *data)
{
  size_t at = cell->column;

  (void)data;
  assert_true(cell->line < LINES);
  for (size_t i = 0; i < cell->size; i++) {
    assert_true((unsigned char)cell->text[i] >= ' ');
    if (((unsigned char)cell->text[i] & 0xc0) == 0x80)
      continue;                                    /* a '?' for each cell of a character */
    put_character(cell, at++, (unsigned char)cell->text[i] < 0x80 ? cell->text[i] : '?');
    if (cells != NULL && (unsigned char)cell->text[i] >= 0x80)
      put_character(cell, at++, '?');
  }
  assert_true(at - cell->column <= cell->width);
  width_seen = at > width_seen ? at : width_seen;
}

static void draw(const top_reading *r, size_t columns)
{
  const watch_row *rows[LINES];
  size_t count = watch_select(&r->table, WATCH_BY_WAIT, "", true, NOW, rows);

  for (size_t i = 0; i < LINES; i++) {
    memset(screen[i], ' ', WIDTH);
    screen[i][WIDTH] = 0;
  }
  width_seen = 0;
  top_table_draw(&(top_table){ .reading = r, .rows = rows, .count = count, .now_ms = NOW,
                               .columns = columns, .chosen = TOP_NONE, .cells = cells },
                 put, NULL);
}

/* Line `i` without the blanks at its end. */
static const char *line(size_t i)
{
  static char text[WIDTH + 1];
  size_t size = WIDTH;

  while (size > 0 && screen[i][size - 1] == ' ')
    size--;
  memcpy(text, screen[i], size);
  text[size] = 0;
  return text;
}

static enum top_style style_at(size_t i, const char *text)
{
  const char *at = strstr(screen[i], text);

  assert_non_null(at);
  return styles[i][at - screen[i]];
}

/* ---- a reading ---- */

static bool class_of(const char *patterns, const char *name, size_t size,
                     char ret_name[WATCH_CLASS_SIZE])
{
  size_t used = 0;

  (void)patterns;
  for (; used < size && used + 1 < WATCH_CLASS_SIZE && name[used] != ':'; used++)
    ret_name[used] = name[used];
  ret_name[used] = 0;
  return false;
}

static watch_class orders = { .name = "orders", .has_rates = true, .granted = 310.4,
                              .wait_p50_us = 2100, .wait_p99_us = 48000 };

static watch_row *add(top_reading *r, const char *name)
{
  assert_true(watch_walk_name(&r->table, name, strlen(name)));
  r->table.rows[r->table.count - 1].is_seen = true;
  r->table.rows[r->table.count - 1].seen_ms = NOW;
  return &r->table.rows[r->table.count - 1];
}

static void hold(watch_row *r, int64_t held_ms, int64_t left_ms)
{
  r->is_held = true;
  r->holders = 1;
  r->held_ms = held_ms;
  r->left_ms = left_ms;
  r->ttl_ms = 30000;
  r->pid = 811;
  memcpy(r->host, "shop-3", 7);
  memcpy(r->program, "worker", 7);
}

static top_reading three(void)
{
  top_reading r = { .at_ms = NOW, .is_up = true, .class_of = class_of };
  watch_row *row;

  watch_walk_begin(&r.table);
  row = add(&r, "orders:42");
  hold(row, 12000, 27900);
  row->waiters = 14;
  row->oldest_ms = 12400;
  row = add(&r, "render");
  hold(row, 151000, 9000);
  row->kind = DIBS_KIND_SEMAPHORE;
  row->holders = row->used = row->limit = 4;
  row = add(&r, "report");
  hold(row, 58 * 60000 + 2000, 2000);
  row->kind = DIBS_KIND_RWLOCK;
  watch_walk_end(&r.table);
  return r;
}

/* ---- the table ---- */

TEST(a_wide_line_has_all_that_is_known)
{
  top_reading r = three();

  r.classes = &orders;
  r.class_count = 1;
  draw(&r, 0);
  assert_string_equal(line(0),
                      "NAME       KIND    HELD BY                  SINCE  LEASE  WAIT  OLDEST"
                      "   /S    P50   P99");
  assert_string_equal(line(1),
                      "orders:42  lock    shop-3 (811 \"worker\")    12.0s  27.9s    14   12.4s"
                      "  310  2.1ms  48ms");
  assert_string_equal(line(2),
                      "report     rw      w shop-3 (811 \"worker\")  58:02   2.0s     0       -"
                      "    -      -     -");
  assert_string_equal(line(3),
                      "render     4 of 4  4 holders                 2:31   9.0s     0       -"
                      "    -      -     -");
  r.class_count = 0;
  draw(&r, 0);
  assert_null(strstr(line(0), "/S"));
  watch_free(&r.table);
}

TEST(colours_say_what_is_long)
{
  top_reading r = three();

  draw(&r, 0);
  assert_int_equal(style_at(0, "NAME"), TOP_HEAD);
  assert_int_equal(style_at(1, "12.4s"), TOP_WARN);
  assert_int_equal(style_at(1, "27.9s"), TOP_PLAIN);
  assert_int_equal(style_at(3, "9.0s"), TOP_WARN);
  assert_int_equal(style_at(2, "2.0s"), TOP_ALARM);
  r.table.rows[0].oldest_ms = 30000;
  draw(&r, 0);
  assert_int_equal(style_at(1, "30.0s"), TOP_ALARM);
  watch_free(&r.table);
}

TEST(a_short_line_keeps_the_name_and_how_many_wait)
{
  top_reading r = three();

  for (size_t columns = 200; columns >= 1; columns--) {
    draw(&r, columns);
    assert_true(width_seen <= columns);
    if (columns >= 20)
      assert_non_null(strstr(line(0), "WAIT"));
  }
  draw(&r, 80);
  assert_non_null(strstr(line(1), "27.9s"));
  draw(&r, 20);
  assert_string_equal(line(1), "orders:42    14");
  draw(&r, 8);
  assert_string_equal(line(1), "orders:~");
  watch_free(&r.table);
}

TEST(names_of_any_bytes_are_printable)
{
  top_reading r = { .at_ms = NOW, .class_of = class_of };
  watch_row *row;

  watch_walk_begin(&r.table);
  row = add(&r, "a\x1b[31m\n\xff\xe2\x80\xae");
  hold(row, 1, 1);
  memcpy(row->host, "h\x1b]0;t\a", 8);
  memcpy(row->program, "\r\n", 3);
  watch_walk_end(&r.table);
  draw(&r, 0);
  assert_non_null(strstr(line(1), "a\\x1b[31m\\x0a\\xff\\xe2\\x80\\xae"));
  assert_non_null(strstr(line(1), "h\\x1b]0;t\\x07 (811 \"\\x0d\\x0a\")"));
  watch_free(&r.table);
}

TEST(characters_count_as_the_cells_that_they_take)
{
  top_reading r = { .at_ms = NOW, .class_of = class_of };

  watch_walk_begin(&r.table);
  hold(add(&r, "gr\xc3\xbc\xc3\x9f" "e:\xe6\x97\xa5\xe6\x9c\xac\xe8\xaa\x9e:1234567890"), 1, 20000);
  watch_walk_end(&r.table);
  draw(&r, 18);
  assert_string_equal(line(1), "gr??e:???:1~     0");
  cells = two_beyond_ascii;
  draw(&r, 18);
  assert_string_equal(line(1), "gr????e:??~      0");
  draw(&r, 0);
  assert_memory_equal(screen[1], "gr????e:??????:1234567890  lock  ", 33);
  for (size_t columns = 1; columns < 80; columns++)
    draw(&r, columns);                             /* put() checks each cell */
  cells = NULL;
  watch_free(&r.table);
}

TEST(times_of_any_length_are_short)
{
  static const struct { int64_t us; const char *text; } times[] = {
    { -1, "-" }, { 0, "<0.1ms" }, { 400, "0.4ms" }, { 27000, "27ms" }, { 12400000, "12.4s" },
    { 151000000, "2:31" }, { 3723000000, "1:02:03" }, { 273900000000, "3d 04:05" },
    { INT64_MAX, "106751991d 04:00" },
  };

  for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++) {
    watch_text text = { 0 };

    watch_add_time(&text, times[i].us);
    assert_string_equal(text.bytes, times[i].text);
    watch_text_free(&text);
  }
}

/* ---- classes ---- */

static dibs_fleet fleet_of(dibs_fleet_row *row, const dibs_fleet_row **shown, int64_t at_us,
                           uint64_t granted, uint64_t lost)
{
  *shown = row;
  *row = (dibs_fleet_row){ .size = sizeof(*row), .class_name = "orders", .since_us = 1,
                           .holding = 1, .waiting = 2 };
  row->waits[DIBS_FLEET_OK].count = granted;
  row->waits[DIBS_FLEET_OK].buckets[0] = granted / 2;
  row->waits[DIBS_FLEET_OK].buckets[4] = granted - granted / 2;
  row->holds[DIBS_FLEET_LOST].count = row->holds[DIBS_FLEET_LOST].buckets[20] = lost;
  return (dibs_fleet){ .size = sizeof(dibs_fleet), .server_us = at_us, .count = 1,
                       .rows = shown };
}

TEST(rates_are_between_two_readings)
{
  dibs_fleet_row rows[2];
  const dibs_fleet_row *shown[2];
  dibs_fleet before = fleet_of(&rows[0], &shown[0], 5000000, 100, 3);
  dibs_fleet after = fleet_of(&rows[1], &shown[1], 25000000, 300, 4);
  size_t count = 0;
  watch_class *all = watch_classes(&before, &after, &count);

  assert_int_equal(count, 1);
  assert_true(all[0].has_rates);
  assert_true(all[0].granted > 9.99 && all[0].granted < 10.01);
  assert_true(all[0].lost > 2.99 && all[0].lost < 3.01);
  assert_int_equal(all[0].wait_p50_us, 100);
  assert_int_equal(all[0].wait_p99_us, 1600);
  assert_int_equal(all[0].hold_p99_us, -1);
  free(all);
}

TEST(without_an_earlier_reading_there_are_no_rates)
{
  dibs_fleet_row rows[2];
  const dibs_fleet_row *shown[2];
  dibs_fleet before = fleet_of(&rows[0], &shown[0], 20000000, 100, 3);
  dibs_fleet after = fleet_of(&rows[1], &shown[1], 25000000, 300, 4);
  dibs_fleet none = { .size = sizeof(none) };
  size_t count = 0;
  watch_class *all = watch_classes(NULL, &after, &count);
  top_reading r = { .classes = all, .class_count = count };

  assert_false(all[0].has_rates);
  assert_int_equal(all[0].waiting, 2);
  assert_true(top_lost(&r) < 0);
  free(all);
  all = watch_classes(&before, &after, &count);       /* too near to each other */
  assert_false(all[0].has_rates);
  free(all);
  assert_null(watch_classes(NULL, &none, &count));
  assert_int_equal(count, 0);
}

RUN_TESTS(NULL, NULL)
