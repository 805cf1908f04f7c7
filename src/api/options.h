/* SPDX-License-Identifier: MIT */
/* api/options.h - the sized options of the public headers: read, checked, with defaults.
 *
 * Faults are DIBS_ERR_ARGUMENT; `why` names the field, the value and what is allowed. */
#ifndef API_OPTIONS_H
#define API_OPTIONS_H

#include <dibs/latch.h>

#include "api/fault.h"
#include "base/base.h"
#include "hold/lock_spec.h"

#define TTL_DEFAULT_MS 30000          /* of leases */

typedef struct client_times {
  int32_t connect_ms, command_ms, close_ms, renew_every_ms, clock_rate_error_ppm;
} client_times;

#define OWNER_KEY_MAX (DIBS_OWNER_MAX + 1)

/* One lock call: what it asks for, and how the program waits for it. lock_call_of() makes it,
 * lock_options_read() adds the options; afterwards it is not copied: spec.owner points into it. */
typedef struct lock_call {
  lock_spec spec;                 /* give_up_at and context: claim_begin() */
  dibs_status (*check)(client_record *c, struct lock_call *call);   /* NULL, or runs first */
  const char *value;              /* of a leader; NULL: no campaign */
  int32_t wait_ms;                /* DIBS_FOREVER; 0: a try */
  dibs_canceller *cancel;
  dibs_lost_callback on_lost;
  void *on_lost_data;
  dibs_change_callback on_change;
  void *on_change_data;
  watch_data *over;               /* of these, until the claim has it; watch_data_end() follows */
  char owner[OWNER_KEY_MAX];      /* 't' and a thread's number, or 'k' and the given key */
} lock_call;

/* dibs_wait_options, checked. */
typedef struct wait_plan {
  int32_t wait_ms;                /* DIBS_FOREVER; 0: the first reply ends it */
  dibs_canceller *cancel;
  instant until;                  /* with wait_ms 0: of a call with several requests, its end;
                                     0: client_give_up_at() */
} wait_plan;

/* Copies what this library knows of a sized record: a smaller one is filled with zeros,
 * a larger one may have only zeros beyond. `known` has room for `known_size`. */
bool options_copy(const void *from, void *known, size_t known_size, const char *name,
                  text *why);

/* NULL: defaults. `ret_options` gets zeros and NULLs for fields that the program did not
 * set. */
dibs_status client_options_read(const dibs_options *options, dibs_options *ret_options,
                                text *why);

dibs_status lock_options_read(const dibs_lock_options *options, bool is_blocking,
                              const client_times *times, lock_call *call, text *why);

/* Of the callbacks; also of options that are wrong. NULL: none. */
watch_data lock_options_data(const dibs_lock_options *options);
callback_data client_options_data(const dibs_options *options);

/* Writes the owner that a blocking call without one has: its thread. Returns the size. */
size_t owner_of_thread(char ret_owner[OWNER_KEY_MAX]);

/* NULL: defaults. */
dibs_status wait_options_read(const dibs_wait_options *options, wait_plan *ret_plan,
                              text *why);

/* Whether a number is low .. high, or 0 for its default. */
bool option_check(const char *name, int64_t value, int64_t low, int64_t high, text *why);
/* Whether a time is 1 .. DIBS_MS_MAX, or 0 for its default. */
bool options_ms_check(const char *name, int32_t ms, text *why);
bool options_wait_check(int32_t wait_ms, text *why);

#endif
