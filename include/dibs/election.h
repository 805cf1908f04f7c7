/* SPDX-License-Identifier: MIT */
/* dibs/election.h - leader election: one of many candidates leads, observers see which.
 *
 * Leadership is a hold like any other: a lease, renewed by the watchdog, with a fence, which
 * is the epoch. Candidates queue in order of arrival. The leader publishes a value; observers
 * learn of a new leader within one message, and of a crash within one lease.
 *
 *   dibs_acquire(client, DIBS_LEAD("billing", "10.0.0.7:8080"), &options, &leading)
 *
 * waits until elected. An election is the lock of the same name with a value beside it:
 * dibs_inspect(), dibs_break() and dibs_lock() see the leader as its holder. */
#ifndef DIBS_ELECTION_H
#define DIBS_ELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/async.h>
#include <dibs/inspect.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DIBS_LEADER_VALUE_MAX 1024   /* bytes in a leader's value */

/* Publishes another value while leading; NULL: "". Returns DIBS_OK, DIBS_LOST (not the leader
 * any more), DIBS_ERR_STALE (resigned), DIBS_ERR_ARGUMENT (no leadership, or too
 * long), DIBS_UNKNOWN and the server's faults: it may be published or not. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_publish(dibs_hold *hold, const char *value);

typedef struct dibs_leader {
  size_t size;
  bool is_led;             /* there is a leader now, as far as the server knows */
  uint64_t epoch;          /* of the leader, or of the last one; 0: there never was one */
  char *value;             /* zero-terminated; "" without a leader, or before publication */
  size_t value_size;
  const dibs_party *party; /* the leader; never NULL */
  int64_t remaining_ms;    /* of its lease */
  /* Since 0.6. Three states without a value: no leader (is_known, not is_led); a leader that has
   * not published yet (is_led, not is_published); not known yet (not is_known). */
  bool is_known;           /* false: the server has never replied; the rest is zero */
  bool is_published;       /* the leader has published `value`, which may be "" */
  const dibs_error *error; /* never NULL. Not DIBS_OK: the server cannot be seen, and the leader
                              is the last one known; its lease may have ended. Since 0.6 */
} dibs_leader;

/* Reads the leader of `name`. Free with dibs_leader_free().
 * Returns DIBS_OK (also without a leader), DIBS_ERR_WRONG_TYPE, DIBS_ERR_ARGUMENT,
 * DIBS_ERR_UNREACHABLE (no reply in time, too), DIBS_ERR_UNSUPPORTED (a dialect without elections,
 * a quorum), the server's faults. Blocks. Since 0.2 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_get_leader(
  dibs_client *client, const char *name, dibs_leader **ret_leader);
DIBS_API dibs_leader *dibs_leader_free(dibs_leader *leader);

/* ---- observing ---- */

typedef struct dibs_observer dibs_observer;

/* Reports each change of an election: a leader, another value, no leader any more; that the
 * server cannot be seen, and that it can again. If changes come faster than it returns, it gets
 * the newest. Runs as all callbacks, with their restrictions (dibs_event_callback). Both
 * pointers are borrowed until it returns. `data` is used until
 * dibs_observer_free() or dibs_close() has returned (inside the callback: until that returns).
 * `error`   never NULL. Not DIBS_OK with a leader: the server cannot be seen, for longer than
 *           connect_timeout or because it refuses the client. Reported once; the next call is
 *           DIBS_OK, when it is seen again, with the leader of that moment, or the end.
 *           Not DIBS_OK without a leader: the observation has ended with this error, and this
 *           is the last call.
 * `leader`  NULL when the observation has ended. Of its party only the client is known
 *           (dibs_get_leader() reads host and program). With an error the last one known. */
typedef void (*dibs_leader_callback)(
  const dibs_error *error, const dibs_leader *leader, void *data);

/* Observes `name` until dibs_observer_free(). The first call reports the present state, or that
 * the server cannot be seen. Continues while there is no server; ends only by a fault that
 * repetition does not repair: the name is another kind of lock, an ACL forbids it. The callback
 * gets the reason, and dibs_observer_next() returns it.
 * `callback`  NULL: use dibs_observer_fd() and dibs_observer_next().
 * `data_free` NULL, or gets `data`, exactly once, when `callback` cannot run any more: in
 *             dibs_observer_free() or dibs_close(), or in this call if it fails.
 * Returns DIBS_OK, DIBS_ERR_ARGUMENT, DIBS_ERR_UNSUPPORTED (a dialect without
 * elections, a quorum).
 * Thread: any; does not wait for the server. Since 0.2; data_free since 0.5 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_observe(
  dibs_client *client, const char *name, dibs_leader_callback callback, void *data,
  dibs_free_callback data_free, dibs_observer **ret_observer);

/* Readable while there is a change that dibs_observer_next() has not taken; -1 when
 * descriptors ran out. Do not read or close it. */
DIBS_API int dibs_observer_fd(dibs_observer *observer);

/* Takes the newest state if it has not been taken yet. Free it with dibs_leader_free().
 * Its `error` says whether the server can be seen.
 * Returns DIBS_OK; DIBS_BUSY: it has been taken; or what ended the observation:
 * DIBS_ERR_WRONG_TYPE, one of the server's faults; DIBS_ERR_ARGUMENT (ret_leader is NULL), _STALE,
 * _FORKED. Does not block. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_observer_next(
  dibs_observer *observer, dibs_leader **ret_leader);

/* Ends an observer. Waits for a callback that runs now (not in the callback itself). dibs_close()
 * ends the remaining ones; later calls find them stale. Returns NULL; NULL allowed. */
DIBS_API dibs_observer *dibs_observer_free(dibs_observer *observer);

#ifdef __cplusplus
}
#endif

#endif
