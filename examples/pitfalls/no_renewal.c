/* SPDX-License-Identifier: MIT */
/* A lease that nobody renews ends in the middle of work that takes longer than thought. */
#include "pitfall.h"

#include <string.h>

enum { TTL_MS = 1000 };

static void hand(stage *s)
{
  by_hand(s, ANNA, "SET shop anna NX PX %d", TTL_MS);
  begins_work(s, ANNA);
  remark(s, ANNA, "takes longer than she thought");
  sleeps_past(s, ANNA, "shop");
  if (strcmp(by_hand(s, BERT, "SET shop bert NX PX %d", TTL_MS), "OK") == 0)
    begins_work(s, BERT);
}

static void dibs(stage *s)
{
  (void)locks(s, ANNA, TTL_MS, 0);
  begins_work(s, ANNA);
  works_past_renewals(s, ANNA, 6);                     /* three a lease */
  if (tries(s, BERT) == DIBS_OK)
    begins_work(s, BERT);
  ends_work(s, ANNA);
  if (releases(s, ANNA) != DIBS_OK)
    breaks(s, "Anna lost her lock while she worked");
}

const pitfall no_renewal = { "no-renewal", "A lease without renewal", hand, dibs };
