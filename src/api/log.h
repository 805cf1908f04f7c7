/* SPDX-License-Identifier: MIT */
/* api/log.h - lines of dibs_client_set_log(): made where events of a client and the ends of claims
 * are reported (effects.c, noting.c), limited for each event, given to the callback as jobs.
 *
 * All functions but logs_free() need the mutex. Without dibs_client_set_log() each costs a look at
 * client_record.log. */
#ifndef API_LOG_H
#define API_LOG_H

#include "api/api.h"

typedef enum log_event {
  LOG_CONNECTED, LOG_DISCONNECTED, LOG_WARNING, LOG_RECOVERED, LOG_REQUESTED, LOG_GRANTED,
  LOG_REFUSED, LOG_RENEWED, LOG_SUSPECT, LOG_LOST, LOG_RELEASED, LOG_DETACHED, LOG_SUPPRESSED
} log_event;
#define LOG_EVENTS ((size_t)LOG_SUPPRESSED)      /* that have a limit */

/* What on_event gets, but for a loss, which is a line of its claim. `node`: "" where unknown. */
void log_client(client_record *c, dibs_event_kind kind, const char *node, const char *words);

/* What happens to a claim. `cl->note` is as before a change by src/fleet/. */
void log_requested(const claim *cl, instant now);
void log_granted(const claim *cl, instant now);
void log_refused(const claim *cl, instant now);              /* cl->asked */
void log_renewed(const claim *cl, bool was_suspect, instant now);
void log_suspect(const claim *cl, instant now);
void log_ended(const claim *cl, const outcome *end, bool is_detached, instant now);

void log_alarm(client_record *c);  /* reports what was left out in periods that are over */
void log_close(client_record *c);  /* ... and in those that are not */
/* Frees the data of all callbacks; mutex not held, and no job runs any more. */
void logs_free(client_record *c);

#endif
