/* SPDX-License-Identifier: MIT */
/* engine - one client as a pure state machine: requests, bytes and time in; effects out.
 *
 * Owns the links, the table of names (lock/), the estimate of the server's time and the
 * queue of effects. May include lock/, dialect/, script/, topo/, link/, resp/, base/.
 * One thread at a time; the driver's mutex sees to it. No function calls back: whoever
 * drives pulls effects with engine_next_effect() after each input until there is none.
 *
 * `now` never runs backwards (CLOCK_BOOTTIME, or the simulator's time). `sent_at`, the
 * start of every lease, is the `now` of the input that put the command into the output
 * buffer: never later than its true sending. */
#ifndef ENGINE_H
#define ENGINE_H

#include "base/base.h"
#include "dialect/dialect.h"
#include "lock/lock_name.h"
#include "resp/resp.h"
#include "topo/topo.h"

typedef struct engine engine;

/* Links are numbered from 0; a number is used again once its link has ended. */
#define ENGINE_LINKS_MAX 256

typedef struct engine_settings {
  memory memory;
  uint64_t seed;                  /* for jitter */
  char client_id[23];             /* 22 characters of base64url from 16 random bytes */
  const char *prefix;
  const deployment *deployment;   /* outlives the engine; never SERVER_LOCAL in it */
  const char *host, *program, *version, *note;   /* told to people; may be "" */
  int64_t pid;
  span connect_timeout, command_timeout;
  span renew_every;               /* 0: ttl / 3 */
  int32_t clock_rate_error_ppm;
  int32_t local_handovers_max;    /* 0: none */
  span local_handover_time;
  bool tells_owners;              /* DIBS_CLIENT_DETECT_DEADLOCK */
  span quarantine;                /* era guard; 0: none. protocol.md 15 */
  bool uses_functions;            /* FCALL instead of EVAL */
  bool only_polls;                /* no inbox, no channels */
  bool shuns_shards;              /* channels of the whole cluster, whatever it knows */
  dialect_kind dialect;
  const char *registry;           /* SPRING */
  bool is_patient;                /* without a server requests wait for their own limit */
  uint64_t names_max;             /* more at once are DIBS_ERR_LIMIT; 0: no limit */
} engine_settings;

engine *engine_new(const engine_settings *settings, instant now);  /* NULL: memory */
engine *engine_free(engine *e);

/* ---- requests ---- */

/* `context` is the caller's own pointer: it names the request and, once granted, the
 * hold in every effect, until EFFECT_LOCK_FAILED, EFFECT_RELEASED or EFFECT_DETACHED. */
typedef struct lock_request {
  void *context;
  lock_kind kind;
  const void *name; size_t name_size;      /* checked by the caller; MANY: not used */
  const many_name *names; size_t name_count; /* MANY: sorted by bytes, each once */
  uint64_t units;                          /* PERMITS; 0: all that are free, as a try */
  lock_flavour flavour;                    /* MUTEX; PERMITS: UNLEASED or PLAIN */
  span linger;                             /* MUTEX; 0: none; LINGER_AUTO */
  const void *owner; size_t owner_size;    /* size 0: nobody re-enters */
  bool is_try, is_fixed, no_reentry;
  bool blocks;                             /* its owner does nothing else until it ends */
  span ttl;
  span max_hold;                           /* 0: none */
  instant give_up_at;                      /* INSTANT_NEVER: wait for ever */
  const char *note;                        /* NULL: none */
  int32_t min_replicas;                    /* MUTEX; 0: not asked; -1: a majority */
  span replicas_wait;
  bool wants_fsync, reports_replicas;
} lock_request;

/* Each of these answers DIBS_OK and later one effect, or a fault and no effect. */
dibs_status engine_lock(engine *e, const lock_request *r, instant now, uint64_t *ret_id);
/* `id` from engine_lock; no effect when it is already granted or over: the caller then
 * has an EFFECT_LOCK_GRANTED to release. true when the request ends as cancelled. */
