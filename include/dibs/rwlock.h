/* SPDX-License-Identifier: MIT */
/* dibs/rwlock.h - read/write locks: many readers, or one writer.
 *
 *   dibs_acquire(client, DIBS_READ("page"), &options, &hold)
 *   dibs_acquire(client, DIBS_WRITE("page"), &options, &hold)
 *
 * Strictly first come, first served: a reader queued after a waiting writer waits, so that no
 * writer starves; consecutive readers are granted together. Each hold is a lease of its own,
 * renewed by the watchdog: a reader that crashed blocks a writer for one lease at
 * most. The functions of lock.h work on these holds: release, fence, state, descriptor.
 *
 * An owner that reads or writes a name already is granted a read hold at once, before all waiters;
 * each such hold is released separately. An owner that reads it and wants to write would wait for
 * itself: DIBS_WOULD_DEADLOCK. Release the read lock first, or take the write lock first and
 * dibs_downgrade() it. A try to read is DIBS_BUSY also while a writer waits.
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

/* Turns a write hold into a read hold, with no other writer in between; readers that
 * wait after it are granted. The lease and its fence stay. At once for this client; the
 * server learns it by one script in the background. Releasing a write hold while the same
 * owner still reads has the same effect for others; the fence that is left is a reader's.
 * DIBS_OK also for a read hold.
 * Returns  DIBS_OK, DIBS_LOST (it had ended), DIBS_ERR_STALE, DIBS_ERR_FORKED,
 *          DIBS_ERR_ARGUMENT (not a hold of a read/write lock; nested write holds),
 *          DIBS_ERR_UNSUPPORTED (dialect redisson: more than 30 s of a fixed lease are left).
 * Thread   any; never blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_downgrade(dibs_hold *hold);

#ifdef __cplusplus
}
#endif

#endif
