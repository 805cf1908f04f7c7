/* SPDX-License-Identifier: MIT */
/* watch/top_table.c - the names of a reading as a table. */
#include <stdlib.h>
#include <string.h>

#include "watch/top.h"

#define LONG_WAIT_MS 5000
#define ALARMING_WAIT_MS 30000
#define SPACE 2              /* between columns */
#define NAME_LEAST 12        /* what they are cut to before a column is left out */
#define HOLDER_LEAST 20

/* Column, title, to the right, and its place when the line is too short for all: the last goes
 * first. */
#define COLUMNS(ROW) \
  ROW(NAME, "NAME", false, 0) \
  ROW(KIND, "KIND", false, 6) \
  ROW(BY, "HELD BY", false, 3) \
  ROW(SINCE, "SINCE", true, 4) \
  ROW(LEASE, "LEASE", true, 5) \
  ROW(WAIT, "WAIT", true, 1) \
  ROW(OLDEST, "OLDEST", true, 2) \
  ROW(RATE, "/S", true, 7) \
  ROW(P50, "P50", true, 9) \
  ROW(P99, "P99", true, 8)

#define COLUMN_ID(id, title, is_right, place) COLUMN_##id,
enum column { COLUMNS(COLUMN_ID) COLUMN_COUNT };
#undef COLUMN_ID

#define COLUMN_ROW(id, title, is_right, place) { title, is_right, place },
static const struct column_row {
  const char *title;
  bool is_right;
  int place;
} columns[] = { COLUMNS(COLUMN_ROW) };
#undef COLUMN_ROW

/* ---- readings ---- */

void top_reading_free(top_reading *r)
{
  watch_free(&r->table);
  free(r->classes);
  free(r->patterns);
  *r = (top_reading){ 0 };
}

void top_servers(const top_reading *r, watch_text *out)
{
  if (r->servers == 0)
    return;
  if (r->servers_down > 0)
    watch_add(out, "%u of ", r->servers - r->servers_down);
  watch_add(out, "%u server%s ok", r->servers, r->servers == 1 ? "" : "s");
  if (r->servers_down == 0)
    return;
  watch_add(out, ", not ");
  watch_add_safe(out, r->server_down, strlen(r->server_down));
  if (r->servers_down > 1)
    watch_add(out, " and %u more", r->servers_down - 1);
}

const watch_class *top_class(const top_reading *r, const watch_row *row)
{
  char name[WATCH_CLASS_SIZE];

  if (r->class_count == 0 || r->class_of == NULL)
    return NULL;
  (void)r->class_of(r->patterns, row->name, row->size, name);
  for (size_t i = 0; i < r->class_count; i++) {
    if (r->classes[i].kind == row->kind && strcmp(r->classes[i].name, name) == 0)
      return &r->classes[i];
  }
  return NULL;
}

double top_lost(const top_reading *r)
{
  double lost = 0;

  for (size_t i = 0; i < r->class_count; i++) {
    if (!r->classes[i].has_rates)
      return -1;
    lost += r->classes[i].lost;
  }
  return r->class_count == 0 ? -1 : lost;
}

static bool has_rates(const top_reading *r)
{
  for (size_t i = 0; i < r->class_count; i++) {
    if (r->classes[i].has_rates)
      return true;
  }
  return false;
}

/* ---- cells ---- */

static void add_kind(watch_text *out, const watch_row *r)
{
  if (r->kind == DIBS_KIND_SEMAPHORE)
    watch_add(out, "%u of %u", r->used, r->limit);
  else
    watch_add(out, "%s", r->kind == DIBS_KIND_RWLOCK ? "rw" : "lock");
}

static void add_party(watch_text *out, const watch_row *r)
{
  if (r->host[0] == 0) {
    watch_add(out, "unnamed client");
    return;
  }
  watch_add_safe(out, r->host, strlen(r->host));
  watch_add(out, " (%lld", (long long)r->pid);
  if (r->program[0] != 0) {
    watch_add(out, " \"");
    watch_add_safe(out, r->program, strlen(r->program));
    watch_add(out, "\"");
  }
  watch_add(out, ")");
}

static void add_holder(watch_text *out, const watch_row *r)
{
  bool is_rw = r->kind == DIBS_KIND_RWLOCK;

  if (!r->is_seen) {
    watch_add(out, "?");
  } else if (r->holders == 0) {
    watch_add(out, "-");
  } else if (r->holders > 1) {
    watch_add(out, "%zu %s", r->holders, is_rw ? "readers" : "holders");
  } else {
    watch_add(out, "%s", is_rw ? r->mode == DIBS_MODE_READ ? "r " : "w " : "");
    add_party(out, r);
  }
}

static void add_rate(watch_text *out, double rate)
{
  watch_add(out, rate > 0 && rate < 10 ? "%.1f" : "%.0f", rate);
}

static void add_cell(watch_text *out, enum column c, const top_table *t, const watch_row *r)
{
  const watch_class *class = c >= COLUMN_RATE ? top_class(t->reading, r) : NULL;

  switch (c) {
  case COLUMN_NAME:
    watch_add_safe(out, r->name, r->size);
    break;
  case COLUMN_KIND:
    add_kind(out, r);
    break;
  case COLUMN_BY:
    add_holder(out, r);
    break;
  case COLUMN_SINCE:
    watch_add_time(out, r->is_held ? 1000 * watch_held_ms(r, t->now_ms) : -1);
    break;
  case COLUMN_LEASE:
    watch_add_time(out, r->is_held ? 1000 * watch_left_ms(r, t->now_ms) : -1);
    break;
  case COLUMN_WAIT:
    watch_add(out, "%zu", r->waiters);
    break;
  case COLUMN_OLDEST:
    watch_add_time(out, r->waiters > 0 ? 1000 * watch_oldest_ms(r, t->now_ms) : -1);
    break;
  default:
    if (class == NULL || !class->has_rates)
      watch_add(out, "-");
    else if (c == COLUMN_RATE)
      add_rate(out, class->granted);
    else
      watch_add_time(out, c == COLUMN_P50 ? class->wait_p50_us : class->wait_p99_us);
  }
}

