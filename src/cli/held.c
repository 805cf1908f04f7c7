/* SPDX-License-Identifier: MIT */
/* cli/held.c - DIBS_HELD, the list of locks that the wrappers around a process hold. */
#include "cli/held.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fence.h"
#include "base/hash_tag.h"

/* In each locale: the command inside may have another one. */
#define UNESCAPED "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._:/@"

/* The name with everything escaped that the list gives a meaning to. `{x}` stands there as `x`:
 * where these are two locks, in another dialect, their holders differ. */
static char *escape(const char *name)
{
  const void *spelled = name;
  size_t size = strlen(name);
  char *result, *to;

  hash_tag_spell(&spelled, &size);
  result = to = malloc(3 * size + 1);
  if (result == NULL)
    return NULL;
  for (const char *at = spelled, *end = at + size; at < end; at++) {
    if (strchr(UNESCAPED, *at) != NULL)
      *to++ = *at;
    else
      to += snprintf(to, 4, "%%%02X", (unsigned)(unsigned char)*at);
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
