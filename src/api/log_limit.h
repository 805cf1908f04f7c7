/* SPDX-License-Identifier: MIT */
/* api/log_limit.h - limits the lines of one event in a period, and counts the others.
 * Pure: the time comes in. */
#ifndef API_LOG_LIMIT_H
#define API_LOG_LIMIT_H

#include "base/base.h"

#define LOG_NO_LIMIT UINT32_MAX

typedef struct log_rule {
  uint32_t most;                   /* lines in a period; LOG_NO_LIMIT */
  span per;
} log_rule;

/* Of one event. All zero: no line yet. */
typedef struct log_limit {
  instant began;                   /* the period: its first line */
  uint32_t passed, left_out;       /* in this period */
} log_limit;

/* Whether this line is made; if not, it is counted. After log_limit_end(), which begins the next
 * period. */
bool log_limit_pass(log_limit *l, const log_rule *rule, instant now);
/* Counts a line that passed as left out. */
void log_limit_drop(log_limit *l);
/* When the period is over and lines are to be reported; INSTANT_NEVER: none were left out. */
instant log_limit_due(const log_limit *l, const log_rule *rule);
/* Ends the period if it is over, or `is_last`. Returns how many lines were left out in it, once. */
uint32_t log_limit_end(log_limit *l, const log_rule *rule, bool is_last, instant now);

#endif
