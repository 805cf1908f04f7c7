/* SPDX-License-Identifier: MIT */
/* engine/ask.h - the requests of operations, and the operations that are repeated. */
#ifndef ENGINE_ASK_H
#define ENGINE_ASK_H

#include "engine/server.h"
#include "sync/sync.h"

/* Channels that an ACL forbids are tried again then: it may have changed. */
#define FORBIDDEN_FOR SPAN_MS(30000)

/* ASK_LOST: its connection ended, and it is not sent again (is_once); DIBS_UNKNOWN at `late_at`. */
typedef enum ask_state { ASK_OPEN = 1, ASK_SENT, ASK_LOST, ASK_DONE } ask_state;

typedef struct observation observation;

/* A request of an operation, or of the library itself. */
typedef struct ask {
  struct ask *next;
  observation *observation; /* NULL: in the list of asks */
  sync_op *op;             /* NULL: its end has no effect */
  uint64_t id;
  ask_state state;
  request command;
  bool is_decided;         /* read() of the op has ended it */
  bool was_lost;           /* sent, but its connection is lost: may have been executed */
  server *pinned;          /* NULL: the server of its key */
  server *sent_to;
  server *asking;          /* for the next attempt, after ASKING */
  instant asked_at, give_up_at, try_at, sent_at;
  instant late_at;         /* the limit of what was sent last: no copy is executed after it */
  unsigned attempts;
  dibs_status status;
  resp_reply *reply;
  char words[256];
} ask;

/* A channel and its observations. */
typedef struct observed_channel {
  struct observed_channel *next;
  observation *first;
  bool is_asked, is_up;     /* SUBSCRIBE was sent to that server; and confirmed */
  instant ask_at;           /* not before: an ACL forbids it */
  server *server;
  size_t size;
  char bytes[];
} observed_channel;

/* An operation that is repeated. Its `ask` is ASK_DONE while no command is pending. */
struct observation {
  observation *previous, *next;
  observation *channel_previous, *channel_next;
  observed_channel *channel;         /* NULL: no channel, or it is over */
  ask ask;
  instant look_at;          /* the next command, by `every` of its row */
  instant hint_at;          /* or earlier, after a message */
  instant unreachable_since;       /* unreachable since; INSTANT_NEVER: reachable */
  bool was_answered;
  bool is_cut_off;          /* a patient one whose server cannot be asked for that long */
  bool cut_off_is_told;     /* the last news said so */
  timer timer;
  /* Unreported results: ask.reply, then the end. */
  observation *previous_news, *next_news;
  bool is_news, is_over;
  bool is_late;             /* the limit came between a command and its reply */
  bool is_outdated;         /* the pending command has been replaced */
};

/* ---- ask.c ---- */
void asks_send(engine *e, instant now);
void asks_unsent(engine *e, const server *s, dibs_status why, const char *words);
/* false: READONLY, this connection is useless. Owns `reply`. */
bool ask_answered_with(engine *e, uint64_t tag, resp_reply *reply, const server *from,
                       instant now);
void asks_tick(engine *e, instant now);
instant asks_deadline(const engine *e);
void asks_close(engine *e);
bool asks_next_effect(engine *e, effect *ret);
void ask_free(engine *e, ask *a);

/* One that engine_run() begins. */
dibs_status ask_run(engine *e, sync_op *op, instant now, uint64_t *ret_id);
void ask_stop(engine *e, ask *a);                       /* no effect follows */

/* A single ask of any list. `command` NULL: its op makes it. */
bool ask_init(engine *e, ask *a, const request *command);
void ask_deinit(engine *e, ask *a);
void ask_send(engine *e, ask *a, instant now);          /* ASK_OPEN, and due */
void ask_unsent(ask *a, dibs_status why, const char *words);
void ask_take_answer(engine *e, ask *a, resp_reply *reply, const server *from, instant now);
                                                        /* owns `reply` */
