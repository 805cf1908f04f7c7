/* SPDX-License-Identifier: MIT */
/* test/sim/differential/side.h - one of the two servers that are held against each other,
 * both driven in the same way: the model, or a real one whose clock is the test's. */
#ifndef SIM_SIDE_H
#define SIM_SIDE_H

#include "frame.h"

#define SIDE_CONNECTIONS 4

typedef enum side_condition {
  SIDE_FULL,             /* maxmemory is reached, with noeviction */
  SIDE_NO_REPLICAS,      /* fewer than min-replicas-to-write */
  SIDE_READ_ONLY,        /* it has become a replica */
  SIDE_CONDITIONS
} side_condition;

typedef struct side {
  const char *name;
  void *self;
  void (*reset)(void *self);                       /* as newly started; the clock stays */
  void (*clock)(void *self, int64_t wall_us);
  void (*set)(void *self, side_condition which, bool is_on);
  void (*send)(void *self, int connection, const char *bytes, size_t size);
  /* The next whole frame that came there, valid until the next call of anything; size 0:
   * there is none, or it was long in coming. */
  frame (*read)(void *self, int connection);
  void (*hang_up)(void *self, int connection);     /* and comes again as somebody new */
  /* What it was asked for and does not know; NULL: nothing. */
  const char *(*unknown)(void *self);
} side;

/* NULL, and why, when the server program here is not one that the model describes. */
side *real_side_new(const char *name, const char **ret_why_not);
side *real_side_free(side *s);
side *model_side_new(int64_t wall_us);
side *model_side_free(side *s);

#endif
