/* SPDX-License-Identifier: MIT */
/* test/lib/take.h - dibs_acquire() in the two ways that tests use most beside it: without waiting,
 * and of several names that are C strings. */
#ifndef TEST_TAKE_H
#define TEST_TAKE_H

#include <string.h>

#include <dibs/acquire.h>
#include <dibs/many.h>

/* `options` may be NULL; its wait_ms is ignored. */
static inline const dibs_lock_options *without_waiting(const dibs_lock_options *options,
                                                       dibs_lock_options *room)
{
  *room = options != NULL ? *options : (dibs_lock_options)DIBS_LOCK_OPTIONS_INIT;
  room->wait_ms = 0;
  return room;
}

static inline dibs_status acquire_now(dibs_client *client, const dibs_target *target,
                                      const dibs_lock_options *options, dibs_hold **ret_hold)
{
  dibs_lock_options room;

  return dibs_acquire(client, target, without_waiting(options, &room), ret_hold);
}

static inline dibs_status acquire_now_async(dibs_client *client, const dibs_target *target,
                                            const dibs_lock_options *options,
                                            dibs_lock_callback callback, void *data,
                                            dibs_request **ret_request)
{
  dibs_lock_options room;

  return dibs_acquire_async(client, target, without_waiting(options, &room), callback, data,
                            ret_request);
}

/* `names` as a target, also one of them: given twice it counts once. `room` has room for
 * DIBS_MANY_MAX; more names are refused by their number. */
static inline dibs_target set_of_names(const char *const *names, size_t count, dibs_bytes *room)
{
  dibs_target target = { .size = sizeof(target), .kind = DIBS_TARGET_LOCK, .names = room,
                         .name_count = count };

  for (size_t i = 0; names != NULL && i < count && i < DIBS_MANY_MAX; i++)
    room[i] = dibs_text(names[i]);
  if (names == NULL)
    target.names = NULL;
  else if (count == 1)
    room[target.name_count++] = room[0];
  return target;
}

static inline dibs_status acquire_names(dibs_client *client, const char *const *names,
                                        size_t count, const dibs_lock_options *options,
                                        dibs_hold **ret_hold)
{
  dibs_bytes room[DIBS_MANY_MAX];
  const dibs_target target = set_of_names(names, count, room);

  return dibs_acquire(client, &target, options, ret_hold);
}

static inline dibs_status acquire_names_now(dibs_client *client, const char *const *names,
                                            size_t count, const dibs_lock_options *options,
                                            dibs_hold **ret_hold)
{
  dibs_lock_options room;

  return acquire_names(client, names, count, without_waiting(options, &room), ret_hold);
}

static inline dibs_status acquire_names_async(dibs_client *client, const char *const *names,
                                              size_t count, const dibs_lock_options *options,
                                              dibs_lock_callback callback, void *data,
                                              dibs_request **ret_request)
{
  dibs_bytes room[DIBS_MANY_MAX];
  const dibs_target target = set_of_names(names, count, room);

  return dibs_acquire_async(client, &target, options, callback, data, ret_request);
}

static inline dibs_status acquire_names_now_async(dibs_client *client, const char *const *names,
                                                  size_t count, const dibs_lock_options *options,
                                                  dibs_lock_callback callback, void *data,
                                                  dibs_request **ret_request)
{
  dibs_lock_options room;

  return acquire_names_async(client, names, count, without_waiting(options, &room), callback,
                             data, ret_request);
}

#endif
