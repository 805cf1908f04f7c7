/* SPDX-License-Identifier: MIT */
/* sim/server - a Redis server without a process: bytes in, bytes out, time as an argument.
 *
 * Owns a keyspace (strings, hashes, lists, sorted sets, each with a time to live), the script
 * cache, connections with their subscriptions, and a Lua 5.1 state in which our real scripts
 * run. What it does not know it answers with an error and remembers in
 * sim_server_unknown(): a simulation in which that is not NULL has proved nothing.
 *
 * A server may be a replica of another one, a node of a cluster, or (sim_sentinel.h) a
 * sentinel: it answers as such, and its world tells it what the others of its kind would.
 *
 * The model is Redis 7.0, with `has_ifeq` and SET of 8.4; test/sim/differential_test.c and
 * test/sim/deployment_differential_test.c hold it against real ones, reply by reply and key by
 * key. RESP2 (HELLO 3 is refused as by servers before 6). May include
 * base/ and resp/. No clock, socket, thread, environment or stdio; nothing depends on
 * pointer values or on what is not in the seed. Ends the program when memory runs out.
 *
 * Time: the caller sets the wall clock before each input; it may be set back. A key is
 * there at the very millisecond of its expiry, and gone one later. */
#ifndef SIM_SERVER_H
#define SIM_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct sim_server sim_server;
typedef struct sim_connection sim_connection;

typedef struct sim_server_settings {
  uint64_t seed;                /* ids, evictions, sampled expiry */
  int64_t wall_us;              /* the wall clock at the start */
  const char *password;         /* NULL: none; of the default user */
  const char *host;             /* as others are told of it; NULL: "server" */
  int port;                     /* 0: 6379 */
  bool has_ifeq;                /* SET with IFEQ, and scripts read the version of Redis 8.4 */
  bool is_narrow;               /* fails a script whose numbers a server of 32 bits cannot write */
} sim_server_settings;

sim_server *sim_server_new(const sim_server_settings *settings);
sim_server *sim_server_free(sim_server *s);

/* ---- time ---- */

void sim_server_clock(sim_server *s, int64_t wall_us);     /* it is this late now */
/* Does what time alone brings: sampled expiry of keys, pauses and blocked commands that end. */
void sim_server_tick(sim_server *s);
/* When sim_server_tick() has something to do; INT64_MAX: never. Sampled expiry is no reason. */
int64_t sim_server_next_tick_us(const sim_server *s);

/* ---- connections ---- */

sim_connection *sim_server_accept(sim_server *s);
/* Runs all whole commands, in order; answers are appended to the outputs, its own and of
 * those subscribed. The rest of a command waits for its bytes. */
void sim_server_receive(sim_server *s, sim_connection *c, const void *bytes, size_t size);
/* The client has gone. `c` is freed. */
void sim_server_hang_up(sim_server *s, sim_connection *c);
/* Connections with something to send, or closed by the server, in the order of accepting;
 * NULL ends the walk. Start with NULL. */
sim_connection *sim_server_next_to_send(const sim_server *s, const sim_connection *after);
const char *sim_connection_output(const sim_connection *c, size_t *ret_size);
void sim_connection_sent(sim_connection *c, size_t size);
bool sim_connection_is_closed(const sim_connection *c);     /* by the server; hang up */
void *sim_connection_data(const sim_connection *c);         /* the caller's own pointer */
void sim_connection_set_data(sim_connection *c, void *data);

/* ---- what happens to servers; commands do these too where Redis has one ---- */

/* As after a kill: all connections are closed, the script cache is empty. */
void sim_server_restart(sim_server *s, bool keeps_data);
void sim_server_flush(sim_server *s);                       /* FLUSHALL */
void sim_server_forget_scripts(sim_server *s);              /* SCRIPT FLUSH */
void sim_server_disconnect_all(sim_server *s, bool only_subscribed);   /* CLIENT KILL */
bool sim_server_evict(sim_server *s);      /* one key, by chance; false: there is none */

/* While on, the error that a real server gives then. */
typedef enum sim_condition {
  SIM_OUT_OF_MEMORY,    /* commands that allocate are refused, as with noeviction */
  SIM_BUSY,             /* a script of somebody else runs: everything but SCRIPT KILL */
  SIM_LOADING,
  SIM_READ_ONLY,        /* it has become a replica */
  SIM_MISCONF,          /* it cannot save: writes and PING are refused */
  SIM_NO_REPLICAS,      /* min-replicas-to-write */
  SIM_CONDITIONS
} sim_condition;
void sim_server_set(sim_server *s, sim_condition condition, bool is_on);

