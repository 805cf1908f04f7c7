/* SPDX-License-Identifier: MIT */
/* engine/parts.h - the records of this room, for its own files only. */
#ifndef ENGINE_PARTS_H
#define ENGINE_PARTS_H

#include <dibs/client.h>

#include "engine/engine.h"
#include "link/link.h"
#include "lock/lock.h"
#include "quorum/quorum.h"
#include "quorum/spread.h"
#include "topo/finder.h"

/* Tags of our own commands have a bit that no slot index of lock/ has. */
#define TAG_OURS 0x80000000u
#define TAG_IGNORED TAG_OURS
#define TAG_MEMORY (TAG_OURS | 1u)
#define TAG_FAREWELL (TAG_OURS | 2u)
/* Of channels: */
#define TAG_NAME_CHANNEL 1u
#define TAG_OBSERVED_CHANNEL 2u
#define TAG_ASKS (TAG_OURS | 0x40000000u)

#define HEARTBEAT SPAN_MS(60000)

typedef enum plan_state {
  PLAN_OFF = 1,       /* not wanted, or not yet */
  PLAN_CONNECTING,    /* transport, then the handshake */
  PLAN_READY,
  PLAN_BACK_OFF
} plan_state;

typedef struct server server;

typedef enum purpose {
  FOR_COMMANDS = 1, FOR_INBOX, FOR_ACKS,    /* of a server */
  FOR_SCOUT, FOR_SENTINEL_NEWS              /* of the topology */
} purpose;

/* One connection and what is intended with it. */
typedef struct connection {
  purpose purpose;
  int number;               /* of the link, for the driver */
  server *server;           /* NULL: of the topology */
  int scout;
  const server_url *url;    /* where it leads; owned by the server or the finder */
  link *link;
  plan_state state;
  instant until;            /* CONNECTING: give up; BACK_OFF: try again */
  unsigned failures;        /* in a row */
  unsigned refusals;        /* in a row: connected, and it was a replica */
  bool tell_connect, tell_disconnect;
  bool was_ready;
  bool is_done;             /* freed once the driver has been told */
} connection;

/* A server that names live on: a route of a lock table. */
struct server {
  size_t number;
  lock_table *locks;
  size_t route;
  server_url url;
  bool has_url;             /* false: not found yet */
  bool is_out;              /* Cluster: it serves no slot any more */
  connection *commands, *inbox, *acks;      /* NULL: not wanted yet; Cluster: or any more */
  bool is_announced, memory_was_checked;
  instant announce_again_at;
  bool farewell_was_sent;
};

/* Who serves what, where that may change; topology.c. */
typedef struct topology {
  finder *finder;           /* NULL: it is known for ever */
  uint16_t *slots;          /* Cluster: SLOT_COUNT numbers of servers */
  connection *scouts[SCOUTS_MAX];
  connection *sentinel_news;
  server_url sentinel;      /* where that one leads */
  bool is_wanted;           /* a search, as soon as one may begin */
  bool was_found;           /* ever */
  bool may_listen;          /* since the last search: the news connection has not broken */
  bool is_none_news;
  instant next_at;          /* not before */
  unsigned failures;        /* of searches, in a row */
  instant found_at;         /* the last one that found something */
  unsigned repeats;         /* of those, in a row */
} topology;

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
  bool is_once;            /* not sent again where it was perhaps executed */
  bool was_lost;           /* sent to where no answer will come from: perhaps executed */
  server *pinned;          /* NULL: by its key */
  server *sent_to;
  server *asking;          /* once, with ASKING in front */
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
  bool is_asked;            /* SUBSCRIBE is sent, on the inbox of that server */
  server *server;
  size_t size;
  char bytes[];
} observed_channel;

/* A question asked again and again. Its `ask` is ASK_DONE while nothing is under way. */
struct observation {
  observation *previous, *next;
  observation *channel_previous, *channel_next;
  observed_channel *channel;         /* NULL: none speaks of it, or it is over */
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
  char *host, *program, *version, *note, *prefix, *registry;
  char *user, *password;    /* of engine_set_credentials() */
  bool has_credentials;
  native names;
  quorum *quorum;           /* NULL: one lock table */
  lock_table *cluster_locks;         /* NULL: each server has its own */
  bool has_sharded_channels;
  spread *spread;           /* Cluster: several names of several slots */
  instant now;              /* of the last input */
  server **servers; size_t server_count;
  connection *links[ENGINE_LINKS_MAX];
  int link_count;
  topology topology;
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
  bool is_closing, farewell_was_sent, is_closed, closed_was_told;
  size_t farewells;         /* not answered yet */
  news news[NEWS_MAX];
  size_t news_first, news_count;
  char effect_words[256];
  uint64_t commands, messages, connects;
};

/* ---- connection.c ---- */
/* NULL: memory, or no number is left. */
connection *connection_new(engine *e, purpose p, server *s, const server_url *url);
connection *connection_free(engine *e, connection *c);
connection *connection_of(const engine *e, int number);   /* NULL: none that is wanted */
void connection_want(engine *e, connection *c, instant now);
void connection_drop(engine *e, connection *c, dibs_status why, const char *words, instant now);
void connection_lost(engine *e, connection *c, dibs_status why, const char *words, instant now);
/* It is not wanted any more: closed silently, freed unless it is a server's. */
void connection_end(engine *e, connection *c);
void connection_tick(engine *e, connection *c, instant now);
instant connection_deadline(const connection *c);
bool connection_is_ready(const connection *c);        /* NULL: no */
bool connection_send(engine *e, connection *c, const buffer *command, uint64_t tag, instant now);
bool connection_send_asking(engine *e, connection *c, const buffer *command, uint64_t tag,
                            instant now);

