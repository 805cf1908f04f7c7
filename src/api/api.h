/* SPDX-License-Identifier: MIT */
/* api - the exported functions: argument checks, options, configuration, handles, and what
 * the engine's effects mean for callers and callbacks.
 *
 * May include drive/ and everything below, local/local.h for the private server. The
 * client's mutex is drive's; functions marked "mutex held" need it.
 *
 * Invariants: a hold is told lost once (S8); what dibs_hold_state() and its like answer
 * never waits for a mutex and is never true at or after the lease's end (S7); a claim is
 * freed when the engine is done with it, no job of it is pending and no call waits for it;
 * dibs_close() returns when no other call is inside. */
#ifndef API_H
#define API_H

#include <dibs/dibs.h>

#include "api/handle.h"
#include "api/options.h"
#include "dialect/dialect.h"
#include "drive/drive.h"
#include "drive/fork_epoch.h"

/* One acquisition, from the call to the end of its hold; the engine's context. */
typedef struct claim {
  dibs_client *client;
  struct claim *previous, *next;
  uint64_t id;                     /* the engine's */
  handle *hold, *request;          /* NULL: ended, or not made */
  drive_waiter *waiter;            /* of the call that waits for the next effect */
  bool is_held, is_lost;
  bool is_over;                    /* the engine knows it no more */
  dibs_status status;              /* of the last step */
  dibs_status lock_status;         /* for on_lock, which may run some steps later */
  dibs_canceller *cancel;
  size_t jobs;                     /* queued or running */
  drive_job lock_job, lost_job, release_job;
  dibs_lock_callback on_lock;
  void *on_lock_data;
  dibs_lost_callback on_lost;
  void *on_lost_data;
  dibs_status lost_why;
  void *lost_hold, *granted_hold;  /* the values given to the callbacks */
  dibs_release_callback on_release;
  void *on_release_data;
  struct leading *leading;         /* NULL: not of dibs_campaign(); leading.h */
  struct local_claim *local;       /* may become a lock of this machine; degrade.h */
  size_t name_size;
  char name[];
} claim;

struct dibs_client {
  memory memory;
  uint64_t epoch;
  deployment servers;              /* outlives the drive, which looks into it */
  drive *drive;
  handle *handle;                  /* by which its holds find it */
  void *handle_word;               /* its value, stale after its end: for last callbacks */
  native names;
  char *shown;                     /* deployment_show() */
  url_degrade degrade;
  struct outage *outage;           /* with degrade=local; degrade.h */
  bool is_private;
  int local_use_fd;
  uint32_t flags;
  client_times times;
  uint64_t names_max;              /* 0: no limit */
  dibs_event_callback on_event;
  void *on_event_data;
  /* Mutex held: */
  dibs_error last_error;
  claim *first_claim;
  struct wait *first_wait;
  uint64_t latch_number;           /* of the last change of a latch */
  uint64_t rate_number;            /* likewise of a rate limiter */
  struct writing *first_writing;   /* guarded writes that are not settled; writing.h */
  uint64_t writings;               /* begun so far */
  uint64_t parties, tellings;      /* of barriers and elections, likewise */
  struct walk *first_walk;         /* of calls that look for deadlocks; deadlock.h */
  size_t calls;                    /* inside now */
  bool is_closing;
  drive_waiter *idle;              /* done when calls is 0 */
};

/* ---- client.c ---- */
/* From this process and this place; without mutex. */
dibs_status client_may_call(const dibs_client *c, bool blocks);
/* DIBS_OK: the mutex is held, and client_leave() must follow. */
dibs_status client_enter(dibs_client *c, bool blocks);
void client_leave(dibs_client *c);
/* For calls of several questions: dibs_close() waits for client_unpin(). Without mutex. */
dibs_status client_pin(dibs_client *c);
void client_unpin(dibs_client *c);
/* Remembers a fault for dibs_last_error(). Mutex held. Returns `status`. */
dibs_status client_fault(dibs_client *c, dibs_status status, const char *words);
/* The same from outside the mutex. */
dibs_status client_refuse(dibs_client *c, dibs_status status, const char *words);
instant client_give_up_at(const dibs_client *c);

/* As client_enter(), by a hold or request; DIBS_ERR_STALE, DIBS_ERR_FORKED too. */
typedef struct entry {
  handle *client_handle;
  dibs_client *client;
  union { claim *claim; struct wait *wait; };    /* by the kind of the handle */
} entry;
dibs_status claim_enter(const void *value, handle_kind kind, bool blocks, entry *ret_entry);
void claim_leave(const entry *e);
dibs_client *client_free(dibs_client *c);

/* What a call wants: a name as some kind of lock, permits of it, or several names. */
typedef struct lock_target {
  lock_kind kind;
  const void *name; size_t name_size;
  const many_name *names; size_t name_count;     /* MANY: sorted, each once */
  uint64_t units;                                /* PERMITS; 0: all that are free */
  const char *value;                             /* a leader's; NULL: no campaign */
} lock_target;

