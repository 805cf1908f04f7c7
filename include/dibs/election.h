/* SPDX-License-Identifier: MIT */
/* dibs/election.h - leader election: one of many candidates leads, everybody can see who.
 *
 * Leading is a hold like any other: a lease, renewed by the watchdog, with a fence, which
 * is the epoch. Candidates queue in order of arrival. The leader publishes a value; observers
 * learn of a new leader within one message, and of a crash within one lease. */
#ifndef DIBS_ELECTION_H
#define DIBS_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_VALUE_MAX 1024   /* bytes in a leader's value */

/* Stands for election to `name` and waits until elected.
 *
 * `value`    what observers get, an address perhaps; a C string of at most DIBS_VALUE_MAX
 *            bytes, NULL: "".
 * `options`  as dibs_lock(); linger_ms must be 0. An election is the lock of the same
 *            name with a value beside it: dibs_inspect(), dibs_break() and dibs_lock() see
 *            the leader as its holder.
 * `ret_hold` leading, until it is released (that is resigning) or lost.
 *            dibs_hold_fence() is the epoch.
 * Returns    as dibs_lock(). DIBS_OK only when `value` is published: where that fails, the
 *            lock is given back, and the answer says why (DIBS_LOST: it was lost at once).
 *            Telling takes one more question: at most command_timeout_ms beside wait_ms.
 * Thread     any; blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_campaign(
  dibs_client *client, const char *name, const char *value,
  const dibs_lock_options *options, dibs_hold **ret_hold);

/* The same without waiting for the end of somebody else's leading: DIBS_BUSY. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_campaign(
  dibs_client *client, const char *name, const char *value,
  const dibs_lock_options *options, dibs_hold **ret_hold);

DIBS_API DIBS_MUST_CHECK dibs_status dibs_campaign_async(
  dibs_client *client, const char *name, const char *value,
  const dibs_lock_options *options, dibs_lock_callback callback, void *data,
  dibs_request **ret_request);

/* Publishes another value while leading; NULL: "". Returns DIBS_OK, DIBS_LOST (somebody else
 * leads, or nobody), DIBS_ERR_ARGUMENT (not a hold of dibs_campaign(), or too long),
 * DIBS_UNKNOWN and other faults: it may be told or not. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_publish(dibs_hold *hold, const char *value);

/* As dibs_release(): gives up leading; observers are told, the next candidate leads. */
DIBS_API dibs_status dibs_resign(dibs_hold *hold);

typedef struct dibs_leader {
  size_t size;
  bool is_led;             /* somebody leads now, as far as the server knows */
  uint64_t epoch;          /* of the leader, or of the last one; 0: there never was one */
  char *value;             /* zero-terminated; "" when nobody leads, or before it is told */
  size_t value_size;
  dibs_party party;        /* who leads */
  int64_t remaining_ms;    /* of its lease */
} dibs_leader;

/* Who leads `name` now. Free with dibs_leader_free(). Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_get_leader(
  dibs_client *client, const char *name, dibs_leader **ret_leader);
DIBS_API dibs_leader *dibs_leader_free(dibs_leader *leader);

/* ---- observing ---- */

typedef struct dibs_observer dibs_observer;

/* Tells of each change: a leader, another value, nobody any more. When changes come faster
 * than it returns, the newest counts. `leader` is borrowed until it returns; of its party
 * only the client is known (dibs_get_leader() tells host and program). Runs where
 * dibs_lost_callback runs, and may do what that may. */
typedef void (*dibs_leader_callback)(const dibs_leader *leader, void *data);

/* Observes `name` until dibs_observer_free(). The first call tells the present state. Goes
 * on for as long as there is no server; ends silently only by what asking again does not
 * mend: the name is another kind of lock, an ACL forbids it (dibs_last_error()).
 * `callback`  NULL: use dibs_observer_fd() and dibs_observer_next().
 * Returns DIBS_OK, faults. Thread: any; does not wait for the server. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_observe(
  dibs_client *client, const char *name, dibs_leader_callback callback, void *data,
  dibs_observer **ret_observer);

/* Readable while there is a change that dibs_observer_next() has not taken; -1 when
 * descriptors ran out. Do not read or close it. */
DIBS_API int dibs_observer_fd(dibs_observer *observer);

/* Takes the newest state if it has not been taken yet: DIBS_OK; else DIBS_BUSY;
 * DIBS_ERR_STALE, _FORKED. Does not block. Free with dibs_leader_free(). */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_observer_next(
  dibs_observer *observer, dibs_leader **ret_leader);

/* Ends it. A callback that runs now is waited for (not in the callback itself). dibs_close()
 * ends what is left; later calls find it stale. Returns NULL; NULL allowed. */
DIBS_API dibs_observer *dibs_observer_free(dibs_observer *observer);

#ifdef __cplusplus
}
#endif

#endif
