/* SPDX-License-Identifier: MIT */
/* api/log_line.h - builds one line of dibs_client_set_log(). Pure. */
#ifndef API_LOG_LINE_H
#define API_LOG_LINE_H

#include <dibs/log.h>

#include "base/base.h"

#define LOG_FIELDS_MAX 12
#define LOG_VALUES_SIZE 3584       /* a name with each byte escaped, a reason, and the rest */

/* Its parts point into it: it is built and stays where it is. */
typedef struct log_line {
  dibs_log_line shown;
  dibs_log_field fields[LOG_FIELDS_MAX];
  const dibs_log_field *listed[LOG_FIELDS_MAX];
  text values, line;
  char value_bytes[LOG_VALUES_SIZE];
  char line_bytes[LOG_VALUES_SIZE + 512];
} log_line;

void log_line_begin(log_line *l, dibs_log_level level, const char *event);
/* Empty values are left out; what has no room is cut. */
void log_line_add_bytes(log_line *l, const char *key, const void *value, size_t size);
void log_line_add(log_line *l, const char *key, const char *value);
void log_line_add_uint(log_line *l, const char *key, uint64_t value);
void log_line_add_ms(log_line *l, const char *key, span value);     /* "0.312" */

#endif
