/* SPDX-License-Identifier: MIT */
/* test/unit/lock/nodes.h - one lock table before several nodes of a cluster, played by hand:
 * what it would send to each, and what each answers. */
#ifndef TEST_NODES_H
#define TEST_NODES_H

#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lock/lock.h"

#define NODES 3
#define NOBODY ROUTE_NONE
#define SELF "AAAAAAAAAAAAAAAAAAAAAA"
#define OTHER "BBBBBBBBBBBBBBBBBBBBBB"

struct nodes {
  lock_table *table;
  hold_front *front;          /* of its claims */
  uint16_t slots[SLOT_COUNT];
  instant now, sent_at;
  uint64_t tag;               /* of the command that was taken last */
  bool is_asking;
  char words[1024];           /* of that command, one blank between two */
};

struct nodes *nodes_new(void);                     /* all up, inboxes too; all slots at 0 */
struct nodes *nodes_new_of(const dialect_ops *dialect);
void nodes_free(struct nodes *n);
const memory *nodes_memory(void);

uint64_t nodes_lock(struct nodes *n, const char *name);        /* waits for ever */
uint64_t nodes_lock_with(struct nodes *n, const lock_spec *w);
lock_spec nodes_wish(const char *name);

/* The slot of this name has another node from now on. */
void nodes_move(struct nodes *n, const char *name, uint16_t to);
void nodes_pass(struct nodes *n, int64_t ms);      /* time, with ticks when they are due */

/* The next command for the node, by the name of its script or its first word; "" where there
 * is none. */
const char *nodes_next(struct nodes *n, size_t node);
const char *nodes_next_ack(struct nodes *n, size_t node);
const char *nodes_words(const struct nodes *n);
lock_verdict nodes_answer(struct nodes *n, const char *format, ...)
  __attribute__((format(printf, 2, 3)));           /* to the one taken last */
/* The channel to be subscribed there, or "-" and the one to be left; "" for none. */
const char *nodes_channel(struct nodes *n, size_t node);
void nodes_subscribe(struct nodes *n, size_t node);            /* the next one, and it stands */
void nodes_message(struct nodes *n, const char *words);
void nodes_message_on(struct nodes *n, const char *channel, const char *words);

/* One of g r s w l R h f e d. */
char nodes_letter(lock_event_kind kind);
/* The kinds of the next events, one letter each; in between what was `ended`. */
const char *nodes_events(struct nodes *n);
dibs_status nodes_status(const struct nodes *n);               /* of the last event */
const char *nodes_reason(const struct nodes *n);               /* its words */

long long nodes_us(const struct nodes *n);
/* Queued behind OTHER's lease at node 0, with an inbox that stands. */
uint64_t nodes_queued(struct nodes *n, const char *name);
/* Granted by node 0 for 30 s, token 60. */
uint64_t nodes_held(struct nodes *n, const char *name);

#endif
