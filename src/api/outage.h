/* SPDX-License-Identifier: MIT */
/* api/outage.h - the time without a server, of a client with degrade=local.
 *
 * It begins when the engine ends a request because no server answers, and ends with the reply to
 * a probe that is repeated until then; the probe makes the engine reconnect.
 *
 * All functions need the mutex. */
#ifndef API_OUTAGE_H
#define API_OUTAGE_H

#include "api/question.h"

typedef struct outage {
  bool is_on;
  bool was_reported;               /* to on_event, since the last reply of a server */
  bool is_asked;                   /* a probe is under way */
  instant ask_at;
  question question;
} outage;

void outage_begin(client_record *c);
/* When the next probe is due, or never. */
instant outage_ask_at(const outage *o);
/* The probe, if it is due. Its reply calls degrade_outage_over(). */
void outage_ask(client_record *c, instant now);

#endif
