/* SPDX-License-Identifier: MIT */
/* topo/finder.h - searches for the current servers: the primary of a replicated set, the
 * primary that sentinels agree on, the slot map of a cluster.
 *
 * A search uses *probes*: short connections to several addresses at once, with one
 * question at a time on each. The owner of the finder opens and closes them. A new search
 * may begin at any time; it recalls the probes of the previous one. Inputs: bytes of
 * replies, time. Outputs: addresses, questions, a deadline.
 *
 * Replicated: ROLE to each seed. A primary that most of the set follows ends the search.
 * Else the best primary within 100 ms of the first one wins: most replicas, then highest
 * offset. Addresses of replicas are asked, too. Servers that forbid ROLE are used if there
 * is no other result, in turns: a READONLY error starts the next search.
 * Sentinel: SENTINEL MASTER (config-epoch), SENTINEL GET-MASTER-ADDR-BY-NAME, SENTINEL
 * SENTINELS (other sentinels to ask). The answer with the highest epoch wins when a
 * majority has answered, or 300 ms after the first. The epoch never decreases, unless all
 * sentinels report the lower one: as many as they know of, and as reported the last epoch.
 * The owner checks ROLE when it logs in.
 * Cluster: CLUSTER SHARDS, else CLUSTER SLOTS, of any node. The first map that covers a
 * slot wins, see finder_doubt(); a node without a name is the node that was asked.
 *
 * If all other addresses have answered, 500 ms without news end the search. All these times
 * grow with the response time. */
#ifndef FINDER_H
#define FINDER_H

#include "request/request.h"
#include "resp/resp.h"
#include "topo/topo.h"

#define SCOUTS_MAX 16

typedef struct finder finder;

/* REPLICATED, SENTINEL, CLUSTER. `d` must outlive it. NULL: no memory. */
finder *finder_new(const memory *m, const deployment *d);
finder *finder_free(finder *f);

typedef enum finder_state {
  FINDER_IDLE = 1,   /* no search yet, or the result was taken */
  FINDER_LOOKING,
  FINDER_FOUND,      /* until finder_take_...(), or the next search */
  FINDER_NONE        /* all have been asked; the owner backs off and begins again */
} finder_state;

/* Begins a search, unless one is active. `give_up_at`: the search ends with what is known. */
void finder_begin(finder *f, instant give_up_at, instant now);
finder_state finder_state_of(const finder *f);

/* The next connection to open: SCOUT numbers 0 .. SCOUTS_MAX-1, reused. The URL is borrowed
 * until finder_next_home() or finder_failed(). Scouts after the first ones start 50 ms apart. */
bool finder_next_probe(finder *f, instant now, int *ret_probe, const server_url **ret_url);
/* The probe's next question. false: none, or not before the answer. */
bool finder_next_question(finder *f, int probe, request *out);
void finder_answer(finder *f, int probe, const resp_reply *reply, instant now);
/* The connection failed, broke or was refused. Frees the probe's number. */
void finder_failed(finder *f, int probe, dibs_status why, const char *words, instant now);
/* The next probe without further questions, to be closed. Frees its number. */
bool finder_next_home(finder *f, int *ret_probe);

instant finder_deadline(const finder *f);
void finder_tick(finder *f, instant now);

/* FINDER_FOUND: the result, borrowed until the next finder_begin(); then FINDER_IDLE. */
const server_url *finder_take_primary(finder *f);
const slot_map *finder_take_slots(finder *f);
/* FINDER_NONE: the most specific status (AUTH before UNREACHABLE), and a message. */
dibs_status finder_why(const finder *f, const char **ret_words);

/* Cluster: the map that was taken last leads to a node that is cut off from the others, which
 * answers CLUSTERDOWN. From the node that returned it a map is taken only when no other node
 * has one, until that has been so. */
void finder_doubt(finder *f);

/* Adds a cluster node, to be asked if the seeds are unreachable: the owner reports the
 * servers that it knows. Copied. */
void finder_learn(finder *f, const char *host, int port);

/* SENTINEL: where to SUBSCRIBE to "+switch-master"; NULL: no sentinel has answered yet.
 * Borrowed until the next finder call. Changes after each finder_unsubscribed(). */
const server_url *finder_listen_at(const finder *f);
void finder_unsubscribed(finder *f);                   /* the subscription broke */
/* Whether a message of that channel is about our service; if so, begin a search. */
bool finder_is_concerned(const finder *f, const char *payload, size_t size);

#endif
