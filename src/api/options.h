/* SPDX-License-Identifier: MIT */
/* api/options.h - the sized options of the public headers: read, checked, with defaults.
 *
 * Faults are DIBS_ERR_ARGUMENT; `why` names the field, the value and what is allowed. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include <dibs/latch.h>

#include "base/base.h"
#include "dialect/native.h"

typedef struct client_times {
  int32_t connect_ms, command_ms, close_ms, renew_every_ms;
} client_times;

#define OWNER_KEY_MAX (DIBS_OWNER_MAX + 1)

/* dibs_lock_options, understood. */
typedef struct lock_plan {
  int32_t wait_ms, ttl_ms, max_hold_ms;
  int32_t linger_ms;              /* -1: DIBS_LINGER_AUTO */
  lock_flavour flavour;
  bool is_fixed, no_reentry;
  int32_t min_replicas;           /* -1: DIBS_REPLICAS_MAJORITY */
  int32_t replicas_wait_ms;
  bool wants_fsync, reports_replicas;
  char owner[OWNER_KEY_MAX];      /* 't' and a thread's number, or 'k' and the given key */
  size_t owner_size;
  dibs_canceller *cancel;
  dibs_lost_callback on_lost;
  void *on_lost_data;
  const char *note;
} lock_plan;

/* dibs_wait_options, understood. */
typedef struct wait_plan {
  int32_t wait_ms;                /* 0: for ever */
  dibs_canceller *cancel;
} wait_plan;

/* Copies what this library knows of a sized record: a smaller one is filled with zeros,
 * a larger one may have only zeros beyond. `known` has room for `known_size`. */
bool options_copy(const void *from, void *known, size_t known_size, const char *name,
                  text *why);

/* NULL: defaults. `ret_options` gets zeros and NULLs where the program is silent. */
dibs_status client_options_read(const dibs_options *options, dibs_options *ret_options,
                                text *why);

dibs_status lock_options_read(const dibs_lock_options *options, bool is_blocking,
                              int32_t renew_every_ms, lock_plan *ret_plan, text *why);

/* NULL: defaults. */
dibs_status wait_options_read(const dibs_wait_options *options, wait_plan *ret_plan,
                              text *why);

/* Whether a time is 1 .. DIBS_MS_MAX, or 0 for its default. */
bool options_ms_check(const char *name, int32_t ms, text *why);

#endif
