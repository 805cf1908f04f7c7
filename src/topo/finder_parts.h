/* SPDX-License-Identifier: MIT */
/* topo/finder_parts.h - what a search is made of; inner to topo/.
 *
 * finder.c owns the search: who is asked when, and when it ends. finder_places.c keeps whom
 * there is to ask. What to ask, and what the answers amount to, differs by deployment:
 * finder_role.c, finder_sentinel.c, finder_cluster.c. */
#ifndef FINDER_PARTS_H
#define FINDER_PARTS_H

#include "topo/finder.h"
#include "topo/server_url_parts.h"

#define LEARNED_MAX 64
#define QUESTION_WORDS_MAX 3

typedef enum place_state {
  PLACE_NEW,          /* not asked in this search */
  PLACE_ASKED,
  PLACE_ANSWERED,     /* all of it: what it said holds for this search */
  PLACE_FAILED
} place_state;

typedef enum role_told {
  ROLE_UNTOLD = 0, ROLE_REPLICA,
  ROLE_SECRET,        /* forbidden to us, or unknown there */
  ROLE_PRIMARY
} role_told;

typedef struct role_answer {
  role_told role;
  size_t replicas;
  uint64_t offset;
} role_answer;

typedef struct sentinel_answer {
  char host[HOST_TOLD_SIZE];          /* of the primary */
  int port;
  uint64_t epoch;                     /* of that primary's promotion; 0: never promoted, untold */
  char first_host[HOST_TOLD_SIZE];    /* what SENTINEL MASTER said, to be compared */
  int first_port;
  uint64_t view;                      /* made of the others that it knows: no two sentinels
                                         know the same others, since each leaves itself out */
  size_t voters;                      /* it and the others */
} sentinel_answer;

/* Somebody to ask: a seed, or one that was learned. Does not move. */
typedef struct place {
  const server_url *url;              /* of the seed, or `own` */
  server_url own;
  bool is_learned;
  uint64_t learned_at;                /* counts what was learned */
  size_t guests;                      /* scouts that are not home yet: the URL is lent */
  place_state state;
  bool hears;                         /* a sentinel that answered when it was last asked */
  role_answer role;
  sentinel_answer sentinel;
} place;

typedef enum scout_state { SCOUT_FREE, SCOUT_OUT, SCOUT_RETURNING } scout_state;

typedef struct scout {
  scout_state state;
  place *at;
  instant sent_at;
  int step;                           /* which question; the kind's own word */
  bool is_asked;                      /* and has not been answered */
} scout;

/* What differs between the kinds of deployments. */
typedef struct finder_kind {
  /* The words of the question `s` has come to; how many. */
  size_t (*question)(const finder *f, const scout *s, resp_argument words[QUESTION_WORDS_MAX]);
  /* Goes on to another step, or ends in finder_answered() or finder_blame_scout(). */
  void (*answer)(finder *f, scout *s, const resp_reply *reply);
  /* Whether what is known is enough: FINDER_LOOKING, _FOUND or _NONE. `is_over`: nothing
   * more is to come, so it is not LOOKING. */
  finder_state (*judge)(finder *f, bool is_over);
} finder_kind;

extern const finder_kind finder_role_kind, finder_sentinel_kind, finder_cluster_kind;

struct finder {
  memory memory;
  const deployment *deployment;
  const finder_kind *kind;
  finder_state state;

  place **places;                     /* seeds in front, then those that were learned */
  size_t place_count;
  uint64_t learned_count;
  scout scouts[SCOUTS_MAX];

  instant now;                        /* of the last input */
  uint64_t searches;
  size_t sent_count;                  /* scouts of this search */
  instant next_at;                    /* before that no further scout */
  instant give_up_at;
  instant decide_at;                  /* then what is known so far will do */
  bool is_time_to_decide;
  bool has_answer;                    /* somebody has told all that was asked */
  span pace;                          /* the longest time that took */
  instant news_at;                    /* of the last answer, or scout that was sent */

  /* Results. */
  const server_url *primary;
  const place *primary_place;         /* REPLICATED: where it lies; not to be forgotten */
  server_url found;                   /* SENTINEL: it is made here */
  bool has_found;
  slot_map *slots;                    /* CLUSTER: room for it */
  bool has_slots;

  /* REPLICATED: who was taken last of those that do not tell their role. */
  const place *last_secret;
  /* SENTINEL: the highest epoch that was a result, and how many voters there were then. */
  uint64_t believed_epoch;
  size_t believed_voters;
  const place *ear;                   /* where to listen; NULL: nowhere */

  dibs_status why;
  int why_rank;                       /* how much it tells */
  char why_words[384];
};

/* ---- places ---- */

/* All seeds. false: memory. */
bool finder_places_init(finder *f);
void finder_places_deinit(finder *f);
/* Remembers an address that was told, to be asked behind all others; no memory, and a room
 * full of others that cannot be left out, are passed over. `is_sentinel`: it is to be logged
 * into as the seeds are. */
void finder_remember(finder *f, const char *host, int port, bool is_sentinel);
/* The next to be asked in this search; NULL: none. */
place *finder_place_next(const finder *f);
/* All are to be asked anew. */
void finder_places_renew(finder *f);
/* Sees to it that the ear is one that can be listened to, if there is one. */
void finder_ear_renew(finder *f);
bool finder_is_anybody_out(const finder *f);
/* For people: host:port. */
void place_show(const place *p, text *out);

/* ---- scouts ---- */

/* It has told all it was asked for. */
void finder_answered(finder *f, scout *s);
/* There is something to choose from: what is known `patience` later will do; later where
 * answers take long. */
void finder_hurry(finder *f, span patience);

/* Why nothing was found: kept when it tells more than what is known. `at` NULL: nobody in
 * particular. `said` NULL, or what the peer said, shown in quotes. */
void finder_blame(finder *f, const place *at, dibs_status why, const char *words,
                  const resp_node *said);
/* The same, and the scout comes home: what it said so far does not count. */
void finder_blame_scout(finder *f, scout *s, dibs_status why, const char *words,
                        const resp_node *said);
/* Likewise for an error answer: the status is that of the error. */
void finder_refused_scout(finder *f, scout *s, const char *words, const resp_node *said);
/* A verdict of the search as a whole, which tells more than that one could not be reached. */
void finder_blame_all(finder *f, dibs_status why, const char *words);

/* ---- reading ---- */

/* The children of a list one after the other, from NULL to NULL. */
const resp_node *node_next(const resp_reply *reply, const resp_node *list,
                           const resp_node *before);
/* What stands behind `name` in a flat list of names and values; NULL: nothing. */
const resp_node *node_value(const resp_reply *reply, const resp_node *list, const char *name);
bool node_is(const resp_node *node, const char *words);
/* A host that is told, not empty. */
bool node_host_read(const resp_node *node, char ret_host[HOST_TOLD_SIZE]);
/* As an integer or as digits; 0 .. 65535. */
bool node_port_read(const resp_node *node, int *ret_port);
bool node_uint_read(const resp_node *node, uint64_t *ret_value);
/* What an error says: that the command does not exist there, or is forbidden. */
bool node_is_unknown_command(const resp_node *node);
bool node_error_begins(const resp_node *node, const char *words);
bool node_is_forbidden(const resp_node *node);

#endif
