/* SPDX-License-Identifier: MIT */
/* engine/limit.c - the times that a request carries to the server. Its limit: after it the server
 * executes nothing, because the caller has its result, or the request was sent again. And the
 * estimate of the server's time: a lease that is changed while that is wrong is in doubt. And until
 * when one is sent again whose first copy may have been executed. */
#include "engine/internal.h"

#define CLOCK_DOUBT_US 1000000         /* of a limit: the estimate may be wrong */

/* A wait that ends sends what undoes its request (rate_cancel, barrier_leave), so that its own
 * end, which may be only a millisecond away, needs no clock. */
void ask_times_set(const engine *e, ask *a, const server *s, instant now)
{
  instant sent_again = instant_add(now, e->settings.command_timeout);
  instant last = a->observation != NULL ? INSTANT_NEVER : a->give_up_at;

  a->sent_at = now;
  a->late_at = instant_min(last, sent_again);
  if (a->command.has_limit)
    a->command.limit_us = lock_server_us_at(s->locks, s->route, a->late_at);
  a->command.estimate_us = lock_server_us_trusted(s->locks, s->route, now);
}

void ask_time_learn(const ask *a, const resp_reply *reply, const server *from, instant now)
{
  int64_t server_us;

  if (request_is_command(&a->command, "TIME") && resp_time(reply, &server_us))
    lock_server_time(from->locks, from->route, server_us, a->sent_at, now);
}

/* If the server's clock is ahead of the estimate, that was wrong. Otherwise the request was
 * late, and the length of its way says nothing about the clock. */
void ask_was_late(const ask *a, const resp_node *error, const server *from, instant now)
{
  int64_t server_us;

  if (resp_late_time(error->bytes, error->size, &server_us) &&
      server_us > lock_server_us_at(from->locks, from->route, now))
    lock_server_time(from->locks, from->route, server_us, a->sent_at, now);
}

static int64_t late_until_us(const request *command)
{
  return command->limit_us > 0 ? command->limit_us + CLOCK_DOUBT_US : INT64_MAX;
}

static void doubt(ask *a)
{
  span most = a->op != NULL ? a->op->row->repeats_for : (span){ 0 };

  a->was_lost = true;
  if (most.ns == 0)
    return;
  if (a->op->in_doubt_from.ns == 0)
    a->op->in_doubt_from = a->sent_at;
  if (a->state == ASK_SENT && late_until_us(&a->command) > a->op->late_until_us)
    a->op->late_until_us = late_until_us(&a->command);
  a->give_up_at = instant_min(a->give_up_at, instant_add(a->op->in_doubt_from, most));
}

bool ask_copy_may_come(const ask *a, const server *from)
{
  return a->op->in_doubt_from.ns != 0 &&
         lock_server_us_at(from->locks, from->route, a->sent_at) <= a->op->late_until_us;
}

void ask_doubt(ask *a)
{
  if (a->state == ASK_SENT)
    doubt(a);
}

void ask_doubt_of_before(ask *a, instant now)
{
  doubt(a);
  if (!instant_before(now, a->give_up_at))
    ask_done(a, DIBS_UNKNOWN, "not sent again: the server no longer knows whether it has executed "
                              "the first request");
}
