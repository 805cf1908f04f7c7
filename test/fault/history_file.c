/* SPDX-License-Identifier: MIT */
/* test/fault/history_file.c - loads and merges the files of a run. */
#include "history.h"
#include "oracle/history_parts.h"
#include "run_file.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The records of one file: whole ones, numbered from 0 without gaps. */
static void check_file(struct history *h, size_t first, const char *name)
{
  for (size_t i = first; i < h->count; i++) {
    const struct record *r = &h->records[i];

    if (r->seq != i - first)
      history_flaw(h, "%s: record %zu has number %u", name, i - first, r->seq);
    if (!history_is_known(h, r))
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
      h->records = history_grow(h->records, *room, sizeof(*h->records));
    }
    if (fread(&h->records[h->count], sizeof(*h->records), 1, file) != 1)
      break;
    h->count++;
  }
  (void)fclose(file);
  check_file(h, first, name);
}

struct history *history_load(const char *directory)
{
  struct history *h = history_memory(1, sizeof(*h));
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
  history_finish(h);
  return h;
}
