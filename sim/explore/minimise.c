/* SPDX-License-Identifier: MIT */
/* Minimising: a failing seed with as few faults as possible. Pieces of the schedule are left
 * out, the half first, then the quarters, down to single faults, as long as the seed fails
 * by whatever flaw; then what lasts is made shorter. */
#include "explore.h"

#include <string.h>

static bool fails(const plan *p, verdict *ret)
{
  verdict v;

  trial_run(p, NULL, NULL, &v);
  if (v.flaw[0] == 0)
    return false;
  *ret = v;
  return true;
}

static plan without(const plan *p, size_t from, size_t count)
{
  plan less = *p;

  memmove(less.faults + from, less.faults + from + count,
          (less.fault_count - from - count) * sizeof(less.faults[0]));
  less.fault_count -= count;
  return less;
}

static void drop_faults(plan *p, verdict *ret)
{
  for (size_t piece = p->fault_count; piece > 0; piece /= 2)
    for (size_t from = 0; from < p->fault_count;) {
      size_t count = piece < p->fault_count - from ? piece : p->fault_count - from;
      plan less = without(p, from, count);

      if (fails(&less, ret))
        *p = less;
      else
        from += count;
    }
}

static void shorten_faults(plan *p, verdict *ret)
{
  for (size_t i = 0; i < p->fault_count; i++)
    for (int n = 0; n < 6; n++) {
      plan less = *p;

      less.faults[i].ms /= 2;
      if (less.faults[i].ms == p->faults[i].ms || !fails(&less, ret))
        break;
      *p = less;
    }
}

/* Simpler worlds, if they fail too. */
static void calm_down(plan *p, verdict *ret)
{
  plan less = *p;

  less.preempt_per_mille = less.split_per_mille = 0;
  if (fails(&less, ret))
    *p = less;
  less = *p;
  memset(less.ppm, 0, sizeof(less.ppm));
  if (fails(&less, ret))
    *p = less;
}

void minimise(plan *p, verdict *ret_verdict)
{
  drop_faults(p, ret_verdict);
  calm_down(p, ret_verdict);
  drop_faults(p, ret_verdict);
  shorten_faults(p, ret_verdict);
}
