/* SPDX-License-Identifier: MIT */
/* topo/finder.h - the search for the servers of today: the primary of a replicated set, the
 * primary that sentinels agree on, the slot map of a cluster.
 *
 * A search sends *scouts*: connections to several addresses at once, on each one question
 * after the other. Whoever owns the finder opens and closes them. A new search may begin at
 * any time; scouts of the one before are called home. Bytes of replies and time come in;
 * addresses, questions and a deadline come out.
 *
 * Replicated: ROLE to each seed; a primary that most of the set follow wins at once, else
 * the best of those in 100 ms after the first: of several the one with the most replicas, then
 * the highest offset. Further addresses that replicas name are asked, too. Servers that forbid
 * ROLE are taken where there is no other, in turns: READONLY tells, so search again.
 * Sentinel: SENTINEL MASTER (config-epoch), SENTINEL GET-MASTER-ADDR-BY-NAME, SENTINEL
 * SENTINELS (others to ask). The answer with the highest epoch among those in at the time
 * when a majority has answered, or 300 ms after the first; never one below an epoch believed
 * before, unless all sentinels say so: as many different ones as they know of, and as told that
 * epoch. The owner verifies ROLE itself when it logs in.
 * Cluster: CLUSTER SHARDS, else CLUSTER SLOTS, of any node; the first map that covers a slot;
 * a node without a name is filled in: it is the one that was asked.
 *
 * Places that say nothing cost nothing: where all others have answered, 500 ms without news
 * end the search. All these times grow with the time that answers take.
 */
#ifndef FINDER_H
#define FINDER_H

#include "resp/resp.h"
#include "topo/topo.h"

#define SCOUTS_MAX 16

typedef struct finder finder;

/* REPLICATED, SENTINEL, CLUSTER. `d` outlives it. NULL: memory. */
finder *finder_new(const memory *m, const deployment *d);
finder *finder_free(finder *f);

typedef enum finder_state {
  FINDER_IDLE = 1,   /* never asked, or the result was taken */
  FINDER_LOOKING,
  FINDER_FOUND,      /* until finder_take(), or the next search */
  FINDER_NONE        /* all have been asked; the owner backs off and begins again */
} finder_state;

/* Begins a search, unless one is under way. `give_up_at`: then what is known is the result. */
void finder_begin(finder *f, instant give_up_at, instant now);
finder_state finder_state_of(const finder *f);

/* A connection to be made: SCOUT numbers 0 .. SCOUTS_MAX-1, reused. The URL is borrowed
 * until the scout is home. Staggered by 50 ms where there are many. */
bool finder_next_scout(finder *f, instant now, int *ret_scout, const server_url **ret_url);
/* What to ask next there, appended to `out`. false: nothing more, or not before the answer. */
bool finder_next_question(finder *f, int scout, buffer *out);
void finder_answer(finder *f, int scout, const resp_reply *reply, instant now);
/* It could not connect, or broke, or was refused. Its number is free from now on. */
void finder_failed(finder *f, int scout, dibs_status why, const char *words, instant now);
/* A scout that has nothing left to do: to be closed. Its number is free from now on. */
bool finder_next_home(finder *f, int *ret_scout);

instant finder_deadline(const finder *f);
void finder_tick(finder *f, instant now);

/* FINDER_FOUND: the result, borrowed until the next finder_begin(); then FINDER_IDLE. */
const server_url *finder_take_primary(finder *f);
const slot_map *finder_take_slots(finder *f);
/* FINDER_NONE: why, for people; the status that tells most (AUTH before UNREACHABLE). */
dibs_status finder_why(const finder *f, const char **ret_words);

/* Further nodes of a cluster that were seen, to be asked when the seeds are gone: the owner
 * tells which servers it knows. Copied. */
void finder_learn(finder *f, const char *host, int port);

/* SENTINEL: where to SUBSCRIBE to "+switch-master"; NULL: none has answered yet. Borrowed
 * until the next finder call. Another one each time it is asked behind finder_deaf(). */
const server_url *finder_listen_at(const finder *f);
void finder_deaf(finder *f);                   /* the subscription broke */
/* A message of that channel: whether it is about our service (then begin a search). */
bool finder_is_concerned(const finder *f, const char *payload, size_t size);

#endif
