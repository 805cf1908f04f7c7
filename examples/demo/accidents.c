/* SPDX-License-Identifier: MIT */
/* The third act: one process is killed and one frozen while it holds the lock. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flash_sale.h"
#include "sellers.h"

enum {
  LAMPS = 400,
  LEASE_MS = 2000,
  KILL_AT = 100,   /* grants before the first accident */
  FREEZE_AT = 200, /* and before the second */
  WAKE_AFTER = 50  /* orders after the sale goes on */
};

/* Sells one lamp with the fence, and does not ask dibs whether it still has the lock:
 * the resource has to find that out by itself. */
static void sell_one(seller *s, dibs_hold *hold)
{
  uint64_t fence = dibs_hold_fence(hold);
  dibs_hold_condition state;
  bool is_sold = shop_sell_fenced(s->lamps, fence);
  dibs_status status;

  if (is_sold) {
    tell(s, (event){ .kind = EVENT_SOLD, .fence = fence });
    status = dibs_release(hold);
    if (status != DIBS_OK)
      tell(s, (event){ .kind = EVENT_FAULT, .status = (int32_t)status });
    return;
  }
  state = dibs_hold_state(hold);
  status = dibs_release(hold);
  tell(s, (event){ .kind = EVENT_REFUSED, .fence = fence, .seen = shop_fence(s->lamps),
                   .state = (int32_t)state, .status = (int32_t)status });
}

static void sell_with_accidents(seller *s)
{
  dibs_lock_options options = DIBS_LOCK_OPTIONS_INIT;

  options.ttl_ms = LEASE_MS;
  for (;;) {
    dibs_hold *hold = NULL;
    dibs_status status = dibs_lock(s->client, "lamp", &options, &hold);
    long turn;
    char byte;

    if (status != DIBS_OK) {
      tell(s, (event){ .kind = EVENT_FAULT, .status = (int32_t)status });
      return;
    }
    tell(s, (event){ .kind = EVENT_GRANTED, .fence = dibs_hold_fence(hold) });
    if (shop_stock(s->lamps) <= 0) {
      dibs_release(hold);
      return;
    }
    turn = shop_turn(s->lamps); /* counted under the lock, so each number comes once */
    if (turn == KILL_AT || turn == FREEZE_AT) {
      tell(s, (event){ .kind = EVENT_STUCK, .fence = dibs_hold_fence(hold) });
      while (read(s->resume, &byte, 1) < 0)
        ;
    }
    sell_one(s, hold);
  }
}

/* What the parent knows while the sale goes on. */
typedef struct story {
  int killed, frozen;          /* process, -1: not yet */
  int64_t still_since_ns;      /* the accident whose end is not seen yet; 0: none */
  long sold, sold_at_thaw;
  int faults, refused;
  bool is_thawed, is_good;
} story;

static double seconds(int64_t ns)
{
  return (double)ns / 1e9;
}

static void kill_it(story *t, const sale *run, const event *e)
{
  int how;

  t->killed = e->process;
  kill(run->processes[e->process], SIGKILL);
  waitpid(run->processes[e->process], &how, 0);
  t->still_since_ns = now_ns();
  printf("   after %ld orders process %d is killed (SIGKILL) while it has the lock\n",
         t->sold, e->process + 1);
}

static void freeze_it(story *t, const sale *run, const event *e)
{
  int how;

  t->frozen = e->process;
  kill(run->processes[e->process], SIGSTOP);
  waitpid(run->processes[e->process], &how, WUNTRACED);
  t->still_since_ns = now_ns();
  printf("   after %ld orders process %d is frozen (SIGSTOP) while it has the lock\n",
         t->sold, e->process + 1);
}

static void thaw_it(story *t, sale *run)
{
  t->is_thawed = true;
  printf("   %ld orders later process %d is woken (SIGCONT), and writes as if it still "
         "had the lock\n", t->sold - t->sold_at_thaw, t->frozen + 1);
  kill(run->processes[t->frozen], SIGCONT);
  sale_resume(run);
}

static void print_refusal(story *t, const event *e)
{
  t->refused++;
  t->is_good = t->is_good && e->process == t->frozen && e->fence < e->seen;
  printf("   its write with fence %" PRIu64 " is refused: the shop has seen %" PRIu64 "\n",
         e->fence, e->seen);
  printf("   dibs_hold_state() told it %s, dibs_release() %s\n",
         e->state == DIBS_HOLD_GONE ? "DIBS_HOLD_GONE" : "that the hold is good: THIS IS WRONG",
         dibs_status_name((dibs_status)e->status));
}

static void follow(story *t, sale *run, const event *e)
{
  switch ((event_kind)e->kind) {
  case EVENT_READY:
    break;
  case EVENT_STUCK:
    if (t->killed < 0)
      kill_it(t, run, e);
    else
      freeze_it(t, run, e);
    break;
  case EVENT_GRANTED:
    if (t->still_since_ns > 0 && e->at_ns > t->still_since_ns) {
      printf("   the sale stands still for %.2f s (the lease is %.1f s), then process %d "
             "has the lock\n", seconds(e->at_ns - t->still_since_ns), LEASE_MS / 1e3,
             e->process + 1);
      t->still_since_ns = 0;
      t->sold_at_thaw = t->sold;
    }
    break;
  case EVENT_SOLD:
    t->sold++;
    if (t->frozen >= 0 && !t->is_thawed && t->still_since_ns == 0 &&
        t->sold - t->sold_at_thaw >= WAKE_AFTER)
      thaw_it(t, run);
    break;
  case EVENT_REFUSED:
    print_refusal(t, e);
    break;
  case EVENT_FAULT:
    fprintf(stderr, "   process %d: dibs said %s\n", e->process + 1,
            dibs_status_name((dibs_status)e->status));
    t->faults++;
    break;
  }
}

bool act_accidents(const char *url, shop *lamps)
{
  story t = { .killed = -1, .frozen = -1, .is_good = true };
  sale run;
  event e;

  printf("\n3. Accidents: %d more lamps, each order carries its fence, the lease is %.1f "
         "s.\n", LAMPS, LEASE_MS / 1e3);
  shop_fill(lamps, LAMPS);
  sale_open(&run, url, sell_with_accidents);
  while (sale_next(&run, &e))
    follow(&t, &run, &e);
  sale_close(&run);
  t.is_good = t.is_good && t.killed >= 0 && t.refused == 1 && t.faults == 0 &&
              shop_stock(lamps) == 0 && shop_orders(lamps) == LAMPS;
  printf("   sold %ld lamps of %d%s\n", shop_orders(lamps), LAMPS,
         t.is_good ? ", exactly" : ": THIS IS WRONG");
  return t.is_good;
}
