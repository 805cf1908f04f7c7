/* SPDX-License-Identifier: MIT */
/* api - the exported functions: argument checks, options, configuration, handles, and what
 * the engine's effects mean for callers and callbacks.
 *
 * May include drive/ and everything below, local/local.h for the private server. The
 * client's mutex is drive's; functions marked "mutex held" need it.
 *
 * Invariants: a loss of a hold is reported once (S8); dibs_hold_state() and similar
 * functions never wait for a mutex and are never true at or after the lease's end (S7); a
 * claim is freed when the engine is done with it, no job of it is pending and no call
 * waits for it; dibs_close() returns when no other call is inside; each exported function
 * that takes a client or a hold goes through client_begin() or claim_enter(), and its last
 * step is client_end() or claim_leave(), which sets dibs_client_error() of this thread. */
#ifndef API_H
#define API_H

#include <dibs/dibs.h>

#include <stddef.h>

#include "api/fault.h"
#include "api/handle.h"
#include "api/options.h"
#include "dialect/dialect.h"
#include "drive/drive.h"
#include "drive/fork_epoch.h"

/* A blocking lock or release, on the stack of its thread. Another thread may begin and end it,
 * so the result is here, and needs no mutex: drive_call(). */
typedef struct blocked_call {
  drive_op op;
  client_record *client;
  struct claim *claim;
  dibs_status refused;             /* DIBS_OK: it was begun, and `end` is the result */
  outcome end;
  void *hold;                      /* of a lock */
} blocked_call;

/* on_change and on_lost of a hold; watch.c. */
typedef struct hold_watch {
  dibs_change_callback on_change;
  void *on_change_data;
  dibs_lost_callback on_lost;
  void *on_lost_data;
  span warn;                       /* 0: none */
  dibs_change change, told;        /* what is, and what was reported last */
  bool loss_is_told;               /* to on_lost */
  bool is_quiet;                   /* until a campaign is published, its result reports a loss */
  bool is_over;                    /* neither begins any more */
  bool is_busy;                    /* job is queued, or runs */
  drive_job job, over_job;
  void *hold;                      /* the value given to the callbacks */
  watch_data over;                 /* what frees their data, until is_over and neither runs ... */
  watch_data freeing;              /* ... and then until over_job runs */
} hold_watch;

/* One acquisition, from the call to the end of its hold; the context of its engine
 * effects. */
typedef struct claim {
  client_record *client;
  struct claim *previous, *next;
  uint64_t id;                     /* in the engine */
  handle *hold, *request;          /* NULL: ended, or not created */
  /* Of the call that takes it; of the one that releases it, which on_lost may make before the
   * first has returned. */
  drive_waiter *taker, *releaser;
  blocked_call *call;              /* either of them, by drive_call(); NULL: none */
  bool is_held, is_lost;
  bool was_let_go;                 /* its token has released it */
  bool may_not_wait;               /* wait_ms 0 */
  bool is_over;                    /* the engine has removed it */
  outcome asked;                   /* how the request ended; on_lock may run later */
  outcome end;                     /* how the release ended */
  dibs_canceller *cancel;
  size_t jobs;                     /* jobs queued or running */
  drive_job lock_job, release_job;
  dibs_lock_callback on_lock;
  void *on_lock_data;
  hold_watch watch;
  outcome loss;
  void *granted_hold;              /* the value given to on_lock */
  dibs_release_callback on_release;
  void *on_release_data;
  struct campaign *campaign;       /* NULL: no leadership; campaign.h */
  struct parking *parking;         /* NULL: is not taken again by the short way; retake.c */
  struct local_claim *local;       /* of a client with degrade=local; local_claim.h */
  fleet_note note;                 /* for src/fleet/ */
  uint64_t note_fence;
  size_t name_count;               /* 0: one name; otherwise several, and name_size is 0 */
  size_t name_size;
  char name[];                     /* followed by a zero; several: claim_name() reads them */
} claim;

typedef struct log_sink log_sink;

