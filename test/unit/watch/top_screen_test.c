/* SPDX-License-Identifier: MIT */
/* Unit: the screen of dibs top - what keys do, which name is chosen while the list changes, and
 * what is drawn on a screen of any size. */

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "watch/top.h"

#define NOW 100000
#define LINES 24
#define COLUMNS 100

/* ---- a screen of characters ---- */

static char cells[LINES][COLUMNS + 1];
static size_t lines = LINES, columns = COLUMNS, chosen_line;

static void put(const top_cell *cell, void *data)
{
  size_t at = cell->column;

  (void)data;
  assert_true(cell->line < lines);
  assert_true(cell->column + cell->width <= columns || cell->size > 0);
  if (cell->is_chosen)
    chosen_line = cell->line;
  for (size_t i = 0; i < cell->size; i++) {
    assert_true((unsigned char)cell->text[i] >= ' ');
    if (((unsigned char)cell->text[i] & 0xc0) == 0x80)
      continue;
    assert_true(at < columns);
    cells[cell->line][at++] = cell->text[i];
  }
}

static top_screen screen;
static top_reading reading;
static const char *about;

static void draw(void)
{
  for (size_t i = 0; i < LINES; i++) {
    memset(cells[i], ' ', COLUMNS);
    cells[i][COLUMNS] = 0;
  }
  chosen_line = TOP_NONE;
  top_screen_draw(&screen, &reading, about, NOW, lines, columns, put, NULL);
}

static bool shows(const char *text)
{
  for (size_t i = 0; i < LINES; i++) {
    if (strstr(cells[i], text) != NULL)
      return true;
  }
  return false;
}

static enum top_wish type(int key)
{
  enum top_wish wish = top_screen_key(&screen, key, NOW);

  draw();
  return wish;
}

static enum top_wish type_words(const char *words)
{
  enum top_wish wish = TOP_GOES_ON;

  for (; *words != 0; words++)
    wish = type(*words);
  return wish;
}

/* ---- readings ---- */

static bool class_of(const char *patterns, const char *name, size_t size,
                     char ret_name[WATCH_CLASS_SIZE])
{
  (void)patterns, (void)name, (void)size;
  ret_name[0] = 0;
  return false;
}

static void name_held(const char *name, uint64_t fence)
{
  watch_row *r;

  assert_true(watch_walk_name(&reading.table, name, strlen(name)));
  r = &reading.table.rows[reading.table.count - 1];
  *r = (watch_row){ .name = r->name, .size = r->size, .walk = r->walk, .is_seen = true,
                    .seen_ms = NOW, .is_held = true, .holders = 1, .held_ms = 1000,
                    .left_ms = 20000, .ttl_ms = 30000, .oldest_ms = 10,
                    .pid = 7, .host = "h", .fence = fence };
}

/* n-00, n-01 ... */
static void names_from(int first, int count)
{
  watch_free(&reading.table);
  watch_walk_begin(&reading.table);
  for (int i = first; i < first + count; i++) {
    char name[16];

    snprintf(name, sizeof(name), "n-%02d", i);
    name_held(name, 100 + (uint64_t)i);
  }
  watch_walk_end(&reading.table);
  reading.sums = watch_sum(&reading.table, NOW);
}

static int begin(void **state)
{
  (void)state;
  screen = (top_screen){ .order = WATCH_BY_NAME };
  reading = (top_reading){ .at_ms = NOW, .is_up = true, .good_ms = NOW, .round_trip_us = 300,
                           .servers = 3,
                           .when = "18:04:11", .url = "redis://locks:6379",
                           .class_of = class_of };
  lines = LINES;
  columns = COLUMNS;
  about = NULL;
  names_from(0, 50);
  draw();
  return 0;
}

static int end(void **state)
{
  (void)state;
  top_reading_free(&reading);
  return 0;
}

/* ---- tests ---- */

