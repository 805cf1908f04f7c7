/* SPDX-License-Identifier: MIT */
/* dibs/compat-0.5.h - the functions of 0.5 that take a lock, permits or leadership, by their old
 * names, for one minor version. dibs.h does not include it:
 *
 *   #include <dibs/dibs.h>
 *   #include <dibs/compat-0.5.h>
 *
 * Each calls dibs_acquire() or dibs_acquire_async(); CHANGELOG.md has what to write in its place.
 * Results are those of 0.5, but for one: where wait_ms is 0, callbacks get DIBS_BUSY, not
 * DIBS_TIMED_OUT.
 *
 * The compiler says that this file is in use. DIBS_COMPAT_QUIET, defined before, ends that. */
#ifndef DIBS_COMPAT_0_5_H
#define DIBS_COMPAT_0_5_H

#include <string.h>

#include <dibs/acquire.h>
#include <dibs/election.h>
#include <dibs/many.h>
#include <dibs/rwlock.h>
#include <dibs/semaphore.h>

#ifndef DIBS_COMPAT_QUIET
#pragma message("dibs/compat-0.5.h is for one minor version: call dibs_acquire() instead")
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what they share ---- */

static inline dibs_bytes dibs_compat_bytes(const void *bytes, size_t size)
{
  dibs_bytes b;

  b.bytes = (const char *)bytes;
  b.size = size;
  return b;
}

/* 0 and UINT32_MAX permits were refused; in a dibs_target they have a meaning. */
static inline uint32_t dibs_compat_units(uint32_t count)
{
  return count == 0 || count == DIBS_UNITS_ALL_FREE ? DIBS_PERMITS_MAX + 1u : count;
}

static inline dibs_target dibs_compat_target(
  int32_t kind, const dibs_bytes *name, uint32_t units, const char *value)
{
  dibs_target t;

  memset(&t, 0, sizeof(t));
  t.size = sizeof(t);
  t.kind = kind;
  t.units = units;
  t.names = name;
  t.name_count = 1;
  t.value = dibs_text(value);
  return t;
}

/* A set of names; `room` is for DIBS_MANY_MAX of them. More are refused by their number. */
static inline dibs_target dibs_compat_names(
  const char *const *names, size_t count, dibs_bytes *room)
{
  dibs_target t = dibs_compat_target(DIBS_TARGET_LOCK, names == NULL ? NULL : room, 0, NULL);
  size_t i;

  t.name_count = count;
  for (i = 0; names != NULL && i < count && i < DIBS_MANY_MAX; i++)
    room[i] = dibs_text(names[i]);
  if (names != NULL && count == 1)
    room[t.name_count++] = room[0];      /* a set of one, not a lock */
  return t;
}

/* A try ignored wait_ms. */
static inline const dibs_lock_options *dibs_compat_try(
  const dibs_lock_options *options, dibs_lock_options *room)
{
  dibs_lock_options init = DIBS_LOCK_OPTIONS_INIT;

  *room = options == NULL ? init : *options;
  room->wait_ms = 0;
  return room;
}

static inline dibs_status dibs_compat_acquire(
  dibs_client *client, const dibs_target *target, bool is_try, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  dibs_lock_options room;
  dibs_status status;

  if (is_try)
    return dibs_acquire(client, target, dibs_compat_try(options, &room), ret_hold);
  status = dibs_acquire(client, target, options, ret_hold);
  return status == DIBS_BUSY ? DIBS_TIMED_OUT : status;
}

static inline dibs_status dibs_compat_acquire_async(
  dibs_client *client, const dibs_target *target, bool is_try, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  dibs_lock_options room;

  return dibs_acquire_async(client, target, is_try ? dibs_compat_try(options, &room) : options,
                            callback, data, ret_request);
}

