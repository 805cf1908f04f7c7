/* SPDX-License-Identifier: MIT */
/* fleet/read.c - the totals and gauges that servers have, as rows. What another program may have
 * written there is passed over. */
#include "fleet/parts.h"

#include <stdlib.h>
#include <string.h>

void fleet_reading_deinit(fleet_reading *r)
{
  for (size_t i = 0; i < r->fleet.count; i++)
    mem_free(&r->memory, (char *)(uintptr_t)r->rows[i].class_name);
  mem_free(&r->memory, r->rows);
  mem_free(&r->memory, r->shown);
  r->rows = NULL;
  r->shown = NULL;
  r->fleet.count = r->room = 0;
}

static bool is_same(const dibs_fleet_row *row, const char *name, size_t size, dibs_kind kind)
{
  return row->kind == kind && strlen(row->class_name) == size &&
         memcmp(row->class_name, name, size) == 0;
}

/* NULL: no memory. */
static dibs_fleet_row *row_get(fleet_reading *r, const char *name, size_t size, dibs_kind kind)
{
  dibs_fleet_row *row;
  char *copy;

  for (size_t i = 0; i < r->fleet.count; i++)
    if (is_same(&r->rows[i], name, size, kind))
      return &r->rows[i];
  if (r->fleet.count == r->room) {
    size_t room = r->room == 0 ? 8 : 2 * r->room;

    row = mem_realloc(&r->memory, r->rows, room * sizeof(*row));
    if (row == NULL)
      return NULL;
    r->rows = row;
    r->room = room;
  }
  copy = mem_copy(&r->memory, name, size);
  if (copy == NULL)
    return NULL;
  row = &r->rows[r->fleet.count++];
  *row = (dibs_fleet_row){ .size = sizeof(*row), .class_name = copy, .kind = kind };
  return row;
}

static bool kind_of(char letter, dibs_kind *ret_kind)
{
  const char *at = letter != 0 ? strchr(fleet_kind_letters, letter) : NULL;

  if (at == NULL)
    return false;
  *ret_kind = (dibs_kind)(at - fleet_kind_letters);
  return true;
}

/* Cuts the next word up to `end`. */
static bool cut(const char **at, size_t *left, char end, const char **ret_word, size_t *ret_size)
{
  const char *stop;

  if (*left == 0)
    return false;
  stop = memchr(*at, end, *left);
  *ret_word = *at;
  *ret_size = stop == NULL ? *left : (size_t)(stop - *at);
  *at += *ret_size + (stop != NULL);
  *left -= *ret_size + (stop != NULL);
  return true;
}

static void raise_to(uint64_t *value, uint64_t other)
{
  *value = *value < other ? other : *value;
}

/* `s:1234 0:5 3:1` */
static void times_read(dibs_fleet_times *t, const resp_node *value)
{
  const char *at = value->bytes, *word, *key;
  size_t left = value->size, size, key_size;
  uint64_t bucket, number;

  while (cut(&at, &left, ' ', &word, &size)) {
    if (!cut(&word, &size, ':', &key, &key_size) || !text_to_uint(word, size, &number))
      continue;
    if (key_size == 1 && key[0] == 's')
      raise_to(&t->sum_us, number);
    else if (text_to_uint(key, key_size, &bucket) && bucket < DIBS_FLEET_BUCKETS)
      raise_to(&t->buckets[bucket], number);
  }
  t->count = 0;
  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++)
    t->count += t->buckets[i];
}

/* `mw0`: kind, waits or holds, which. */
static bool field_read(fleet_reading *r, const char *name, size_t size, const resp_node *field,
                       const resp_node *value)
{
  dibs_fleet_row *row;
  dibs_kind kind;
  bool waits;
  unsigned which;

  if (field->kind != RESP_STRING || value->kind != RESP_STRING || field->size != 3 ||
      !kind_of(field->bytes[0], &kind))
    return true;
  waits = field->bytes[1] == 'w';
  which = (unsigned)(unsigned char)field->bytes[2] - '0';
  if ((!waits && field->bytes[1] != 'h') ||
      which >= (waits ? (unsigned)DIBS_FLEET_WAITS : (unsigned)DIBS_FLEET_ENDS))
    return true;
  row = row_get(r, name, size, kind);
  if (row == NULL)
    return false;
  times_read(waits ? &row->waits[which] : &row->holds[which], value);
  return true;
}

static void since_set(fleet_reading *r, const char *name, size_t size, uint64_t since)
{
  for (size_t i = 0; i < r->fleet.count; i++)
    for (int kind = 0; kind < FLEET_KINDS; kind++)
      if (is_same(&r->rows[i], name, size, (dibs_kind)kind) &&
          (r->rows[i].since_us == 0 || (uint64_t)r->rows[i].since_us > since))
        r->rows[i].since_us = (int64_t)since;
}

