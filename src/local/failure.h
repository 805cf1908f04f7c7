/* SPDX-License-Identifier: MIT */
/* local/failure.h - fills a dibs_error. */
#ifndef LOCAL_FAILURE_H
#define LOCAL_FAILURE_H

#include <dibs/status.h>

/* Writes status and message into `error`, which may be NULL; returns `status`. */
dibs_status failure(dibs_error *error, dibs_status status, const char *format, ...)
  __attribute__((format(printf, 3, 4)));

/* The status of a file or socket that cannot be used because of `cause`, an errno:
 * DIBS_ERR_SYSTEM where descriptors or memory are short, DIBS_ERR_CONFIG otherwise. */
dibs_status failure_status(int cause);

/* What to do about `cause`, to be put after its text; "" for most. */
const char *failure_advice(int cause);

#endif
