/* SPDX-License-Identifier: MIT */
/* topo/finder_parts.h - the state of a search; internal to topo/.
 *
 * finder.c schedules the search and ends it. finder_addresses.c keeps the addresses. Questions
 * and verdict depend on the deployment: finder_role.c, finder_sentinel.c, finder_cluster.c. */
#ifndef FINDER_PARTS_H
#define FINDER_PARTS_H

#include "topo/finder.h"
#include "topo/server_url_parts.h"

#define LEARNED_MAX 64
#define QUESTION_WORDS_MAX 3

typedef enum address_state {
  PLACE_NEW,          /* not asked in this search */
  PLACE_ASKED,
  PLACE_ANSWERED,     /* completely; the answer holds for this search */
  PLACE_FAILED
} address_state;

typedef enum role_reported {
  ROLE_UNKNOWN = 0, ROLE_REPLICA,
  ROLE_SECRET,        /* forbidden to us, or unknown to the server */
  ROLE_PRIMARY
} role_reported;

typedef struct role_answer {
  role_reported role;
  size_t replicas;
  uint64_t offset;
} role_answer;

typedef struct sentinel_answer {
  char host[HOST_REPORTED_SIZE];          /* of the primary */
  int port;
  uint64_t epoch;                     /* of that primary's promotion; 0: never promoted,
                                         not reported */
  char first_host[HOST_REPORTED_SIZE];    /* from SENTINEL MASTER, to be compared */
  int first_port;
  uint64_t view;                      /* hash of the other sentinels that it knows; differs
                                         between sentinels, since each leaves itself out */
  size_t voters;                      /* this sentinel and the others */
} sentinel_answer;

/* An address to ask: a seed, or a learned one. It does not move. */
typedef struct address {
  const server_url *url;              /* of the seed, or `own` */
  server_url own;
  bool is_learned;
  uint64_t learned_at;                /* orders the learned addresses */
  size_t guests;                      /* probes that borrow the URL */
  address_state state;
  bool is_doubted;                    /* CLUSTER: its map led to a node that is cut off */
  bool hears;                         /* a sentinel that answered the last time */
  role_answer role;
  sentinel_answer sentinel;
} address;

typedef enum probe_state { SCOUT_FREE, SCOUT_OUT, SCOUT_RETURNING } probe_state;

typedef struct probe {
  probe_state state;
  address *at;
  instant sent_at;
  int step;                           /* the current question; meaning by finder_kind */
  bool is_asked;                      /* and not yet answered */
} probe;

/* The part that differs between kinds of deployments. */
typedef struct finder_kind {
  /* Sets the arguments of the probe's current question; returns their number. */
  size_t (*question)(const finder *f, const probe *s, resp_argument words[QUESTION_WORDS_MAX]);
  /* Selects the next step, or ends in finder_answered() or finder_blame_probe(). */
  void (*answer)(finder *f, probe *s, const resp_reply *reply);
  /* Whether enough is known: FINDER_LOOKING, _FOUND or _NONE. `is_over`: no more answers
   * are expected, so the result is not LOOKING. */
  finder_state (*judge)(finder *f, bool is_over);
} finder_kind;

extern const finder_kind finder_role_kind, finder_sentinel_kind, finder_cluster_kind;

struct finder {
  memory memory;
  const deployment *deployment;
  const finder_kind *kind;
  finder_state state;

  address **addresses;                /* seeds first, then learned ones */
  size_t address_count;
  uint64_t learned_count;
  probe probes[SCOUTS_MAX];

  instant now;                        /* of the last input */
  uint64_t searches;
  size_t sent_count;                  /* probes of this search so far */
  instant next_at;                    /* no probe before this time */
  instant give_up_at;
  instant decide_at;                  /* the search ends with what is known then */
  bool is_time_to_decide;
  bool has_answer;                    /* an address has answered completely */
  span pace;                          /* the longest time that an answer took */
  instant news_at;                    /* of the last answer or the last probe sent */

  /* Results. */
  const server_url *primary;
  const address *primary_address;     /* REPLICATED: the address of `primary`; kept */
  server_url found;                   /* SENTINEL: storage of the result */
  bool has_found;
  slot_map *slots;                    /* CLUSTER: the result; NULL: none yet */

  /* REPLICATED: the last primary that was chosen among servers that forbid ROLE. */
  const address *last_secret;
  /* CLUSTER: what returned the last map. */
  address *map_from;
  /* SENTINEL: the highest epoch of a result, and the number of voters at that time. */
  uint64_t believed_epoch;
  size_t believed_voters;
  const address *ear;                 /* where to subscribe; NULL: nowhere */

  dibs_status why;
  int why_rank;                       /* the higher, the more specific */
  char why_words[384];
};

/* ---- addresses ---- */

/* Adds all seeds. false: no memory. */
bool finder_addresses_init(finder *f);
void finder_addresses_deinit(finder *f);
/* Adds a reported address, to be asked after all others. Without memory, or when no address
 * can be replaced, it is ignored. `is_sentinel`: it uses the log-in of the seeds. */
void finder_remember(finder *f, const char *host, int port, bool is_sentinel);
/* The next address to ask in this search; NULL: none. */
address *finder_address_next(const finder *f);
/* All addresses are to be asked again. */
void finder_addresses_renew(finder *f);
/* Chooses an ear that accepts subscriptions, if there is one. */
void finder_ear_renew(finder *f);
bool finder_is_anybody_out(const finder *f);
/* For people: host:port. */
void finder_address_show(const address *p, text *out);

/* ---- maps ---- */

/* Returns NULL; NULL is allowed. */
slot_map *finder_map_free(const finder *f, slot_map *map);

/* ---- probes ---- */

/* The probe has received all answers. */
void finder_answered(finder *f, probe *s);
/* A result exists: the search ends after `patience`, later if answers are slow. */
void finder_hurry(finder *f, span patience);

/* Records why nothing was found, if it is more specific than the recorded reason. `at`
 * NULL: no particular address. `said`: NULL, or the server's reply, which is quoted. */
void finder_blame(finder *f, const address *at, dibs_status why, const char *words,
                  const resp_node *said);
/* As finder_blame(), and the probe returns; its answers so far do not count. */
void finder_blame_probe(finder *f, probe *s, dibs_status why, const char *words,
                        const resp_node *said);
/* As finder_blame_probe() for an error reply, which determines the status. */
void finder_refused_probe(finder *f, probe *s, const char *words, const resp_node *said);
/* Records a reason that concerns the whole search: more specific than an unreachable address. */
void finder_blame_all(finder *f, dibs_status why, const char *words);

/* ---- reading ---- */

/* Iterates over the children of a list: NULL begins, NULL ends. */
const resp_node *node_next(const resp_reply *reply, const resp_node *list,
                           const resp_node *before);
/* The value of `name` in a flat list of names and values; NULL: none. */
const resp_node *node_value(const resp_reply *reply, const resp_node *list, const char *name);
bool node_is(const resp_node *node, const char *words);
/* A reported host, not empty. */
bool node_host_read(const resp_node *node, char ret_host[HOST_REPORTED_SIZE]);
/* As an integer or as digits; 0 .. 65535. */
bool node_port_read(const resp_node *node, int *ret_port);
bool node_uint_read(const resp_node *node, uint64_t *ret_value);
/* Whether an error reports an unknown command, or a forbidden one. */
bool node_is_unknown_command(const resp_node *node);
bool node_error_begins(const resp_node *node, const char *words);
bool node_is_forbidden(const resp_node *node);

#endif
