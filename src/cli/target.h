/* SPDX-License-Identifier: MIT */
/* cli/target.h - what is to be taken: one name as some kind of lock, permits, several
 * names, or leadership. */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include <dibs/dibs.h>

#include "cli/taking.h"

enum target_kind {
  TARGET_LOCK, TARGET_READ, TARGET_WRITE, TARGET_PERMITS, TARGET_MANY, TARGET_LEADER
};

typedef struct target {
  enum target_kind kind;
  const char *shown;                /* the name; of several: all, with commas between */
  const char *names[DIBS_MANY_MAX];
  size_t count;
  uint32_t permits;                 /* of the semaphore; 0: as many as were set before */
  uint32_t take;                    /* 0: all that are free */
  bool is_plain;                    /* permits of an RSemaphore, which has no total */
  int32_t replicas;                 /* as in kind_options */
  bool wants_fsync;
  bool is_one_kind;                 /* the subcommand has no options for another kind of lock */
  const char *value;                /* of the leader */
  char *text;                       /* owned: what `names` of a set points into */
} target;

/* For the subcommand `word`. `name` is NULL with --multi. Returns 0, or CODE_USAGE after saying
 * what is wrong; then there is nothing to free. Texts of `k` are borrowed. */
int target_read(target *t, const char *word, const kind_options *k, const char *name);

/* The leadership of the election `name`. */
void target_lead(target *t, const char *name, const char *value);
void target_free(target *t);

/* Starts to take it, as dibs_acquire_async(). */
dibs_status target_ask(const target *t, dibs_client *client, const dibs_lock_options *options,
                       dibs_lock_callback callback, void *data, dibs_request **ret_request);

/* "is in use as a semaphore"; of a name that is free also when another kind can have it. */
const char *target_use(const dibs_inspection *i, char *ret_text, size_t size);

/* Says why `status`, from taking it, is about the name's kind or count, and returns the
 * exit code; -1 when it is not. May ask the server. */
int target_fault(const target *t, dibs_client *client, dibs_status status);

#endif