typedef enum client_ending { ENDING_NONE_YET, ENDING, ENDING_IN_CHILD } client_ending;

/* The record of a dibs_client, which is a handle. */
struct client_record {
  memory memory;
  uint64_t epoch;
  deployment servers;              /* outlives the drive, which reads it */
  drive *drive;
  handle *handle;                  /* by which calls and the client's holds find it */
  void *handle_word;               /* the dibs_client value; stale after the close */
  _Atomic int ending;              /* client_ending: which dibs_close() has begun */
  protocol names;
  char *shown;                     /* deployment_show() */
  struct local_client *local;      /* with degrade=local; degrade.h */
  bool is_private;
  bool is_unnamed;                 /* it is private because no server is named */
  int local_use_fd;
  uint32_t flags;
  client_times times;
  _Atomic int32_t call_ms;         /* dibs_client_set_call_timeout(); 0: the default of
                                      client_times */
  uint64_t names_max;              /* 0: no limit */
  dibs_event_callback on_event;
  void *on_event_data;
  callback_data event_over;        /* freed with the client */
  span history_over;               /* waited or held longer: notable */
  /* Mutex held: */
  log_sink *log, *logs;            /* of dibs_client_set_log(): the present one, and all; log.c */
  instant degrade_alarm_at, log_alarm_at;      /* client_alarm_set() */
  struct server_errors *server_errors;   /* of a quorum; fault.h */
  uint64_t snapshots;
  uint32_t missing_reported;           /* of a quorum: named by the last warning, as bits */
  claim *first_claim;
  bool has_shared;                 /* a claim was to read, or for permits */
  struct parking *parkings;        /* uthash head: by name; retake.c */
  _Atomic size_t parking_count;    /* written with the mutex */
  struct wait *first_wait;
  uint64_t latch_number;           /* number of the last change of a latch */
  uint64_t rate_number;            /* number of the last change of a rate limiter */
  struct writing *first_writing;   /* guarded writes that are not acknowledged; writing.h */
  uint64_t writings;               /* guarded writes begun */
  uint64_t parties, publications;      /* barrier arrivals and publications begun */
  struct walk *first_walk;         /* of calls that search for deadlocks; deadlock.h */
  size_t calls;                    /* calls inside the client */
  bool is_closing;
  drive_waiter *idle;              /* done when calls is 0 */
};

/* ---- client.c ---- */
/* Begins a public call by a client's handle; mutex not held. DIBS_ERR_ARGUMENT for NULL,
 * _STALE, _FORKED, and _WOULD_BLOCK for a call that `blocks` inside a callback, or that is in a
 * signal handler of a call (drive_is_busy()): these faults are noted for dibs_client_error().
 * DIBS_OK: the client is not freed before client_end(), which returns its `status`. */
dibs_status client_begin(dibs_client *client, bool blocks, client_record **ret_client);
dibs_status client_end(client_record *c, dibs_status status);
/* Pins the client without beginning a call: dibs_client_error() does not change. */
dibs_status client_look(const dibs_client *client, client_record **ret_client);
void client_unlook(client_record *c);
/* Inside a call. DIBS_OK: the mutex is held, and client_leave() must follow. */
dibs_status client_enter(client_record *c, bool blocks);
void client_leave(client_record *c);
/* drive_callbacks_prepare(), and notes why not. Mutex held. */
dibs_status client_callbacks(client_record *c);
/* Passes the earlier of the client's two alarms to the drive; mutex held. */
void client_alarm_set(client_record *c);
void client_alarm(void *client);
/* The limit of a call that begins now and does not wait for a lock. */
instant client_give_up_at(const client_record *c);

/* As client_begin() and client_enter(), by a hold, request or observer. */
typedef struct entry {
  client_record *client;
  union { claim *claim; struct wait *wait; };    /* by the kind of the handle */
} entry;
dibs_status claim_enter(const void *value, handle_kind kind, bool blocks, entry *ret_entry);
dibs_status claim_leave(const entry *e, dibs_status status);
/* Pins a handle of this process, and its client's: the caller unpins both. Otherwise
 * DIBS_ERR_STALE, _FORKED, or _WOULD_BLOCK as client_begin(). */
