/* SPDX-License-Identifier: MIT */
/* SETNX with the time of the lock's end as its value; who finds it past takes it over by
 * GETSET, and has it if what comes back is past as well. Clocks are part of the schedule
 * here: each step is told what the clock of its program shows. */
#include "pitfall.h"

#include <stdlib.h>

enum { LENGTH = 10 };                  /* seconds a lock is meant to last */

/* The number in an answer like "110". */
static int number_in(const char *answer)
{
  return answer[0] == '"' ? (int)strtol(answer + 1, NULL, 10) : 0;
}

/* The first half of the recipe: whether the lock there is past, by this clock. */
static bool finds_it_past(stage *s, actor who, int clock)
{
  by_hand(s, who, "SETNX shop %d", clock + LENGTH);
  return number_in(by_hand(s, who, "GET shop")) < clock;
}

/* The second: whether it is mine now. */
static bool takes_it_over(stage *s, actor who, int clock)
{
  return number_in(by_hand(s, who, "GETSET shop %d", clock + LENGTH)) < clock;
}

/* ---- a clock that is ahead ---- */

static void ahead_hand(stage *s)
{
  remark(s, ANNA, "(her clock shows 100)");
  by_hand(s, ANNA, "SETNX shop %d", 100 + LENGTH);
  begins_work(s, ANNA);
  remark(s, BERT, "(his clock shows 115)");
  if (finds_it_past(s, BERT, 115) && takes_it_over(s, BERT, 115))
    begins_work(s, BERT);
}

/* The server's clock and the stop watch of each program: nobody's time of day. */
static void ahead_dibs(stage *s)
{
  (void)locks(s, ANNA, 0, 0);
  begins_work(s, ANNA);
  if (tries(s, BERT) == DIBS_OK)
    begins_work(s, BERT);
  ends_work(s, ANNA);
  if (releases(s, ANNA) != DIBS_OK)
    breaks(s, "Anna's lock was not hers");
}

const pitfall clock_ahead = { "clock-ahead", "SETNX and GETSET with a timestamp: a clock is ahead",
                              ahead_hand, ahead_dibs };

/* ---- a loser who leaves his timestamp ---- */

static void leaves_a_lock_by_hand(stage *s)
{
  remark(s, CORA, "(her clock shows 80)");
  by_hand(s, CORA, "SETNX shop %d", 80 + LENGTH);
}

static void loser_hand(stage *s)
{
  bool anna_may, bert_may;

  is_killed_after(s, CORA, leaves_a_lock_by_hand);
  remark(s, ANNA, "(her clock shows 100)");
  anna_may = finds_it_past(s, ANNA, 100);
  remark(s, BERT, "(his clock shows 101)");
  bert_may = finds_it_past(s, BERT, 101);
  if (anna_may && takes_it_over(s, ANNA, 100))
    begins_work(s, ANNA);
  if (bert_may && !takes_it_over(s, BERT, 101))
    remark(s, BERT, "has lost, and goes away");
  ends_work(s, ANNA);
  if (number_in(by_hand(s, ANNA, "GET shop")) != 100 + LENGTH) {
    remark(s, ANNA, "must not delete it: it is not hers");
    breaks(s, "nobody has the lock, and nobody can take or free it");
  }
}

static void leaves_a_lock(stage *s)
{
  (void)locks(s, CORA, 500, 0);
}

static void loser_dibs(stage *s)
{
  is_killed_after(s, CORA, leaves_a_lock);
  (void)locks(s, ANNA, 0, 0);
  begins_work(s, ANNA);
  if (tries(s, BERT) == DIBS_OK)
    begins_work(s, BERT);
  ends_work(s, ANNA);
  if (releases(s, ANNA) != DIBS_OK || tries(s, BERT) != DIBS_OK)
    breaks(s, "the lock is not free");
}

const pitfall losers_timestamp = {
  "losers-timestamp", "SETNX and GETSET with a timestamp: the loser's stays", loser_hand,
  loser_dibs };
