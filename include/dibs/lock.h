/* SPDX-License-Identifier: MIT */
/* dibs/lock.h - exclusive locks: take, check, release.
 *
 * A hold is a lease: it ends by itself unless it is renewed. The library renews it and
 * reports a failure in time; only the fence, checked by the resource that you write to,
 * protects against a program that was suspended while it lost the lock. */
#ifndef DIBS_LOCK_H
#define DIBS_LOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dibs/client.h>
#include <dibs/status.h>
#include <dibs/visibility.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A granted lock. A handle, not a pointer into memory: using one after its release returns
 * DIBS_ERR_STALE. (With pointers of 32 bits only for the next 4095 handles in its place: forget it
 * then.) */
typedef struct dibs_hold dibs_hold;

/* Ends waiting calls from another thread or from a signal handler. */
typedef struct dibs_canceller dibs_canceller;

typedef enum dibs_hold_condition {
  DIBS_HOLD_HELD = 1,    /* valid, and the last renewal succeeded */
  DIBS_HOLD_SUSPECT = 2, /* still valid, but a renewal is overdue or the link is down */
  DIBS_HOLD_GONE = 3     /* lost or released; final */
} dibs_hold_condition;

/* The name and reason of a loss. Borrowed until the callback returns. Since 0.5 */
typedef struct dibs_loss {
  size_t size;
  dibs_status why;     /* DIBS_LOST or DIBS_TAKEN, as from dibs_release() */
  const char *name;    /* zero-terminated; of several names the first: dibs_hold_name() */
  size_t name_size;
  const char *text;    /* the reason, with the server's address and error: "not renewed in
                          time; redis://10.0.0.1:6379/0: MISCONF Redis is ..." */
} dibs_loss;

/* Reports that `hold` is lost. Runs at most once per hold, as all callbacks (dibs_event_callback):
 * on the thread named dibs-callback, or inside dibs_process() with DIBS_CLIENT_NO_THREAD or
 * PROCESS_CALLBACKS. May call every function that does not block; dibs_release() is allowed and
 * does not block on a lost hold. `loss` is never NULL. A loss that is
 * found by the release itself (DIBS_LOST, _TAKEN) is not reported here.
 *
 * A lost hold has to be released, too, here or anywhere: until then its handle and its memory
 * stay. dibs_close() releases what is left.
 *
 * After dibs_release(), dibs_hold_detach() or dibs_release_async() has returned it does not begin
 * any more; but one that has begun before may still run, in its thread. So its data must not be
 * freed there: on_lost_free of the options is called when that is safe. Without it keep the data
 * until dibs_close() has returned. */
typedef void (*dibs_lost_callback)(dibs_hold *hold, const dibs_loss *loss, void *data);

/* What on_change reports. Since 0.6 */
typedef enum dibs_change {
  DIBS_CHANGE_SUSPECT = 1,   /* a renewal is overdue or was refused, or the link is down */
  DIBS_CHANGE_HELD = 2,      /* renewed after SUSPECT or ENDS_SOON; DIBS_LOCK_FIXED: its server
                                has confirmed it */
  DIBS_CHANGE_ENDS_SOON = 3, /* warn_ms or less are left: renewals do not come through, or
                                DIBS_LOCK_FIXED or max_hold_ms ends it */
  DIBS_CHANGE_LOST = 4       /* as on_lost */
} dibs_change;

struct dibs_hold_info;

/* Reports that `hold` has changed, and how: `why`. Runs where on_lost does, and may do the same;
 * dibs_hold_why() has the reason, dibs_release() whether another client has the name.
 * `info` is never NULL, of the moment at which the callback begins, and borrowed until it
 * returns.
 *
 * The changes of one hold come one after the other, and in order. It reports what is, not all that
 * was: of several changes that come while a callback runs, the last one; none if the last one is
 * what was reported before. A grant is no change: the first one is SUSPECT, ENDS_SOON or LOST. LOST
 * is the last one, comes once, and before on_lost. After a release in time none comes.
 *
 * After dibs_release(), dibs_hold_detach() or dibs_release_async() has returned it does not begin
 * any more; its data as that of on_lost: on_change_free. dibs_close() waits for one that runs;
 * what has not been reported before may not be reported any more. Since 0.6 */
