/* SPDX-License-Identifier: MIT */
/* fleet/tally.c - counts what happens to the claims of a client, by class and kind. */
#include "fleet/parts.h"

#include <string.h>

const char fleet_kind_letters[FLEET_KINDS + 1] = "mrs";

/* ---- life ---- */

void entries_free(const memory *m, entry_list *l)
{
  while (l->first != NULL) {
    fleet_entry *e = l->first;

    l->first = e->next;
    mem_free(m, e);
  }
  *l = (entry_list){ .end = &l->first };
}

fleet *fleet_new(const fleet_settings *settings, instant now)
{
  fleet *f = mem_zalloc(&settings->memory, sizeof(*f));
  text pid;

  if (f == NULL)
    return NULL;
  f->settings = *settings;
  /* Each pattern has its place, however many names there are that fit none. */
  f->free_count = FLEET_CLASSES_MAX - fleet_classes_count(settings->classes);
  pid = text_over(f->pid, sizeof(f->pid));
  text_add_int(&pid, settings->pid);
  f->ended_at = now;
  f->noted.end = &f->noted.first;
  f->sent.end = &f->sent.first;
  return f;
}

fleet *fleet_free(fleet *f)
{
  const memory *m;

  if (f == NULL)
    return NULL;
  m = &f->settings.memory;
  for (size_t i = 0; i < f->class_count; i++) {
    for (size_t k = 0; k < FLEET_KINDS; k++)
      mem_free(m, f->classes[i]->rows[k]);
    mem_free(m, f->classes[i]);
  }
  entries_free(m, &f->noted);
  entries_free(m, &f->sent);
  mem_free(m, f);
  return NULL;
}

/* ---- classes ---- */

static fleet_class *class_add(fleet *f, const char *name)
{
  fleet_class *c = mem_zalloc(&f->settings.memory, sizeof(*c));

  if (c == NULL)
    return NULL;
  memcpy(c->name, name, strlen(name) + 1);
  f->classes[f->class_count++] = c;
  return c;
}

static fleet_class *class_find(const fleet *f, const char *name)
{
  for (size_t i = 0; i < f->class_count; i++)
    if (strcmp(f->classes[i]->name, name) == 0)
      return f->classes[i];
  return NULL;
}

static fleet_class *class_of_name(fleet *f, const char *name, size_t size)
{
  char words[FLEET_CLASS_SIZE];
  bool is_pattern = fleet_class_name(f->settings.classes, name, size, words);
  fleet_class *c = class_find(f, words);

  if (c == NULL && (is_pattern || f->free_count > 0)) {
    c = class_add(f, words);
    f->free_count -= c != NULL && !is_pattern;
  } else if (c == NULL) {
    c = class_find(f, "other");
    c = c != NULL ? c : class_add(f, "other");
  }
  return c;
}

static fleet_class *class_get(fleet *f, const char *name, size_t size, dibs_kind kind)
{
  recent_class *r = &f->recent;
  fleet_class *c = r->of;

  if (c == NULL || size != r->size || memcmp(name, r->name, size) != 0) {
    c = class_of_name(f, name, size);
    r->of = size <= RECENT_NAME_MAX ? c : NULL;
    r->size = size;
    if (r->of != NULL)
      memcpy(r->name, name, size);
  }
  if (c != NULL && c->rows[kind] == NULL)
    c->rows[kind] = mem_zalloc(&f->settings.memory, sizeof(*c->rows[kind]));
  return c != NULL && c->rows[kind] != NULL ? c : NULL;
}

static fleet_row *row_of(const fleet_note *n)
{
  return n->of->rows[n->kind];
}

/* ---- numbers ---- */

static void changed(fleet *f, bool has_counts, instant now)
{
  if (!f->is_changed && !f->gauges_changed)
    f->noted_at = now;
  f->gauges_changed = true;
  f->is_changed = f->is_changed || has_counts;
}

