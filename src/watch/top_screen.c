/* SPDX-License-Identifier: MIT */
/* watch/top_screen.c - the screen of dibs top: what is drawn. */
#include <stdlib.h>
#include <string.h>

#include "watch/top.h"

static const char keys_help[] =
  "Enter look  s sort  / filter  a free  b break  p pause  ? help  q quit";

static const char recording_help[] =
  "Left Right step  [ ] 30 steps  g go to a time  p pause  s sort  / filter  ? help  q quit";

static const char help[] =
  "Up Down PgUp PgDn Home End, k j   choose a name\n"
  "Enter    its holders, its queue, what they wait for, and its history; Esc goes back\n"
  "s        sort by " WATCH_ORDER_WORDS "\n"
  "/        show only names that contain a text; Enter ends, Esc shows all\n"
  "a        show free names, too\n"
  "b        break the chosen lock; asks first\n"
  "p        pause, and go on\n"
  "q        quit\n"
  "In a recording: Left Right one reading, [ ] thirty, g to a time\n"
  "\n"
  "SINCE is that of the oldest holder, LEASE what is left of the shortest lease.\n"
  "/S, P50, P99: grants per second and their waits in the last minute, of all names of the\n"
  "class. They appear after ten seconds.\n"
  "Yellow: waited for 5s, or under a third of the lease is left. Red: waited for 30s, or\n"
  "under a tenth is left.\n";

static const char reading[] = "reading ...\n";

/* ---- lines ---- */

typedef struct page {
  const top_reading *reading;
  int64_t now_ms, clock_ms;  /* the time that is shown, and the present one */
  size_t lines, columns;
  watch_cells *cells;
  top_put put;
  void *data;
} page;

/* Returns the column after it. */
static size_t put_text(const page *p, size_t line, size_t column, enum top_style style,
                       const char *text, size_t size)
{
  top_cell cell = { .line = line, .column = column, .style = style, .text = text };

  if (column < p->columns)
    cell.size = watch_cut(text, size, p->columns - column, p->cells);
  cell.width = watch_width(text, cell.size, p->cells);
  if (cell.size > 0)
    p->put(&cell, p->data);
  return column + cell.width;
}

static size_t put_words(const page *p, size_t line, size_t column, enum top_style style,
                        const char *words)
{
  return put_text(p, line, column, style, words, strlen(words));
}

/* The next part of the first line, if all of it fits. */
static size_t put_part(const page *p, size_t column, enum top_style style, watch_text *text)
{
  if (text->used > 0 && column + 2 + text->used <= p->columns)
    column = put_text(p, 0, column + 2, style, text->bytes, text->used);
  text->used = 0;
  return column;
}

static void draw_sums(const page *p)
{
  const top_reading *r = p->reading;
  int64_t oldest = r->sums.waiting > 0 ? r->sums.oldest_ms + p->now_ms - r->at_ms : -1;
  double lost = top_lost(r);
  watch_text text = { 0 };
  size_t column = put_words(p, 0, 0, TOP_HEAD, "dibs top");

  if (!r->is_up) {
    watch_add(&text, "NO READING");
    column = put_part(p, column, TOP_ALARM, &text);
  }
  /* One server that is down: the line below has the reason. */
  if (r->is_up || r->servers > 1)
    top_servers(r, &text);
  column = put_part(p, column, r->servers_down > 0 ? TOP_ALARM : TOP_PLAIN, &text);
  watch_add(&text, "%zu held", r->sums.held);
  column = put_part(p, column, TOP_PLAIN, &text);
  watch_add(&text, "%zu waiting", r->sums.waiting);
  column = put_part(p, column, TOP_PLAIN, &text);
  watch_add(&text, "oldest ");
  watch_add_time(&text, 1000 * oldest);
  column = put_part(p, column, top_wait_style(oldest), &text);
  watch_add(&text, "lost/min ");
  if (lost < 0)
    watch_add(&text, "-");
  else
    watch_add(&text, "%.0f", lost);
  column = put_part(p, column, lost > 0 ? TOP_ALARM : TOP_PLAIN, &text);
  watch_add(&text, "%s", r->when);
  column = put_part(p, column, TOP_PLAIN, &text);
  watch_add_safe(&text, r->url, strlen(r->url));
  if (text.used > 0 && column + 10 <= p->columns)  /* what fits of it */
    column = put_text(p, 0, column + 2, TOP_FAINT, text.bytes, text.used);
  text.used = 0;
  if (r->is_up) {
    watch_add(&text, "ping ");
    watch_add_time(&text, (int64_t)r->round_trip_us);
  }
  (void)put_part(p, column, TOP_FAINT, &text);
  watch_text_free(&text);
}

