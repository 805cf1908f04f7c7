/* SPDX-License-Identifier: MIT */
/* hold - the claims of one client: each is a request of the program, and then its hold.
 *
 * A *front* has the claims of one user: it makes and ends them, finds them by id, knows their
 * owners, and reports their events. The program's front has all that a program waits for or
 * holds. How a claim gets its lease is the matter of a *backend*: of a lock table (lock/), of a
 * quorum or of a multi-lock over several slots (quorum/). The last two have leases at several
 * servers or in several slots, and get them through fronts of their own over lock tables.
 *
 *   program ── front ─┬─ quorum ── a front for each server ── lock table
 *                     ├─ multi ─── front of the parts ─────── lock table
 *                     └─ single: the lock table
 *
 * May include base/ and dialect/. Events are pulled; nothing calls the program.
 *
 * Invariants (doc/design/invariants.md): each claim ends with exactly one last event, and its
 * id is stale from then on; an owner that holds a name does not wait for itself; a loss is
 * reported once (I17). Events need no memory.
 *
 * Files: claim.c claims, their lists and their events; front.c the calls of the program; slack.c
 * what was left of leases at renewals. For the backends only: acquisition.h what a record knows of
 * its claims, claim.h the claims. */
#ifndef HOLD_H
#define HOLD_H

#include <dibs/metrics.h>

#include "base/base.h"
#include "hold/lock_name.h"
#include "hold/lock_spec.h"

typedef struct hold_front hold_front;
typedef struct hold_backend hold_backend;

/* ---- life ---- */

hold_front *hold_front_new(const memory *m);            /* NULL: no memory */
/* Before its backends are freed. */
hold_front *hold_front_free(hold_front *f);
/* A claim goes to the first backend that takes it. Borrowed. At most HOLD_BACKENDS_MAX. */
void hold_front_add(hold_front *f, hold_backend *b);
#define HOLD_BACKENDS_MAX 2

/* ---- from the program; `id` is that of a claim ---- */

/* A claim that fails at once is reported by an event, too. DIBS_ERR_LIMIT, _CLOSED,
 * _UNSUPPORTED, _NO_MEMORY: there is no claim. */
dibs_status hold_claim(hold_front *f, const lock_spec *spec, instant now, uint64_t *ret_id);
/* Ends a waiting claim with `status` and this message, which is copied. false: none waits. */
bool hold_fail(hold_front *f, uint64_t id, dibs_status status, const char *words, instant now);
bool hold_cancel(hold_front *f, uint64_t id, instant now);
/* LOCK_RELEASED follows. DIBS_ERR_STALE: the claim has ended or does not hold. */
dibs_status hold_release(hold_front *f, uint64_t id, instant now);
/* Why the server has not executed its release yet, borrowed until the next input; NULL: it gave
 * no reason, or the claim has ended. */
const char *hold_refusal(const hold_front *f, uint64_t id);
/* Adds `before`, and why a lease was not renewed the last time, or was lost; nothing if it was
 * renewed, or holds nothing. */
void hold_add_why(const hold_front *f, uint64_t id, const char *before, text *out);
/* The lease goes on without a claim; LOCK_DETACHED follows. DIBS_ERR_ARGUMENT: other owners
 * share it. */
dibs_status hold_detach(hold_front *f, uint64_t id, instant now);
dibs_status hold_downgrade(hold_front *f, uint64_t id, instant now);
/* Before the token of its lease is given out: no other claim of this process may join it
 * or get it by local handoff. false: other owners share it, so it must not be given out. */
bool hold_keep_alone(hold_front *f, uint64_t id);
bool hold_token(const hold_front *f, uint64_t id, text *out);
/* Whether it is one lease at one server, which has a token. */
bool hold_is_one_lease(const hold_front *f, uint64_t id);
/* Gives the lease of a granted claim a higher token (protocol.md 18); LOCK_RAISED or
 * LOCK_LOST follows. */
dibs_status hold_raise(hold_front *f, uint64_t id, uint64_t token, instant now);
/* The lease of a granted claim, which was renewed until now, ends at `limit`. `is_fixed`: after
 * one more renewal. */
void hold_limit(hold_front *f, uint64_t id, instant limit, bool is_fixed);
/* Its lease may have ended: renews it now, also a fixed one. */
void hold_check_now(hold_front *f, uint64_t id);
/* Whether this claim waits while its owner holds a name, and is in the wait report. */
bool hold_wait_is_reported(const hold_front *f, uint64_t id);

