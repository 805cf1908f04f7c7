/* SPDX-License-Identifier: MIT */
/* cli/environment.c - the environment of the command. */
#include "cli/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void environment_begin(environment *e)
{
  size_t count = 0;

  while (environ[count] != NULL)
    count++;
  *e = (environment) { .entries = calloc(count + 1, sizeof(char *)) };
  e->is_broken = e->entries == NULL;
  for (size_t i = 0; i < count && !e->is_broken; i++) {
    e->entries[i] = strdup(environ[i]);
    e->is_broken = e->entries[i] == NULL;
    e->count += !e->is_broken;
  }
}

void environment_unset(environment *e, const char *name)
{
  size_t size = strlen(name), kept = 0;

  for (size_t i = 0; i < e->count; i++) {
    if (strncmp(e->entries[i], name, size) == 0 && e->entries[i][size] == '=')
      free(e->entries[i]);
    else
      e->entries[kept++] = e->entries[i];
  }
  if (e->entries != NULL)
    e->entries[kept] = NULL;
  e->count = kept;
}

void environment_set(environment *e, const char *name, const char *value)
{
  char **more;
  char *entry;

  environment_unset(e, name);
  if (value == NULL || asprintf(&entry, "%s=%s", name, value) < 0) {
    e->is_broken = true;
    return;
  }
  more = reallocarray(e->entries, e->count + 2, sizeof(char *));
  if (more == NULL) {
    free(entry);
    e->is_broken = true;
    return;
  }
  e->entries = more;
  e->entries[e->count++] = entry;
  e->entries[e->count] = NULL;
}

void environment_set_number(environment *e, const char *name, long long value)
{
  char text[24];

  snprintf(text, sizeof(text), "%lld", value);
  environment_set(e, name, text);
}

void environment_end(environment *e)
{
  for (size_t i = 0; i < e->count; i++)
    free(e->entries[i]);
  free(e->entries);
  *e = (environment) { .entries = NULL };
}
