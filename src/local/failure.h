/* SPDX-License-Identifier: MIT */
/* local/failure.h - a status with its words. */
#ifndef LOCAL_FAILURE_H
#define LOCAL_FAILURE_H

#include <dibs/status.h>

/* Writes `status` and the text into `error`, which may be NULL; returns `status`. */
dibs_status failure(dibs_error *error, dibs_status status, const char *format, ...)
  __attribute__((format(printf, 3, 4)));

#endif