dibs_status claim_pin(const void *value, handle_kind kind, handle **ret_handle,
                      handle **ret_client);

/* ---- close.c ---- */
client_record *client_free(client_record *c);    /* in any state of construction */
void client_forked(void *client);        /* in a child: closes its copies of lock files */

/* ---- lock.c: the ways to take something; all checks included ---- */
lock_call lock_call_of(lock_kind kind, const char *name);
/* The same for a name of any bytes. */
lock_call lock_call_of_bytes(lock_kind kind, const void *name, size_t name_size);
dibs_status take_blocking(dibs_client *client, lock_call *call,
                          const dibs_lock_options *options, bool is_try,
                          dibs_hold **ret_hold);
dibs_status take_async(dibs_client *client, lock_call *call,
                       const dibs_lock_options *options, bool is_try,
                       dibs_lock_callback callback, void *data, dibs_request **ret_request);
dibs_status name_check(client_record *c, const void *name, size_t size);
dibs_status semaphore_units_check(client_record *c, uint64_t count, uint64_t least);
/* UNSUPPORTED in a quorum, which has locks only: other objects need one server. Ignores
 * NULL. */
dibs_status one_place_check(client_record *c);
/* UNSUPPORTED for clients of another dialect: for objects that only native has; `what` is
 * plural. */
dibs_status native_check(client_record *c, const char *what);

/* ---- hold.c ---- */
/* Mutex held: as dibs_release(); the result follows as api_effect(). After a fault, which is not
 * noted, claim_settle() must follow. */
dibs_status release_start(claim *cl);
void hold_info_read(const handle_view *v, dibs_hold_info *ret_info);
/* Mutex held: notes DIBS_UNKNOWN, with the reason that the server gave last; returns it. */
dibs_status release_unconfirmed(const claim *cl);

/* ---- blocked.c: calls that any thread begins and ends ---- */
dibs_status blocked_lock(claim *cl, lock_call *call, dibs_hold **ret_hold);
dibs_status blocked_release(const dibs_hold *hold);
/* Mutex held: the result is `from`, which becomes empty. */
void blocked_end(claim *cl, outcome *from);

/* ---- retake.c: the short way back from a parked lease ---- */
/* Takes a lock again by the same options as the last time, if its lease is parked and nothing
 * else is to be done. false: take it the ordinary way. */
bool retake(dibs_client *client, const void *name, size_t name_size,
            const dibs_lock_options *options, dibs_hold **ret_hold);
/* So that it may be parked for that; without memory it is not. */
void retake_prepare(claim *cl, const lock_call *call, const dibs_lock_options *options);
/* Releases a hold in that way. false: release it the ordinary way. */
bool retake_release(const dibs_hold *hold);
void retake_forget(claim *cl);     /* mutex held, or nothing else uses the client */

/* ---- claim.c ---- */
claim *claim_new(client_record *c, const lock_spec *spec);  /* NULL: no memory */
/* false: it has no name `index`. The name is followed by a zero. */
bool claim_name(const claim *cl, size_t index, const char **ret_name, size_t *ret_size);
claim *claim_free(claim *cl);      /* for a claim that is not in the engine */
/* Passes it to the engine. Mutex held; on a fault nothing was begun. claim_start() leaves it to
 * the thread of the call to note the fault, by claim_fault(). */
dibs_status claim_begin(claim *cl, lock_call *call);
dibs_status claim_start(claim *cl, lock_call *call);
dibs_status claim_fault(client_record *c, dibs_status status);
void claim_fault_add(const client_record *c, dibs_status status, text *why);
void claim_list_join(claim *cl);   /* mutex held */
void claim_settle(claim *cl);      /* mutex held: frees it if nothing needs it */
void claim_queue(claim *cl, drive_job *job);     /* mutex held */
void claim_end_hold(claim *cl);    /* mutex held: its dibs_hold is stale afterwards */
void holds_are_over(client_record *c);   /* mutex held: no hold of it is valid from now on */
void claim_end_request(claim *cl);
void claim_depths(claim *cl);      /* mutex held: recounts the holds that share the lease */
void claim_unwatch(claim *cl);     /* mutex held: stops watching the canceller */
/* The request ended before it was granted. Mutex held. */
void claim_failed(claim *cl, dibs_status status, const char *words);