typedef void (*dibs_change_callback)(
  dibs_hold *hold, const struct dibs_hold_info *info, dibs_change why, void *data);

/* Bits of dibs_lock_options.flags. */
#define DIBS_LOCK_FIXED 0x1u        /* the lease ends after ttl_ms: never renewed. An inner hold
                                       of its owner has the outermost one's lease:
                                       DIBS_ERR_ARGUMENT if that is renewed or longer */
#define DIBS_LOCK_NO_OWNER 0x2u     /* no re-entry, not even by the calling thread */
#define DIBS_LOCK_NO_REENTRY 0x4u   /* the same owner again: DIBS_WOULD_DEADLOCK */
#define DIBS_LOCK_FSYNC 0x8u        /* with min_replicas: on disk, too, at primary and replicas,
                                       if the server has WAITAOF. Since 0.4 */
#define DIBS_LOCK_REPORT 0x10u      /* with min_replicas: granted with fewer acknowledgements,
                                       see dibs_hold_info. Since 0.4 */

/* How to take a lock. Zero in a field means "the default written beside it", except in wait_ms.
 * Start from DIBS_LOCK_OPTIONS_INIT. Everything is copied except `cancel`. */
typedef struct dibs_lock_options {
  size_t size;                /* set by DIBS_LOCK_OPTIONS_INIT */
  uint32_t flags;             /* DIBS_LOCK_* bits; unknown bits are refused */
  int32_t wait_ms;            /* longest wait, 1 .. DIBS_MS_MAX; 0: does not wait for other
                                 holders, asks once; DIBS_FOREVER: no limit, which INIT
                                 sets; ignored by try */
  int32_t ttl_ms;             /* lease length, 30000; 100 .. DIBS_MS_MAX */
  int32_t max_hold_ms;        /* renewal ends then, and the hold with it; 0: never;
                                 else ttl_ms .. DIBS_MS_MAX. For an inner hold of its owner
                                 DIBS_ERR_ARGUMENT, unless the outermost one ends before */
  const void *owner;          /* may re-enter; NULL: the calling thread in a blocking call,
                                 no owner in an async one */
  size_t owner_size;          /* 1 .. DIBS_OWNER_MAX bytes when owner is set */
  dibs_canceller *cancel;     /* NULL: cannot be cancelled; borrowed until the end */
  dibs_lost_callback on_lost; /* NULL: ask dibs_hold_state(), or watch the fd */
  void *on_lost_data;         /* used until on_lost_free runs */
  const char *note;           /* shown with the holder; at most DIBS_NOTE_MAX bytes */
  int32_t linger_ms;          /* exclusive locks: after the last release the client keeps
                                 the lease, idle, for this time or until another client
                                 requests it; taking it again then needs no server. A lease
                                 that others requested twice in a row before it was taken
                                 again pauses for three grants, then for twice as many each
                                 time, up to 96, until it is taken again while it lingers.
                                 0: no lingering; DIBS_LINGER_AUTO: if it pays. Since 0.2 */
  int32_t min_replicas;       /* exclusive locks: replicas that must have the grant before
                                 this call returns; 0: none; DIBS_REPLICAS_MAJORITY.
                                 Too few: released, DIBS_ERR_NOT_REPLICATED. Since 0.4 */
  int32_t replicas_wait_ms;   /* 1000; the limit of that wait, which is at most three
                                 quarters of ttl_ms, and a part of wait_ms.
                                 While other locks of this client wait for replicas that are
                                 missing, enough acknowledgements are noticed up to 0.15 s
                                 later. Since 0.4 */
  dibs_free_callback on_lost_free; /* NULL, or gets on_lost_data, exactly once for each call with
                                 these options, when on_lost cannot run any more: it has run,
                                 the hold was released or detached, or its client closed, or
                                 the call took nothing. An inner hold of a re-entrant owner has
                                 its own. Without on_lost, too. Since 0.5 */
  dibs_change_callback on_change; /* NULL, or reports more than on_lost. Since 0.6 */
  void *on_change_data;           /* used until on_change_free runs */
  dibs_free_callback on_change_free; /* as on_lost_free */
  int32_t warn_ms;            /* on_change reports ENDS_SOON this long before the end of the lease
                                 for this client; 0: never; else 1 .. ttl_ms, needs on_change. A
                                 lease is renewed when a third of it is over, or after
                                 renew_every_ms: at most half of ttl_ms warns of no lease that is
                                 renewed in time */
  uint32_t reserved;          /* 0 */
} dibs_lock_options;