void fleet_round_trip(fleet *f, span lasted)
{
  series_count(&f->round_trips, lasted);
}

static void count(fleet *f, fleet_note *n, size_t which, span lasted, instant now)
{
  series_count(&row_of(n)->noted[which], lasted);
  n->of->is_changed = true;
  changed(f, true, now);
}

void fleet_began(fleet *f, fleet_note *n, const char *name, size_t size, instant now)
{
  n->began = now;
  n->is_open = true;
  n->of = class_get(f, name, size, n->kind);
  if (n->of == NULL)
    return;
  row_of(n)->waiting++;
  f->live++;
  changed(f, false, now);
}

void fleet_granted(fleet *f, fleet_note *n, instant now)
{
  if (!n->is_open || n->is_granted)
    return;
  n->is_granted = true;
  n->granted = now;
  if (n->of == NULL)
    return;
  row_of(n)->waiting--;
  row_of(n)->holding++;
  count(f, n, DIBS_FLEET_OK, instant_since(now, n->began), now);
}

void fleet_refused(fleet *f, fleet_note *n, dibs_fleet_wait how, instant now)
{
  if (!n->is_open || n->is_granted)
    return;
  n->is_open = false;
  if (n->of == NULL)
    return;
  row_of(n)->waiting--;
  f->live--;
  count(f, n, how, instant_since(now, n->began), now);
}

void fleet_retaken(fleet *f, fleet_note *n, instant now)
{
  if (n->is_open)
    return;
  n->is_open = n->is_granted = true;
  n->began = n->granted = now;
  if (n->of == NULL)
    return;
  row_of(n)->holding++;
  f->live++;
  count(f, n, DIBS_FLEET_OK, (span){ 0 }, now);
}

void fleet_ended(fleet *f, fleet_note *n, dibs_fleet_end how, instant now)
{
  if (!n->is_open || !n->is_granted)
    return;
  n->is_open = false;
  if (n->of == NULL)
    return;
  row_of(n)->holding--;
  f->live--;
  count(f, n, DIBS_FLEET_WAITS + (size_t)how, instant_since(now, n->granted), now);
}

/* ---- history ---- */

static span waited(const fleet_note *n, instant now)
{
  return instant_since(n->is_granted ? n->granted : now, n->began);
}

static span held(const fleet_note *n, instant now)
{
  return n->is_granted ? instant_since(now, n->granted) : (span){ 0 };
}

bool fleet_tells(const fleet *f, const fleet_note *n, const char *end, instant now)
{
  span over = f->settings.history_over;

  if (n->of == NULL || !n->is_open || f->settings.every.ns == 0 ||
      f->settings.history == HISTORY_OFF || f->noted.count >= FLEET_ENTRIES_MAX)
    return false;
  return f->settings.history == HISTORY_ALL || end == fleet_wait_words[DIBS_FLEET_TIMED_OUT] ||
         end == fleet_end_words[DIBS_FLEET_LOST] || end == fleet_end_words[DIBS_FLEET_TAKEN] ||
         waited(n, now).ns > over.ns || held(n, now).ns > over.ns;
}

void fleet_tell(fleet *f, const fleet_note *n, const char *end, const char *name, size_t size,
                uint64_t fence, instant now)
{
  fleet_entry *e;

  if (!fleet_tells(f, n, end, now))
    return;
  e = mem_alloc(&f->settings.memory, sizeof(*e) + size);
  if (e == NULL)
    return;
  *e = (fleet_entry){ .number = ++f->entries, .at = now, .of = n->of, .kind = n->kind,
                      .mode = n->mode, .end = end, .ttl_ms = n->ttl_ms,
                      .waited_us = span_to_us(waited(n, now)), .held_us = span_to_us(held(n, now)),
                      .fence = fence, .size = size };
  memcpy(e->name, name, size);
  *f->noted.end = e;
  f->noted.end = &e->next;
  f->noted.count++;
}
