/* SPDX-License-Identifier: MIT */
/* test/live/loops/loop.h - an event loop of another project with the adapter for it, as one
 * row. A row is `loop_NAME` of NAME.c. */
#ifndef TEST_LOOP_H
#define TEST_LOOP_H

#include <dibs/dibs.h>

#ifdef __cplusplus
extern "C" {
#endif

struct loop {
  const char *name;
  void (*open)(void);
  int (*attach)(dibs_client *client);          /* what the adapter answers */
  void (*turn)(int limit_ms);                  /* one turn: waits for an event, at most so long */
  void (*forked)(void);                        /* what the loop wants in a child */
  dibs_status (*status)(void);                 /* of the adapter */
  void (*detach)(void);
  void (*close)(void);                         /* nothing of the adapter may be left */
};

/* Stands for dibs_process() in the adapters: how often a loop called it. */
dibs_status counted_process(dibs_client *client, int64_t *ret_wait_ms);

#ifdef __cplusplus
}
#endif

#endif