bool engine_cancel(engine *e, uint64_t id, instant now);
/* Ends a waiting request with this status; `words` are copied. false: it waits no more. */
bool engine_fail(engine *e, uint64_t id, dibs_status status, const char *words, instant now);
/* Whether others are told that this request waits while its owner holds something. */
bool engine_wait_is_told(const engine *e, uint64_t id);
/* `id` of a granted hold (the same id). Ends in EFFECT_RELEASED. Must be called for lost
 * holds too. */
dibs_status engine_release(engine *e, uint64_t id, instant now);
/* Nobody here joins or inherits the lease of this hold from now on; false: holds of other
 * owners are by it already, so that it cannot be given into other hands. */
bool engine_keep_alone(engine *e, uint64_t id);
/* One lease on one server, or one script's set: not a quorum's, nor one of several slots. */
bool engine_hold_is_one_lease(const engine *e, uint64_t id);
/* Stops renewing and forgets; ends in EFFECT_DETACHED. The hold stays as it is when this is
 * DIBS_ERR_ARGUMENT (engine_keep_alone()) or DIBS_ERR_NO_MEMORY. */
dibs_status engine_detach(engine *e, uint64_t id, instant now);

/* A write hold reads from now on; the server is told in the background. */
dibs_status engine_downgrade(engine *e, uint64_t id, instant now);

/* Sends any encoded command on the command link, once it is ready; `with_text` is the
 * same command by EVAL, sent after NOSCRIPT (NULL: none). Both are copied. Retried on
 * LOADING and the like until `give_up_at`. Ends in EFFECT_ANSWERED. */
dibs_status engine_ask(engine *e, const buffer *command, const buffer *with_text,
                       void *context, instant give_up_at, instant now);

/* The same for what must not happen twice: sent again only when the server has refused to do
 * it now; DIBS_UNKNOWN as soon as the connection ends that it went out on. */
dibs_status engine_ask_once(engine *e, const buffer *command, const buffer *with_text,
                            void *context, instant give_up_at, instant now);

/* The same, to server `number` (below engine_route_count()) and no other. */
dibs_status engine_ask_at(engine *e, size_t number, const buffer *command,
                          const buffer *with_text, void *context, instant give_up_at,
                          instant now);

/* The servers that names may live on, as they are known now; a number is kept for ever. */
size_t engine_route_count(const engine *e);
const server_url *engine_route_url(const engine *e, size_t number);   /* NULL: not known */
bool engine_route_is_ready(const engine *e, size_t number);  /* a command would go out now */
bool engine_route_serves(const engine *e, size_t number);   /* false: it has no slot (now) */
/* Why a server of a quorum took no part in what failed last; words borrowed. */
dibs_status engine_server_why(const engine *e, size_t number, const char **ret_words);
/* From the next connection on. false: memory. NULL: none. */
bool engine_set_credentials(engine *e, const char *user, const char *password);

/* Asks a question again and again, about something that may have a channel of its own: at once,
 * as soon as the subscription stands (again), whenever the channel speaks, and `every`
 * after the last answer. Each answer is one EFFECT_OBSERVED; so is a fault that asking
 * again does not mend, and DIBS_TIMED_OUT at `give_up_at`: both end the observation, as
 * does connect_timeout without any server (DIBS_ERR_UNREACHABLE) where `is_patient` is
 * not set. Without a channel (its size is 0) only time says when. */
typedef struct observe_request {
  void *context;
  const char *channel; size_t channel_size;    /* copied, as are the commands; size 0: none
                                                  speaks of it, time alone says when */
  const buffer *command, *with_text;
  span every;
  instant give_up_at;
  bool is_patient;
} observe_request;

dibs_status engine_observe(engine *e, const observe_request *r, instant now,
                           uint64_t *ret_id);
/* The next question at `at` at the latest; 0: now. */
void engine_observe_at(engine *e, uint64_t id, instant at, instant now);
/* Asks another question from now on, at once; no answer to the one before comes any more.
 * One that is over, and whose end has not been told yet, asks nothing: its end comes next.
 * false: no memory, or there is none. */
bool engine_observe_ask(engine *e, uint64_t id, const buffer *command,
                        const buffer *with_text, instant now);
