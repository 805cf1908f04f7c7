/* SPDX-License-Identifier: MIT */
/* cli/held.c - DIBS_HELD, the list of locks that the wrappers around a process hold. */
#include "cli/held.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One grant spans up to 1024 fences, one for each local hand-over in a process. */
#define FENCES_OF_A_GRANT 1024

/* The name with everything escaped that the list gives a meaning to. */
static char *escape(const char *name)
{
  char *result = malloc(3 * strlen(name) + 1), *to = result;

  if (result == NULL)
    return NULL;
  for (; *name != '\0'; name++) {
    if (isalnum((unsigned char)*name) || strchr("-._:/@", *name) != NULL)
      *to++ = *name;
    else
      to += snprintf(to, 4, "%%%02X", (unsigned)(unsigned char)*name);
  }
  *to = '\0';
  return result;
}

/* The fence text behind `name=`, searching from `list`; NULL when there is none. */
static const char *next_entry(const char *list, const char *escaped)
{
  size_t size = strlen(escaped);

  while (list != NULL && *list != '\0') {
    list += strspn(list, " ");
    if (strncmp(list, escaped, size) == 0 && list[size] == '=')
      return list + size + 1;
    list += strcspn(list, " ");
  }
  return NULL;
}

bool held_has_name(const char *list, const char *name)
{
  char *escaped = escape(name);
  bool has = escaped != NULL && next_entry(list, escaped) != NULL;

  free(escaped);
  return has;
}

bool held_has_fence(const char *list, const char *name, uint64_t fence)
{
  char *escaped = escape(name);
  const char *at = escaped == NULL ? NULL : next_entry(list, escaped);
  bool has = false;

  while (at != NULL && !has) {
    has = strtoull(at, NULL, 10) / FENCES_OF_A_GRANT == fence / FENCES_OF_A_GRANT;
    at = next_entry(at + strcspn(at, " "), escaped);
  }
  free(escaped);
  return has;
}

char *held_add(const char *list, const char *name, uint64_t fence)
{
  char *escaped = escape(name), *result = NULL;
  bool is_first = list == NULL || *list == '\0';

  if (escaped != NULL && asprintf(&result, "%s%s%s=%" PRIu64, is_first ? "" : list,
                                  is_first ? "" : " ", escaped, fence) < 0)
    result = NULL;
  free(escaped);
  return result;
}