/* ---- watch.c: on_change and on_lost; mutex held ---- */
void watch_start(claim *cl, lock_call *call);       /* takes the data of the callbacks over */
/* Of a hold that is granted, or may have changed. */
void watch_granted(claim *cl);
void watch_look(claim *cl);
/* Whether its warning was or is being reported. */
bool watch_is_warned(const claim *cl);
/* Neither is to begin any more. What the caller frees without the mutex: nothing while one runs,
 * whose end frees it. */
watch_data watch_take(claim *cl);
void watch_over(claim *cl);        /* the same, freed by a job */

/* ---- noting.c; mutex held ---- */
void noting_began(claim *cl, const lock_spec *spec, instant now);
void noting_granted(claim *cl, uint64_t fence);
void noting_retaken(claim *cl, uint64_t fence, instant now);       /* retake.c */
void noting_failed(claim *cl);               /* cl->asked */
void noting_renewed(const claim *cl, bool was_suspect);
void noting_suspect(const claim *cl);
/* Only the first end counts: a loss is followed by a release. `is_detached`: goes on by a token. */
void noting_ended(claim *cl, const outcome *end, bool is_detached, instant now);

/* ---- effects.c ---- */
/* Reports the end of the request to the call or callback; mutex held. */
void claim_lock_ended(claim *cl, dibs_status status);   /* cl->asked is set, or DIBS_OK */
/* Handle the engine's effects of these names; mutex held. claim_released() may free it. */
void claim_granted(claim *cl, const effect *e);
void claim_lost(claim *cl, const effect *e);
void claim_released(claim *cl, const effect *e);
/* Reports to on_event and to the log; mutex held. `node`: the server, or "". */
void client_event(client_record *c, dibs_event_kind kind, const char *node, const char *words);
void api_effect(void *client, const effect *e);
void api_cancelled(void *client, const dibs_canceller *canceller);
void api_password(void *client, const char *file, password_place place, const char *password);

/* ---- token.c ---- */
dibs_status client_ping(client_record *c, instant until);

/* ---- server_time.c ---- */
/* Asks for it, so that the estimate in the next request about `name` is of now: otherwise the
 * deadlines that its script writes are in doubt (protocol.md 4, "over"). Blocks. DIBS_OK in a
 * Cluster also if the name's server does not answer: the request itself may find another one. */
dibs_status client_learn_time(client_record *c, const void *name, size_t size, instant until);
/* Whether this machine's clock, when a reply came, agrees with the time in it. */
bool client_agrees(int64_t server_us, int64_t wall_us);
/* TIME; without memory it is incomplete, which the question refuses. */
void time_request(request *out);

/* ---- inspect.c ---- */
/* All its requests end at `until`. What is known of holders and waiters beside the reply to the
 * first one is left out if the server does not answer in time. */
dibs_status inspect_name(client_record *c, const void *name, size_t size, instant until,
                         dibs_inspection **ret_inspection);
/* inspect_quorum.c: of `count` answers, at least one; `silent` servers have not answered.
 * Holders that no majority can have are left out. */
void inspect_majority(const inspect_answer *answers, size_t count, size_t silent,
                      inspect_answer *ret_answer);
/* quorum_break.c: dibs_break() of a quorum, of one name. */
dibs_status quorum_break(client_record *c, const token_parts *p, instant until);
/* hindrance.c: adds why a name without a holder cannot be taken. Outside the mutex. */
void hindrance_add(client_record *c, dibs_inspection *in, int64_t server_us, instant until);

#endif