TEST(the_first_line_sums_up)
{
  assert_non_null(strstr(cells[0], "dibs top  3 servers ok  50 held  0 waiting  oldest -"
                                   "  lost/min -  18:04:11  redis://locks:6379"));
  assert_non_null(strstr(cells[1], "by name, 50 names"));
  assert_non_null(strstr(cells[LINES - 1], "q quit"));
}

TEST(the_server_is_cut_to_the_line)
{
  columns = 86;
  draw();
  assert_non_null(strstr(cells[0], "18:04:11  redis://"));
  assert_null(strstr(cells[0], "ping"));
  columns = 100;
  memcpy(reading.url, "redis://a", 10);
  draw();
  assert_non_null(strstr(cells[0], "18:04:11  redis://a  ping 0.3ms"));
  columns = 40;
  draw();
  assert_null(strstr(cells[0], "redis"));
}

TEST(keys_choose_a_name_and_the_page_follows)
{
  assert_string_equal(screen.chosen, "n-00");
  assert_int_equal(chosen_line, 3);
  type(TOP_KEY_DOWN);
  type('j');
  assert_string_equal(screen.chosen, "n-02");
  type('k');
  assert_string_equal(screen.chosen, "n-01");
  type(TOP_KEY_PAGE_DOWN);
  assert_string_equal(screen.chosen, "n-21");
  assert_int_equal(chosen_line, LINES - 2);
  type(TOP_KEY_END);
  assert_string_equal(screen.chosen, "n-49");
  type(TOP_KEY_DOWN);
  assert_string_equal(screen.chosen, "n-49");
  type(TOP_KEY_HOME);
  type(TOP_KEY_UP);
  assert_string_equal(screen.chosen, "n-00");
}

TEST(the_chosen_name_stays_while_the_list_changes)
{
  type(TOP_KEY_DOWN);
  type(TOP_KEY_DOWN);
  names_from(2, 3);
  draw();
  assert_string_equal(screen.chosen, "n-02");
  assert_int_equal(chosen_line, 3);
  names_from(3, 3);                    /* it is gone: the one in its place */
  draw();
  assert_string_equal(screen.chosen, "n-03");
  names_from(0, 0);
  draw();
  assert_int_equal(screen.chosen_size, 0);
  assert_int_equal(type(TOP_KEY_ENTER), TOP_GOES_ON);
  type('b');
  assert_int_equal(screen.input, TOP_KEYS);
}

TEST(a_break_has_to_be_confirmed_for_the_name_that_was_shown)
{
  type(TOP_KEY_DOWN);
  type('b');
  assert_true(shows("Two programs may believe"));
  assert_true(shows("type yes to break n-01: _"));
  names_from(7, 3);
  draw();
  assert_true(shows("type yes to break n-01: _"));
  type_words("yes");
  assert_true(shows(": yes_"));
  assert_int_equal(top_screen_key(&screen, TOP_KEY_ENTER, NOW), TOP_BREAKS);
  assert_string_equal(screen.chosen, "n-01");
  assert_int_equal(screen.chosen_fence, 101);
}

TEST(what_has_no_holder_or_several_is_not_broken)
{
  reading.table.rows[0].holders = 2;
  draw();
  type('b');
  assert_int_equal(screen.input, TOP_KEYS);
  assert_true(shows("only a single holder with a fence"));
}

TEST(anything_but_yes_breaks_nothing)
{
  static const char *const words[] = { "", "y", "Yes", "yesyes", "no" };

  for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
    type('b');
    type_words(words[i]);
    assert_int_equal(type(TOP_KEY_ENTER), TOP_GOES_ON);
    assert_true(shows("nothing was broken"));
  }
  type('b');
  type_words("yes");
  assert_int_equal(type(TOP_KEY_ESCAPE), TOP_GOES_ON);
  type('b');
  type_words("yess");
  type(TOP_KEY_ERASE);
  assert_int_equal(type(TOP_KEY_ENTER), TOP_BREAKS);
}