/* The short way back from a parked lease, without events and commands. Both return false, and
 * change nothing, where the ordinary way has to be taken; a timer that is due is one reason.
 *
 * hold_park() releases a hold whose claim stays with the parked lease, under the same id, until
 * hold_retake() or the event LOCK_RELEASED. `*ret_sends`: there is something to send, or a new
 * deadline. hold_retake() makes it a hold of `owner`, with a new fence. */
typedef struct hold_retaken { uint64_t fence; instant valid_until; } hold_retaken;
bool hold_park(hold_front *f, uint64_t id, instant now, bool *ret_sends);
bool hold_retake(hold_front *f, uint64_t id, const void *owner, size_t owner_size, instant now,
                 hold_retaken *ret);

/* When a hold ends, however often it is renewed. */
typedef struct end_terms {
  bool is_fixed;                         /* not renewed */
  instant at;                            /* INSTANT_NEVER: with its release only */
} end_terms;

end_terms end_terms_of(bool is_fixed, span ttl, span max_hold, instant from);
/* Why an inner hold, which has the lease of the outer one, cannot end as it wants; NULL: it can. */
const char *inner_end_fault(end_terms wanted, end_terms outer);

/* ---- the backends ---- */

instant hold_deadline(const hold_front *f);
void hold_tick(hold_front *f, instant now);
/* Ends all claims: those that wait with DIBS_ERR_CLOSED, holds are released. */
void hold_close(hold_front *f, instant now);
bool hold_is_quiet(const hold_front *f);   /* nothing held, requested or unanswered */
/* Walks over the names in memory, one lease or ask at a time; false: no more. */
bool hold_next_name(const hold_front *f, lock_name_at *at, lock_name *ret_name);

/* ---- events ---- */

typedef enum lock_event_kind {
  LOCK_GRANTED = 1, LOCK_RENEWED, LOCK_SUSPECT,
  LOCK_ENDS_SOON,          /* valid_until is `warn` of its spec away, or less; once for each end */
  LOCK_LOST,
  LOCK_RAISED,                                     /* token; valid_until is unchanged */
  LOCK_HELD_BACK,          /* the server is in quarantine (protocol.md 16): the claim waits, or
                            * LOCK_FAILED follows */
  LOCK_FAILED, LOCK_RELEASED, LOCK_DETACHED        /* the last three end the claim */
} lock_event_kind;

typedef struct lock_event {
  lock_event_kind kind;
  void *context;
  uint64_t id, fence, units, token;
  uint32_t acknowledged, replicas_wanted;   /* GRANTED, if min_replicas was given */
  bool has_fsync;
  bool was_short;          /* FAILED: the time was too short to know about the server */
  bool was_broken;         /* LOST: by an administrator (`dibs break`), or by its token */
  bool was_let_go;         /* LOST, RELEASED: it had been released by its token */
  watched_lease watched;   /* FAILED, BUSY: the lease of another client; token 0: not known */
  instant free_at;         /* the same: its lease has ended, and can be taken then; 0: it has not */
  instant valid_until;
  int depth;
  dibs_status status;
  const char *words;       /* borrowed until the next input */
  const char *name;        /* borrowed too; NULL for a claim that has ended */
  size_t name_size;
} lock_event;

bool hold_next_event(hold_front *f, lock_event *ret_event);

/* The least share of a lease that was left when it was renewed, in millionths: in this minute and
 * in the one before. All zero: none. */
typedef struct lease_slack {
  instant since;
  bool is_known, was_known;
  int32_t least, before;
} lease_slack;

void slack_note(lease_slack *s, span left, span ttl, instant now);
/* Of the last one to two minutes; -1: no lease was renewed. */
int32_t slack_least(const lease_slack *s, instant now);

typedef struct lock_counts {
  uint64_t granted, granted_local, released, lost, renewed, renew_failed;
  uint64_t handovers[DIBS_HANDOVERS];
  uint64_t holds, waiting, parked, names, bytes;
  uint64_t tries;                /* of those that wait */
  lease_slack slack;
} lock_counts;
/* Of a multi-lock over several slots each part counts. */
lock_counts hold_counts(const hold_front *f);

#endif
