/* SPDX-License-Identifier: MIT */
/* engine/parts.h - the records of this room, for its own files only. */
#ifndef ENGINE_PARTS_H
#define ENGINE_PARTS_H

#include <dibs/client.h>

#include "engine/engine.h"
#include "link/link.h"
#include "lock/lock.h"

/* Tags of our own commands have a bit that no slot index of lock/ has. */
#define TAG_OURS 0x80000000u
#define TAG_IGNORED TAG_OURS
#define TAG_MEMORY (TAG_OURS | 1u)
#define TAG_FAREWELL (TAG_OURS | 2u)
#define TAG_ASKS (TAG_OURS | 0x40000000u)

#define HEARTBEAT SPAN_MS(60000)

typedef enum plan_state {
  PLAN_OFF = 1,       /* not wanted, or not yet */
  PLAN_CONNECTING,    /* transport, then the handshake */
  PLAN_READY,
  PLAN_BACK_OFF
} plan_state;

/* One connection and what is intended with it. */
typedef struct connection {
  link *link;
  plan_state state;
  instant until;            /* CONNECTING: give up; BACK_OFF: try again */
  unsigned failures;        /* in a row */
  unsigned refusals;        /* in a row: connected, and it was a replica */
  bool tell_connect, tell_disconnect;
  bool was_ready;
} connection;

typedef enum ask_state { ASK_OPEN = 1, ASK_SENT, ASK_DONE } ask_state;

typedef struct observation observation;

/* One command of the program's own, or the question of an observation. */
typedef struct ask {
  struct ask *next;
  observation *observation; /* NULL: in the list of asks */
  uint64_t id;
  ask_state state;
  buffer command, with_text;
  bool use_text;
  bool was_lost;           /* sent to where no answer will come from: perhaps executed */
  void *context;
  instant give_up_at, try_at;
  unsigned attempts;
  dibs_status status;
  resp_reply *reply;
  char words[256];
} ask;

/* A channel and those who observe what it speaks of. */
typedef struct observed_channel {
  struct observed_channel *next;
  observation *first;
  bool is_asked;            /* SUBSCRIBE is sent, on this connection */
  size_t size;
  char bytes[];
} observed_channel;

/* A question asked again and again. Its `ask` is ASK_DONE while nothing is under way. */
struct observation {
  observation *previous, *next;
  observation *channel_previous, *channel_next;
  observed_channel *channel;
  void *context;
  ask ask;
  span every;
  instant give_up_at;
  instant look_at;          /* the next question, by `every` */
  instant hint_at;          /* or earlier: somebody said that there is something to see */
  instant mute_since;       /* no server answers since; INSTANT_NEVER: one does */
  bool is_patient, was_answered;
  timer timer;
  /* What was not told yet: an answer, then the end. */
  observation *next_news;
  bool is_news, has_answer, is_over;
  bool is_outdated;         /* what is asked now is not its question any more */
  resp_reply *reply;
};

#define NEWS_MAX 8
typedef struct news { int event; char words[256]; } news;

struct engine {
  memory memory;
  engine_settings settings;
  char *host, *program, *version, *note, *prefix;
  lock_table *locks;
  connection connections[ENGINE_LINKS];
  buffer scratch;
  slots ask_slots;
  ask *first_ask, *last_ask;
  observation *first_observation;
  observation *first_news, *last_news;
  observed_channel *first_channel;
  timers observe_timers;
  size_t observation_count;
  instant inbox_forbidden_until;  /* an ACL forbids it: observations poll alone */
  random_source random;
  bool is_announced, memory_was_checked;
  instant announce_again_at;
  bool is_closing, farewell_was_sent, is_closed, closed_was_told;
  news news[NEWS_MAX];
  size_t news_first, news_count;
  char effect_words[256];
  uint64_t commands, messages, connects;
};

/* ---- connection.c ---- */
void connection_want(engine *e, int i, instant now);
void connection_drop(engine *e, int i, dibs_status why, const char *words, instant now);
void connection_lost(engine *e, int i, dibs_status why, const char *words, instant now);
void connection_tick(engine *e, int i, instant now);
instant connection_deadline(const engine *e, int i);
bool connection_is_ready(const engine *e, int i);
bool connection_send(engine *e, const buffer *command, uint64_t tag, instant now);

/* ---- ask.c ---- */
void asks_send(engine *e, instant now);
void asks_unsent(engine *e, dibs_status why, const char *words);
/* false: this connection is of no use, as observe_answered() says. */
bool ask_answered_with(engine *e, uint64_t tag, resp_reply *reply, instant now);
void asks_tick(engine *e, instant now);
instant asks_deadline(const engine *e);
void asks_close(engine *e);
bool asks_next_effect(engine *e, effect *ret);
void ask_free(engine *e, ask *a);

/* A single ask, in whatever list: */
bool ask_init(engine *e, ask *a, const buffer *command, const buffer *with_text);
void ask_deinit(engine *e, ask *a);
void ask_send(engine *e, ask *a, instant now);          /* ASK_OPEN, and due */
void ask_unsent(ask *a, dibs_status why, const char *words);
void ask_take_answer(ask *a, resp_reply *reply, instant now);   /* owns `reply` */
void ask_done(ask *a, dibs_status status, const char *words);
bool ask_fault_is_final(dibs_status why);

/* ---- observed_channel.c ---- */
observed_channel *observed_channel_find(const engine *e, const char *bytes, size_t size);
observed_channel *observed_channel_get(engine *e, const char *bytes, size_t size);
void observed_channel_ask(engine *e, observed_channel *c, instant now);
void observed_channel_join(observed_channel *c, observation *o);
/* Unsubscribes and frees it with the last one. */
void observed_channel_leave(engine *e, observation *o, instant now);
bool observe_wants_inbox(const engine *e, instant now);
void observe_inbox_up(engine *e, instant now);
void observe_inbox_down(engine *e, dibs_status why, instant now);

/* ---- observe.c ---- */
void observe_link_up(engine *e, instant now);
void observe_link_down(engine *e, dibs_status why, const char *words, instant now);
void observe_subscribed(engine *e, const resp_node *name, instant now);
void observe_message(engine *e, const resp_node *name, instant now);
/* false: it was READONLY, this connection is of no use. Owns `reply`. */
bool observe_answered(engine *e, observation *o, resp_reply *reply, instant now);
void observe_tick(engine *e, instant now);
void observe_close(engine *e, instant now);
void observe_free(engine *e);
bool observe_next_effect(engine *e, effect *ret);

/* ---- presence.c ---- */
void presence_announce(engine *e, instant now);
bool presence_farewell(engine *e, instant now);      /* false: nothing to wait for */
void presence_memory_answered(engine *e, const resp_reply *reply);

/* ---- engine.c ---- */
void engine_tell(engine *e, int event, const char *words);
/* A copy that lives as long as an effect may refer to it. */
const char *engine_words(engine *e, const char *words);
void engine_pump(engine *e, instant now);

#endif
