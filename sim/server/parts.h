/* SPDX-License-Identifier: MIT */
/* sim/server/parts.h - what the files of this room share: the server, its connections, and
 * one call of a command. */
#ifndef SIM_SERVER_PARTS_H
#define SIM_SERVER_PARTS_H

#include "server/reply.h"
#include "server/sim_server.h"
#include "server/value.h"

/* ---- commands ---- */

typedef struct command command;

/* One command being run: by a connection, a script, or nobody. */
typedef struct call {
  sim_server *server;
  sim_connection *connection;   /* NULL: nobody's */
  const command *command;
  const slice *words;           /* the command's own name first */
  size_t count;
  reply *reply;
} call;

enum {
  COMMAND_WRITES = 1,
  COMMAND_ALLOCATES = 2,        /* refused when memory is short */
  COMMAND_NOT_IN_SCRIPT = 4,
  COMMAND_WHILE_LOADING = 8,
  COMMAND_WHILE_BUSY = 16,
  COMMAND_SUBSCRIBED = 32,      /* allowed on a connection with subscriptions */
  COMMAND_WITHOUT_AUTH = 64,
  COMMAND_MAY_SPREAD = 128,     /* reaches replicas without being a write: PUBLISH, EVAL */
  COMMAND_AT_ONCE = 256,        /* not queued by MULTI */
  COMMAND_NO_NESTING = 2048,    /* an error inside MULTI */
  COMMAND_RUNS_QUEUE = 1024,    /* EXEC: refused with what it would run */
  COMMAND_PARENT = 512          /* has subcommands: a table of its own */
};

struct command {
  const char *name;             /* lower case; "client|id" for a part of CLIENT */
  int arity;                    /* with the name; < 0: at least so many */
  unsigned flags;
  void (*run)(call *c);
};

extern const command commands_string[], commands_number[], commands_key[], commands_scan[],
  commands_hash[], commands_list[], commands_zset[], commands_server[], commands_client[],
  commands_channel[], commands_script[], commands_transaction[], commands_cluster[],
  commands_sentinel[], commands_info[];
extern const command commands_zset_range[], commands_stream[];

/* commands.c; NULL: no such command. A subcommand is found where its parent has one. */
const command *command_find(const sim_server *s, slice name);
const command *command_find_part(const sim_server *s, const command *parent, slice name);
void commands_new(sim_server *s);
void commands_free(sim_server *s);
bool command_count_is_good(const command *cmd, size_t count);

/* ---- the server ---- */

typedef struct watched watched;
typedef struct queued queued;
typedef struct channel channel;
typedef struct channel_entry channel_entry;
typedef struct command_entry command_entry;
typedef struct scripting scripting;
typedef struct replica replica;
typedef struct cluster cluster;
typedef struct sentinel sentinel;

typedef enum channel_kind { CHANNEL_PLAIN, CHANNEL_SHARD, CHANNEL_PATTERN, CHANNEL_KINDS }
  channel_kind;

struct sim_connection {
  sim_connection *next, *previous;
  sim_server *server;
  uint64_t id;
  void *data;
  buffer input, output;
  char *name;                   /* CLIENT SETNAME; NULL */
  bool is_closed, is_authenticated;
  /* subscriptions */
  channel_entry *channels[CHANNEL_KINDS];   /* uthash heads */
  /* WAIT: the rest of its input stays where it is */
  bool is_waiting;
  int64_t waits_for;            /* replicas */
  int64_t waits_until_us;       /* INT64_MAX: for ever */
  uint64_t waits_offset, written_offset;
  /* MULTI */
  bool is_queueing, queue_has_failed, is_in_exec;
  queued *queue;
  size_t queue_count, queue_capacity;
  unsigned queue_flags;         /* of all that is queued: writes, allocates */
  watched *watched;
  bool watched_has_changed;
  bool is_asking;               /* ASKING was its last command */
};

typedef struct word_list {
  slice *all;
  size_t count, capacity;
} word_list;

