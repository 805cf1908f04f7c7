/* SPDX-License-Identifier: MIT */
/* api/many.c - taking several locks as one. */
#include "api/api.h"

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

static dibs_status count_check(client_record *c, const char *const *names, size_t count)
{
  char words[96];
  text why = text_over(words, sizeof(words));

  if (names == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "names is NULL");
  if (count >= 1 && count <= DIBS_MANY_MAX)
    return DIBS_OK;
  text_add(&why, "count is ");
  text_add_uint(&why, count);
  text_add(&why, "; allowed are 1 to 100 names");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

static dibs_status call_of(client_record *c, const char *const *names, size_t count,
                           many_name sorted[DIBS_MANY_MAX], lock_call *ret_call)
{
  dibs_status status = count_check(c, names, count);

  *ret_call = (lock_call){ .spec = { .kind = LOCK_MUTEX, .names = sorted, .units = 1 } };
  for (size_t i = 0; i < count && status == DIBS_OK; i++) {
    lock_call one = lock_call_of(LOCK_MUTEX, names[i]);

    status = name_check(c, one.spec.name, one.spec.name_size);
    if (status == DIBS_OK)
      ret_call->spec.name_count = insert(sorted, ret_call->spec.name_count,
                                         (many_name){ one.spec.name, one.spec.name_size });
  }
  return status;
}

static dibs_status many_blocking(dibs_client *client, const char *const *names, size_t count,
                                 const dibs_lock_options *options, bool is_try,
                                 dibs_hold **ret_hold)
{
  many_name sorted[DIBS_MANY_MAX];
  lock_call call;
  callback_data over = lock_options_data(options);
  client_record *c;
  dibs_status status = client_begin(client, true, &c);

  if (status != DIBS_OK)
    return callback_data_end(&over, status);
  status = call_of(c, names, count, sorted, &call);
  call.over = &over;
  if (status == DIBS_OK)
    status = lock_blocking(c, &call, options, is_try, ret_hold);
  return callback_data_end(&over, client_end(c, status));
}

dibs_status dibs_lock_many(dibs_client *client, const char *const *names, size_t count,
                           const dibs_lock_options *options, dibs_hold **ret_hold)
{
  return many_blocking(client, names, count, options, false, ret_hold);
}

dibs_status dibs_try_lock_many(dibs_client *client, const char *const *names, size_t count,
                               const dibs_lock_options *options, dibs_hold **ret_hold)
{
  return many_blocking(client, names, count, options, true, ret_hold);
}

static dibs_status many_async(dibs_client *client, const char *const *names, size_t count,
                              const dibs_lock_options *options, bool is_try,
                              dibs_lock_callback callback, void *data,
                              dibs_request **ret_request)
{
  many_name sorted[DIBS_MANY_MAX];
  lock_call call;
  callback_data over = lock_options_data(options);
  client_record *c;
  dibs_status status = client_begin(client, false, &c);

  if (status != DIBS_OK)
    return callback_data_end(&over, status);
  status = call_of(c, names, count, sorted, &call);
  call.over = &over;
  if (status == DIBS_OK)
    status = lock_async(c, &call, options, is_try, callback, data, ret_request);
  return callback_data_end(&over, client_end(c, status));
}

dibs_status dibs_lock_many_async(dibs_client *client, const char *const *names, size_t count,
                                 const dibs_lock_options *options,
                                 dibs_lock_callback callback, void *data,
                                 dibs_request **ret_request)
{
  return many_async(client, names, count, options, false, callback, data, ret_request);
}

dibs_status dibs_try_lock_many_async(dibs_client *client, const char *const *names,
                                     size_t count, const dibs_lock_options *options,
                                     dibs_lock_callback callback, void *data,
                                     dibs_request **ret_request)
{
  return many_async(client, names, count, options, true, callback, data, ret_request);
}
