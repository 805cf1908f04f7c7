/* SPDX-License-Identifier: MIT */
/* test/lib/deployment.h - throw-away deployments for tests: several real servers that form
 * a replicated set, a set with sentinels, a cluster, or the independent servers of a quorum.
 *
 *   struct test_set *set = test_set_start(NULL);                  one primary, two replicas
 *   struct test_sentinels *watch = test_sentinels_start(set, NULL);
 *   ... open a client with test_sentinels_url(watch) ...
 *   test_server_kill9(test_set_member(set, test_set_primary(set)));
 *   assert_true(test_sentinels_wait_for_failover(watch, 0, 10000));
 *   ...
 *   watch = test_sentinels_stop(watch);
 *   set = test_set_stop(set);
 *
 * Each member is a test_server (server.h), and all that can happen to one may happen to it:
 * kill9, restart empty or with data, pause, resume, test_server_command(). A member that is
 * restarted keeps its place: replicas and cluster nodes know where they belong.
 *
 * As in server.h, what cannot be set up ends the test program with a TAP "Bail out!" line.
 * Functions named wait_... answer false when it did not come true in `limit_ms`. To be called
 * from one thread, the one that started the servers. Counts in options: zero means the
 * default written beside it. What `server` in an option points to is needed to the end:
 * make it static. */
#ifndef TEST_DEPLOYMENT_H
#define TEST_DEPLOYMENT_H

#include <stdbool.h>
#include <stddef.h>

#include "server.h"

struct test_network;              /* partition.h */

/* ---- any server ---- */

enum test_role { TEST_ROLE_GONE, TEST_ROLE_PRIMARY, TEST_ROLE_REPLICA, TEST_ROLE_SENTINEL };

/* What it says itself; GONE also while it is paused. */
enum test_role test_role_of(const struct test_server *s);
bool test_wait_for_role(const struct test_server *s, enum test_role role, int limit_ms);
/* `replica` is connected to `primary` and has all that this had when the call began. */
bool test_wait_in_sync(const struct test_server *primary, const struct test_server *replica,
                       int limit_ms);
/* By hand, as `REPLICAOF` does it, kept over a restart where the server has a configuration. */
void test_promote(const struct test_server *s);
void test_demote(const struct test_server *s, const struct test_server *new_primary);
/* "redis 7.0.15": name and version of a server, in a static buffer. */
const char *test_server_version(const struct test_server *s);
/* Whether it has this command, by the words of COMMAND INFO: "waitaof", "cluster|shards". */
bool test_server_knows(const struct test_server *s, const char *command);
/* The node of a Cluster owns slots 0 to `count` - 1 from now on. ADDSLOTSRANGE came with 7.0. */
void test_server_add_slots(const struct test_server *s, int count);
/* Whether the server program of this run was built with TLS; most are. Starts one to ask. */
bool test_servers_speak_tls(void);

/* ---- a primary and its replicas ---- */

struct test_set;

enum { TEST_NONE = -1, TEST_MEMBERS_MAX = 16 };

struct test_set_options {
  int replicas;                   /* 2; TEST_NONE: none */
  int min_replicas_to_write;      /* 0 */
  int min_replicas_max_lag_s;     /* 10, the server's */
  int repl_timeout_s;             /* 5 */
  const struct test_server_options *server;   /* of each: password, TLS, arguments, clock */
  struct test_network *network;   /* member i is on host i, instead of loopback */
};

/* Replicas are in sync. NULL: the defaults. */
struct test_set *test_set_start(const struct test_set_options *options);
struct test_set *test_set_stop(struct test_set *set);

int test_set_count(const struct test_set *set);
/* 0 is the primary at the start. */
struct test_server *test_set_member(const struct test_set *set, int member);
/* The first that says it is one; -1: none. test_role_of() tells of several. */
int test_set_primary(const struct test_set *set);
/* Which has this port; -1: none. */
int test_set_with_port(const struct test_set *set, int port);
/* redis://127.0.0.1:p0,127.0.0.1:p1,127.0.0.1:p2 */
const char *test_set_url(const struct test_set *set);
/* Every living replica has what the primary has. */
bool test_set_wait_in_sync(const struct test_set *set, int limit_ms);
/* What a careful administrator does: `member` becomes the primary, the others its replicas. */
void test_set_promote(const struct test_set *set, int member);

/* ---- sentinels that watch one ---- */

struct test_sentinels;

#define TEST_SERVICE "service"    /* the name that they watch it by */

struct test_sentinels_options {
  int count;                      /* 3; the quorum is the majority */
  int down_after_ms;              /* 1000 */
  int failover_timeout_ms;        /* 3000 */
  const char *password;           /* of the sentinels; those of the set are in the set */
  const char *user;               /* with `password`: a user of the sentinels with this name,
                                     and their default user is off */
  bool has_clock;                 /* theirs obey test_server_clock_shift(), forward only */
  int first_host;                 /* in the set's network; 0: behind the set's members */
};

