/* SPDX-License-Identifier: MIT */
/* dibs/rwlock.h - read/write locks: many readers, or one writer.
 *
 * Strictly first come, first served: a reader queued after a waiting writer waits, so that no
 * writer starves; consecutive readers are granted together. Each hold is a lease of its own,
 * renewed by the watchdog: a reader that crashed blocks a writer for one lease at
 * most. The functions of lock.h work on these holds: release, fence, state, descriptor.
 *
 * A name used here cannot be a mutex of dibs_lock() at the same time: that is
 * DIBS_ERR_WRONG_TYPE, because the two would ignore each other. */
#ifndef DIBS_RWLOCK_H
#define DIBS_RWLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Takes `name` for reading, waiting for it at most options->wait_ms.
 *
 * Parameters as dibs_lock(). An owner that reads or writes `name` already is granted at once,
 * before all waiters: each such hold is released separately. linger_ms and min_replicas must be 0.
 *
 * Returns  as dibs_lock().
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 9.
 * Since    0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_read_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* As dibs_read_lock(), but never waits for other holders: DIBS_BUSY, also while a writer waits. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_read_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* Takes `name` for writing, exclusive to all other readers and writers.
 *
 * Returns  as dibs_lock(), and DIBS_WOULD_DEADLOCK when the same owner reads `name`: it
 *          would wait for itself. Release the read lock first, or take the write lock
 *          first and dibs_downgrade() it.
 * Since    0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_write_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_write_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* The same for a name of any bytes: `name_size` 1..512 of them, zeros too; copied. A name of
 * the same bytes given as a C string is the same lock. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_read_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_read_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_write_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_write_lock_bytes(
  dibs_client *client, const void *name, size_t name_size, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* The same without blocking; see dibs_lock_async(). Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_read_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_read_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_write_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_write_lock_async(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_lock_callback callback, void *data, dibs_request **ret_request);

/* Turns a write hold into a read hold, with no other writer in between; readers that
 * wait after it are granted. The lease and its fence stay. At once for this client; the
 * server learns it by one script in the background. Releasing a write hold while the same
 * owner still reads has the same effect. DIBS_OK also for a read hold.
 * Returns  DIBS_OK, DIBS_LOST (it had ended), DIBS_ERR_STALE, DIBS_ERR_FORKED,
 *          DIBS_ERR_ARGUMENT (not a hold of a read/write lock; nested write holds).
 * Thread   any; never blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_downgrade(dibs_hold *hold);

#ifdef __cplusplus
}
#endif

#endif
