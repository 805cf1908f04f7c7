/* SPDX-License-Identifier: MIT */
/* dibs/barrier.h - cyclic barriers: `parties` wait for each other, in rounds.
 *
 * A party is one waiting call. When the last one arrives, all continue, and the barrier is
 * ready for its next generation. A party that gives up or dies breaks the barrier: all
 * others get DIBS_BROKEN, and it stays broken until dibs_barrier_reset(). Those that wait when it
 * is reset get DIBS_BROKEN, too, and so do those of a later round than the first when the server
 * has lost its data (`arrived` 0): the next round can begin. */
#ifndef DIBS_BARRIER_H
#define DIBS_BARRIER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/latch.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dibs_barrier_info {
  size_t size;
  uint64_t generation;   /* of this round: 0, 1, 2, ... */
  uint32_t parties;
  uint32_t arrived;      /* of a passed one: all; else until now */
  uint32_t index;        /* order of arrival of this party, from 0 */
  bool is_broken;
  char reserved[3];      /* 0 */
} dibs_barrier_info;

/* Arrives at `name` and waits for the others. The death of a waiting party is detected within
 * 10 s, and so is one whose client is closed.
 *
 * `parties`   1 .. 10000; all parties must use the same number.
 * `ret_info`  may be NULL; written on DIBS_OK and DIBS_BROKEN. Its `size` must be set.
 * Returns  DIBS_OK; DIBS_BROKEN; DIBS_TIMED_OUT, DIBS_CANCELLED (the barrier is broken
 *          for the others now; if all had just arrived, it is DIBS_OK instead; one whose
 *          canceller was used before the call has not arrived, and breaks nothing);
 *          DIBS_ERR_ARGUMENT (parties differ from those of the barrier in use);
 *          DIBS_ERR_UNREACHABLE (no server for connect_timeout_ms, or no reply within wait_ms:
 *          it has not arrived), DIBS_UNKNOWN (the reply
 *          was lost, and hundreds of rounds passed since; or the time is over and the
 *          server could not be reached: for 9 s the others may pass with this party),
 *          DIBS_ERR_WRONG_TYPE, the server's faults.
 * Thread   any; blocks, at most one command_timeout_ms longer than wait_ms: giving up is sent
 *          to the server. Not from a callback.
 * Source   doc/design/protocol.md 12. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_barrier_await(
  dibs_client *client, const char *name, uint32_t parties,
  const dibs_wait_options *options, dibs_barrier_info *ret_info);

/* Reports how a wait ended; `error`, the thread, what it may call and the life of `data` are as for
 * dibs_lock_callback. `info` is NULL
 * unless error->status is DIBS_OK or DIBS_BROKEN, and borrowed until the callback returns. */
typedef void (*dibs_barrier_callback)(
  const dibs_error *error, const dibs_barrier_info *info, void *data);

/* The same with a callback. `ret_request` may be NULL; dibs_request_cancel() gives up. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_barrier_await_async(
  dibs_client *client, const char *name, uint32_t parties,
  const dibs_wait_options *options, dibs_barrier_callback callback, void *data,
  dibs_request **ret_request);

/* Makes a broken barrier usable again, and breaks a round in progress: waiters get DIBS_BROKEN,
 * and the next generation begins empty, perhaps with another number of parties. DIBS_OK too
 * if there is nothing to reset.
 * Returns DIBS_OK, DIBS_UNKNOWN (no reply in time: repeat it), DIBS_ERR_UNREACHABLE (nothing was
 * changed), DIBS_ERR_WRONG_TYPE, _ARGUMENT, the server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_barrier_reset(
  dibs_client *client, const char *name);

/* Reads the state of a barrier.
 * Returns DIBS_OK, DIBS_ERR_NOT_SET (it was not used for an hour), DIBS_ERR_WRONG_TYPE,
 * DIBS_ERR_ARGUMENT (also: ret_info->size is 0), DIBS_ERR_UNREACHABLE (no reply in time, too), the
 * server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_barrier_get(
  dibs_client *client, const char *name, dibs_barrier_info *ret_info);

#ifdef __cplusplus
}
#endif

#endif
