/* SPDX-License-Identifier: MIT */
/* dibs/acquire.h - takes what a program can hold, of every kind, by one function. dibs_lock(),
 * dibs_try_lock() and dibs_lock_async() (lock.h, async.h) are its short forms for one lock; what is
 * special about each kind is in many.h, rwlock.h, semaphore.h and election.h. */
#ifndef DIBS_ACQUIRE_H
#define DIBS_ACQUIRE_H

#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

/* For dibs_target.kind. */
#define DIBS_TARGET_LOCK 1      /* an exclusive lock; several names: all or none (many.h) */
#define DIBS_TARGET_READ 2      /* a read/write lock, for reading (rwlock.h) */
#define DIBS_TARGET_WRITE 3     /* a read/write lock, for writing */
#define DIBS_TARGET_PERMITS 4   /* permits of a semaphore (semaphore.h) */
#define DIBS_TARGET_LEAD 5      /* leadership (election.h) */

/* For dibs_target.units: all permits that are free, at least one; never waits: DIBS_BUSY if there
 * is none or others wait. */
#define DIBS_UNITS_ALL_FREE UINT32_MAX

/* What to take. Zero in a field that its comment does not name for a kind: it is refused there if
 * it is not 0. Begin with zeros and set `size`; DIBS_TARGET() does. Since 0.5 */
typedef struct dibs_target {
  size_t size;                 /* sizeof(dibs_target) */
  int32_t kind;                /* DIBS_TARGET_* */
  uint32_t units;              /* PERMITS: how many, at once; 0: 1; at most DIBS_PERMITS_MAX, or
                                  DIBS_UNITS_ALL_FREE */
  uint32_t limit;              /* PERMITS: the number of permits of the semaphore: set if it has
                                  none, otherwise it must be this one when the request
                                  comes, not later while it waits. 0: as it was set */
  uint32_t reserved;           /* 0 */
  const dibs_bytes *names;     /* 1 .. 512 bytes each, any bytes */
  size_t name_count;           /* 1; LOCK: 1 .. DIBS_MANY_MAX */
  dibs_bytes value;            /* LEAD: what observers get; at most DIBS_LEADER_VALUE_MAX bytes,
                                  none of them zero */
} dibs_target;

/* C: the argument `target`, of names that are C strings, or of any bytes as a dibs_bytes:
 * `dibs_acquire(client, DIBS_READ("page"), NULL, &hold)`. */
#ifndef __cplusplus
#define DIBS_TARGET_BYTES(kind, name, units, limit, value) \
  ((dibs_target){ sizeof(dibs_target), (kind), (units), (limit), 0, \
                  (const dibs_bytes[]){ name }, 1, dibs_text(value) })
#define DIBS_TARGET(kind, name, units, limit, value) \
  DIBS_TARGET_BYTES(kind, dibs_text(name), units, limit, value)
#define DIBS_LOCK(name) (&DIBS_TARGET(DIBS_TARGET_LOCK, name, 0, 0, NULL))
#define DIBS_READ(name) (&DIBS_TARGET(DIBS_TARGET_READ, name, 0, 0, NULL))
#define DIBS_WRITE(name) (&DIBS_TARGET(DIBS_TARGET_WRITE, name, 0, 0, NULL))
#define DIBS_PERMITS(name, units) (&DIBS_TARGET(DIBS_TARGET_PERMITS, name, units, 0, NULL))
/* One of the `limit` permits of a semaphore that the first call makes. */
#define DIBS_PERMIT_OF(name, limit) (&DIBS_TARGET(DIBS_TARGET_PERMITS, name, 1, limit, NULL))
#define DIBS_LEAD(name, value) (&DIBS_TARGET(DIBS_TARGET_LEAD, name, 0, 0, value))
/* All of `count` names, an array of dibs_bytes, or none. */
#define DIBS_LOCKS(names, count) \
  (&(dibs_target){ sizeof(dibs_target), DIBS_TARGET_LOCK, 0, 0, 0, (names), (count), { NULL, 0 } })
#endif

/* Takes `target`, waiting for it at most options->wait_ms.
 *
 * `target`   read during the call only: names and value are copied.
 * `options`  as dibs_lock(); NULL: defaults, without a limit. wait_ms 0: does not wait for other
 *            holders; its limit is that of a call that does not wait (client.h). linger_ms and
 *            min_replicas are for one name of LOCK, DIBS_PERMITS_PLAIN for PERMITS; elsewhere
 *            they are refused.
 * `ret_hold` written on DIBS_OK only. The caller owns it: dibs_release().
 *
 * Returns  as dibs_lock(), and
 *          DIBS_BUSY           in place of DIBS_TIMED_OUT, where wait_ms is 0.
 *          DIBS_LOST           of LEAD, which is DIBS_OK only after the value is published: lost
 *                              before. A fault of the publication releases it, and is the result.
 *                              Neither runs on_lost or on_change.
 *          DIBS_ERR_NOT_REPLICATED  of one name of LOCK, with min_replicas.
 *          DIBS_ERR_NOT_SET    of PERMITS: no number was set, and `limit` is 0.
 *          DIBS_ERR_ARGUMENT   also: a field of `target`; more permits than exist; a semaphore
 *                              with another number than `limit` (0 permits are a pause, and
 *                              waited for).
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 4, 5, 9, 10. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acquire(
  dibs_client *client, const dibs_target *target, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* Starts to take `target`; `callback` gets what dibs_acquire() would return. options->owner NULL
 * means no re-entry. `ret_request` may be NULL.
 *
 * Returns   DIBS_OK: `callback` will run. Otherwise it will not: DIBS_ERR_ARGUMENT,
 *           DIBS_ERR_UNSUPPORTED, DIBS_ERR_LIMIT, DIBS_ERR_NO_MEMORY, DIBS_ERR_CLOSED,
 *           DIBS_ERR_FORKED.
 * Thread    any; never blocks; allowed in callbacks.
 * Since     0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_acquire_async(
  dibs_client *client, const dibs_target *target, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

#ifdef __cplusplus
}
#endif

#endif
