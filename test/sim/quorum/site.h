/* SPDX-License-Identifier: MIT */
/* test/sim/quorum/site.h - clients of a quorum and their servers, without processes: the real
 * rooms quorum and lock, our own scripts on simulated servers, and between them wires on
 * which a test decides what takes how long, what is cut, and who is silent.
 *
 * One virtual time for all. What engine/ does for a table is done here in short: a command
 * link and an inbox for each server, connected when they are wanted. */
#ifndef TEST_SIM_QUORUM_SITE_H
#define TEST_SIM_QUORUM_SITE_H

#include "tests.h"

#include <stdint.h>

#include "failing_heap.h"
#include "quorum/quorum.h"
#include "server/sim_server.h"

#define SITE_SERVERS_MAX 5
#define SITE_CLIENTS_MAX 8
#define SITE_START_US INT64_C(1700000000000000)
#define SITE_CONNECT SPAN_MS(2000)
#define SITE_COMMAND SPAN_MS(1000)

typedef struct site site;
typedef struct parcel parcel;

/* One direction of a connection: in order, each parcel with its own time of arrival. */
typedef struct wire { parcel *first, *last; } wire;

typedef struct cable {
  bool is_inbox, is_wanted, is_up;
  instant connect_at;
  sim_connection *end;           /* the server's; NULL: not connected */
  resp_reader *reader;
  wire up, down;
  struct { uint64_t tag; instant sent_at; } asked[1024];
  size_t first_asked, asked_count;
} cable;

typedef struct site_client {
  site *site;
  size_t number;
  quorum *quorum;
  hold_front *front;             /* over the quorum: the claims of this client */
  lock_table *tables[SITE_SERVERS_MAX];
  cable commands[SITE_SERVERS_MAX], inboxes[SITE_SERVERS_MAX];
  bool is_cut[SITE_SERVERS_MAX];          /* nothing passes between the two */
  char id[23];
} site_client;

struct site {
  failing_heap heap;             /* of the rooms that are tested */
  memory memory;
  failing_heap own_heap;         /* of what the engine would own: readers, buffers */
  memory own_memory;
  random_source random;
  instant now;
  size_t server_count, client_count;
  sim_server *servers[SITE_SERVERS_MAX];
  bool is_mute[SITE_SERVERS_MAX];         /* it takes nothing in and lets nothing out */
  int64_t skew_us[SITE_SERVERS_MAX];
  span delay[SITE_SERVERS_MAX], jitter;   /* one way */
  wire ghosts[SITE_SERVERS_MAX];          /* requests of broken connections, on their way */
  uint64_t commands;                      /* sent */
  site_client clients[SITE_CLIENTS_MAX];
  void (*heard)(site_client *c, const lock_event *e, void *data);
  void *data;
};

/* `quarantine`: of the era guard; 0: none. */
void site_init(site *s, uint64_t seed, size_t servers, size_t clients, span quarantine);
void site_deinit(site *s);                /* fails the test on a leak */

/* Every event up to `at` happens; then it is `at`. */
void site_run(site *s, instant at);
void site_run_for(site *s, span time);
/* After the test called a quorum itself: what follows from that. */
void site_settle(site *s);

/* The connection breaks; what was on its way to the server arrives later, or never. */
void site_break(site *s, size_t client, size_t server, bool arrives);
/* Like a kill of the server, which is there again at once. */
void site_restart(site *s, size_t server, bool keeps_data);

/* A request of no client, at once; its messages go to the clients. */
void site_ask(site *s, size_t server, const void *bytes, size_t size);

/* ---- truth ---- */

/* The lease text of `name` at a server (protocol.md 3); "" when there is no such key. */
const char *site_lease(site *s, size_t server, const char *name);
/* A mutex that somebody has by a lease that is not over; a free one begins with `=`. */
bool site_is_held(site *s, size_t server, const char *name);
/* The number of the server where `name` queues, as src/quorum/queue.c draws it. */
size_t site_queue_server(const site *s, const char *name);

#endif
