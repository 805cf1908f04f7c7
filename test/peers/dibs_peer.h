/* SPDX-License-Identifier: MIT */
/* test/peers/dibs_peer.h - libdibs as a peer among peers: what its files share. */
#ifndef TEST_PEERS_DIBS_PEER_H
#define TEST_PEERS_DIBS_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include <dibs/dibs.h>

enum { PEER_WORDS_MAX = 10, PEER_HELD_MAX = 32, PEER_ANSWER_BYTES = 400 };

/* A worker's own: what it holds, the newest last. */
struct peer_worker {
  dibs_client *client;
  int32_t watchdog_ms;             /* the lease of a lock that asks for none */
  bool has_unleased;               /* `semaphore` is the kind without leases */
  int count;
  struct peer_held { char kind[16], name[600]; dibs_hold *hold; } held[PEER_HELD_MAX];
};

struct peer_words {
  int count;
  char *word[PEER_WORDS_MAX];
};

/* Does what the words say and writes the answer, without worker and time. */
void peer_run(struct peer_worker *w, const struct peer_words *words, char *answer);
/* `cycles`, by peer_run() of its parts. */
void peer_cycles(struct peer_worker *w, const struct peer_words *words, char *answer);
int64_t peer_now_ns(void);
void peer_status(struct peer_worker *w, dibs_status status, char *answer);
/* dibs_peer_data.c */
void peer_rate(struct peer_worker *w, const struct peer_words *words, char *answer);
void peer_map(struct peer_worker *w, const struct peer_words *words, char *answer);
void peer_list(struct peer_worker *w, const struct peer_words *words, char *answer);
void peer_set(struct peer_worker *w, const struct peer_words *words, char *answer);

#endif