/* Exclusive locks of a dialect that has several kinds: which. A name must have one kind in all
 * programs. Native locks are always fair and fenced, and accept FAIR and FENCED; SPIN is
 * DIBS_ERR_UNSUPPORTED there. Since 0.5 */
#define DIBS_LOCK_FAIR 0x20u        /* RFairLock: first come, first served, also with Java */
#define DIBS_LOCK_SPIN 0x40u        /* RSpinLock: no release message; waiters poll after
                                       1 to 128 ms */
#define DIBS_LOCK_FENCED 0x80u      /* RFencedLock: the fence is the token that Java sees. If
                                       the server loses this counter, it begins at 1 for Java
                                       and for clients that had no higher one of the name.
                                       Not of several names: they have no fence in common */

/* For min_replicas: the number that, with the primary, is more than half of the connected
 * servers. */
#define DIBS_REPLICAS_MAJORITY (-1)

/* For linger_ms: linger after only this client has taken the name several times in a row,
 * and stop when other clients request it. */
#define DIBS_LINGER_AUTO (-1)

#define DIBS_LOCK_OPTIONS_INIT \
  { sizeof(dibs_lock_options), 0, DIBS_FOREVER, 0, 0, NULL, 0, NULL, NULL, NULL, NULL, 0, 0, 0, \
    NULL, NULL, NULL, NULL, 0, 0 }