/* Why the rest is not as usual, or how it is chosen. */
static void draw_note(const page *p, const top_screen *s, size_t count)
{
  const top_reading *r = p->reading;
  watch_text text = { 0 };
  enum top_style style = TOP_WARN;

  if (s->input == TOP_CONFIRM) {
    watch_add(&text, "Two programs may believe for a moment that they hold it.");
  } else if (!r->is_up) {
    watch_add(&text, "no reading");
    if (r->good_ms != 0) {
      watch_add(&text, " for ");
      watch_add_time(&text, 1000 * (p->now_ms - r->good_ms));
    }
    watch_add(&text, ": ");
    watch_add_safe(&text, r->error, strlen(r->error));
    style = TOP_ALARM;
  } else if (s->message_ms > p->clock_ms) {
    watch_add(&text, "%s", s->message);
  } else if (s->recorded > 0) {
    watch_add(&text, "reading %zu of %zu%s", s->number + 1, s->recorded,
              s->paused_ms != 0 ? ", paused; p goes on" : "");
  } else if (s->paused_ms != 0) {
    watch_add(&text, "paused; p goes on");
  } else if (s->view == TOP_NAMES) {
    watch_add(&text, "by %s, %zu name%s", watch_order_words[s->order], count,
              count == 1 ? "" : "s");
    if (s->filter[0] != 0) {
      watch_add(&text, " with \"");
      watch_add_safe(&text, s->filter, strlen(s->filter));
      watch_add(&text, "\"");
    }
    if (r->sums.not_seen > 0)
      watch_add(&text, ", %zu not inspected yet", r->sums.not_seen);
    style = TOP_FAINT;
  }
  if (text.used > 0)
    put_text(p, 1, 0, style, text.bytes, text.used);
  watch_text_free(&text);
}

static void draw_keys(const page *p, const top_screen *s)
{
  watch_text text = { 0 };
  size_t line = p->lines - 1;

  if (s->input == TOP_KEYS) {
    put_words(p, line, 0, TOP_FAINT,
              s->view != TOP_NAMES ? "Esc back  Up Down scroll"
              : s->recorded > 0    ? recording_help
                                   : keys_help);
    return;
  }
  if (s->input == TOP_CONFIRM) {
    watch_add(&text, "type yes to break ");
    watch_add_safe(&text, s->chosen, s->chosen_size);
    if (watch_width(text.bytes, text.used, p->cells) > p->columns / 2) {
      /* Keeps room for the answer. */
      text.used = watch_cut(text.bytes, text.used, p->columns / 2, p->cells);
      watch_add(&text, "~");
    }
  } else {
    watch_add(&text, s->input == TOP_FILTER ? "filter" : "go to HH:MM, or YYYY-MM-DD HH:MM");
  }
  watch_add(&text, ": ");
  watch_add_safe(&text, s->typed, strlen(s->typed));
  watch_add(&text, "_");
  put_text(p, line, 0, TOP_HEAD, text.bytes, text.used);
  watch_text_free(&text);
}

/* ---- views ---- */

static size_t place_of_chosen(const top_screen *s, const watch_row *const *rows, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    if (rows[i]->size == s->chosen_size && memcmp(rows[i]->name, s->chosen, s->chosen_size) == 0)
      return i;
  }
  return TOP_NONE;
}