struct sim_server {
  random_source random;
  int64_t wall_us;
  char *password;               /* NULL: none */
  keyspace keys;
  bool conditions[SIM_CONDITIONS];
  bool has_ifeq, is_narrow;
  sim_connection *first, *last;
  uint64_t last_id;
  command_entry *commands;      /* uthash head */
  channel *channels[CHANNEL_KINDS];         /* uthash heads */
  scripting *scripting;
  replica *replica;             /* those there are; NULL: none */
  uint64_t offset;              /* of what replicas are sent; a replica: what it has */
  blob **changed;               /* keys, by the command that runs */
  size_t changed_count, changed_capacity;
  /* roles.c */
  random_source random_ids;
  char replid[41], replid2[41];
  int64_t second_offset;        /* up to where replid2 is true; -1: nowhere */
  bool has_backlog, is_follower;
  sim_server *primary;          /* NULL: none, or the link is broken */
  const char *primary_host;
  int primary_port;
  int min_replicas, max_lag_s;
  int64_t good_replicas, next_cron_us;
  char *host;                   /* as others are told of it */
  int port;
  cluster *cluster;             /* NULL: not enabled */
  sentinel *sentinel;           /* NULL: it is none */
  int64_t pause_until_us;       /* CLIENT PAUSE */
  int64_t started_us;
  bool pause_is_for_all;
  bool is_looking;              /* nothing may be changed, not even what is over */
  size_t watchers;              /* connections with a WATCH */
  size_t waiters;               /* connections in a WAIT */
  word_list words;                  /* of the command being read */
  buffer answer, reported;          /* of sim_server_ask() and sim_server_key_text() */
  char run_id[41];
  char *unknown;
  uint64_t version;
  sim_server_counts counts;
};

/* server.c: remembers the first thing that the model does not know. */
void server_note_unknown(sim_server *s, const char *what, slice which);
static inline int64_t server_now_ms(const sim_server *s) { return s->wall_us / 1000; }
bool server_is_paused(const sim_server *s);

/* ---- db.c: keys as commands see them ---- */

/* The key if it is there and not over; one that is over is removed, where it may be. */
key *db_find(sim_server *s, slice name);
/* As db_find(), and of this kind; another kind is answered, with *ret_is_wrong. */
key *db_find_kind(call *c, slice name, value_kind kind, bool *ret_is_wrong);
/* The key, made empty if it is not there; NULL: another kind, answered. */
key *db_need(call *c, slice name, value_kind kind);
key *db_add(sim_server *s, slice name);
void db_set_string(sim_server *s, slice name, slice value, int64_t expires_ms);
void db_remove(sim_server *s, key *entry);
void db_remove_if_empty(sim_server *s, key *entry);
void db_changed(sim_server *s, slice name);       /* after each change of a key */
bool db_is_over(const sim_server *s, const key *entry);
void db_flush(sim_server *s);
void db_expire_some(sim_server *s);
size_t db_count(const sim_server *s);             /* those not over */

/* ---- text of values: tell.c ---- */

void report_key(key *entry, buffer *out);

/* ---- execute.c ---- */

/* One command of a connection, with all refusals; the answer goes to its output. */
void execute(sim_server *s, sim_connection *c, const slice *all, size_t count);
/* What CLIENT PAUSE makes wait. */
bool execute_must_wait(const sim_server *s, const sim_connection *c, const slice *all,
                       size_t count);
/* Refusals that scripts share; NULL: none. */
const char *refusal_of_state(const sim_server *s, const command *cmd);
/* After each command or script: what happened goes to the replica. */
void execute_end(sim_server *s);

/* ---- read.c: bytes to words ---- */

typedef enum read_result { READ_MORE, READ_COMMAND, READ_FAULT } read_result;

/* The first command in `bytes`; *ret_used bytes of them. A fault says
 * why. */
read_result read_command(slice bytes, word_list *ret_words, size_t *ret_used, text *fault);

/* ---- connection.c ---- */

