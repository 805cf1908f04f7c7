/* SPDX-License-Identifier: MIT */
/* cli/held.c - DIBS_HELD, the list of locks that the wrappers around a process hold. */
#include "cli/held.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fence.h"

/* `x` for `{x}`: one lock of the native format. Where they are two, their holders differ. */
static size_t spell(const char **name)
{
  size_t size = strlen(*name);

  if (size <= 2 || (*name)[0] != '{' || strcspn(*name + 1, "{}") != size - 2)
    return size;
  ++*name;
  return size - 2;
}

/* The name with everything escaped that the list gives a meaning to. */
static char *escape(const char *name)
{
  size_t size = spell(&name);
  char *result = malloc(3 * size + 1), *to = result;

  if (result == NULL)
    return NULL;
  for (const char *end = name + size; name < end; name++) {
    if (isalnum((unsigned char)*name) || strchr("-._:/@", *name) != NULL)
      *to++ = *name;
    else
      to += snprintf(to, 4, "%%%02X", (unsigned)(unsigned char)*name);
  }
  *to = '\0';
  return result;
}

/* The text of the fence after `name=`, searching from `list`; NULL when there is none. */
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
    has = token_of_fence(strtoull(at, NULL, 10)) == token_of_fence(fence);
    at = next_entry(at + strcspn(at, " "), escaped);
  }
  free(escaped);
  return has;
}

bool held_has_client(const char *list, const char *name, const char *client)
{
  char *escaped = escape(name);
  const char *at = escaped == NULL ? NULL : next_entry(list, escaped);
  size_t size = strlen(client);
  bool has = false;

  while (at != NULL && !has) {
    const char *id = at + strspn(at, "0123456789");

    has = *id == ':' && strncmp(id + 1, client, size) == 0 &&
          (id[1 + size] == ' ' || id[1 + size] == '\0');
    at = next_entry(at + strcspn(at, " "), escaped);
  }
  free(escaped);
  return has;
}

char *held_add(const char *list, const char *name, uint64_t fence, const char *client)
{
  char *escaped = escape(name), *result = NULL;
  bool is_first = list == NULL || *list == '\0';

  if (escaped != NULL && asprintf(&result, "%s%s%s=%" PRIu64 ":%s", is_first ? "" : list,
                                  is_first ? "" : " ", escaped, fence, client) < 0)
    result = NULL;
  free(escaped);
  return result;
}
