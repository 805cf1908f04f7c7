/* SPDX-License-Identifier: MIT */
/* api/outage.c - see outage.h. */
#include "api/outage.h"

#include "api/degrade.h"

#define ASK_FOR SPAN_MS(30000)     /* limit of one probe; the next follows */
#define ASK_AGAIN SPAN_MS(100)

void outage_begin(client_record *c)
{
  outage *o = &c->local->outage;

  if (!o->is_on) {
    o->is_on = true;
    o->ask_at = drive_now();
  }
  if (!o->was_reported)
    client_event(c, DIBS_EVENT_WARNING, "",
                 "no server: locks hold on this machine only, until one answers");
  o->was_reported = true;
}

static void answered(client_record *c, question *q)
{
  outage *o = &c->local->outage;
  dibs_status status = q->end.status;
  bool is_over = status != DIBS_ERR_UNREACHABLE && status != DIBS_UNKNOWN &&
                 status != DIBS_ERR_NO_MEMORY;

  question_deinit(q);
  o->is_asked = false;
  if (status == DIBS_ERR_CLOSED || c->is_closing)
    return;
  if (is_over) {
    o->is_on = o->was_reported = false;
    degrade_outage_over(c);
    return;
  }
  o->ask_at = instant_add(drive_now(), ASK_AGAIN);
  o->is_on = degrade_is_needed(c);
  degrade_alarm_set(c);
}

instant outage_ask_at(const outage *o)
{
  return o->is_on && !o->is_asked ? o->ask_at : INSTANT_NEVER;
}

void outage_ask(client_record *c, instant now)
{
  static const resp_argument ping[] = { { "PING", 4 } };
  outage *o = &c->local->outage;
  request command;

  if (instant_before(now, outage_ask_at(o)))
    return;
  request_init(&command, &c->memory);
  (void)request_command(&command, ping, 1);         /* refused when it is incomplete */
  question_ask(c, &o->question, &command, instant_add(now, ASK_FOR));
  request_deinit(&command);
  o->is_asked = !o->question.waiter.is_done;
  if (o->is_asked)
    o->question.then = answered;
  else
    o->ask_at = instant_add(now, ASK_AGAIN);
}
