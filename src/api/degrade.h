/* SPDX-License-Identifier: MIT */
/* api/degrade.h - degrade=local: exclusive locks of this machine while no server answers.
 *
 * An outage begins when the engine gives a request up for want of a server, and ends with the
 * answer to a question that is asked until then; the engine goes on connecting because of
 * it. Meanwhile requests are flocks, tried again and again by the drive's alarm: no thread
 * waits in flock() for each of them, and none would have to be woken to cancel it. At the end
 * holds are lost, as somebody elsewhere may have the lock by the servers; who still waits is
 * handed to the engine.
 *
 * All of it with the mutex held. */
#ifndef API_DEGRADE_H
#define API_DEGRADE_H

#include "api/api.h"

typedef enum local_state { LOCAL_NOT, LOCAL_WAITS, LOCAL_HELD } local_state;

/* Beside a claim that may become local. */
typedef struct local_claim {
  local_state state;
  lock_request request;            /* as the engine gets it; its texts are these: */
  char owner[OWNER_KEY_MAX];
  char note[DIBS_NOTE_MAX + 1];
  int fd;                          /* -1: not opened */
  instant next_try;
  span pause;                      /* before the try after that */
  instant ends_at;                 /* of a hold; NEVER once that has been told */
} local_claim;

/* Of a client with degrade=local. */
typedef struct outage {
  bool is_on;
  bool was_told;                   /* to on_event, since a server answered last */
  bool is_asked;                   /* the question is under way */
  instant ask_at;
  question question;
} outage;

/* DIBS_ERR_NO_MEMORY, or the claim is prepared where it needs to be. */
dibs_status degrade_prepare(claim *cl, const lock_request *r);
void degrade_free(claim *cl);
/* Begins it as a local one, at the next alarm: true. False: there are servers to ask. */
bool degrade_begin(claim *cl);
/* The engine gave it up with `status`. True: it goes on here. */
bool degrade_takes_over(claim *cl, dibs_status status);
/* Ends it where it waits here: true. */
bool degrade_cancel(claim *cl);
void degrade_release(claim *cl);             /* of one that is LOCAL_HELD; may free it */
void degrade_close(dibs_client *c);          /* nobody waits any more */
void degrade_alarm(void *client);

#endif