/* ---- server.c ---- */
bool servers_init(engine *e);                         /* false: memory */
void servers_free(engine *e);
server *server_find(const engine *e, const server_url *url);
server *server_get(engine *e, const server_url *url); /* makes it; Cluster; NULL: memory */
/* It is at `url` from now on. */
void server_move(engine *e, server *s, const server_url *url, instant now);
server *server_of_key(const engine *e, const char *key, size_t size);   /* NULL: not known */
server *server_of_command(const engine *e, const buffer *command);      /* likewise */
bool server_is_ready(const server *s);                /* NULL: no */
const server *server_any_ready(const engine *e);
void server_pump(engine *e, server *s, instant now);  /* connects, sends */
/* It serves nothing: its connections end, and their numbers are free. */
void server_part(engine *e, server *s, instant now);

/* ---- topology.c ---- */
bool topology_init(engine *e);                        /* false: memory */
void topology_free(engine *e);
/* What is known may be wrong: look again. */
void topology_search(engine *e, instant now);
void topology_pump(engine *e, instant now);
instant topology_deadline(const engine *e);
/* MOVED, ASK: who has the slot now; NULL: not to be known. `from` has said so. */
server *topology_redirect(engine *e, const redirect *r, const server *from, instant now);
void topology_scout_ready(engine *e, connection *c, instant now);
void topology_scout_answer(engine *e, connection *c, const resp_reply *reply, instant now);
void topology_lost(engine *e, connection *c, dibs_status why, const char *words, instant now);
void topology_message(engine *e, const char *payload, size_t size, instant now);

/* ---- ask.c ---- */
void asks_send(engine *e, instant now);
void asks_unsent(engine *e, const server *s, dibs_status why, const char *words);
/* No server is known at all. */
void asks_fail_if_final(engine *e, dibs_status why, const char *words);
/* false: this connection is of no use, as observe_answered() says. */
bool ask_answered_with(engine *e, uint64_t tag, resp_reply *reply, const server *from,
                       instant now);
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
void ask_take_answer(engine *e, ask *a, resp_reply *reply, const server *from, instant now);
                                                        /* owns `reply` */
void ask_done(ask *a, dibs_status status, const char *words);
bool ask_fault_is_final(dibs_status why);
server *ask_server(const engine *e, const ask *a);      /* NULL: not known now */

/* ---- observed_channel.c ---- */
observed_channel *observed_channel_find(const engine *e, const char *bytes, size_t size);
observed_channel *observed_channel_get(engine *e, const char *bytes, size_t size);
void observed_channel_ask(engine *e, observed_channel *c, instant now);
void observed_channel_join(observed_channel *c, observation *o);
/* Unsubscribes and frees it with the last one. */
void observed_channel_leave(engine *e, observation *o, instant now);
bool observe_wants_inbox(const engine *e, const server *s, instant now);
void observe_inbox_up(engine *e, const server *s, instant now);
void observe_inbox_down(engine *e, const server *s, dibs_status why, instant now);
void observe_channel_ended(engine *e, const server *s, const resp_node *name, instant now);
void observe_channels_refused(engine *e, const server *s);
void observe_slots_changed(engine *e, instant now);

/* ---- observe.c ---- */
bool observe_is_open(const engine *e);                /* there is one, and it is not over */
void observe_link_up(engine *e, const server *s, instant now);
void observe_link_down(engine *e, const server *s, dibs_status why, const char *words, instant now);
void observe_ask_again(engine *e, instant now);       /* perhaps another server is asked now */
void observe_subscribed(engine *e, const resp_node *name, instant now);
void observe_message(engine *e, const resp_node *name, instant now);
/* false: it was READONLY, this connection is of no use. Owns `reply`. */
bool observe_answered(engine *e, observation *o, resp_reply *reply, const server *from,
                      instant now);
void observe_tick(engine *e, instant now);
void observe_close(engine *e, instant now);
void observe_free(engine *e);
bool observe_next_effect(engine *e, effect *ret);

/* ---- presence.c ---- */
void presence_announce(engine *e, server *s, instant now);
/* Cluster: this one is to know who has locks on others. */
bool presence_wants_link(const engine *e, const server *s);
bool presence_farewell(engine *e, server *s, instant now);  /* false: nothing to wait for */
void presence_memory_answered(engine *e, server *s, const resp_reply *reply);

/* ---- engine.c ---- */
lock_table *engine_locks(const engine *e);            /* not of a quorum */
size_t engine_table_count(const engine *e);
lock_table *engine_table(const engine *e, size_t i);
void engine_locks_tick(engine *e, instant now);
lock_counts engine_counts(const engine *e);
void engine_tell(engine *e, int event, const char *words);
/* A copy that lives as long as an effect may refer to it. */
const char *engine_words(engine *e, const char *words);
void engine_pump(engine *e, instant now);

#endif
