/* SPDX-License-Identifier: MIT */
/* Eight processes of four threads that sell, and tell the parent by a pipe what they
 * did. Everything the demo prints is counted from these events. */
#ifndef DEMO_SELLERS_H
#define DEMO_SELLERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <dibs/dibs.h>

#include "shop.h"

enum { PROCESSES = 8, THREADS = 4, SELLERS = PROCESSES * THREADS };

typedef enum event_kind {
  EVENT_READY = 1,
  EVENT_GRANTED,  /* a seller has the lock; `fence` is its number */
  EVENT_SOLD,     /* one item is sold; the release begins at `at_ns` */
  EVENT_STUCK,    /* a seller holds the lock and does not go on by itself */
  EVENT_REFUSED,  /* its write came too late: `fence` against `seen`; `state` and
                     `status` are what dibs said about the hold and at the release */
  EVENT_FAULT     /* dibs answered `status` */
} event_kind;

/* Small enough that writes of several processes to a pipe do not mix. */
typedef struct event {
  int64_t at_ns;          /* CLOCK_MONOTONIC, the same for all processes */
  uint64_t fence, seen;
  int32_t kind, process, status, state;
} event;

typedef struct seller {
  int process;
  shop *lamps;
  dibs_client *client;
  int reports;            /* events go here */
  int resume;             /* end of file means: go on */
} seller;

typedef void (*sell_function)(seller *s);

typedef struct sale {
  pid_t processes[PROCESSES];
  int events;             /* the parent reads here */
  int go, resume;         /* closing them tells the children */
} sale;

int64_t now_ns(void);
void pause_ms(int milliseconds);

/* Called by a seller. */
void tell(const seller *s, event e);

/* Starts all processes and returns when every seller is connected and has begun. */
void sale_open(sale *run, const char *url, sell_function sell);
bool sale_next(sale *run, event *ret_event);    /* false: everybody is gone */
void sale_resume(sale *run);
void sale_close(sale *run);

#endif