/* No effect of it comes any more. false: it was over. */
bool engine_observe_end(engine *e, uint64_t id, instant now);

/* Ends all requests with DIBS_ERR_CLOSED, releases all leases; EFFECT_CLOSED when the
 * server confirmed all of it, or there is nothing (left) to wait for. */
void engine_close(engine *e, instant now);

/* The lease string of a granted hold, and its name; false when `id` is stale. */
bool engine_hold_token(const engine *e, uint64_t id, text *out);

/* What is in memory of the names, one lease or ask at a time; false: no more. `at` begins as
 * zeros, and what is told is borrowed until the next input. */
bool engine_next_name(const engine *e, lock_name_at *at, lock_name *ret_name);
/* Gives back leases that have lingered for `age` or longer; how many. */
size_t engine_expire(engine *e, span age, instant now);

typedef struct engine_stats {
  uint64_t granted, granted_local, released, lost, renewed, renew_failed;
  uint64_t commands, messages, connects;
  uint64_t holds, waiting, names, table_bytes;
} engine_stats;
engine_stats engine_get_stats(const engine *e);

/* ---- what the driver tells ---- */

void engine_connected(engine *e, int link, instant now);
/* A connection could not be made or broke; `text` for people. */
void engine_disconnected(engine *e, int link, dibs_status why, const char *text, instant now);
void engine_received(engine *e, int link, const void *bytes, size_t size, instant now);
/* The wall clock beside `now`, in microseconds since 1970; before engine_received(). Only
 * compared with the server's time, never sent (theme 23). */
void engine_wall_clock(engine *e, int64_t wall_us, instant now);
void engine_tick(engine *e, instant now);
instant engine_deadline(const engine *e);       /* tick then at the latest */
/* Nobody waits, and no answer is to come: whatever a socket says now is no hurry. */
bool engine_is_idle(const engine *e);

int engine_link_count(const engine *e);         /* all numbers in use are below it */
const char *engine_output(const engine *e, int link, size_t *ret_size);
void engine_written(engine *e, int link, size_t size);

/* ---- what the driver has to do ---- */

typedef enum effect_kind {
  EFFECT_CONNECT = 1,    /* open the transport of `link` to `server` (drop an old one
                            silently); `server` is borrowed until the link's next CONNECT or
                            DISCONNECT */
  EFFECT_DISCONNECT,     /* close it; engine_disconnected() is not expected */
  EFFECT_LOCK_GRANTED,   /* context, id, fence, valid_until, depth */
  EFFECT_LOCK_FAILED,    /* context, status, text */
  EFFECT_HOLD_RENEWED,   /* context, valid_until: lengthened, no longer suspect */
  EFFECT_HOLD_SUSPECT,   /* context */
  EFFECT_HOLD_LOST,      /* context, status (LOST, EXPIRED, TAKEN), text; exactly once */
  EFFECT_RELEASED,       /* context, status, text */
  EFFECT_DETACHED,       /* context, status */
  EFFECT_ANSWERED,       /* context, status, reply (owned by the receiver; NULL unless
                            OK; an error reply is a status and its text) */
  EFFECT_OBSERVED,       /* context, status, reply as in EFFECT_ANSWERED, is_over */
  EFFECT_EVENT,          /* event (dibs_event_kind), text */
  EFFECT_CLOSED
} effect_kind;

typedef struct effect {
  effect_kind kind;
  int link;
  const server_url *server;  /* EFFECT_CONNECT */
  void *context;
  uint64_t id;
  uint64_t fence;
  instant valid_until;
  int depth;
  uint64_t units;            /* EFFECT_LOCK_GRANTED */
  uint32_t acknowledged, replicas_wanted;    /* likewise; servers of a quorum, or replicas */
  bool has_fsync;            /* likewise */
  dibs_status status;
  bool is_over;              /* EFFECT_OBSERVED: it was the last */
  int event;
  resp_reply *reply;
  const char *text;          /* never NULL; borrowed until the next call on the engine */
} effect;

/* Takes the next effect. Output bytes are no effect: look at engine_output() of each
 * link after the effects. */
bool engine_next_effect(engine *e, effect *ret_effect);

#endif