bool fleet_read_totals(fleet_reading *r, const char *class_name, size_t size,
                       const resp_reply *reply)
{
  const resp_node *root = resp_root(reply), *field, *value;
  uint64_t since = 0;

  if (!fleet_class_is_possible(class_name, size))
    return true;
  for (size_t i = 0; (field = resp_child(reply, root, i)) != NULL &&
                     (value = resp_child(reply, root, i + 1)) != NULL; i += 2) {
    if (!field_read(r, class_name, size, field, value))
      return false;
    if (field->kind == RESP_STRING && field->size == 5 && memcmp(field->bytes, "since", 5) == 0 &&
        value->kind == RESP_STRING)
      (void)text_to_uint(value->bytes, value->size, &since);
  }
  since_set(r, class_name, size, since);
  return true;
}

bool fleet_read_gauges(fleet_reading *r, const resp_node *gauges)
{
  const char *at = gauges->bytes, *line, *word;
  size_t left = gauges->size, size, word_size;
  uint64_t holding, waiting;
  dibs_fleet_row *row;
  dibs_kind kind;

  while (cut(&at, &left, '\n', &line, &size)) {
    if (!cut(&line, &size, ' ', &word, &word_size) || word_size != 1 || !kind_of(word[0], &kind) ||
        !cut(&line, &size, ' ', &word, &word_size) || !text_to_uint(word, word_size, &holding) ||
        !cut(&line, &size, ' ', &word, &word_size) || !text_to_uint(word, word_size, &waiting) ||
        !fleet_class_is_possible(line, size))
      continue;
    row = row_get(r, line, size, kind);
    if (row == NULL)
      return false;
    row->holding += holding;
    row->waiting += waiting;
  }
  return true;
}

/* ---- this client ---- */

static void times_add_series(dibs_fleet_times *t, const series *s)
{
  t->sum_us += s->sum_us;
  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++) {
    t->buckets[i] += s->buckets[i];
    t->count += s->buckets[i];
  }
}

static void times_add(dibs_fleet_times *t, const fleet_row *row, size_t which)
{
  times_add_series(t, &row->past[which]);
  times_add_series(t, &row->sent[which]);
  times_add_series(t, &row->noted[which]);
}

/* Adds: the class of all that are too many may have the name of another. */
static bool read_class(const fleet_class *c, dibs_kind kind, fleet_reading *r)
{
  const fleet_row *own = c->rows[kind];
  dibs_fleet_row *row = row_get(r, c->name, strlen(c->name), kind);

  if (row == NULL)
    return false;
  row->holding += own->holding;
  row->waiting += own->waiting;
  for (size_t i = 0; i < DIBS_FLEET_WAITS; i++)
    times_add(&row->waits[i], own, i);
  for (size_t i = 0; i < DIBS_FLEET_ENDS; i++)
    times_add(&row->holds[i], own, DIBS_FLEET_WAITS + i);
  return true;
}

bool fleet_read_own(const fleet *f, fleet_reading *r)
{
  for (size_t i = 0; i < f->class_count; i++)
    for (int kind = 0; kind < FLEET_KINDS; kind++)
      if (f->classes[i]->rows[kind] != NULL &&
          !read_class(f->classes[i], (dibs_kind)kind, r))
        return false;
  return true;
}

void fleet_read_round_trips(const fleet *f, dibs_fleet_times *ret_times)
{
  *ret_times = (dibs_fleet_times){ 0 };
  times_add_series(ret_times, &f->round_trips);
}

static int row_order(const void *a, const void *b)
{
  const dibs_fleet_row *one = a, *other = b;
  int order = strcmp(one->class_name, other->class_name);

  return order != 0 ? order : (int)one->kind - (int)other->kind;
}

bool fleet_read_show(fleet_reading *r)
{
  if (r->fleet.count == 0)
    return true;
  qsort(r->rows, r->fleet.count, sizeof(*r->rows), row_order);
  r->shown = mem_alloc(&r->memory, r->fleet.count * sizeof(*r->shown));
  for (size_t i = 0; r->shown != NULL && i < r->fleet.count; i++)
    r->shown[i] = &r->rows[i];
  return r->shown != NULL;
}

/* ---- differences ---- */

static uint64_t less(uint64_t after, uint64_t before)
{
  return after > before ? after - before : 0;
}

static void times_less(dibs_fleet_times *t, const dibs_fleet_times *before)
{
  t->count = 0;
  t->sum_us = less(t->sum_us, before->sum_us);
  for (size_t i = 0; i < DIBS_FLEET_BUCKETS; i++) {
    t->buckets[i] = less(t->buckets[i], before->buckets[i]);
    t->count += t->buckets[i];
  }
}

dibs_status dibs_fleet_change(const dibs_fleet_row *before, const dibs_fleet_row *after,
                              dibs_fleet_row *ret_change)
{
  if (after == NULL || ret_change == NULL || after->size < sizeof(*after) ||
      (before != NULL && before->size < sizeof(*before)))
    return DIBS_ERR_ARGUMENT;
  *ret_change = *after;
  if (before == NULL || before->since_us != after->since_us)
    return DIBS_OK;
  for (size_t i = 0; i < DIBS_FLEET_WAITS; i++)
    times_less(&ret_change->waits[i], &before->waits[i]);
  for (size_t i = 0; i < DIBS_FLEET_ENDS; i++)
    times_less(&ret_change->holds[i], &before->holds[i]);
  return DIBS_OK;
}
