/* SPDX-License-Identifier: MIT */
/* dibs/compat-0.5.h - the functions of 0.5 that take a lock, permits or leadership, by their old
 * names, for one minor version. dibs.h does not include it:
 *
 *   #include <dibs/dibs.h>
 *   #include <dibs/compat-0.5.h>
 *
 * Each calls dibs_acquire() or dibs_acquire_async(): its body is what to write in its place.
 * Results are those of 0.5, but for one: where wait_ms is 0, callbacks get DIBS_BUSY, not
 * DIBS_TIMED_OUT.
 *
 * A program that uses maps, lists or sets links -ldibs-data -ldibs since 0.6.
 *
 * The compiler says that this file is in use. DIBS_COMPAT_QUIET, defined before, ends that. */
#ifndef DIBS_COMPAT_0_5_H
#define DIBS_COMPAT_0_5_H

#include <string.h>

#include <dibs/acquire.h>
#include <dibs/client.h>
#include <dibs/election.h>
#include <dibs/inspect.h>
#include <dibs/lock.h>
#include <dibs/log.h>
#include <dibs/many.h>
#include <dibs/rate.h>
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

/* ---- other names ---- */

#define DIBS_VALUE_MAX DIBS_LEADER_VALUE_MAX
#define DIBS_HELD DIBS_HOLD_HELD
#define DIBS_SUSPECT DIBS_HOLD_SUSPECT
#define DIBS_GONE DIBS_HOLD_GONE
#define dibs_resign dibs_release
#define dibs_set_credentials dibs_client_set_credentials
#define dibs_set_call_timeout dibs_client_set_call_timeout
#define dibs_call_timeout dibs_client_call_timeout
#define dibs_set_log dibs_client_set_log
#define dibs_stats dibs_client_info
#define dibs_get_stats dibs_client_get_info

/* ---- clients and errors ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_compat_open(
  const char *url, const dibs_options *options, dibs_client **ret_client)
{
  return dibs_open(url, options, ret_client, NULL);
}

/* `error` had no size. */
static inline DIBS_MUST_CHECK dibs_status dibs_open_with_error(
  const char *url, const dibs_options *options, dibs_client **ret_client, dibs_error *error)
{
  if (error != NULL)
    error->size = sizeof(*error);
  return dibs_open(url, options, ret_client, error);
}

/* dibs_open() has three arguments, or four. */
#define DIBS_COMPAT_5TH(a, b, c, d, e, ...) e
#define dibs_open(...) \
  DIBS_COMPAT_5TH(__VA_ARGS__, dibs_open, dibs_compat_open, 0, 0)(__VA_ARGS__)

static inline void dibs_last_error(dibs_client *client, dibs_error *ret_error)
{
  if (ret_error == NULL)
    return;
  ret_error->size = sizeof(*ret_error);
  (void)dibs_client_error(client, 0, ret_error);
}

static inline size_t dibs_last_errors(dibs_client *client, dibs_error *ret_errors, size_t count)
{
  dibs_error one = DIBS_ERROR_INIT;
  size_t i = 0;

  for (; dibs_client_error(client, i + 1, &one) == DIBS_OK; i++)
    if (ret_errors != NULL && i < count)
      ret_errors[i] = one;
  return i;
}

static inline const char *dibs_url(dibs_client *client)
{
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;

  (void)dibs_client_get_info(client, &info);
  return info.url;
}

static inline bool dibs_is_private(dibs_client *client)
{
  dibs_client_info info = DIBS_CLIENT_INFO_INIT;

  (void)dibs_client_get_info(client, &info);
  return info.is_private != 0;
}

/* ---- holds ---- */

static inline dibs_hold_info dibs_compat_hold(const dibs_hold *hold)
{
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;

  (void)dibs_hold_get_info(hold, &info);
  return info;
}

static inline int dibs_hold_depth(const dibs_hold *hold)
{
  return (int)dibs_compat_hold(hold).depth;
}

static inline uint32_t dibs_hold_units(const dibs_hold *hold)
{
  return dibs_compat_hold(hold).units;
}

typedef struct dibs_durability {
  size_t size;
  dibs_durability_kind kind;
  uint32_t acknowledged, wanted;
  uint32_t reserved;
} dibs_durability;

static inline dibs_status dibs_hold_durability(
  const dibs_hold *hold, dibs_durability *ret_durability)
{
  dibs_hold_info info = DIBS_HOLD_INFO_INIT;
  dibs_status status;

  if (ret_durability == NULL || ret_durability->size < sizeof(*ret_durability))
    return DIBS_ERR_ARGUMENT;
  status = dibs_hold_get_info(hold, &info);
  if (status == DIBS_OK) {
    ret_durability->kind = (dibs_durability_kind)info.durability;
    ret_durability->acknowledged = info.acknowledged;
    ret_durability->wanted = info.wanted;
    ret_durability->reserved = 0;
  }
  return status;
}

