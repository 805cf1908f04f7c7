/* SPDX-License-Identifier: MIT */
/* test/fault/history.c - loads and merges the files of a run. */
#include "history_parts.h"
#include "run_file.h"

#include <dirent.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *fault_memory(size_t count, size_t size)
{
  void *memory = calloc(count == 0 ? 1 : count, size);

  if (memory == NULL) {
    (void)fputs("no memory\n", stderr);
    exit(70);
  }
  return memory;
}

void *fault_grow(void *old, size_t count, size_t size)
{
  void *memory = realloc(old, count * size);

  if (memory == NULL) {
    (void)fputs("no memory\n", stderr);
    exit(70);
  }
  return memory;
}

void history_flaw(struct history *h, const char *format, ...)
{
  va_list values;

  if (h->flaw[0] != '\0')
    return;
  va_start(values, format);
  (void)vsnprintf(h->flaw, sizeof(h->flaw), format, values);
  va_end(values);
}

static int by_time(const void *one, const void *other)
{
  const struct record *a = one, *b = other;

  if (a->at_ns != b->at_ns)
    return a->at_ns < b->at_ns ? -1 : 1;
  if (a->worker != b->worker)
    return a->worker < b->worker ? -1 : 1;
  if (a->life != b->life)
    return a->life < b->life ? -1 : 1;
  return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static bool is_known(const struct history *h, const struct record *r)
{
  bool has_worker = r->worker < WORKERS_MAX || r->worker == RUNNER;
  bool has_lock = r->lock < h->lock_count || r->lock == NO_LOCK || r->op == OP_MARK;

  return r->op >= OP_LOCK && r->op <= OP_LAST && r->phase >= PHASE_INVOKE &&
         r->phase <= PHASE_INFO && r->thread < THREADS_MAX && has_worker && has_lock;
}

/* The records of one file: whole ones, numbered from 0 without gaps. */
static void check_file(struct history *h, size_t first, const char *name)
{
  for (size_t i = first; i < h->count; i++) {
    const struct record *r = &h->records[i];

    if (r->seq != i - first)
      history_flaw(h, "%s: record %zu has number %u", name, i - first, r->seq);
    if (!is_known(h, r))
      history_flaw(h, "%s: record %zu has values that nobody knows", name, i - first);
  }
}

static void load_file(struct history *h, const char *path, const char *name, size_t *room)
{
  FILE *file = fopen(path, "re");
  size_t first = h->count;

  if (file == NULL) {
    history_flaw(h, "%s cannot be read", name);
    return;
  }
  for (;;) {
    if (h->count == *room) {
      *room = *room == 0 ? 4096 : *room * 2;
      h->records = fault_grow(h->records, *room, sizeof(*h->records));
    }
    if (fread(&h->records[h->count], sizeof(*h->records), 1, file) != 1)
      break;
    h->count++;
  }
  (void)fclose(file);
  check_file(h, first, name);
}

static void finish(struct history *h)
{
  if (h->count > 1)
    qsort(h->records, h->count, sizeof(*h->records), by_time);
  history_derive(h);
  history_find_stalls(h);
}

struct history *history_load(const char *directory)
{
  struct history *h = fault_memory(1, sizeof(*h));
  DIR *entries = opendir(directory);
  struct dirent *entry;
  char path[600];
  size_t room = 0, length;

  if (entries == NULL || !run_read(directory, h, NULL)) {
    if (entries != NULL)
      (void)closedir(entries);
    free(h);
    return NULL;
  }
  (void)snprintf(h->directory, sizeof(h->directory), "%s", directory);
  while ((entry = readdir(entries)) != NULL) {
    length = strlen(entry->d_name);
    if (length < 8 || strcmp(entry->d_name + length - 8, ".history") != 0)
      continue;
    (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
    load_file(h, path, entry->d_name, &room);
  }
  (void)closedir(entries);
  finish(h);
  return h;
}

struct history *history_of(const struct record *records, size_t count,
                           const struct run_lock *locks, size_t lock_count)
{
  struct history *h = fault_memory(1, sizeof(*h));

  h->records = fault_memory(count, sizeof(*h->records));
  if (count > 0)
    memcpy(h->records, records, count * sizeof(*records));
  h->count = count;
  if (lock_count > 0)
    memcpy(h->locks, locks, lock_count * sizeof(*locks));
  h->lock_count = lock_count;
  for (size_t i = 0; i < count; i++)
    if (!is_known(h, &h->records[i]))
      history_flaw(h, "record %zu has values that nobody knows", i);
  finish(h);
  return h;
}

struct history *history_free(struct history *h)
{
  if (h == NULL)
    return NULL;
  h->stalls = history_stalls_free(h->stalls);
  h->calls = history_calls_free(h->calls);
  free(h->records);
  free(h->grants);
  free(h->asks);
  free(h->faults);
  free(h);
  return NULL;
}
