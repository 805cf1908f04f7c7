/* SPDX-License-Identifier: MIT */
/* SETNX and EXPIRE are two commands. Who dies between them leaves a lock for ever. */
#include "pitfall.h"

#include <string.h>

static void takes_first_half(stage *s)
{
  by_hand(s, ANNA, "SETNX shop anna");
}

static void hand(stage *s)
{
  is_killed_after(s, ANNA, takes_first_half);          /* her EXPIRE never comes */
  by_hand(s, BERT, "SETNX shop bert");
  if (strcmp(by_hand(s, BERT, "TTL shop"), "(integer) -1") == 0)
    breaks(s, "the lock of a dead program has no end");
}

/* The lease is in the same step as the grant: there is no between. */
static void takes(stage *s)
{
  (void)locks(s, ANNA, 500, 0);
}

static void dibs(stage *s)
{
  is_killed_after(s, ANNA, takes);
  if (locks(s, BERT, 0, 0) != DIBS_OK)
    breaks(s, "Bert does not get the lock of a dead program");
  begins_work(s, BERT);
  ends_work(s, BERT);
  (void)releases(s, BERT);
}

const pitfall two_commands = { "two-commands", "SETNX, then EXPIRE", hand, dibs };