/* The row that is chosen now, and the page that shows it. */
static void choose(top_screen *s, const watch_row *const *rows, size_t count)
{
  size_t place = s->is_moved ? TOP_NONE : place_of_chosen(s, rows, count);

  if (place != TOP_NONE)
    s->place = place;
  s->is_moved = false;
  if (s->place >= count)
    s->place = count > 0 ? count - 1 : 0;
  s->chosen_size = count > 0 && rows[s->place]->size <= DIBS_NAME_MAX ? rows[s->place]->size : 0;
  if (s->chosen_size > 0)
    memcpy(s->chosen, rows[s->place]->name, s->chosen_size);
  s->chosen[s->chosen_size] = 0;
  s->chosen_fence = count > 0 && rows[s->place]->holders == 1 ? rows[s->place]->fence : 0;
  if (s->first > s->place)
    s->first = s->place;
  if (s->place >= s->first + s->page)
    s->first = s->place - s->page + 1;
}

static void draw_names(const page *p, top_screen *s, size_t line, size_t room, size_t *ret_count)
{
  const watch_row **rows = malloc((p->reading->table.count + 1) * sizeof(const watch_row *));
  size_t count = rows == NULL ? 0 : watch_select(&p->reading->table, s->order, s->filter,
                                                 s->shows_free, p->now_ms, rows);
  size_t shown, chosen;

  s->page = room > 1 ? room - 1 : 1;
  /* What is asked about stays the same while the list changes. */
  if (s->input != TOP_CONFIRM)
    choose(s, rows, count);
  if (s->first >= count)
    s->first = 0;
  shown = count - s->first < s->page ? count - s->first : s->page;
  chosen = place_of_chosen(s, rows, count);
  if (room > 1 && rows != NULL)
    top_table_draw(&(top_table){ .reading = p->reading, .rows = rows + s->first, .count = shown,
                                 .now_ms = p->now_ms, .line = line, .columns = p->columns,
                                 .cells = p->cells,
                                 .chosen = chosen == TOP_NONE ? TOP_NONE : chosen - s->first },
                   p->put, p->data);
  free(rows);
  *ret_count = count;
}

static size_t lines_of(const char *text)
{
  size_t lines = 0;

  for (; *text != 0; text++)
    lines += *text == '\n';
  return lines;
}

static void draw_lines(const page *p, top_screen *s, size_t line, size_t room, const char *text)
{
  size_t count = lines_of(text), at = 0;

  s->page = room > 0 ? room : 1;
  if (s->is_moved)
    s->first = s->place;
  s->is_moved = false;
  if (s->first + room > count)
    s->first = count > room ? count - room : 0;
  s->place = s->first;
  for (; *text != 0 && at < s->first + room; at++) {
    size_t size = strcspn(text, "\n");

    if (at >= s->first)
      put_text(p, line + at - s->first, 0, TOP_PLAIN, text, size);
    text += size + (text[size] != 0);
  }
}

void top_screen_draw(top_screen *s, const top_reading *r, const char *about, int64_t now_ms,
                     size_t lines, size_t columns, top_put put, void *data)
{
  page p = { .reading = r, .now_ms = s->paused_ms != 0 ? s->paused_ms : now_ms,
             .clock_ms = now_ms, .lines = lines, .columns = columns, .cells = s->cells,
             .put = put, .data = data };
  bool has_note = lines >= 5, has_keys = lines >= 4 || s->input != TOP_KEYS;
  size_t line = has_note ? 2 : 1, below = line + has_keys, count = 0;
  size_t room = lines > below ? lines - below : 0;

  if (lines == 0 || columns == 0)
    return;
  if (s->recorded > 0)
    p.now_ms = r->at_ms;
  draw_sums(&p);
  if (s->view == TOP_NAMES)
    draw_names(&p, s, line, room, &count);
  else
    draw_lines(&p, s, line, room, s->view == TOP_HELP ? help : about != NULL ? about : reading);
  if (has_note)
    draw_note(&p, s, count);
  if (has_keys && lines > 1)
    draw_keys(&p, s);
}
