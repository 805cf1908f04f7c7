/* SPDX-License-Identifier: MIT */
/* api/log_sink.h - between the makers of lines (log_claim.c) and their callback (log.c). Mutex
 * held. */
#ifndef API_LOG_SINK_H
#define API_LOG_SINK_H

#include "api/log.h"
#include "api/log_line.h"

/* A line of the client's log; NULL: not wanted, over the limit, or no memory. */
log_line *log_begin(client_record *c, log_event event, dibs_log_level level, instant now);
/* Queues it for the callback. */
void log_end(log_line *l);

#endif
