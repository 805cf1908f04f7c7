/* SPDX-License-Identifier: MIT */
/* test/lib/party.h - processes and threads that take one name each and then want another:
 * what deadlocks are made of. All assert, and belong into the test's thread. */
#ifndef TEST_PARTY_H
#define TEST_PARTY_H

#include <sys/types.h>

#include "live.h"

struct want { char kind; const char *name; };    /* x r w p, m: two of one letter each */

struct report {
  dibs_status status;
  int64_t after_ms;
  char text[512];
};

struct party {
  struct want first, second;
  uint32_t flags;
  int wait_ms;                     /* 0: 15 s */
  const char *url;                 /* NULL: the server's */
  dibs_client *client;             /* of a thread */
  pid_t pid;                       /* of a process */
  pthread_t thread;
  int orders[2], reports[2];       /* party.c's own */
};

/* `count` mutexes in a ring: each has one, and wants its neighbour's. At most 4. */
void party_ring(struct party *parties, int count, uint32_t flags);

void party_start(struct party *p);           /* it has its first name on return */
/* Wants its second name, and waits for it, before anybody after it by more than the clocks of
 * clients differ. */
void party_want(const struct party *p);
void party_order(const struct party *p);     /* the same, and no waiting for it */
struct report party_report(const struct party *p);   /* how that went */
void party_end(struct party *p);             /* it lets go of all, and is gone on return */

/* How many clients tell of owners that hold and wait. */
int party_tellers(void);
bool party_tellers_are(void *count);         /* for live_until() */

void party_permits_set(const char *name, uint32_t permits);

#endif