TEST(a_filter_shows_what_contains_it)
{
  type('/');
  type_words("-4");
  assert_true(shows("filter: -4_"));
  assert_true(shows("10 names with \"-4\""));
  assert_string_equal(screen.chosen, "n-40");
  assert_int_equal(type('q'), TOP_GOES_ON);        /* a character of the filter */
  assert_true(shows("0 names"));
  type(TOP_KEY_ERASE);
  type(TOP_KEY_ENTER);
  assert_true(shows("q quit"));
  type(TOP_KEY_ESCAPE);
  assert_true(shows("50 names"));
  type('/');
  type(0xfc);
  type(0x65e5);
  type(0x1f512);
  type(0x1b);
  type(0x85);
  assert_string_equal(screen.filter, "\xc3\xbc\xe6\x97\xa5\xf0\x9f\x94\x92");
  type(TOP_KEY_ERASE);
  type(TOP_KEY_ERASE);
  assert_string_equal(screen.filter, "\xc3\xbc");
  for (int i = 0; i < 200; i++)
    type('x');
  assert_true(strlen(screen.filter) < TOP_TYPED_SIZE);
}

TEST(sorting_goes_around)
{
  reading.table.rows[30].waiters = 1;
  type('s');
  assert_true(shows("by held"));
  type('s');
  assert_true(shows("by lease"));
  type('s');
  type(TOP_KEY_HOME);
  assert_true(shows("by wait"));
  assert_string_equal(screen.chosen, "n-30");
}

TEST(one_name_is_looked_at)
{
  type(TOP_KEY_DOWN);
  assert_int_equal(type(TOP_KEY_ENTER), TOP_LOOKS);
  assert_true(shows("reading ..."));
  about = "n-01\n\nheld by     h (pid 7)\n1\n2\n3\n4\n5\n6\n7\n8\n9\nlast\n";
  draw();
  assert_true(shows("held by     h (pid 7)"));
  assert_false(shows("names"));
  lines = 8;
  draw();
  assert_false(shows("last"));
  type(TOP_KEY_END);
  assert_true(shows("last"));
  assert_false(shows("held by"));
  type(TOP_KEY_UP);
  assert_false(shows("last"));
  assert_string_equal(screen.chosen, "n-01");
  lines = LINES;
  assert_int_equal(type('q'), TOP_GOES_ON);
  assert_string_equal(screen.chosen, "n-01");
  assert_true(shows("HELD BY"));
  type('?');
  assert_true(shows("Yellow"));
  assert_int_equal(type('q'), TOP_GOES_ON);
  assert_int_equal(type('q'), TOP_ENDS);
}

TEST(a_pause_stops_the_clock)
{
  type('p');
  assert_true(shows("paused"));
  reading.at_ms += 60000;
  assert_int_equal(screen.paused_ms, NOW);
  type('p');
  assert_int_equal(screen.paused_ms, 0);
}

TEST(without_an_answer_the_last_reading_stays)
{
  reading.is_up = false;
  reading.good_ms = NOW - 12300;
  memcpy(reading.error, "refused\x1b[2J", 12);          /* of a recording it may be anything */
  draw();
  assert_true(shows("NO READING"));
  assert_true(shows("no reading for 12.3s: refused\\x1b[2J"));
  assert_true(shows("n-00"));
}

TEST(servers_that_are_down_are_in_the_first_line)
{
  reading.servers_down = 1;
  memcpy(reading.server_down, "redis://b\n", 11);        /* of a recording it may be anything */
  draw();
  assert_non_null(strstr(cells[0], "dibs top  2 of 3 servers ok, not redis://b\\x0a  50 held"));
  reading.servers_down = 2;
  draw();
  assert_non_null(strstr(cells[0], "1 of 3 servers ok, not redis://b\\x0a and 1 more  50 held"));
  reading.is_up = false;
  draw();
  assert_non_null(strstr(cells[0], "dibs top  NO READING  1 of 3 servers ok, not redis://b"));
  reading.servers = reading.servers_down = 1;             /* the second line says why */
  draw();
  assert_non_null(strstr(cells[0], "dibs top  NO READING  50 held"));
  reading.is_up = true;
  reading.servers = reading.servers_down = 0;             /* of a recording before 0.6 */
  draw();
  assert_non_null(strstr(cells[0], "dibs top  50 held"));
}