/* Takes the lock called `name`, waiting for it at most options->wait_ms.
 *
 * `name`     1..512 bytes, a C string (dibs_acquire() takes any bytes); must not
 *            begin with '}'. Copied. All clients that use the same prefix and name
 *            exclude each other.
 * `options`  read during the call only; NULL means all defaults.
 * `ret_hold` written on DIBS_OK only. The caller owns it: dibs_release().
 *
 * Returns  DIBS_OK              held until dibs_hold_valid_ms() reaches 0.
 *          DIBS_TIMED_OUT       wait_ms is over, also at once if it is 0; nothing is
 *                               owned, no queue entry left.
 *          DIBS_CANCELLED       options->cancel fired; nothing is owned.
 *          DIBS_WOULD_DEADLOCK  NO_REENTRY, and this owner holds the name already; or
 *                               DIBS_CLIENT_DETECT_DEADLOCK found that it waits for itself.
 *          DIBS_UNKNOWN         sent, and no reply within the time; see there.
 *          DIBS_ERR_UNREACHABLE no server for connect_timeout_ms; or wait_ms is over and the
 *                               request was not sent, or the server could not decide. A short
 *                               wait_ms says nothing about the server; the text says so.
 *          DIBS_ERR_ARGUMENT    name, size, time or flag out of range, or an inner hold
 *                               that shall end before the outermost one; see
 *                               dibs_client_error().
 *          DIBS_ERR_WRONG_TYPE  the name is used as another kind (dibs_kind), or its key by
 *                               another program.
 *          DIBS_ERR_LIMIT       the client has names_max names in memory.
 *          DIBS_ERR_NOT_REPLICATED  min_replicas: too few have acknowledged it; given back.
 *          DIBS_ERR_UNSUPPORTED the dialect, the server or a quorum has not what is requested.
 *          DIBS_ERR_FORKED, _CLOSED, _WOULD_BLOCK, and the server's faults (client.h).
 *
 * Thread   any; blocks; not from a callback. Returns within wait_ms + 50 ms. pthread_cancel()
 *          does not end it; options->cancel does.
 * Source   doc/design/protocol.md 4, 5; doc/design/invariants.md.
 * Since    0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* As dibs_lock(), but never waits for another holder: DIBS_BUSY. Still waits for the
 * server's answer, at most as long as dibs_client_set_call_timeout() says. A lease that has
 * ended can be taken a second later (dibs_inspection.is_held): a try that comes in between asks
 * again at the end of that second, on one server and in the native protocol. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_try_lock(
  dibs_client *client, const char *name, const dibs_lock_options *options,
  dibs_hold **ret_hold);

/* Releases the lock; the server grants it to the next waiter. `hold` is stale afterwards,
 * whatever is returned, but in a signal handler that is refused (client.h): there it is held as
 * before. An inner hold of a re-entrant owner only counts down.
 *
 * It never answers DIBS_EXPIRED: the library releases a lease when it ends, and the name is free
 * until the program releases the hold. Whether another client had an exclusive lock since,
 * dibs_token_release() answers for its token, if that was read while it was held: DIBS_OK, none
 * had it.
 *
 * Returns  DIBS_OK       it was held until now; as far as this client knows where it keeps the
 *                        lease and does not ask the server (linger_ms, an inner hold, the next
 *                        owner of the same client).
 *          DIBS_LOST     it had ended before, and another client may have had the name
 *                        since. Work done under it may have overlapped: see
 *                        doc/guide/fencing.md.
 *          DIBS_TAKEN    as DIBS_LOST, and another lease held the name when the library
 *                        released this one or tried to.
 *          DIBS_UNKNOWN  held until now as far as this client knows, and the server did
 *                        not confirm in time, or refused (NOPERM, "Function not found",
 *                        NOREPLICAS ...: dibs_client_error() has its reason); the library
 *                        continues to try, and the lease ends by itself after one ttl.
 *          DIBS_ERR_STALE   released before, or never a hold. NULL too.
 *          DIBS_ERR_FORKED  belongs to the parent; nothing was sent.
 *          DIBS_ERR_CLOSED  dibs_close() of its client runs in another thread and releases it.
 *
 * Thread   any, not only the one that acquired. Blocks for at most one
 *          command_timeout_ms, and not at all on a lost hold or inside a callback (there
 *          it returns DIBS_OK at once and confirms in the background).
 * Source   doc/design/protocol.md 4; doc/design/invariants.md.
 * Since    0.1 */
DIBS_API dibs_status dibs_release(dibs_hold *hold);

/* Returns whether the hold is valid now. The result may be outdated when you read it: a
 * suspended program needs the fence. DIBS_HOLD_GONE also for stale and forked handles.
 * Thread: any; never blocks; allowed everywhere. Since 0.1 */
DIBS_API dibs_hold_condition dibs_hold_state(const dibs_hold *hold);

/* Returns the milliseconds for which the hold stays valid if no further renewal succeeds; 0
 * when it has ended. Thread: as dibs_hold_state(). Property S7. Since 0.1 */
DIBS_API int64_t dibs_hold_valid_ms(const dibs_hold *hold);

/* Returns the fencing number: greater than that of every earlier grant of this name. Send it
 * with each write, and let the resource refuse a smaller one than it has seen. An
 * inner hold of a re-entrant owner has the outer one's. 0 for a stale handle.
 * A read hold's is above that of every write hold before it, and below that of every one after
 * it; those of readers have no order among each other. Guarded writes (guard.h) refuse the
 * fences of read holds and permits, which others hold at the same time.
 * Property S2. Thread: as dibs_hold_state(). Since 0.1 */
DIBS_API uint64_t dibs_hold_fence(const dibs_hold *hold);

/* Copies a name of this hold with a final zero.
 * `index`    0; a hold of several names has 0 to n - 1, sorted.
 * `ret_name` receives the name; NULL with `room` 0 returns its size only.
 * `room`     its bytes; DIBS_NAME_MAX + 1 is always enough.
 * `ret_size` receives the size of the name without the zero; may be NULL.
 * Returns DIBS_OK; DIBS_ERR_ARGUMENT: there is no name `index`, or `room` is too small
 *         (*ret_size is set then); DIBS_ERR_STALE, DIBS_ERR_FORKED.
 *         For native locks `{x}` is the lock `x`, and `x` is its name.
 * Thread: any; does not wait for the server. Since 0.5 */
