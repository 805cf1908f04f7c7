/* SPDX-License-Identifier: MIT */
/* engine - one client as a pure state machine: requests, bytes and time in; effects out.
 *
 * It owns the links, the tables of names (lock/, or quorum/ over several), and the queue of
 * effects. May include quorum/, lock/, sync/, dialect/, request/, script/, topo/, link/,
 * resp/, base/.
 * One thread at a time: the driver has a mutex. No function calls back: the driver takes
 * effects with engine_next_effect() after each input until there is none.
 *
 * Each server that is needed has two connections: for commands, and an inbox (subscriptions),
 * opened when a request first has to wait; a third for WAIT. Scouts, which discover servers,
 * are short-lived.
 *
 * `now` never decreases (CLOCK_BOOTTIME, or the simulator's time). `sent_at`, the start of
 * every lease, is the `now` of the input that put the command into the output buffer:
 * never later than its true sending. */
#ifndef ENGINE_H
#define ENGINE_H

#include "base/base.h"
#include "dialect/dialect.h"
#include "fleet/fleet.h"
#include "hold/lock_name.h"
#include "hold/lock_spec.h"
#include "resp/resp.h"
#include "sync/sync.h"
#include "topo/topo.h"

typedef struct engine engine;

/* Links are numbered from 0; a number is reused after its link has ended. Two for each primary of
 * a Cluster, three with min_replicas: enough for 500 primaries, or 335. */
#define ENGINE_LINKS_MAX 1024

/* How long a waiting call goes on without a server: connect_timeout until a server has
 * replied once, then until its own limit; or always one of these. */
typedef enum patience { PATIENCE_ONCE_ANSWERED, PATIENCE_NEVER, PATIENCE_ALWAYS } patience;

typedef struct engine_settings {
  memory memory;
  uint64_t seed;                  /* for jitter */
  uint64_t nonce_key[2];          /* secret, from the system's random source */
  char client_id[23];             /* 22 characters of base64url from 16 random bytes */
  const char *prefix;
  const deployment *deployment;   /* must outlive the engine; without SERVER_LOCAL */
  const char *host, *program, *version, *note;   /* for people; may be "" */
  int64_t pid;
  span connect_timeout, command_timeout;
  span renew_every;               /* 0: ttl / 3 */
  int32_t clock_rate_error_ppm;
  int32_t local_handovers_max;    /* 0: none */
  span local_handover_time;
  bool reports_waits;               /* DIBS_CLIENT_DETECT_DEADLOCK */
  span quarantine;                /* era guard; 0: none. protocol.md 15 */
  bool uses_functions;            /* FCALL instead of EVAL */
  bool only_polls;                /* no client channel, no other channels */
  bool shuns_shards;              /* channels of the whole cluster, even with sharded ones */
  const dialect_ops *dialect;
  const char *registry;           /* SPRING */
  patience patience;
  span report_every;              /* of fleet/; 0: nothing is reported */
  fleet_history history;
  uint64_t history_max;
  span history_over;
  const char *classes;            /* patterns of fleet/class.h; NULL: none */
  uint64_t names_max;             /* limit of names, above it: DIBS_ERR_LIMIT; 0: none */
} engine_settings;

/* What a client with these settings and its servers agree on. */
void engine_protocol(const engine_settings *settings, protocol *ret);

engine *engine_new(const engine_settings *settings, instant now);  /* NULL: no memory */
engine *engine_free(engine *e);

/* ---- requests ---- */

/* Each of these returns DIBS_OK and later gives one effect; or a fault, and no effect. The
 * context of the spec is in every effect, until EFFECT_LOCK_FAILED, EFFECT_RELEASED or
 * EFFECT_DETACHED. */
dibs_status engine_lock(engine *e, const lock_spec *spec, instant now, uint64_t *ret_id);
/* `id` from engine_lock. true: the request ends as cancelled. false: no effect, it is
 * granted or over; release after an EFFECT_LOCK_GRANTED. */
bool engine_cancel(engine *e, uint64_t id, instant now);
/* Ends a waiting request with this status; `words` are copied. false: it is not waiting. */
bool engine_fail(engine *e, uint64_t id, dibs_status status, const char *words, instant now);
/* Whether deadlock search of other clients can see that this request waits. */
bool engine_wait_is_reported(const engine *e, uint64_t id);
/* `id` of a granted hold (the same id). Ends with EFFECT_RELEASED. Required for lost
 * holds, too. */
