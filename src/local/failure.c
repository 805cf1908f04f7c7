/* SPDX-License-Identifier: MIT */
/* local/failure.c - fills a dibs_error. */
#include "local/failure.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

dibs_status failure(dibs_error *error, dibs_status status, const char *format, ...)
{
  va_list values;

  if (error == NULL)
    return status;
  error->status = status;
  error->node[0] = '\0';
  va_start(values, format);
  (void)vsnprintf(error->text, sizeof(error->text), format, values);
  va_end(values);
  return status;
}

dibs_status failure_status(int cause)
{
  return cause == EMFILE || cause == ENFILE || cause == ENOMEM || cause == ENOBUFS
           ? DIBS_ERR_SYSTEM
           : DIBS_ERR_CONFIG;
}

const char *failure_advice(int cause)
{
  return cause == EMFILE || cause == ENFILE ? ". Close some, or raise the limit (ulimit -n)" : "";
}