DIBS_API dibs_status dibs_hold_name(
  const dibs_hold *hold, size_t index, char *ret_name, size_t room, size_t *ret_size);

/* Copies why the last renewal failed (while it is DIBS_HOLD_SUSPECT), or why the hold was lost,
 * with the server's address and error: "redis://10.0.0.1:6379/0: MISCONF Redis is ...". Empty if
 * the last renewal succeeded.
 * `ret_text`  receives the text with a final zero, cut to `text_size`; 512 is always enough.
 * Returns DIBS_OK; DIBS_ERR_ARGUMENT: no room; DIBS_ERR_STALE, DIBS_ERR_FORKED.
 * Thread: any; does not wait for the server. Since 0.5 */
DIBS_API dibs_status dibs_hold_why(const dibs_hold *hold, char *ret_text, size_t text_size);

/* Returns a descriptor that turns readable when the hold is lost, for poll() and similar
 * functions. Do not read or close it; it ends with the hold. Made at the first call.
 * -1 for a stale handle or when descriptors ran out.
 * Thread: any; never blocks. Since 0.1 */
DIBS_API int dibs_hold_fd(dibs_hold *hold);

/* Writes a text that names this lease, for dibs_token_renew() and dibs_token_release()
 * in any process. At most DIBS_TOKEN_SIZE bytes with the final zero; printable, no
 * blank. From now on the lease ends with this hold: it does not linger, and does not pass
 * to the next waiter of this process.
 * Returns DIBS_OK, DIBS_ERR_STALE (also of a hold that was reported lost), DIBS_ERR_ARGUMENT
 * (too small; a set with names too long for a token; or a
 * read hold that shares its lease with another reader's of this client, which
 * DIBS_LOCK_NO_REENTRY never does), DIBS_ERR_UNSUPPORTED (a lock of this machine or of a
 * quorum, or of several names in different slots of a Cluster: it is no single lease).
 * Since 0.1 */
#define DIBS_TOKEN_SIZE 2048
DIBS_API dibs_status dibs_hold_token(
  const dibs_hold *hold, char *ret_text, size_t text_size);

/* Where a grant is stored, in order of what it survives. Since 0.4 */
typedef enum dibs_durability_kind {
  DIBS_DURABLE_LOCAL = 1,    /* a lock of this machine: no server could be reached */
  DIBS_DURABLE_PRIMARY = 2,  /* one server; lost with its data or in a failover */
  DIBS_DURABLE_REPLICAS = 3, /* `acknowledged` replicas have it */
  DIBS_DURABLE_FSYNC = 4,    /* on disk at the primary and at `acknowledged` replicas */
  DIBS_DURABLE_QUORUM = 5    /* `acknowledged` of `wanted` independent servers have it */
} dibs_durability_kind;

/* What a hold is at one moment. Start from DIBS_HOLD_INFO_INIT. Since 0.6 */
typedef struct dibs_hold_info {
  size_t size;               /* set by DIBS_HOLD_INFO_INIT */
  int32_t state;             /* dibs_hold_condition, as dibs_hold_state() */
  uint32_t depth;            /* holds of its owner that share this lease now, with this one: 1
                                without nesting */
  uint32_t units;            /* permits; 1 for locks */
  int32_t durability;        /* dibs_durability_kind: where the grant is stored */
  uint32_t acknowledged;     /* servers that have it, as durability says */
  uint32_t wanted;           /* of how many */
  uint64_t fence;            /* as dibs_hold_fence() */
  int64_t valid_ms;          /* as dibs_hold_valid_ms() */
} dibs_hold_info;

#define DIBS_HOLD_INFO_INIT { sizeof(dibs_hold_info), DIBS_HOLD_GONE, 0, 0, 0, 0, 0, 0, 0 }

