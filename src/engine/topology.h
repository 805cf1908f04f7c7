/* SPDX-License-Identifier: MIT */
/* engine/topology.h - which server serves what, where that may change. */
#ifndef ENGINE_TOPOLOGY_H
#define ENGINE_TOPOLOGY_H

#include "engine/server.h"
#include "topo/finder.h"

/* Which server serves what, where that may change; topology.c. */
typedef struct topology {
  finder *finder;           /* NULL: the servers never change */
  uint16_t *slots;          /* Cluster: SLOT_COUNT numbers of servers */
  connection *probes[SCOUTS_MAX];
  connection *sentinel_news;
  server_url sentinel;      /* the target of sentinel_news */
  bool is_wanted;           /* a search is due as soon as one may begin */
  bool is_requested;        /* by something new, not as the last search found none */
  bool is_news;             /* by a message of a sentinel */
  bool was_found;           /* at least once */
  bool may_listen;          /* since the last search, sentinel_news has not broken */
  bool is_none_news;
  instant next_at;          /* no search before */
  unsigned failures;        /* of searches, in a row */
  instant found_at;         /* of the last successful search */
  unsigned repeats;         /* of those, in a row */
  link_report report;       /* SEEN_DOWN: the last search found no server */
} topology;

bool topology_init(engine *e);                        /* false: no memory */
void topology_free(engine *e);
/* The known servers may be wrong: search again. */
void topology_search(engine *e, instant now);
void topology_advance(engine *e, instant now);
instant topology_deadline(const engine *e);
/* MOVED, ASK from `from`: the server of the slot; NULL: unknown. CLUSTERDOWN: `r` has no port. */
server *topology_redirect(engine *e, const redirect *r, const server *from, instant now);
void topology_probe_ready(engine *e, connection *c, instant now);
void topology_probe_answer(engine *e, connection *c, const resp_reply *reply, instant now);
void topology_lost(engine *e, connection *c, dibs_status why, const char *words, instant now);
void topology_message(engine *e, const char *payload, size_t size, instant now);

#endif