TEST(messages_are_printable_and_end)
{
  top_screen_say(&screen, "broke \x1b[31m", NOW);
  draw();
  assert_true(shows("broke \\x1b[31m"));
  top_screen_say(&screen, "stale", NOW - 20000);
  draw();
  assert_false(shows("stale"));
}

TEST(a_recording_is_stepped_through_and_breaks_nothing)
{
  screen.recorded = 40;
  screen.number = 16;
  draw();
  assert_true(shows("reading 17 of 40"));
  assert_true(shows("Left Right step"));
  assert_int_equal(type(TOP_KEY_RIGHT), TOP_STEPS);
  assert_int_equal(screen.step, 1);
  assert_int_equal(type('['), TOP_STEPS);
  assert_int_equal(screen.step, -30);
  type('b');
  assert_int_equal(screen.input, TOP_KEYS);
  assert_true(shows("this is a recording"));
  assert_int_equal(type(TOP_KEY_ENTER), TOP_GOES_ON);
  assert_int_equal(screen.view, TOP_NAMES);
  type('g');
  assert_true(shows("go to HH:MM"));
  type_words("03:12");
  assert_int_equal(type(TOP_KEY_ENTER), TOP_SEEKS);
  assert_string_equal(screen.typed, "03:12");
  type('g');
  type_words("03");
  assert_int_equal(type(TOP_KEY_ESCAPE), TOP_GOES_ON);
  assert_int_equal(type('q'), TOP_ENDS);
}

static size_t two(const char *character, size_t size)
{
  (void)character;
  return size > 1 ? 2 : 1;
}

static size_t last_width, last_size;

static void keep_keys(const top_cell *cell, void *data)
{
  (void)data;
  assert_true(cell->size == 0 || watch_width(cell->text, cell->size, two) <= cell->width);
  if (cell->line == 9) {
    last_width = cell->width;
    last_size = cell->size;
  }
}

TEST(wide_characters_fit_the_line)
{
  top_screen s = { .cells = two, .input = TOP_FILTER, .shows_free = true };
  top_reading r = { .at_ms = NOW, .is_up = true };

  for (size_t i = 0; i < 10; i++)
    memcpy(s.typed + 3 * i, "\xe6\x94\xaf", 4);
  watch_walk_begin(&r.table);
  assert_true(watch_walk_name(&r.table, s.typed, 30));
  watch_walk_end(&r.table);
  top_screen_draw(&s, &r, NULL, NOW, 10, 20, keep_keys, NULL);
  assert_int_equal(last_width, 20);
  assert_int_equal(last_size, strlen("filter: ") + 6 * 3);
  top_screen_draw(&s, &r, NULL, NOW, 10, 19, keep_keys, NULL);
  assert_int_equal(last_width, 18);
  s.input = TOP_KEYS;
  top_screen_draw(&s, &r, NULL, NOW, 10, 60, keep_keys, NULL);
  assert_int_equal(s.chosen_size, 30);
  s.input = TOP_CONFIRM;
  s.typed[0] = 0;
  top_screen_draw(&s, &r, NULL, NOW, 10, 60, keep_keys, NULL);
  assert_int_equal(last_width, strlen("type yes to break ") + 2 * 6 + strlen("~: _"));
  watch_free(&r.table);
}

TEST(a_screen_of_any_size_is_drawn)
{
  static const int keys[] = { 'b', TOP_KEY_ESCAPE, '/', TOP_KEY_ESCAPE, '?', 'q', TOP_KEY_ENTER,
                              'q', TOP_KEY_END, TOP_KEY_HOME };

  about = "n-00\n\nheld by  h\n";
  for (lines = 1; lines <= LINES; lines++) {
    for (columns = 1; columns <= COLUMNS; columns += columns < 30 ? 1 : 10) {
      draw();
      for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
        type(keys[i]);
    }
  }
}

RUN_TESTS_EACH(NULL, NULL, begin, end)
