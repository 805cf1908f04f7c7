/* SPDX-License-Identifier: MIT */
/* cli/names.c - the names of latches, barriers and elections under the prefix. */
#include "cli/names.h"

#include <stdlib.h>
#include <string.h>

/* Thread: in dibs_list_names(). A name with a zero in it is cut there; only dibs_acquire()
 * makes such names, and that makes none of these. */
static bool add(dibs_family family, const char *name, size_t size, void *data)
{
  name_list *list = data;
  struct named *more;
  char *copy;

  (void)size;
  if (family == DIBS_FAMILY_LOCK) {
    list->has_locks = true;
    return true;
  }
  more = reallocarray(list->items, list->count + 1, sizeof(*more));
  copy = strdup(name);
  list->items = more != NULL ? more : list->items;
  if (more == NULL || copy == NULL) {
    free(copy);
    list->has_no_memory = true;
    return false;
  }
  list->items[list->count++] = (struct named) { .family = family, .name = copy };
  return true;
}

static int compare(const void *a, const void *b)
{
  const struct named *x = a, *y = b;

  return x->family != y->family ? (x->family < y->family ? -1 : 1)
                                : strcmp(x->name, y->name);
}

dibs_status names_read(name_list *list, dibs_client *client, uint32_t families,
                       const char *pattern)
{
  dibs_status status;
  size_t kept = 0;

  memset(list, 0, sizeof(*list));
  status = dibs_list_names(client, families, pattern, add, list);
  if (status == DIBS_OK && list->has_no_memory)
    status = DIBS_ERR_NO_MEMORY;
  if (list->count == 0)
    return status;
  /* SCAN may return a name twice. */
  qsort(list->items, list->count, sizeof(*list->items), compare);
  for (size_t i = 1; i < list->count; i++) {
    if (compare(&list->items[kept], &list->items[i]) != 0)
      list->items[++kept] = list->items[i];
    else
      free(list->items[i].name);
  }
  list->count = kept + 1;
  return status;
}

bool names_have(const name_list *list, dibs_family family, const char *name)
{
  struct named wanted = { .family = family, .name = (char *)(uintptr_t)name };

  return list->count > 0 && bsearch(&wanted, list->items, list->count,
                                    sizeof(*list->items), compare) != NULL;
}

void names_free(name_list *list)
{
  for (size_t i = 0; i < list->count; i++)
    free(list->items[i].name);
  free(list->items);
  memset(list, 0, sizeof(*list));
}
