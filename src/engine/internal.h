/* SPDX-License-Identifier: MIT */
/* engine/internal.h - the records of engine/; internal to it. */
#ifndef ENGINE_INTERNAL_H
#define ENGINE_INTERNAL_H

#include <dibs/client.h>

#include "engine/engine.h"
#include "fleet/fleet.h"
#include "link/link.h"
#include "lock/lock.h"
#include "quorum/quorum.h"
#include "quorum/multi.h"
#include "topo/finder.h"

/* Tags of engine commands have a bit that no slot index of lock/ has. */
#define TAG_OURS 0x80000000u
#define TAG_IGNORED TAG_OURS
#define TAG_MEMORY (TAG_OURS | 1u)
#define TAG_FAREWELL (TAG_OURS | 2u)
#define TAG_FLEET (TAG_OURS | 3u)        /* above it: the number of the part */
/* Tags of channels: */
#define TAG_NAME_CHANNEL 1u
#define TAG_OBSERVED_CHANNEL 2u
#define TAG_ASKS (TAG_OURS | 0x40000000u)

#define HEARTBEAT SPAN_MS(60000)

typedef enum plan_state {
  PLAN_OFF = 1,       /* not wanted (yet) */
  PLAN_CONNECTING,    /* transport, then the handshake */
  PLAN_READY,
  PLAN_BACK_OFF
} plan_state;

typedef struct server server;

typedef enum purpose {
  FOR_COMMANDS = 1, FOR_INBOX, FOR_ACKS,    /* of a server */
  FOR_SCOUT, FOR_SENTINEL_NEWS              /* of the topology */
} purpose;

/* One connection and its plan. */
typedef struct connection {
  purpose purpose;
  int number;               /* of the link, for the driver */
  server *server;           /* NULL: of topology */
  int probe;
  const server_url *url;    /* its target; owned by the server or the finder */
  link *link;
  plan_state state;
  instant until;            /* CONNECTING: give up; BACK_OFF: try again */
  unsigned failures;        /* in a row */
  unsigned refusals;        /* in a row: connected, but to a replica */
  bool report_connect, report_disconnect;
  bool was_ready;
  bool has_worked;          /* ever: opened again, it is a reconnection */
  dibs_status refusal;      /* that other files may end: they are read again before the next
                               attempt. DIBS_OK: none */
  char files[160];          /* engine_files() */
  bool is_done;             /* freed after its last effect */
} connection;

/* The state of a link, and the state reported to the program: report.c. */
typedef enum link_seen { SEEN_NOTHING, SEEN_UP, SEEN_DOWN } link_seen;
typedef struct link_report {
  link_seen is, reported;
  instant reported_at;
  span gap;                 /* to the next report */
  char words[256];          /* the fault */
} link_report;

typedef struct stuck_report {
  bool is_on, was_warned;
  bool is_obstructed;       /* a request waits now */
  instant since, warn_at, clear_since;
  span pause;
} stuck_report;

/* A server that may have names: a route of a lock table. */
struct server {
  size_t number;
  lock_table *locks;
  size_t route;
  server_url url;
  bool has_url;             /* false: not found yet */
  bool is_out;              /* Cluster: it serves no slot (any more) */
  connection *commands, *inbox, *acks;      /* NULL: not wanted yet; Cluster: or no longer */
  bool is_announced, memory_was_checked;
  instant announce_again_at;
  bool farewell_was_sent;
  bool was_decided;         /* it has answered a request for a lock */
  link_report report;
  bool refusal_is_reported; /* of a channel of observations */
};

/* Channels that an ACL forbids are tried again then: it may have changed. */
#define FORBIDDEN_FOR SPAN_MS(30000)

/* Which server serves what, where that may change; topology.c. */
typedef struct topology {
  finder *finder;           /* NULL: the servers never change */
  uint16_t *slots;          /* Cluster: SLOT_COUNT numbers of servers */
  connection *probes[SCOUTS_MAX];
  connection *sentinel_news;
  server_url sentinel;      /* the target of sentinel_news */
  bool is_wanted;           /* a search is due as soon as one may begin */
  bool was_found;           /* at least once */
  bool may_listen;          /* since the last search, sentinel_news has not broken */
  bool is_none_news;
  instant next_at;          /* no search before */
  unsigned failures;        /* of searches, in a row */
  instant found_at;         /* of the last successful search */
  unsigned repeats;         /* of those, in a row */
  link_report report;       /* SEEN_DOWN: the last search found no server */
} topology;