dibs_status engine_release(engine *e, uint64_t id, instant now);
const char *engine_refusal(const engine *e, uint64_t id);     /* hold_refusal() of hold/hold.h */
void engine_add_why(const engine *e, uint64_t id, text *out); /* hold_add_why() */
/* The short way back from a parked lease: lock_park(), lock_retake() of lock/lock.h. false:
 * nothing has changed, and the ordinary way has to be taken. */
bool engine_park(engine *e, uint64_t id, instant now, bool *ret_sends);
bool engine_retake(engine *e, uint64_t id, const void *owner, size_t owner_size, instant now,
                   uint64_t *ret_fence, instant *ret_valid_until);
/* From now on no other claim joins or inherits the lease of this hold; false: other owners
 * share it already, so it cannot be passed on. */
bool engine_keep_alone(engine *e, uint64_t id);
/* Whether it is one lease on one server, or one set: not of a quorum, nor of several slots. */
bool engine_hold_is_one_lease(const engine *e, uint64_t id);
/* Stops renewing and forgets the lease; ends with EFFECT_DETACHED. The hold is unchanged
 * after DIBS_ERR_ARGUMENT (the lease has another hold) or DIBS_ERR_NO_MEMORY. */
dibs_status engine_detach(engine *e, uint64_t id, instant now);

/* Turns a write hold into a read hold; the server is updated in the background. */
dibs_status engine_downgrade(engine *e, uint64_t id, instant now);

/* Sends a copy of the command as soon as the connection is ready, as for an operation, until
 * `give_up_at`. The reply is dropped. */
void engine_send(engine *e, const request *command, instant give_up_at, instant now);

/* Whether a lock waits for a server that cannot be asked. The message is borrowed until
 * the next input. */
bool engine_cannot_ask(const engine *e, instant now, const char **ret_words);

/* The number of servers that may have names, as known now; a server keeps its number. */
size_t engine_route_count(const engine *e);
const server_url *engine_route_url(const engine *e, size_t number);   /* NULL: unknown */
bool engine_route_is_ready(const engine *e, size_t number);  /* a command would be sent now */
/* The last attempt to connect failed, or the connection was lost; and there is none since. */
bool engine_route_is_down(const engine *e, size_t number);
bool engine_route_serves(const engine *e, size_t number);   /* false: it has no slot (now) */
/* Cluster: the server of this key's slot (else SIZE_MAX), and the number of slots without
 * a server (else 0). */
size_t engine_route_of_key(const engine *e, const char *key, size_t size);
size_t engine_unserved_slots(const engine *e);
/* Why a server of a quorum took no part in the last failure; the message is borrowed. */
dibs_status engine_server_why(const engine *e, size_t number, const char **ret_words);
/* Used from the next connection on. false: no memory. NULL: none. */
bool engine_set_credentials(engine *e, const char *user, const char *password);
/* The same for the password of all connections whose URL has it from this place of this file. */
bool engine_set_file_password(engine *e, const char *file, password_place place,
                              const char *password);

/* Runs an operation of sync/ until its row says that it is over, or a limit or a fault ends
 * it. One that is not repeated is sent as soon as the connection is ready, a script with its
 * text after NOSCRIPT; again on LOADING and similar errors. One that is repeated asks at
 * once, after each subscription of its channel, after each message, and `every` after the
 * last reply. It ends with a permanent fault, or at its limit (DIBS_TIMED_OUT if the last
 * command was answered, else the reason why not), or after connect_timeout without a server,
 * unless its row or the client's patience allows that.
 * `op` is borrowed until EFFECT_OP_OVER, which comes once and has the op's context, or
 * engine_stop(); what its record borrows, for as long as ask() may be called. */
dibs_status engine_run(engine *e, sync_op *op, instant now, uint64_t *ret_id);
/* What it changes may be done already, or will be: it was sent, and its outcome is not known. */
bool engine_is_in_doubt(const engine *e, uint64_t id);
/* Ends it without an effect; the server may still execute what was sent. false: unknown. */
bool engine_stop(engine *e, uint64_t id, instant now);

/* Ends all requests with DIBS_ERR_CLOSED, releases all leases; EFFECT_CLOSED when the
 * server has confirmed everything, or nothing is left to wait for. */
void engine_close(engine *e, instant now);

/* The lease id of a granted hold, and its name; false: `id` is stale. */
bool engine_hold_token(const engine *e, uint64_t id, text *out);

/* Lists the names in memory, one lease or ask at a time; false: no more. `at` begins as
 * zeros; results are borrowed until the next input. */
bool engine_next_name(const engine *e, lock_name_at *at, lock_name *ret_name);
/* Releases leases that have been parked for `age` or longer; returns their number. */
size_t engine_expire(engine *e, span age, instant now);