enum top_style top_wait_style(int64_t ms)
{
  return ms >= ALARMING_WAIT_MS ? TOP_ALARM : ms >= LONG_WAIT_MS ? TOP_WARN : TOP_PLAIN;
}

static enum top_style style_of(enum column c, const watch_row *r, int64_t now_ms)
{
  int64_t left = watch_left_ms(r, now_ms);

  if (c == COLUMN_WAIT || c == COLUMN_OLDEST)
    return r->waiters > 0 ? top_wait_style(watch_oldest_ms(r, now_ms)) : TOP_FAINT;
  if (c == COLUMN_LEASE && r->is_held && left < r->ttl_ms / 3)
    return left < r->ttl_ms / 10 ? TOP_ALARM : TOP_WARN;
  return r->is_held || c == COLUMN_NAME ? TOP_PLAIN : TOP_FAINT;
}

/* ---- widths ---- */

static void measure(const top_table *t, size_t ret_widths[COLUMN_COUNT])
{
  watch_text text = { 0 };

  for (enum column c = 0; c < COLUMN_COUNT; c++) {
    size_t width = strlen(columns[c].title);

    for (size_t i = 0; i < t->count; i++) {
      size_t one;

      text.used = 0;
      add_cell(&text, c, t, t->rows[i]);
      one = watch_width(text.bytes, text.used, t->cells);
      width = one > width ? one : width;
    }
    ret_widths[c] = c >= COLUMN_RATE && !has_rates(t->reading) ? 0 : width;
  }
  watch_text_free(&text);
}

static size_t sum(const size_t widths[COLUMN_COUNT])
{
  size_t all = 0;

  for (enum column c = 0; c < COLUMN_COUNT; c++)
    all += widths[c] == 0 ? 0 : widths[c] + SPACE;
  return all < SPACE ? 0 : all - SPACE;
}

/* Takes from a column what is too much, but leaves `least`. */
static void shrink(size_t widths[COLUMN_COUNT], enum column c, size_t least, size_t room)
{
  size_t over = sum(widths) > room ? sum(widths) - room : 0;

  if (widths[c] > least)
    widths[c] = widths[c] - least < over ? least : widths[c] - over;
}

/* Leaves columns out until the rest fits with short names and holders; then cuts these. */
static void fit(size_t widths[COLUMN_COUNT], size_t room)
{
  for (int place = COLUMN_COUNT - 1; place > 0; place--) {
    size_t least[COLUMN_COUNT];

    memcpy(least, widths, sizeof(least));
    shrink(least, COLUMN_NAME, NAME_LEAST, 0);
    shrink(least, COLUMN_BY, HOLDER_LEAST, 0);
    for (enum column c = 0; c < COLUMN_COUNT && sum(least) > room; c++)
      widths[c] = columns[c].place == place ? 0 : widths[c];
  }
  shrink(widths, COLUMN_NAME, room / 3 > NAME_LEAST ? room / 3 : NAME_LEAST, room);
  shrink(widths, COLUMN_BY, HOLDER_LEAST, room);
  shrink(widths, COLUMN_NAME, 1, room);
}

/* ---- lines ---- */

static void put_text(const top_table *t, top_cell *cell, enum column c, watch_text *text,
                     top_put put, void *data)
{
  size_t width = watch_width(text->bytes, text->used, t->cells), column = cell->column;

  if (width > cell->width) {
    text->used = watch_cut(text->bytes, text->used, cell->width - 1, t->cells);
    watch_add(text, "%c", '~');
  } else if (columns[c].is_right) {
    cell->column += cell->width - width;
    cell->width = width;
  }
  cell->text = text->bytes;
  cell->size = text->used;
  if (text->used > 0)
    put(cell, data);
  cell->column = column;
}

void top_table_draw(const top_table *t, top_put put, void *data)
{
  size_t widths[COLUMN_COUNT];
  watch_text text = { 0 };

  measure(t, widths);
  if (t->columns > 0)
    fit(widths, t->columns);
  for (size_t i = 0; i <= t->count; i++) {
    const watch_row *r = i == 0 ? NULL : t->rows[i - 1];
    bool is_chosen = r != NULL && i - 1 == t->chosen;
    size_t column = 0;

    if (is_chosen)
      put(&(top_cell){ .line = t->line + i, .width = t->columns, .is_chosen = true, .text = "" },
          data);
    for (enum column c = 0; c < COLUMN_COUNT; c++) {
      top_cell cell = { .line = t->line + i, .column = column, .width = widths[c],
                        .is_chosen = is_chosen };

      if (widths[c] == 0)
        continue;
      text.used = 0;
      if (r == NULL)
        watch_add(&text, "%s", columns[c].title);
      else
        add_cell(&text, c, t, r);
      cell.style = r == NULL ? TOP_HEAD : style_of(c, r, t->now_ms);
      put_text(t, &cell, c, &text, put, data);
      column += widths[c] + SPACE;
    }
  }
  watch_text_free(&text);
}
