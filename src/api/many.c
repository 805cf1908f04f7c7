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
  char words[96];
  text why = text_over(words, sizeof(words));

  if (m->names == NULL && m->bytes == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "names is NULL");
  if (count >= 1 && count <= DIBS_MANY_MAX)
    return DIBS_OK;
  text_add(&why, "count is ");
  text_add_uint(&why, count);
  text_add(&why, "; allowed are 1 to 100 names");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

static lock_call name_at(const names_call *m, size_t i)
{
  return m->bytes != NULL ? lock_call_of_bytes(LOCK_MUTEX, m->bytes[i].bytes, m->bytes[i].size)
                          : lock_call_of(LOCK_MUTEX, m->names[i]);
}

dibs_status names_read(client_record *c, lock_call *call)
{
  names_call *m = (names_call *)(void *)call;
  dibs_status status = count_check(c, m);

  call->spec.names = m->sorted;
  for (size_t i = 0; i < m->count && status == DIBS_OK; i++) {
    lock_call one = name_at(m, i);

    status = name_check(c, one.spec.name, one.spec.name_size);
    if (status != DIBS_OK)
      break;
    dialect_spell(&c->names, &one.spec.name, &one.spec.name_size);
    call->spec.name_count = insert(m->sorted, call->spec.name_count,
                                   (many_name){ one.spec.name, one.spec.name_size });
  }
  return status;
}

static lock_call *call_of(names_call *m, const char *const *names, size_t count)
{
  m->call = (lock_call){ .spec = { .kind = LOCK_MUTEX, .units = 1 }, .check = names_read };
  m->names = names;
  m->bytes = NULL;
  m->count = count;
  return &m->call;
}

dibs_status dibs_lock_many(dibs_client *client, const char *const *names, size_t count,
                           const dibs_lock_options *options, dibs_hold **ret_hold)
{
  names_call m;

  return take_blocking(client, call_of(&m, names, count), options, false, ret_hold);
}

dibs_status dibs_try_lock_many(dibs_client *client, const char *const *names, size_t count,
                               const dibs_lock_options *options, dibs_hold **ret_hold)
{
  names_call m;

  return take_blocking(client, call_of(&m, names, count), options, true, ret_hold);
}

dibs_status dibs_lock_many_async(dibs_client *client, const char *const *names, size_t count,
                                 const dibs_lock_options *options,
                                 dibs_lock_callback callback, void *data,
                                 dibs_request **ret_request)
{
  names_call m;

  return take_async(client, call_of(&m, names, count), options, false, callback, data,
                    ret_request);
}

dibs_status dibs_try_lock_many_async(dibs_client *client, const char *const *names,
                                     size_t count, const dibs_lock_options *options,
                                     dibs_lock_callback callback, void *data,
                                     dibs_request **ret_request)
{
  names_call m;

  return take_async(client, call_of(&m, names, count), options, true, callback, data,
                    ret_request);
}
