/* SPDX-License-Identifier: MIT */
/* api/many.c - taking several locks as one. */
#include "api/api.h"

#include <string.h>

static int compare(const many_name *a, const many_name *b)
{
  int order = memcmp(a->name, b->name, a->size < b->size ? a->size : b->size);

  return order != 0 ? order : (a->size > b->size) - (a->size < b->size);
}

/* Puts a name in its place among `count` others; says how many there are then. */
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

static dibs_status count_check(dibs_client *c, const char *const *names, size_t count)
{
  char words[96];
  text why = text_over(words, sizeof(words));

  if (c == NULL)
    return DIBS_ERR_ARGUMENT;
  if (names == NULL)
    return client_refuse(c, DIBS_ERR_ARGUMENT, "names is NULL");
  if (count >= 1 && count <= DIBS_MANY_MAX)
    return DIBS_OK;
  text_add(&why, "count is ");
  text_add_uint(&why, count);
  text_add(&why, "; allowed are 1 to 100 names");
  return client_refuse(c, DIBS_ERR_ARGUMENT, words);
}

static dibs_status target_of(dibs_client *c, const char *const *names, size_t count,
                             many_name sorted[DIBS_MANY_MAX], lock_target *ret_target)
{
  dibs_status status = count_check(c, names, count);

  *ret_target = (lock_target){ .kind = LOCK_MANY, .names = sorted, .units = 1 };
  for (size_t i = 0; i < count && status == DIBS_OK; i++) {
    lock_target one = lock_target_of(LOCK_MANY, names[i]);

    status = name_check(c, one.name, one.name_size);
    if (status == DIBS_OK)
      ret_target->name_count = insert(sorted, ret_target->name_count,
                                      (many_name){ one.name, one.name_size });
  }
  return status;
}

dibs_status dibs_lock_many(dibs_client *client, const char *const *names, size_t count,
                           const dibs_lock_options *options, dibs_hold **ret_hold)
{
  many_name sorted[DIBS_MANY_MAX];
  lock_target target;
  dibs_status status = target_of(client, names, count, sorted, &target);

  return status != DIBS_OK ? status : lock_blocking(client, &target, options, false, ret_hold);
}

dibs_status dibs_try_lock_many(dibs_client *client, const char *const *names, size_t count,
                               const dibs_lock_options *options, dibs_hold **ret_hold)
{
  many_name sorted[DIBS_MANY_MAX];
  lock_target target;
  dibs_status status = target_of(client, names, count, sorted, &target);

  return status != DIBS_OK ? status : lock_blocking(client, &target, options, true, ret_hold);
}

dibs_status dibs_lock_many_async(dibs_client *client, const char *const *names,
                                 size_t count, const dibs_lock_options *options,
                                 dibs_lock_callback callback, void *data,
                                 dibs_request **ret_request)
{
  many_name sorted[DIBS_MANY_MAX];
  lock_target target;
  dibs_status status = target_of(client, names, count, sorted, &target);

  return status != DIBS_OK ? status
                           : lock_async(client, &target, options, false, callback, data,
                                        ret_request);
}

dibs_status dibs_try_lock_many_async(dibs_client *client, const char *const *names,
                                     size_t count, const dibs_lock_options *options,
                                     dibs_lock_callback callback, void *data,
                                     dibs_request **ret_request)
{
  many_name sorted[DIBS_MANY_MAX];
  lock_target target;
  dibs_status status = target_of(client, names, count, sorted, &target);

  return status != DIBS_OK ? status
                           : lock_async(client, &target, options, true, callback, data,
                                        ret_request);
}