/* ---- lock.h and async.h ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_LOCK, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_LOCK, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_LOCK, &n, 0, NULL);

  return dibs_compat_acquire_async(client, &t, true, options, callback, data, ret_request);
}

/* ---- rwlock.h ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_read_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_READ, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_read_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_READ, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_read_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_READ, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_read_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_READ, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_read_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_READ, &n, 0, NULL);

  return dibs_compat_acquire_async(client, &t, false, options, callback, data, ret_request);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_read_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_READ, &n, 0, NULL);

  return dibs_compat_acquire_async(client, &t, true, options, callback, data, ret_request);
}

static inline DIBS_MUST_CHECK dibs_status dibs_write_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_WRITE, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_write_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_WRITE, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_write_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_WRITE, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_write_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_WRITE, &n, 0, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_write_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_WRITE, &n, 0, NULL);

  return dibs_compat_acquire_async(client, &t, false, options, callback, data, ret_request);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_write_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_WRITE, &n, 0, NULL);

  return dibs_compat_acquire_async(client, &t, true, options, callback, data, ret_request);
}

/* ---- semaphore.h ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_acquire_permits(
  dibs_client *client, const char *name, uint32_t count, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, dibs_compat_units(count), NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits(
  dibs_client *client, const char *name, uint32_t count, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, dibs_compat_units(count), NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_drain_permits(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, DIBS_UNITS_ALL_FREE, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_acquire_permits_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, dibs_compat_units(count), NULL);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t count,
  const dibs_lock_options *options, dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, dibs_compat_units(count), NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_drain_permits_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_compat_bytes(name, name_size);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, DIBS_UNITS_ALL_FREE, NULL);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_acquire_permits_async(
  dibs_client *client, const char *name, uint32_t count, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, dibs_compat_units(count), NULL);

  return dibs_compat_acquire_async(client, &t, false, options, callback, data, ret_request);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_acquire_permits_async(
  dibs_client *client, const char *name, uint32_t count, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_PERMITS, &n, dibs_compat_units(count), NULL);

  return dibs_compat_acquire_async(client, &t, true, options, callback, data, ret_request);
}

/* ---- many.h ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_lock_many(
  dibs_client *client, const char *const *names, size_t count, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  dibs_bytes room[DIBS_MANY_MAX];
  const dibs_target t = dibs_compat_names(names, count, room);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_lock_many(
  dibs_client *client, const char *const *names, size_t count, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  dibs_bytes room[DIBS_MANY_MAX];
  const dibs_target t = dibs_compat_names(names, count, room);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_lock_many_async(
  dibs_client *client, const char *const *names, size_t count, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  dibs_bytes room[DIBS_MANY_MAX];
  const dibs_target t = dibs_compat_names(names, count, room);

  return dibs_compat_acquire_async(client, &t, false, options, callback, data, ret_request);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_lock_many_async(
  dibs_client *client, const char *const *names, size_t count, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  dibs_bytes room[DIBS_MANY_MAX];
  const dibs_target t = dibs_compat_names(names, count, room);

  return dibs_compat_acquire_async(client, &t, true, options, callback, data, ret_request);
}

/* ---- election.h ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_campaign(
  dibs_client *client, const char *name, const char *value, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_LEAD, &n, 0, value);

  return dibs_compat_acquire(client, &t, false, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_try_campaign(
  dibs_client *client, const char *name, const char *value, const dibs_lock_options *options,
  dibs_hold **ret_hold)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_LEAD, &n, 0, value);

  return dibs_compat_acquire(client, &t, true, options, ret_hold);
}

static inline DIBS_MUST_CHECK dibs_status dibs_campaign_async(
  dibs_client *client, const char *name, const char *value, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request)
{
  const dibs_bytes n = dibs_text(name);
  const dibs_target t = dibs_compat_target(DIBS_TARGET_LEAD, &n, 0, value);

  return dibs_compat_acquire_async(client, &t, false, options, callback, data, ret_request);
}

#ifdef __cplusplus
}
#endif

#endif
