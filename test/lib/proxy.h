/* SPDX-License-Identifier: MIT */
/* test/lib/proxy.h - a proxy between clients and a server that makes network faults.
 *
 *   struct test_server *s = test_server_start();
 *   struct test_proxy *p = test_proxy_start(s);
 *   ... open a client with test_proxy_url(p) ...
 *   test_proxy_lose_reply_to(p, "EVALSHA");    the next script runs, its answer is lost
 *   ...
 *   p = test_proxy_stop(p);
 *
 * A thread of the test program; listens on a unix socket and on a loopback port, both at
 * once, and forwards to the server's unix socket (or its TLS port, if it has one and the
 * client came by TCP). Each call below has taken effect when it returns: after
 * test_proxy_black_hole() not one more byte passes. Safe from any thread. Faults stay
 * until test_proxy_pass(), over connections yet to come too. */
#ifndef TEST_PROXY_H
#define TEST_PROXY_H

#include <stdbool.h>
#include <stdint.h>

#include "server.h"

struct test_proxy;

enum test_direction { TEST_TO_SERVER = 1, TEST_TO_CLIENT = 2, TEST_BOTH = 3 };

struct test_proxy *test_proxy_start(const struct test_server *s);
/* Ends its connections and thread. Before the server's stop or after. NULL allowed. */
struct test_proxy *test_proxy_stop(struct test_proxy *p);

const char *test_proxy_url(const struct test_proxy *p);      /* unix:///... */
const char *test_proxy_tcp_url(const struct test_proxy *p);  /* redis:// or rediss:// */
const char *test_proxy_socket(const struct test_proxy *p);
int test_proxy_port(const struct test_proxy *p);

/* ---- what happens to bytes ---- */

/* No fault; the state at the start. Held bytes go on. A connection that has lost bytes
 * stays dead, silently, as its stream has a hole; new ones are whole. */
void test_proxy_pass(struct test_proxy *p, enum test_direction d);
/* Reads and drops everything, the end of a connection too: the other side hears none. */
void test_proxy_black_hole(struct test_proxy *p, enum test_direction d);
/* A partition that heals: bytes and ends are kept, and go on with test_proxy_pass(). */
void test_proxy_hold(struct test_proxy *p, enum test_direction d);
/* Each byte arrives so much later; order stays. */
void test_proxy_delay(struct test_proxy *p, enum test_direction d, int ms);
/* The same, each piece by its own chance between the two. */
void test_proxy_jitter(struct test_proxy *p, enum test_direction d, int ms_min, int ms_max);
/* One byte per write. */
void test_proxy_trickle(struct test_proxy *p, enum test_direction d);
/* At most so many a second, on each connection. */
void test_proxy_rate(struct test_proxy *p, enum test_direction d, int bytes_per_second);

/* ---- what happens to connections: on TCP a reset; on a unix socket a reset if bytes
 * were on their way to the proxy, otherwise an end ---- */

void test_proxy_cut(struct test_proxy *p);            /* all of them, now */
/* Once: whichever connection is about to pass the byte after the next `bytes` of this
 * direction, counted over all connections, is cut. One direction, not TEST_BOTH. */
void test_proxy_cut_after(struct test_proxy *p, enum test_direction d, uint64_t bytes);
/* Once: the next `count` whole replies are dropped, then the connection that had the last
 * of them is cut. Not with TLS. */
void test_proxy_swallow_replies(struct test_proxy *p, unsigned count);
/* After the next `count` whole replies (1 or more) no byte reaches a client any more, as after
 * test_proxy_black_hole(p, TEST_TO_CLIENT). Not with TLS. */
void test_proxy_silence_after(struct test_proxy *p, unsigned count);
/* Once: the next connection on which `word` (at most 63 bytes) goes to the server gives
 * nothing more to its client, and is cut when the server has answered all that it was
 * asked up to there: surely executed, answer lost. Not with TLS. */
void test_proxy_lose_reply_to(struct test_proxy *p, const char *word);
/* From now on each command with `word` (NULL: every one) meets one of these by chance, or
 * none; until test_proxy_pass(p, TEST_BOTH), or NULL here. Not with TLS, nor on connections
 * that subscribe. */
struct test_proxy_chances {
  uint64_t seed;
  const char *word;     /* at most 63 bytes */
  int lose_request;     /* of 10000: cut before the command arrives */
  int lose_reply;       /* ...: executed, then cut with the answer on its way */
  int duplicate;        /* ...: executed twice in a row; one of the answers arrives */
  int late;             /* ...: cut at once, and executed up to late_ms_max later */
  int silence;          /* ...: it and all that follows on its connection vanish, unheard */
  int late_ms_max;
};
void test_proxy_chance(struct test_proxy *p, const struct test_proxy_chances *chances);
/* While on, nobody can connect: the listening sockets are closed. */
void test_proxy_refuse(struct test_proxy *p, bool is_refusing);
/* From now on all of the above but test_proxy_refuse() is for connections only whose
 * first 1000 bytes to the server contain `word` ("SUBSCRIBE" for inboxes). NULL: all. */
void test_proxy_only(struct test_proxy *p, const char *word);

/* ---- what has happened ---- */

struct test_proxy_counts {
  uint64_t connections;          /* accepted so far */
  uint64_t open;                 /* now */
  uint64_t cuts;                 /* connections cut by a fault */
  uint64_t passed_to_server, passed_to_client;     /* bytes */
  uint64_t dropped_to_server, dropped_to_client;
  uint64_t replies_swallowed;
  int64_t silent_since_us;       /* of test_proxy_silence_after(), by test_now_us(); 0: not yet */
  uint64_t commands;             /* that had a chance, and what it was: */
  uint64_t requests_lost, replies_lost, duplicated, late, silenced;
};

struct test_proxy_counts test_proxy_counts(struct test_proxy *p);

/* Wait until the counts satisfy `is_so`; false: not within `limit_ms`. */
bool test_proxy_wait(struct test_proxy *p, int limit_ms,
                     bool (*is_so)(const struct test_proxy_counts *counts, void *data),
                     void *data);
/* So many cuts since the start; so many bytes dropped in one direction. */
bool test_proxy_wait_for_cuts(struct test_proxy *p, uint64_t cuts, int limit_ms);
bool test_proxy_wait_for_drops(struct test_proxy *p, enum test_direction d,
                               uint64_t bytes, int limit_ms);

#endif