/* ---- lock.c: the ways to take something; all checks included ---- */
lock_target lock_target_of(lock_kind kind, const char *name);
dibs_status lock_blocking(dibs_client *c, const lock_target *target,
                          const dibs_lock_options *options, bool is_try,
                          dibs_hold **ret_hold);
dibs_status lock_async(dibs_client *c, const lock_target *target,
                       const dibs_lock_options *options, bool is_try,
                       dibs_lock_callback callback, void *data, dibs_request **ret_request);
dibs_status name_check(dibs_client *c, const void *name, size_t size);
/* UNSUPPORTED in a quorum, which has locks only: all else has one place, and there are many.
 * NULL is left to others. */
dibs_status one_place_check(dibs_client *c);
/* What has no format but ours: UNSUPPORTED for clients of another dialect; `what` is plural. */
dibs_status native_check(dibs_client *c, const char *what);

/* ---- claim.c ---- */
claim *claim_new(dibs_client *c, const void *name, size_t name_size);  /* NULL: memory */
claim *claim_free(claim *cl);      /* one the engine never knew */
/* Gives it to the engine. Mutex held; on a fault nothing was begun. */
dibs_status claim_begin(claim *cl, const lock_target *target, const lock_plan *plan,
                        bool is_try);
void claim_list_join(claim *cl);   /* mutex held */
void claim_settle(claim *cl);      /* mutex held: frees it if nothing needs it */
void claim_queue(claim *cl, drive_job *job);     /* mutex held */
void claim_end_hold(claim *cl);    /* mutex held: its dibs_hold is stale from now on */
void claim_end_request(claim *cl);
void claim_depths(claim *cl);      /* mutex held: counts again who shares the lease */
void claim_unwatch(claim *cl);     /* mutex held: the canceller is not needed any more */
/* It is over before it was granted. Mutex held. */
void claim_failed(claim *cl, dibs_status status, const char *words);

/* ---- effects.c ---- */
/* Tells whoever asked for the lock; mutex held. */
void claim_lock_ended(claim *cl, dibs_status status);
/* What the engine's effects of these names do; mutex held. claim_released() may free it. */
void claim_granted(claim *cl, const effect *e);
void claim_lost(claim *cl, const effect *e);
void claim_released(claim *cl, const effect *e);
/* Tells on_event; mutex held. */
void client_event(dibs_client *c, dibs_event_kind kind, const char *words);
void api_effect(void *client, const effect *e);
void api_cancelled(void *client, const dibs_canceller *canceller);

/* ---- question.c ---- */
/* One command of our own and its answer; on the caller's stack, if a call waits for it. */
typedef struct question {
  drive_waiter waiter;
  dibs_status status;
  resp_reply *reply;               /* freed by question_deinit() */
  /* NULL: a call waits. Else runs when it is answered, mutex held; set it behind
   * question_ask(), when waiter.is_done is false: else it failed at once. */
  void (*then)(dibs_client *c, struct question *q);
} question;

/* Sends; mutex held. question_deinit() must follow in any case. */
void question_ask(dibs_client *c, question *q, const buffer *command,
                  const buffer *with_text, instant give_up_at);
/* The same for what must not happen twice; engine_ask_once(). */
void question_ask_once(dibs_client *c, question *q, const buffer *command,
                       const buffer *with_text, instant give_up_at);
/* The same to one server of several, by its route. */
void question_ask_at(dibs_client *c, question *q, size_t route, const buffer *command,
                     const buffer *with_text, instant give_up_at);
dibs_status question_wait(dibs_client *c, question *q);        /* mutex held */
void question_deinit(question *q);
void question_answered(dibs_client *c, question *q, const effect *e);
/* All of it for one command, outside the mutex. */
dibs_status question_run(dibs_client *c, question *q, const buffer *command,
                         const buffer *with_text);
/* The same for server `route` and no other. */
dibs_status question_run_at(dibs_client *c, question *q, size_t route, const buffer *command,
                            const buffer *with_text);
/* A quorum: the first server from `from` on that answers now; SIZE_MAX: none, or no quorum. */
size_t quorum_route_next(dibs_client *c, size_t from);
/* A script call in both its forms, for a server that may not have seen the script. */
typedef struct script_command { buffer by_digest, by_text; } script_command;
void script_command_init(script_command *k, const dibs_client *c);
void script_command_deinit(script_command *k);
/* question_run() of one that was made by then; `is_made` false: there was no memory. In any
 * case question_deinit() must follow. */
dibs_status script_command_run(dibs_client *c, question *q, const script_command *k, bool is_made);
/* For questions that change nothing, "perhaps it happened" is "no answer". */
dibs_status question_read_only(dibs_status status);

/* ---- agreed_time.c ---- */
/* What the server's clock says, or 0 where this machine's says something else: then the
 * deadlines that a script writes are in doubt (protocol.md 4, "over"). Blocks. */
dibs_status client_agreed_time(dibs_client *c, int64_t *ret_us);

/* ---- inspect.c ---- */
dibs_status inspect_name(dibs_client *c, const void *name, size_t size,
                         dibs_inspection **ret_inspection);

#endif
