/* SPDX-License-Identifier: MIT */
/* dibs/rate.h - rate limiters: at most so many permits in any interval, for all programs
 * together or for each client by itself.
 *
 * The layout is Redisson's RRateLimiter (the key is `name` itself, without the client's
 * prefix), so that Java programs and these share one rate. Permits are used up, not held:
 * there is nothing to release, and each comes back an interval after it was granted. Nobody
 * stands in line: whoever asks first when permits come back has them. */
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
  DIBS_RATE_OVERALL = 0,     /* one rate for all who use the name */
  DIBS_RATE_PER_CLIENT = 1   /* each dibs_client, and each Redisson client, has its own */
} dibs_rate_type;

/* What a limiter allows. Start from DIBS_RATE_INIT. */
typedef struct dibs_rate {
  size_t size;               /* set by DIBS_RATE_INIT */
  int64_t permits;           /* in each interval; 1 .. 1000000000 */
  int64_t interval_ms;       /* 1 .. 2^53 */
  int64_t keepalive_ms;      /* so long after the last request it is forgotten, rate and all;
                                0: never; else interval_ms .. 2^53 */
  int32_t type;              /* dibs_rate_type */
} dibs_rate;

#define DIBS_RATE_INIT { sizeof(dibs_rate), 0, 0, 0, DIBS_RATE_OVERALL }

typedef enum dibs_rate_how {
  DIBS_RATE_IF_ABSENT = 0,   /* DIBS_BUSY, nothing changed, where a rate is set already */
  DIBS_RATE_RESET = 1,       /* sets it, and forgets what was taken: a new interval begins */
  DIBS_RATE_UPDATE = 2       /* changes it: what was taken counts on, unless the type is
                                another; DIBS_ERR_NOT_SET where none is set */
} dibs_rate_how;

/* Sets how many permits `name` gives in how long.
 *
 * `rate`    copied.
 * `how`     what becomes of a limiter that is there.
 * Returns   DIBS_OK; DIBS_BUSY, DIBS_ERR_NOT_SET as `how` says; DIBS_UNKNOWN;
 *           DIBS_ERR_ARGUMENT (a value out of its range; in Cluster also a name with braces
 *           that are no tag); DIBS_ERR_WRONG_TYPE; DIBS_ERR_UNSUPPORTED (a quorum); the
 *           server's faults.
 * Thread    any; blocks; not from a callback.
 * Source    doc/design/protocol.md 20; lua/redisson/rate_set.lua. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_set(
  dibs_client *client, const char *name, const dibs_rate *rate, dibs_rate_how how);

/* Takes `permits` at once, all or none, waiting until the rate has room for them. The server
 * says when to ask again, so that nobody asks in between; it is asked every 10 s besides,
 * since the rate may be changed meanwhile. A request that had to be repeated takes once.
 *
 * `permits`  1 .. 1000000000.
 * `options`  NULL: waits as long as it takes. options->wait_ms is the longest wait.
 * Returns    DIBS_OK: they are taken. DIBS_TIMED_OUT, DIBS_CANCELLED: they are not; what the
 *            server may just have granted is given back. DIBS_ERR_ARGUMENT: also more permits
 *            than the limiter ever gives at once, which would wait for ever.
 *            DIBS_ERR_NOT_SET: dibs_rate_limiter_set() has to come first.
 *            DIBS_ERR_UNREACHABLE (no server for connect_timeout_ms: a request that was
 *            under way may have taken them), DIBS_ERR_WRONG_TYPE, other faults.
 * Thread     any; blocks; not from a callback.
 * Source     doc/design/protocol.md 20; lua/redisson/rate_acquire.lua. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_acquire(
  dibs_client *client, const char *name, uint32_t permits,
  const dibs_wait_options *options);

/* The same with a callback. `ret_request` may be NULL; dibs_request_cancel() ends it.
 * Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_acquire_async(
  dibs_client *client, const char *name, uint32_t permits,
  const dibs_wait_options *options, dibs_wait_callback callback, void *data,
  dibs_request **ret_request);

/* Takes `permits` if the rate has room for them now.
 *
 * `ret_wait_ms`  may be NULL. On DIBS_BUSY: when there will be room, if nobody else comes
 *                first, 1 or more; on DIBS_OK 0.
 * Returns        DIBS_OK; DIBS_BUSY; DIBS_UNKNOWN (no answer: they may be taken); faults as
 *                dibs_rate_limiter_acquire(). Blocks for the answer only. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_try_acquire(
  dibs_client *client, const char *name, uint32_t permits, int64_t *ret_wait_ms);

/* Gives back permits that were taken and not used, whoever took them: those that were taken
 * first. Waiters learn of it within 10 s, or when they ask anyway.
 *
 * `permits`      1 .. 1000000000.
 * `ret_given`    how many came back: no more than are taken and not back by themselves.
 *                May be NULL.
 * Returns        DIBS_OK, DIBS_ERR_NOT_SET, DIBS_UNKNOWN, faults. Blocks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_release(
  dibs_client *client, const char *name, uint32_t permits, int64_t *ret_given);

/* How many permits it has now; of a DIBS_RATE_PER_CLIENT limiter, for this client.
 * Returns DIBS_OK, DIBS_ERR_NOT_SET, faults. Blocks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_available(
  dibs_client *client, const char *name, int64_t *ret_permits);

/* What it was set to. `ret_rate->size` must be set, by DIBS_RATE_INIT.
 * Returns DIBS_OK, DIBS_ERR_NOT_SET, faults. Blocks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_config(
  dibs_client *client, const char *name, dibs_rate *ret_rate);

/* Forgets it, and what was taken. Whoever waits gets DIBS_ERR_NOT_SET when it asks next. What
 * other clients took of a DIBS_RATE_PER_CLIENT limiter ends by itself; what Java's clients
 * took of one stays, as Redisson leaves it.
 * Returns DIBS_OK (also when there was none), DIBS_UNKNOWN, DIBS_ERR_WRONG_TYPE, faults.
 * Blocks. Since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_rate_limiter_delete(
  dibs_client *client, const char *name);

#ifdef __cplusplus
}
#endif

#endif