void ask_done(ask *a, dibs_status status, const char *words);
bool ask_fault_is_final(dibs_status why);
/* Its own reason, else why its server is unreachable, as for locks; "": not known. report.c */
dibs_status ask_why(const engine *e, const ask *a, const char **ret_words);
/* The first known reason why it cannot be sent; never DIBS_OK. */
dibs_status ask_fault(const engine *e, const ask *a, instant now, text *out);
/* Ends one that is not sent, with that. */
void ask_unanswered(const engine *e, ask *a, instant now);
/* Ends one that was sent, or was not and nothing says why. */
void ask_without_reply(const engine *e, ask *a, dibs_status status, instant now);
server *ask_server(const engine *e, const ask *a);      /* NULL: unknown */

/* ---- limit.c ---- */
void ask_times_set(const engine *e, ask *a, const server *s, instant now);  /* before a sending */
/* TIME is asked before a request with an estimate: the last answer may be from long ago. */
void ask_time_learn(const ask *a, const resp_reply *reply, const server *from, instant now);
/* The server refused it after its limit, but it is still wanted: it will be sent again. */
void ask_was_late(const ask *a, const resp_node *error, const server *from, instant now);
/* Of what is sent: that reply is lost. After `repeats_for`, counted from the first copy whose
 * reply is lost, no other one is sent or executed. */
void ask_doubt(ask *a);
/* Whether a copy whose reply is lost may be executed after this one, which `from` has answered. */
bool ask_copy_may_come(const ask *a, const server *from);
/* The same of an earlier call, at the begin of one that continues with its number. */
void ask_doubt_of_before(ask *a, instant now);

/* ---- ops.c ---- */
/* What the op of this ask makes of its reply, which is freed. */
sync_next op_read(const engine *e, ask *a);
void op_effect(engine *e, ask *a, effect *ret);

/* ---- observe.c ---- */
/* One that engine_run() begins. */
dibs_status observe_begin(engine *e, sync_op *op, instant now, uint64_t *ret_id);
void observe_end(engine *e, observation *o, instant now);             /* no effect follows */
bool observe_is_open(const engine *e);                /* one exists that is not over */
void observe_link_up(engine *e, const server *s, instant now);
void observe_link_down(engine *e, const server *s, dibs_status why, const char *words, instant now);
void observe_ask_again(engine *e, instant now);       /* the server may have changed */
void observe_message(engine *e, const resp_node *name, instant now);
/* As ask_answered_with(). */
bool observe_answered(engine *e, observation *o, resp_reply *reply, const server *from,
                      instant now);
void observe_tick(engine *e, instant now);
void observe_close(engine *e, instant now);
void observe_free(engine *e);
void observe_be_patient(engine *e);
/* Asks again at `at`, at once if that has passed. */
void observe_hint(engine *e, observation *o, instant at, instant now);

/* ---- observe_news.c ---- */
void observe_news_add(engine *e, observation *o);     /* it has an effect to report */
void observe_news_remove(engine *e, observation *o);
bool observe_next_effect(engine *e, effect *ret);

/* ---- observed_channel.c ---- */
observed_channel *observed_channel_find(const engine *e, const char *bytes, size_t size);
observed_channel *observed_channel_get(engine *e, const char *bytes, size_t size);
void observed_channel_ask(engine *e, observed_channel *c, instant now);
void observed_channel_join(observed_channel *c, observation *o);
/* Unsubscribes and frees it after the last observation. */
void observed_channel_leave(engine *e, observation *o, instant now);
bool observe_wants_inbox(const engine *e, const server *s);
void observe_inbox_up(engine *e, const server *s, instant now);
void observe_inbox_down(engine *e, const server *s);                    /* NULL: of all */
void observe_subscribed(engine *e, server *s, const resp_node *name, instant now);
void observe_channel_ended(engine *e, const server *s, const resp_node *name, instant now);
void observe_channel_refused(engine *e, const server *s, uint64_t hash, bool is_forbidden,
                             instant now);
void observe_slots_changed(engine *e, instant now);

#endif
