/* SPDX-License-Identifier: MIT */
/* lock/state.c - the states of a lease: which one may follow which, and what each does when it
 * is entered, polls, is not wanted any more, or is closed. Replies: answer.c, inbox.c. */
#include "lock/table.h"

#include <assert.h>

#define GRANTED (IN(LEASE_CONFIRMING) | IN(LEASE_ACKING) | IN(LEASE_HELD) | IN(LEASE_RELEASING))

/* ---- what a state does ---- */

static lease_state send_due(lease *l, instant now)
{
  (void)now;
  lease_due(l);
  return l->state;
}

static lease_state renew(lease *l, instant now)
{
  (void)now;
  lease_renewal_due(l);
  return l->state;
}

static lease_state release(lease *l, instant now)
{
  (void)l;
  (void)now;
  return LEASE_RELEASING;
}

static lease_state release_holders(lease *l, instant now)
{
  holders_release(&l->claims, INSTANT_NEVER);
  return release(l, now);
}

/* No hold is used after dibs_close(). */
static lease_state release_now(lease *l, instant now)
{
  l->term.end_is_early = false;
  return send_due(l, now);
}

/* ---- the table ---- */

typedef struct lease_row {
  unsigned may_follow;
  void (*enter)(lease *l, instant now);
  lease_state (*polls)(lease *l, instant now);
  lease_state (*unwanted)(lease *l, instant now);
  lease_state (*closes)(lease *l, instant now);
} lease_row;

/* An ask that was refused, or never sent, ends without a cancellation. A grant that may be
 * over is confirmed by a renewal; one that is over is released, or asked for again. */
static const lease_row rows[LEASE_STATES] = {
  [LEASE_IDLE] = { .may_follow = IN(LEASE_ASKING), .enter = lease_start_next },
  [LEASE_ASKING] = {
    .may_follow = STATES_ASK | GRANTED | IN(LEASE_CANCELLING) | IN(LEASE_IDLE),
    .polls = send_due, .unwanted = ask_unwanted, .closes = ask_unwanted },
  [LEASE_QUEUED] = {
    .may_follow = STATES_ASK | GRANTED | IN(LEASE_CANCELLING) | IN(LEASE_IDLE),
    .polls = send_due, .unwanted = ask_unwanted, .closes = ask_unwanted },
  [LEASE_CONFIRMING] = {
    .may_follow = IN(LEASE_ASKING) | IN(LEASE_ACKING) | IN(LEASE_HELD) | STATES_ENDING,
    .polls = renew, .unwanted = confirm_unwanted, .closes = confirm_unwanted },
  [LEASE_ACKING] = {
    .may_follow = IN(LEASE_ASKING) | IN(LEASE_ACKING) | IN(LEASE_HELD) | IN(LEASE_RELEASING),
    .polls = acks_give_up, .unwanted = acks_unwanted, .closes = acks_unwanted },
  [LEASE_HELD] = {                                             /* IDLE: detached */
    .may_follow = IN(LEASE_PARKED) | IN(LEASE_RELEASING) | IN(LEASE_IDLE),
    .polls = hold_polls, .closes = release_holders },
  [LEASE_PARKED] = {
    .may_follow = IN(LEASE_HELD) | IN(LEASE_RELEASING),
    .polls = park_polls, .closes = release },
  [LEASE_RELEASING] = {
    .may_follow = IN(LEASE_IDLE), .enter = release_enter,
    .polls = leave_timer, .closes = release_now },
  [LEASE_CANCELLING] = {
    .may_follow = IN(LEASE_IDLE), .enter = cancel_enter, .polls = leave_timer },
};

bool state_may_follow(lease_state from, lease_state to)
{
  return (rows[from].may_follow & IN(to)) != 0;
}

bool lease_is_in(const lease *l, unsigned states)
{
  return (states & IN(l->state)) != 0;
}

void lease_set_state(lease *l, lease_state to)
{
  assert(state_may_follow(l->state, to));
  l->table->backend.counts.parked += to == LEASE_PARKED;
  l->table->backend.counts.parked -= l->state == LEASE_PARKED;
  l->state = to;
  wait_forget_if_unused(l);
  if (l->claims.parked != NULL && to != LEASE_PARKED)
    park_forget(l);
}

void lease_become(lease *l, lease_state to, instant now)
{
  if (to != l->state) {
    lease_set_state(l, to);
    if (rows[to].enter != NULL)
      rows[to].enter(l, now);
  } else if (to == LEASE_IDLE) {
    lease_forget_if_unused(l);
  }
  if ((IN(to) & (STATES_TAKEN | IN(LEASE_QUEUED))) != 0)
    tries_end(l, now);
}

static lease_state run(lease_state (*handler)(lease *l, instant now), lease *l, instant now)
{
  return handler != NULL ? handler(l, now) : l->state;
}

lease_state lease_polls(lease *l, instant now)
{
  return run(rows[l->state].polls, l, now);
}

lease_state lease_unwanted(lease *l, instant now)
{
  return run(rows[l->state].unwanted, l, now);
}

lease_state lease_closes(lease *l, instant now)
{
  return run(rows[l->state].closes, l, now);
}
