/* SPDX-License-Identifier: MIT */
/* dibs/rate.h - rate limiters: at most N permits per interval, for all programs
 * together or for each client separately.
 *
 * The layout is Redisson's RRateLimiter (the key is `name` itself, without the client's
 * prefix), so that Java programs and these share one rate. Permits are used up, not held:
 * there is no release, and each returns an interval after it was granted. There is no
 * queue: the first request after permits return gets them. */
#ifndef DIBS_RATE_H
#define DIBS_RATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/latch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum dibs_rate_type {
  DIBS_RATE_OVERALL = 0,     /* one rate for all clients */
  DIBS_RATE_PER_CLIENT = 1   /* each dibs_client, and each Redisson client, has its own */
} dibs_rate_type;

/* What a limiter allows. Start from DIBS_RATE_INIT. */
typedef struct dibs_rate {
  size_t size;               /* set by DIBS_RATE_INIT */
  int64_t permits;           /* in each interval; 1 .. 1000000000 */
  int64_t interval_ms;       /* 1 .. 2^53 */
  int64_t keepalive_ms;      /* the limiter is deleted, with its rate, this long after the last
                                request; 0: never; else interval_ms .. 2^53 */
  int32_t type;              /* dibs_rate_type */
  uint32_t reserved;         /* 0 */
} dibs_rate;

#define DIBS_RATE_INIT { sizeof(dibs_rate), 0, 0, 0, DIBS_RATE_OVERALL, 0 }

typedef enum dibs_rate_how {
  DIBS_RATE_IF_ABSENT = 0,   /* DIBS_BUSY, nothing changed, if a rate is set already */
  DIBS_RATE_RESET = 1,       /* sets it, and forgets what was taken: a new interval begins */
  DIBS_RATE_UPDATE = 2       /* changes it: what was taken still counts, unless the type
                                changes; DIBS_ERR_NOT_SET if none is set */
} dibs_rate_how;

/* Sets the number of permits of `name` and the interval.
 *
 * `rate`    copied.
 * `how`     what to do with an existing limiter.
 * Returns   DIBS_OK; DIBS_BUSY, DIBS_ERR_NOT_SET according to `how`; DIBS_UNKNOWN;
 *           DIBS_ERR_ARGUMENT (a value out of its range; in Cluster also a name with braces
 *           that are no tag); DIBS_ERR_WRONG_TYPE; DIBS_ERR_UNSUPPORTED (a quorum); the
 *           server's faults.
 * Thread    any; blocks; not from a callback.
 * Source    doc/design/protocol.md 20. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_set(
  dibs_client *client, const char *name, const dibs_rate *rate, dibs_rate_how how);

/* Takes `permits` at once, all or none, waiting until the rate allows them. The server
 * names the time of the next request; the client also asks every 10 s,
 * because the rate may change meanwhile. A repeated request takes once.
 *
 * `permits`  1 .. 1000000000.
 * `options`  NULL: waits without limit. options->wait_ms is the longest wait; what ends it is
 *            sent to the server, whose reply takes at most command_timeout_ms more. 0: a try,
 *            which asks once.
 * `ret_wait_ms`  may be NULL. On DIBS_BUSY: when there will be permits, if no other client
 *            takes them, 1 or more; on DIBS_OK 0.
 * Returns    DIBS_OK: they are taken. DIBS_BUSY: a try, and the rate does not allow them now.
 *            DIBS_TIMED_OUT, DIBS_CANCELLED: they are not; permits granted at that moment are
 *            returned. DIBS_UNKNOWN: they may be taken: a try without a reply, or the
 *            server has not confirmed that it returned them.
 *            DIBS_ERR_ARGUMENT: also more permits than the limiter ever grants at once, which
 *            would wait forever.
 *            DIBS_ERR_NOT_SET: call dibs_rate_limiter_set() first.
 *            DIBS_ERR_UNREACHABLE (no server for connect_timeout_ms, or no reply within wait_ms:
 *            an unanswered request may have taken them), DIBS_ERR_WRONG_TYPE, the server's
 *            faults.
 * Thread     any; blocks; not from a callback.
 * Source     doc/design/protocol.md 20. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_acquire(
  dibs_client *client, const char *name, uint32_t permits,
  const dibs_wait_options *options, int64_t *ret_wait_ms);

/* The same with a callback. `ret_request` may be NULL; dibs_request_cancel() ends it.
 * Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_acquire_async(
  dibs_client *client, const char *name, uint32_t permits,
  const dibs_wait_options *options, dibs_wait_callback callback, void *data,
  dibs_request **ret_request);

/* Returns unused permits, of any client: the oldest
 * first. Waiters learn of it within 10 s, or at their next request.
 *
 * `permits`      1 .. 1000000000.
 * `ret_given`    receives how many were returned: at most those taken and not yet returned.
 *                May be NULL.
 * Returns        DIBS_OK, DIBS_ERR_NOT_SET, DIBS_UNKNOWN (no reply: they may be returned),
 *                DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT, the server's faults. Blocks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_release(
  dibs_client *client, const char *name, uint32_t permits, int64_t *ret_given);

/* Reads the rate of a limiter and how many permits are free, of one moment.
 *
 * `ret_rate`       its size must be set, by DIBS_RATE_INIT. May be NULL.
 * `ret_available`  the free permits; of a DIBS_RATE_PER_CLIENT limiter, for this client. May be
 *                  NULL.
 * Returns DIBS_OK, DIBS_ERR_NOT_SET, DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT, DIBS_ERR_UNREACHABLE
 * (no reply in time, too), the server's faults. Blocks. Since 0.6 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_get(
  dibs_client *client, const char *name, dibs_rate *ret_rate, int64_t *ret_available);

/* Deletes a limiter, with the record of taken permits. Waiters get DIBS_ERR_NOT_SET at their next
 * request. What other clients took of a DIBS_RATE_PER_CLIENT limiter expires; what Java's
 * clients took of one stays, as in Redisson.
 * Returns DIBS_OK (also when there was none), DIBS_UNKNOWN (no reply: repeat it),
 * DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT, the server's faults. Blocks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_delete(
  dibs_client *client, const char *name);

#ifdef __cplusplus
}
#endif

#endif