typedef enum ask_state { ASK_OPEN = 1, ASK_SENT, ASK_DONE } ask_state;

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
  timer timer;
  /* Unreported results: ask.reply, then the end. */
  observation *next_news;
  bool is_news, is_over;
  bool is_late;             /* the limit came between a command and its reply */
  bool is_outdated;         /* the pending command has been replaced */
};

/* The report that is on its way; fleet_link.c. */
#define FLEET_PARTS_MAX (FLEET_CLASSES_MAX + 3)
typedef struct fleet_link {
  bool is_open;
  bool is_off;              /* the server does not allow it */
  bool has_warned;
  instant give_up_at;
  size_t count;
  struct fleet_part {
    int state;
    bool carries_text, was_lost, is_farewell;
    unsigned attempts;
    instant try_at;
    const server *sent_to;
    const server *wants;    /* OPEN: it is not connected */
  } parts[FLEET_PARTS_MAX];
} fleet_link;

#define NEWS_MAX 8
typedef struct news { int event; char node[128]; char words[512]; } news;

struct engine {
  memory memory;
  engine_settings settings;
  char *host, *program, *version, *note;
  char *user, *password;    /* from engine_set_credentials() */
  bool has_credentials;
  protocol names;
  hold_front *front;        /* the program's claims; its backends follow */
  quorum *quorum;           /* NULL: one lock table */
  lock_table *cluster_locks;         /* NULL: each server has its own */
  bool has_sharded_channels;
  multi *multi;             /* Cluster: multi-locks of several slots */
  instant now;              /* of the last input */
  server **servers; size_t server_count;
  connection *links[ENGINE_LINKS_MAX];
  int link_count;
  topology topology;
  request scratch;
  slots ask_slots;
  ask *first_ask, *last_ask;
  observation *first_observation;
  observation *first_news, *last_news;
  observed_channel *first_channel;
  timers observe_timers;
  size_t observation_count;
  random_source random;
  bool is_patient;          /* waiting calls go on without a server until their limit */
  bool observe_is_mute;     /* an observation may be waiting for a server */
  stuck_report stuck;
  fleet *fleet;
  fleet_link fleet_link;
  instant decided_at;       /* of the last reply to a command with a key */
  bool is_closing, farewell_was_sent, is_closed, ended_was_reported;
  size_t farewells;         /* without a reply yet */
  news news[NEWS_MAX];
  size_t news_first, news_count;
  char effect_words[512], effect_node[128];
  uint64_t commands, messages, connects, reconnects;
};

/* ---- connection.c ---- */
/* NULL: no memory, or no free number. */
connection *connection_new(engine *e, purpose p, server *s, const server_url *url);
connection *connection_free(engine *e, connection *c);
connection *connection_of(const engine *e, int number);   /* NULL: not wanted */
void connection_want(engine *e, connection *c, instant now);
void connection_drop(engine *e, connection *c, dibs_status why, const char *words, instant now);
void connection_lost(engine *e, connection *c, dibs_status why, const char *words, instant now);
/* Not wanted any more: closed without a report, freed unless it belongs to a server. */
void connection_end(engine *e, connection *c);
void connection_tick(engine *e, connection *c, instant now);
instant connection_deadline(const connection *c);
bool connection_is_ready(const connection *c);        /* NULL: false */
bool connection_send(engine *e, connection *c, const request *command, uint64_t tag, instant now);
bool connection_send_asking(engine *e, connection *c, const request *command, uint64_t tag,
                            instant now);

/* ---- server.c ---- */
bool servers_init(engine *e);                         /* false: no memory */
void servers_free(engine *e);
server *server_find(const engine *e, const server_url *url);
server *server_get(engine *e, const server_url *url); /* creates it; Cluster; NULL: no memory */
/* The server has moved to `url`. */
void server_move(engine *e, server *s, const server_url *url, instant now);
server *server_of_key(const engine *e, const char *key, size_t size);   /* NULL: unknown */
server *server_of_command(const engine *e, const request *command);      /* NULL: unknown */
bool server_is_ready(const server *s);                /* NULL: false */
const server *server_any_ready(const engine *e);
void server_advance(engine *e, server *s, instant now);  /* connects, sends */
/* It serves nothing: ends its connections and frees their numbers. */
void server_part(engine *e, server *s, instant now);