/* One replica, which has each write `lag_us` later; 0: at once; < 0: no replica (the
 * start). WAIT counts it. */
void sim_server_replica(sim_server *s, int64_t lag_us);
/* Nothing reaches the replica any more, until switched off; WAIT then answers 0. */
void sim_server_replica_cut(sim_server *s, bool is_cut);
/* The replica takes over: what it has not got is lost, its script cache is empty, all
 * connections are closed, and it has no replica itself until sim_server_replica(). */
void sim_server_fail_over(sim_server *s);

/* ---- several servers: replication ----
 *
 * What a primary writes waits for its world to carry it: each change has an offset, and the
 * world says how far a replica has got it, and how far the primary has heard of that. WAIT
 * and min-replicas-to-write look at what it has heard. A link that is broken is one of
 * which the world says nothing. */

/* `s` is a replica of `primary` from now on, with a complete copy: read only; whoever is in
 * a WAIT is thrown out. Both are there until sim_server_promote(), another follow, or the
 * end or restart of one of them. It stays a replica then, of nobody. */
void sim_server_follow(sim_server *s, sim_server *primary);
/* REPLICAOF NO ONE: a primary with a history of its own. Its clients stay. */
void sim_server_promote(sim_server *s);
bool sim_server_is_replica(const sim_server *s);
sim_server *sim_server_primary(const sim_server *s);        /* NULL: none, or link broken */
uint64_t sim_server_offset(const sim_server *s);
void sim_server_replicate(sim_server *s, uint64_t offset);  /* `s` has got so much */
void sim_server_acknowledge(sim_server *s, uint64_t offset);   /* its primary hears that */
/* min-replicas-to-write, min-replicas-max-lag. Looked at once in a second, as there. */
void sim_server_min_replicas(sim_server *s, int count, int max_lag_s);

/* ---- several servers: cluster ----
 *
 * Each node has a picture of its own of who has which slot. */

typedef struct sim_node {
  const char *host;
  int port;
  int primary;                  /* whose replica it is, by index; -1: a primary */
} sim_node;

/* It is node `self` of these from now on, with all slots nobody's. Before it has keys. */
void sim_server_cluster(sim_server *s, const sim_node *nodes, size_t count, size_t self);
/* Whom it thinks the slots `first` to `last` belong to; -1: nobody. Who listened here to
 * channels of a slot that leaves is told so. Ends a move of the slot. */
void sim_server_own_slots(sim_server *s, int first, int last, int node);
/* CLUSTER SETSLOT MIGRATING or IMPORTING, where it is `from` or `to`. */
void sim_server_move_slot(sim_server *s, int hash_slot, int from, int to);
void sim_server_node_follows(sim_server *s, int node, int primary);   /* -1: a primary */
void sim_server_cluster_down(sim_server *s, bool is_down);
/* MIGRATE of one key of the slot; false: there is none left. */
bool sim_server_migrate_key(sim_server *from, sim_server *to, int hash_slot);

/* ---- truth, for oracles and tests; costs nothing and changes nothing ---- */

/* Runs one command as nobody's connection and returns its RESP answer (valid until the
 * next call); keys that are over are not removed by it. */
const char *sim_server_ask(sim_server *s, const void *command, size_t size, size_t *ret_size);
/* The key as text that tells it wholly: type, value in order, absolute expiry ms. NULL: not
 * there. Valid until the next call. Equal keyspaces give equal texts. */
const char *sim_server_key_text(sim_server *s, const char *key, size_t size);
size_t sim_server_key_count(const sim_server *s);           /* without those that are over */
/* Counts up with each change of a key: an oracle looks again only when it has moved. */
uint64_t sim_server_version(const sim_server *s);

typedef struct sim_server_counts {
  uint64_t commands, scripts, messages, expired, evicted, errors;
} sim_server_counts;
sim_server_counts sim_server_get_counts(const sim_server *s);
/* What a client or script wanted that the model does not know, in words; NULL: nothing. */
const char *sim_server_unknown(const sim_server *s);

#endif