sim_connection *connection_open(sim_server *s);
void connection_close(sim_connection *c);         /* frees it */
void connection_run(sim_connection *c);           /* what its input holds */
void connection_finish(sim_connection *c);           /* by the server; hung up later */
void connections_end_all(sim_server *s);          /* as by a kill: nothing is sent any more */

/* ---- channels.c ---- */

size_t channels_publish(sim_server *s, channel_kind kind, slice name, slice message);
size_t channels_subscribers(const sim_server *s, channel_kind kind, slice name);
/* How many subscriptions it has: to shard channels, or to the others. */
size_t channels_of(const sim_connection *c, bool of_shards);
bool channels_are_subscribed(const sim_connection *c);
void channels_leave_all(sim_connection *c);
/* All that listen to shard channels of this slot do so no more, and are told. */
void channels_slot_leaves(sim_server *s, uint16_t hash_slot);

/* ---- transaction.c ---- */

void transaction_queue(sim_connection *c, const command *cmd, const slice *all, size_t count);
/* EXEC is refused, for the reason that would refuse what it runs. */
void transaction_abort(sim_connection *c, reply *r, const char *why);
void transaction_forget(sim_connection *c);       /* queue and watched keys */
void transaction_key_changed(sim_server *s, slice name);

/* ---- replica.c ---- */

void replica_note(sim_server *s, slice name);     /* this key has changed */
void replica_note_flush(sim_server *s);
void replica_end_of_command(sim_server *s);
void replica_clock_moved(sim_server *s, int64_t by_us);
void replica_catch_up(sim_server *s);
int64_t replica_next_us(const sim_server *s);
int64_t replica_count(const sim_server *s, uint64_t offset);   /* that have so much */
size_t replica_connected(const sim_server *s);
int64_t replica_good_count(const sim_server *s);   /* heard of within max_lag_s */
void replica_join(sim_server *s, sim_server *follower);        /* with a complete copy */
void replica_leave(sim_server *s, const sim_server *follower); /* NULL: the one inside */
void replica_leave_all(sim_server *s);
sim_server *replica_first_follower(const sim_server *s);       /* NULL: none but inside */
void replica_receive(sim_server *s, sim_server *follower, uint64_t offset);
void replica_hear(sim_server *s, const sim_server *follower, uint64_t offset);

typedef struct replica_view {
  const char *host;
  int port;
  uint64_t offset;
  int64_t lag_s;
} replica_view;
bool replica_report(const sim_server *s, size_t i, replica_view *ret);   /* false: no such */

/* ---- roles.c ---- */

void roles_new(sim_server *s, uint64_t seed);
void roles_free(sim_server *s);
/* Another history begins; the one before is remembered where there is `has_past`. */
void roles_new_era(sim_server *s, bool has_past);
void roles_first_replica(sim_server *s);
void roles_restart(sim_server *s, bool keeps_data);
void roles_tick(sim_server *s);
void roles_clock_moved(sim_server *s, int64_t by_us);
int64_t roles_next_us(const sim_server *s);
bool server_is_replica(const sim_server *s);
bool server_lacks_replicas(const sim_server *s);

/* ---- cluster.c ---- */

/* Why this server does not run it (MOVED, ASK, CROSSSLOT ...), in `room`; NULL: it does. */
const char *cluster_refusal(const sim_connection *c, const command *cmd, const slice *words,
                            size_t count, text *room);
/* The same for a command of a script. */
const char *cluster_refusal_in_script(const sim_connection *c, const command *cmd,
                                      const slice *words, size_t count);
cluster *cluster_free(cluster *c);
uint16_t cluster_slot(slice name);

/* ---- sentinel.c ---- */

bool sentinel_knows(const command *cmd);
sentinel *sentinel_free(sentinel *t);
void sentinel_publish(call *c);         /* PUBLISH: refused */
void sentinel_role(call *c);

/* ---- script.c ---- */

scripting *scripting_new(sim_server *s);
scripting *scripting_free(scripting *g);
void scripting_forget(scripting *g);

#endif
