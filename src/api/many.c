/* SPDX-License-Identifier: MIT */
/* api/many.c - taking several locks as one. */
#include "api/many.h"

#include <string.h>

static int compare(const many_name *a, const many_name *b)
{
  int order = memcmp(a->name, b->name, a->size < b->size ? a->size : b->size);

  return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Inserts a name into `count` sorted names; returns the new count. */
static size_t insert(many_name *sorted, size_t count, many_name name)
{
  size_t at = count;

  while (at > 0 && compare(&sorted[at - 1], &name) > 0)
    at--;
  if (at > 0 && compare(&sorted[at - 1], &name) == 0)
    return count;
  memmove(&sorted[at + 1], &sorted[at], (count - at) * sizeof(sorted[0]));
  sorted[at] = name;
  return count + 1;
}

static dibs_status count_check(client_record *c, const names_call *m)
{
  size_t count = m->count;

  if (count >= 1 && count <= DIBS_MANY_MAX)
    return DIBS_OK;
  return client_refuse_with(c, DIBS_ERR_ARGUMENT, "count is %zu; allowed are 1 to 100 names",
                            count);
}

dibs_status names_read(client_record *c, lock_call *call)
{
  names_call *m = (names_call *)(void *)call;
  dibs_status status = count_check(c, m);

  call->spec.names = m->sorted;
  for (size_t i = 0; i < m->count && status == DIBS_OK; i++) {
    const void *name = m->names[i].bytes;
    size_t size = m->names[i].size;

    status = name_check(c, name, size);
    if (status != DIBS_OK)
      break;
    dialect_spell(&c->names, &name, &size);
    call->spec.name_count = insert(m->sorted, call->spec.name_count, (many_name){ name, size });
  }
  return status;
}
