/* SPDX-License-Identifier: MIT */
/* api/degrade.h - degrade=local: exclusive locks of this machine while no server answers.
 *
 * An outage begins when the engine ends a request because no server answers, and ends with
 * the reply to a probe that is repeated until then; the probe makes the engine reconnect.
 * Meanwhile requests take the exclusive lock of a file (lock_files.h), repeated by the drive's
 * alarm: so no thread waits in flock() and none must be woken to cancel it. When the outage ends,
 * holds are lost, because another machine may have the lock at the servers; waiting requests go to
 * the engine. On this machine such a hold excludes others until it is released, at most for its
 * ttl: a program needs time to stop.
 *
 * Each claim of any kind has the shared locks of its files before it goes to the engine, and until
 * it believes in no lease any more. If a process has a lock of this machine meanwhile, the claim
 * waits here for its end.
 *
 * A file that is removed while it is locked excludes no later process: every LOOK_AGAIN a lock of
 * this machine is lost if its file has no name, and a claim of the servers shares the new file, or
 * is lost if a process has a lock of this machine by it.
 *
 * All functions need the mutex. */
#ifndef API_DEGRADE_H
#define API_DEGRADE_H

#include "api/lock_files.h"

typedef enum local_state { LOCAL_NOT, LOCAL_WAITS, LOCAL_HELD } local_state;

/* Part of each claim of a client with degrade=local. */
typedef struct local_claim {
  local_state state;
  bool may_be_local;               /* it may become a lock of this machine */
  lock_spec spec;                  /* as the engine gets it; its texts are copies */
  char owner[OWNER_KEY_MAX];
  char note[DIBS_NOTE_MAX + 1];
  lock_files files;
  bool lacks_files;                /* it asks the servers, and another process has the new files */
  instant next_try;
  span pause;                      /* before the second next try */
  instant ends_at;                 /* of a hold; after its loss, of its exclusive lock */
  many_name names[];               /* several; then the descriptors of `files` */
} local_claim;

/* Of a client with degrade=local. */
typedef struct outage {
  bool is_on;
  bool was_reported;                   /* to on_event, since the last reply of a server */
  bool is_asked;                   /* a probe is under way */
  instant ask_at;
  instant look_at;                 /* whether lock files were removed; never: none is in use */
  question question;
} outage;

/* DIBS_ERR_NO_MEMORY, or the claim is prepared. */
dibs_status degrade_prepare(claim *cl, const lock_spec *spec);
void degrade_free(claim *cl);
/* true: it waits here, and begins at the next alarm. False: it is for the engine. */
bool degrade_begin(claim *cl);
/* The engine ended it with `status`. True: it continues as a local one. */
bool degrade_takes_over(claim *cl, dibs_status status);
/* true: it waited here, and is cancelled. */
bool degrade_cancel(claim *cl);
/* It has no lease of servers any more, and waits for none. */
void degrade_let_go(claim *cl);
void degrade_release(claim *cl);             /* of one that is LOCAL_HELD; may free it */
void degrade_close(client_record *c);          /* ends all waiting requests */
void degrade_alarm(client_record *c);
void degrade_forked(client_record *c);         /* in a child: closes its copies of the lock files */

#endif