/* ---- names as bytes ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_inspect_bytes(
  dibs_client *client, const void *name, size_t name_size, dibs_inspection **ret_inspection)
{
  return dibs_inspect(client, dibs_compat_bytes(name, name_size), ret_inspection);
}

static inline DIBS_MUST_CHECK dibs_status dibs_semaphore_set_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t permits)
{
  return dibs_semaphore_set(client, dibs_compat_bytes(name, name_size), permits, 0, NULL);
}

static inline DIBS_MUST_CHECK dibs_status dibs_semaphore_set_if_absent(
  dibs_client *client, const char *name, uint32_t permits, uint32_t *ret_permits)
{
  return dibs_semaphore_set(client, dibs_text(name), permits, DIBS_SEMAPHORE_IF_ABSENT,
                            ret_permits);
}

static inline DIBS_MUST_CHECK dibs_status dibs_semaphore_set_if_absent_bytes(
  dibs_client *client, const void *name, size_t name_size, uint32_t permits,
  uint32_t *ret_permits)
{
  return dibs_semaphore_set(client, dibs_compat_bytes(name, name_size), permits,
                            DIBS_SEMAPHORE_IF_ABSENT, ret_permits);
}

static inline DIBS_MUST_CHECK dibs_status dibs_semaphore_delete_bytes(
  dibs_client *client, const void *name, size_t name_size)
{
  return dibs_semaphore_delete(client, dibs_compat_bytes(name, name_size));
}

static inline DIBS_MUST_CHECK dibs_status dibs_compat_semaphore_set(
  dibs_client *client, const char *name, uint32_t permits)
{
  return dibs_semaphore_set(client, dibs_text(name), permits, 0, NULL);
}

/* dibs_semaphore_set() has three arguments, or five. */
#define DIBS_COMPAT_6TH(a, b, c, d, e, f, ...) f
#define dibs_semaphore_set(...) \
  DIBS_COMPAT_6TH(__VA_ARGS__, dibs_semaphore_set, 0, dibs_compat_semaphore_set, 0, 0) \
  (__VA_ARGS__)

/* ---- rate.h ---- */

static inline DIBS_MUST_CHECK dibs_status dibs_rate_limiter_try_acquire(
  dibs_client *client, const char *name, uint32_t permits, int64_t *ret_wait_ms)
{
  dibs_wait_options options = DIBS_WAIT_OPTIONS_INIT;

  options.wait_ms = 0;
  return dibs_rate_limiter_acquire(client, name, permits, &options, ret_wait_ms);
}

static inline DIBS_MUST_CHECK dibs_status dibs_rate_limiter_available(
  dibs_client *client, const char *name, int64_t *ret_permits)
{
  return ret_permits == NULL ? DIBS_ERR_ARGUMENT
                             : dibs_rate_limiter_get(client, name, NULL, ret_permits);
}

static inline DIBS_MUST_CHECK dibs_status dibs_rate_limiter_config(
  dibs_client *client, const char *name, dibs_rate *ret_rate)
{
  return ret_rate == NULL ? DIBS_ERR_ARGUMENT
                          : dibs_rate_limiter_get(client, name, ret_rate, NULL);
}

static inline DIBS_MUST_CHECK dibs_status dibs_compat_rate_limiter_acquire(
  dibs_client *client, const char *name, uint32_t permits, const dibs_wait_options *options)
{
  dibs_status status = dibs_rate_limiter_acquire(client, name, permits, options, NULL);

  if (status == DIBS_UNKNOWN)
    return DIBS_ERR_UNREACHABLE;
  return status == DIBS_BUSY ? DIBS_TIMED_OUT : status;
}

/* dibs_rate_limiter_acquire() has four arguments, or five. */
#define dibs_rate_limiter_acquire(...) \
  DIBS_COMPAT_6TH(__VA_ARGS__, dibs_rate_limiter_acquire, dibs_compat_rate_limiter_acquire, 0, 0) \
  (__VA_ARGS__)

#ifdef __cplusplus
}

/* A name that is a C string. */
static inline dibs_status dibs_inspect(
  dibs_client *client, const char *name, dibs_inspection **ret_inspection)
{
  return dibs_inspect(client, dibs_text(name), ret_inspection);
}

static inline dibs_status dibs_break(dibs_client *client, const char *name, const char *lease)
{
  return dibs_break(client, dibs_text(name), lease);
}

static inline dibs_status dibs_semaphore_delete(dibs_client *client, const char *name)
{
  return dibs_semaphore_delete(client, dibs_text(name));
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
static inline dibs_bytes dibs_compat_same(dibs_bytes name)
{
  return name;
}

/* A name that is a C string, or a dibs_bytes. C99 cannot distinguish them. */
#define DIBS_COMPAT_NAME(name) _Generic((name), dibs_bytes: dibs_compat_same, \
                                        default: dibs_text)(name)
#define dibs_inspect(client, name, ret) dibs_inspect((client), DIBS_COMPAT_NAME(name), (ret))
#define dibs_break(client, name, lease) dibs_break((client), DIBS_COMPAT_NAME(name), (lease))
#define dibs_semaphore_delete(client, name) \
  dibs_semaphore_delete((client), DIBS_COMPAT_NAME(name))
#endif

#endif