/* Whether it has a key: then only a server that can decide answers it. */
/* `s` has answered a request for a lock. */
void server_decided(engine *e, server *s, instant now);

/* ---- topology.c ---- */
bool topology_init(engine *e);                        /* false: no memory */
void topology_free(engine *e);
/* The known servers may be wrong: search again. */
void topology_search(engine *e, instant now);
void topology_advance(engine *e, instant now);
instant topology_deadline(const engine *e);
/* MOVED, ASK from `from`: the server of the slot; NULL: unknown. */
server *topology_redirect(engine *e, const redirect *r, const server *from, instant now);
void topology_probe_ready(engine *e, connection *c, instant now);
void topology_probe_answer(engine *e, connection *c, const resp_reply *reply, instant now);
void topology_lost(engine *e, connection *c, dibs_status why, const char *words, instant now);
void topology_message(engine *e, const char *payload, size_t size, instant now);

/* ---- ask.c ---- */
void asks_send(engine *e, instant now);
void asks_unsent(engine *e, const server *s, dibs_status why, const char *words);
/* false: this connection is useless, see observe_answered(). */
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
/* Ends one that was never sent, with the first known reason. */
void ask_unanswered(const engine *e, ask *a, instant now);
/* Ends one that was sent, or was not and nothing says why. */
void ask_without_reply(const engine *e, ask *a, dibs_status status, instant now);
server *ask_server(const engine *e, const ask *a);      /* NULL: unknown */

/* ---- limit.c ---- */
void ask_limit_set(const engine *e, ask *a, const server *s, instant now);  /* before a sending */
/* The server refused it after its limit, but it is still wanted: it will be sent again. */
void ask_was_late(const ask *a, const resp_node *error, const server *from, instant now);

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
/* false: READONLY, this connection is useless. Owns `reply`. */
bool observe_answered(engine *e, observation *o, resp_reply *reply, const server *from,
                      instant now);
void observe_tick(engine *e, instant now);
void observe_close(engine *e, instant now);
void observe_free(engine *e);
void observe_be_patient(engine *e);
bool observe_next_effect(engine *e, effect *ret);

/* ---- report.c ---- */
void report_connected(engine *e, server *s, instant now);
/* Waiters of `s` poll since a while. */
void report_polling(engine *e, const server *s, instant now);
/* The same of observations: a channel is refused. */
void report_channel_refused(engine *e, server *s, const char *why);
void report_disconnected(engine *e, server *s, const char *words, instant now);
void report_search(engine *e, bool was_found, const char *words, instant now);
void report_advance(engine *e, instant now);
instant report_deadline(const engine *e);

/* ---- presence.c ---- */
void presence_announce(engine *e, server *s, instant now);
void presence_extend(engine *e, instant now);
/* Cluster: this server has the client registration, and locks are in use. */
bool presence_wants_link(const engine *e, const server *s);
bool presence_farewell(engine *e, server *s, instant now);  /* false: no reply to wait for */
void presence_memory_answered(engine *e, server *s, const resp_reply *reply);

/* ---- fleet_link.c ---- */
void fleet_link_advance(engine *e, instant now);
instant fleet_link_deadline(const engine *e);
bool fleet_link_is_open(const engine *e);
/* The last report, sent before the farewell; its replies count as farewells. */
void fleet_link_farewell(engine *e, instant now);
/* Cluster: it has a key of the report. */
bool fleet_link_wants(const engine *e, const server *s);
void fleet_link_lost(engine *e, const server *s);
void fleet_link_answered(engine *e, uint64_t tag, const resp_reply *reply, instant now);

/* ---- engine.c ---- */
lock_table *engine_locks(const engine *e);            /* not for a quorum */
size_t engine_table_count(const engine *e);
lock_table *engine_table(const engine *e, size_t i);
void engine_report(engine *e, int event, const char *words);
/* The same about one server; NULL, or without an address: unknown. */
void engine_report_of(engine *e, int event, const server_url *url, const char *words);
/* A copy that lives as long as the effect. */
const char *engine_words(engine *e, const char *words);
void engine_advance(engine *e, instant now);

#endif