typedef struct engine_stats {
  uint64_t granted, granted_local, released, lost, renewed, renew_failed;
  uint64_t handovers[DIBS_HANDOVERS];   /* none in a quorum */
  uint64_t commands, messages, connects, reconnects;
  uint64_t holds, waiting, names, table_bytes;
} engine_stats;
engine_stats engine_get_stats(const engine *e);
int32_t engine_lease_slack(const engine *e, instant now);     /* slack_least() of hold/hold.h */

/* Where the program's claims are counted. */
fleet *engine_fleet(const engine *e);

/* ---- inputs of the driver ---- */

void engine_connected(engine *e, int link, instant now);
/* After an EFFECT_CONNECT with a refusal: what the files are that were read again, or why they
 * cannot be read; for the message of the next refusal. */
void engine_files(engine *e, int link, const char *words);
/* Whether the host name of `link` is being resolved: for the message if that takes too long. */
void engine_resolving(engine *e, int link, bool is_resolving);
/* A connection failed or broke; `text` is for people. */
void engine_disconnected(engine *e, int link, dibs_status why, const char *text, instant now);
void engine_received(engine *e, int link, const void *bytes, size_t size, instant now);
/* The wall clock at `now`, in microseconds since 1970; call before engine_received(). Only
 * compared with the server's time, never sent. */
void engine_wall_clock(engine *e, int64_t wall_us, instant now);
void engine_tick(engine *e, instant now);
instant engine_deadline(const engine *e);       /* call engine_tick() then at the latest */
bool engine_awaits_server(const engine *e);     /* a reply, or a connection */
/* No call waits and no reply is expected: input of sockets is not urgent. */
bool engine_is_idle(const engine *e);

int engine_link_count(const engine *e);         /* all used numbers are below it */
const char *engine_output(const engine *e, int link, size_t *ret_size);
void engine_written(engine *e, int link, size_t size);

/* ---- outputs for the driver ---- */

typedef enum effect_kind {
  EFFECT_CONNECT = 1,    /* open the transport of `link` to `server` (close an old one
                            without a report); `server` is borrowed until the link's next
                            CONNECT or DISCONNECT. status DIBS_ERR_TLS, DIBS_ERR_AUTH: the last
                            attempt was refused, so read the files of `server` again
                            before, for a limited time, and call engine_files() */
  EFFECT_DISCONNECT,     /* close it, without engine_disconnected() */
  EFFECT_LOCK_GRANTED,   /* context, id, fence, valid_until, depth */
  EFFECT_LOCK_FAILED,    /* context, status, text */
  EFFECT_HOLD_RENEWED,   /* context, valid_until: extended, not suspect */
  EFFECT_HOLD_SUSPECT,   /* context */
  EFFECT_HOLD_ENDS_SOON, /* context, valid_until: `warn` of its spec away, or less */
  EFFECT_HOLD_LOST,      /* context, status (LOST, EXPIRED, TAKEN), text; exactly once */
  EFFECT_RELEASED,       /* context, status, text */
  EFFECT_DETACHED,       /* context, status */
  EFFECT_OP_NEWS,        /* context of the op, id: read() has news, in the op's record. Of a
                            patient one also status and text, once: why its server cannot be
                            asked, until the next news, which is a reply */
  EFFECT_OP_OVER,        /* context of the op, id, status, text; results are in its record */
  EFFECT_ANSWERED,       /* the same for a row that keeps the reply (owned by the receiver; NULL
                            unless OK; an error reply is a status and its text) */
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
  uint32_t acknowledged, replicas_wanted;    /* EFFECT_LOCK_GRANTED; servers of a quorum,
                                                or replicas */
  bool has_fsync;            /* EFFECT_LOCK_GRANTED */
  dibs_status status;
  bool is_late;              /* EFFECT_OP_OVER: the limit came before the reply.
                                EFFECT_LOCK_FAILED: and nothing is known about the server */
  bool was_let_go;           /* EFFECT_HOLD_LOST, EFFECT_RELEASED: as in lock_event */
  bool is_decided;           /* EFFECT_OP_OVER: read() of its row has ended it */
  bool was_lost;             /* EFFECT_ANSWERED: as in an ask, of an earlier copy;
                                EFFECT_OP_OVER: of any copy */
  int event;
  const char *node;          /* EFFECT_EVENT: of this server, or ""; borrowed as `text` */
  resp_reply *reply;
  const char *text;          /* never NULL; borrowed until the next call on the engine */
} effect;

/* Takes the next effect. Output is no effect: check engine_output() of each link afterwards. */
bool engine_next_effect(engine *e, effect *ret_effect);

#endif
