/* SPDX-License-Identifier: MIT */
/* api/many.h - a call that takes several names as one. */
#ifndef API_MANY_H
#define API_MANY_H

#include <dibs/many.h>

#include "api/api.h"

typedef struct names_call {
  lock_call call;                  /* first */
  const dibs_bytes *names;
  size_t count;
  many_name sorted[DIBS_MANY_MAX];
} names_call;

/* The check of such a call: fills in the names of its spec. */
dibs_status names_read(client_record *c, lock_call *call);

#endif