/* They know each other and all members; with the TLS of the set. */
struct test_sentinels *test_sentinels_start(struct test_set *set,
                                            const struct test_sentinels_options *options);
struct test_sentinels *test_sentinels_stop(struct test_sentinels *t);

int test_sentinels_count(const struct test_sentinels *t);
struct test_server *test_sentinel(const struct test_sentinels *t, int which);
/* redis+sentinel://127.0.0.1:s0,127.0.0.1:s1,127.0.0.1:s2/service/0 or rediss+sentinel:// */
const char *test_sentinels_url(const struct test_sentinels *t);
/* The member that sentinel `which` takes for the primary; -1: it does not say. */
int test_sentinel_primary(const struct test_sentinels *t, int which);
/* Asks for one, as an administrator does. False: refused. */
bool test_sentinels_failover(const struct test_sentinels *t);
/* A member other than `old` is primary, and all living sentinels say so. */
bool test_sentinels_wait_for_failover(const struct test_sentinels *t, int old, int limit_ms);
/* All living sentinels tell of the same primary, which is one, and see the other living
 * members as its replicas, all of them up. */
bool test_sentinels_wait_settled(const struct test_sentinels *t, int limit_ms);

/* ---- a cluster ---- */

struct test_cluster;

enum { TEST_SLOTS = 16384 };

struct test_cluster_options {
  int primaries;                  /* 3: members 0, 1, 2 with a third of the slots each */
  int replicas;                   /* of each: 1; member 3 is that of 0 ... ; TEST_NONE */
  int node_timeout_ms;            /* 2000 */
  const struct test_server_options *server;
  struct test_network *network;   /* member i on host i */
};

/* All members say that the cluster is whole, and all agree. */
struct test_cluster *test_cluster_start(const struct test_cluster_options *options);
struct test_cluster *test_cluster_stop(struct test_cluster *c);

int test_cluster_count(const struct test_cluster *c);
struct test_server *test_cluster_member(const struct test_cluster *c, int member);
/* redis+cluster://127.0.0.1:p0,127.0.0.1:p1,127.0.0.1:p2 (the first three members) */
const char *test_cluster_url(const struct test_cluster *c);

int test_cluster_slot_of(const struct test_cluster *c, const char *key);
/* Who serves the slot, by its own word; -1: nobody living. */
int test_cluster_owner(const struct test_cluster *c, int slot);
/* The first replica of a member, as that one's own ROLE tells; -1: none lives. */
int test_cluster_replica_of(const struct test_cluster *c, int member);
/* Writes a name that ends in digits, "prefix-123", whose lock lives on `member`, or in
 * `slot`. The key is "dibs:m:{name}": its slot is that of the name. */
void test_cluster_name_on(const struct test_cluster *c, int member, const char *prefix,
                          char *ret_name, size_t size);
void test_cluster_name_in(int slot, const char *prefix, char *ret_name, size_t size);

/* Every living member says cluster_state:ok, and they agree on who serves what. */
bool test_cluster_wait_ok(const struct test_cluster *c, int limit_ms);
/* `member` serves as a primary (was promoted). */
bool test_cluster_wait_for_primary(const struct test_cluster *c, int member, int limit_ms);
/* CLUSTER FAILOVER at a replica; how: "", "FORCE" or "TAKEOVER". False: refused. */
bool test_cluster_failover(const struct test_cluster *c, int replica, const char *how);

/* ---- slots on the move, step by step ---- */

/* IMPORTING there, MIGRATING here: new names get ASK from now on. */
void test_cluster_move_begin(const struct test_cluster *c, int slot, int to);
/* At most `count` keys go over (-1: all); returns how many. Between the first and the last
 * a command over several of them gets TRYAGAIN. */
int test_cluster_move_keys(const struct test_cluster *c, int slot, int to, int count);
/* The slot is the target's, with all keys that were left; told to all living members. */
void test_cluster_move_finish(const struct test_cluster *c, int slot, int to);
/* Whole slots at once, where the server can (Valkey 9, Redis 8.4). */
bool test_cluster_can_move_atomically(const struct test_cluster *c);
bool test_cluster_move_atomically(const struct test_cluster *c, int first, int last, int to,
                                  int limit_ms);

/* ---- independent servers for a quorum ---- */

struct test_quorum;

/* `network`: server i on host i; NULL: loopback. */
struct test_quorum *test_quorum_start(int count, const struct test_server_options *server,
                                      struct test_network *network);
struct test_quorum *test_quorum_stop(struct test_quorum *q);
int test_quorum_count(const struct test_quorum *q);
struct test_server *test_quorum_server(const struct test_quorum *q, int which);
/* "redis://127.0.0.1:a redis://127.0.0.1:b ..." */
const char *test_quorum_url(const struct test_quorum *q);

#endif
