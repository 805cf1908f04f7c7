/* SPDX-License-Identifier: MIT */
/* dibs/semaphore.h - semaphores: at most N permits are held at a time.
 *
 * Permits are leases, renewed by the watchdog or fixed (DIBS_LOCK_FIXED): those of a killed
 * holder return within one lease. First come, first served: a request queued after a larger
 * one waits. The functions of lock.h work on these holds; a release returns exactly what
 * was held, once.
 *
 *   dibs_acquire(client, DIBS_PERMIT_OF("licences", 3), &options, &hold)
 *
 * takes one of three permits and needs nothing before it. DIBS_PERMITS(name, n) takes n together,
 * all or none, of a semaphore that has a number; DIBS_UNITS_ALL_FREE all that are free. One hold is
 * for all of them; `units` of dibs_hold_info is how many. There is no re-entry: each call takes
 * further permits, and DIBS_WOULD_DEADLOCK comes from DIBS_CLIENT_DETECT_DEADLOCK only. In the
 * dialect redisson at most 10000 can be taken at once with a lease. A try is DIBS_BUSY also while a
 * request waits, be it for more permits than are free, and while there are 0 permits. */
#ifndef DIBS_SEMAPHORE_H
#define DIBS_SEMAPHORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_PERMITS_MAX 1000000000

/* Flags of dibs_semaphore_set(). */
#define DIBS_SEMAPHORE_IF_ABSENT 0x1u   /* only if it has no number yet. A semaphore made this way
                                           is deleted after an hour without use */

/* Sets the number of permits of `name`: creates the semaphore, or resizes it while in use.
 * Lowering it takes no permits away, it only stops grants until enough have been returned. A
 * semaphore that was set stays until dibs_semaphore_delete().
 *
 * `name`         1 .. 512 bytes, any: dibs_text("licences") for a C string. Copied.
 * `permits`      0 .. DIBS_PERMITS_MAX. 0 is a pause: requests, including waiting ones, wait until
 *                there are permits again. Otherwise a request for more than `permits` ends
 *                with DIBS_ERR_ARGUMENT, also one that waits already.
 * `flags`        0, or DIBS_SEMAPHORE_IF_ABSENT; other bits are refused.
 * `ret_permits`  may be NULL; receives the number that it has now.
 *
 * Returns  DIBS_OK, also if it had a number (IF_ABSENT); DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT,
 *          DIBS_UNKNOWN (no reply: set it again, which is harmless), DIBS_ERR_UNSUPPORTED (a
 *          dialect without permits, a quorum), the server's faults.
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 9. Since 0.2; flags and names of any bytes since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_set(
  dibs_client *client, dibs_bytes name, uint32_t permits, uint32_t flags, uint32_t *ret_permits);

/* Deletes a semaphore.
 *
 * `name`   as dibs_semaphore_set().
 *
 * Returns  DIBS_OK (also if there was none), DIBS_BUSY (it has holders or waiters: nothing is
 *          changed), DIBS_UNKNOWN (no reply: repeat it), DIBS_ERR_WRONG_TYPE (the name is no
 *          semaphore), DIBS_ERR_ARGUMENT, DIBS_ERR_UNSUPPORTED (as dibs_semaphore_set()), the
 *          server's faults.
 * Thread   any; blocks; not from a callback.
 * Source   doc/design/protocol.md 9. Since 0.2; names of any bytes since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_semaphore_delete(dibs_client *client, dibs_bytes name);

/* For the flags of dibs_lock_options, of clients of the dialect redisson: permits of its
 * RSemaphore, which is a number only. No lease and no owner: they are never renewed and
 * never lost, and those of a killed process stay lost until they are added again. ttl_ms
 * limits the repetition of a release; max_hold_ms and DIBS_LOCK_FIXED are refused. All clients
 * must use a name with it, or none. In native clients DIBS_ERR_UNSUPPORTED. Since 0.5 */
#define DIBS_PERMITS_PLAIN 0x100u

#ifdef __cplusplus
}
#endif

#endif