/* Reads what a hold is: all of one moment.
 *
 * `ret_info` written on DIBS_OK only. A smaller `size`, of a program that was compiled with an
 *            older header, gets the fields that it has.
 *
 * Returns  DIBS_OK (also of a hold that is lost and not yet released), DIBS_ERR_STALE (also in a
 *          child made by fork()), DIBS_ERR_ARGUMENT (ret_info is NULL, or its size is not set).
 * Thread   as dibs_hold_state().
 * Source   doc/guide/which-deployment.md. Since 0.6 */
DIBS_API dibs_status dibs_hold_get_info(const dibs_hold *hold, dibs_hold_info *ret_info);

/* Stops renewing and frees the hold without releasing it: the lease expires, or is renewed
 * and released by its token. `hold` is stale afterwards. dibs_inspect()
 * names this client as its holder until it ends, also after dibs_close(). The same
 * client waits for that lease like any other when it requests the name again.
 * Returns DIBS_OK, DIBS_LOST (it had ended), DIBS_ERR_STALE; or the hold is unchanged:
 * DIBS_ERR_ARGUMENT (its owner has another hold of the lease, which would end with the token:
 * release that first; or a read hold that shares its lease, as for dibs_hold_token()),
 * DIBS_ERR_UNSUPPORTED (as for dibs_hold_token()), DIBS_ERR_NO_MEMORY; and in a signal
 * handler that is refused.
 * Thread: any; never blocks. Since 0.1 */
DIBS_API dibs_status dibs_hold_detach(dibs_hold *hold);

/* Extends the lease of `token` to `ttl_ms` from now, if it has less; never creates
 * one. `ret_remaining_ms` may be NULL.
 * Returns DIBS_OK, also after the end of the lease while no other client has requested the name
 * since; or the lease is gone: DIBS_EXPIRED (released, and no other client had the
 * name since), DIBS_TAKEN (another lease holds the name now), DIBS_LOST (the name is free, and
 * another client may have had it; always for read/write locks and permits);
 * DIBS_ERR_ARGUMENT (not a token), DIBS_ERR_UNSUPPORTED (a quorum, or the token of a kind of lock
 * that the dialect has not), the server's faults; DIBS_UNKNOWN (no reply in time; repeat it).
 * Blocks. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_token_renew(
  dibs_client *client, const char *token, int32_t ttl_ms, int64_t *ret_remaining_ms);

/* Releases the lease of `token`. If the hold that it was read from is still in use, in any client,
 * it is lost: it learns that as from dibs_break(). Metrics and history count it as released.
 * Returns DIBS_OK also if the lease had expired but no other client had the name
 * since, and, but for read/write locks and permits, when it is repeated; DIBS_TAKEN (another
 * lease holds the name now), DIBS_LOST (the name is free, and another client may have had it);
 * DIBS_ERR_ARGUMENT (not a token),
 * DIBS_ERR_UNSUPPORTED (as for dibs_token_renew()), the server's faults; DIBS_UNKNOWN (no reply in
 * time: repeat it; or a reply was lost, and the lease was gone when the library sent the request
 * again: the first one released it, or it had ended before). After DIBS_UNKNOWN the DIBS_TAKEN or
 * DIBS_LOST of a repeated call says no more than that the lease is gone. Blocks. Since 0.1 */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_token_release(
  dibs_client *client, const char *token);

/* Makes a canceller. Returns DIBS_OK, DIBS_ERR_NO_MEMORY, DIBS_ERR_SYSTEM. */
DIBS_API DIBS_MUST_CHECK dibs_status dibs_canceller_new(dibs_canceller **ret_canceller);

/* Ends all calls with this canceller, present and later ones, with DIBS_CANCELLED.
 * After a fork() parent and child have one each: it ends the calls of its own process.
 * Async-signal-safe: one atomic store and one write(). Any thread. Since 0.1 */
DIBS_API void dibs_cancel(dibs_canceller *canceller);

/* Frees a canceller after all calls with it have ended. Returns NULL; NULL allowed. */
DIBS_API dibs_canceller *dibs_canceller_free(dibs_canceller *canceller);

#ifdef __cplusplus
}
#endif

#endif
