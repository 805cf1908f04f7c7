/* SPDX-License-Identifier: MIT */
/* test/oracle/history_parts.h - what the files of this folder share. */
#ifndef HISTORY_PARTS_H
#define HISTORY_PARTS_H

#include "oracle/oracle.h"

/* Whether all its values are known ones. */
bool history_is_known(const struct history *h, const struct record *r);
/* Sorts the records of `h`, and fills the rest. */
void history_finish(struct history *h);
/* Each fills its part of `h` from the sorted records. */
void history_derive(struct history *h);          /* asks, grants, faults, reached markers */
void history_find_stalls(struct history *h);
struct stalls *history_stalls_free(struct stalls *s);
struct calls *history_calls_free(struct calls *c);

/* The checks: each adds what it found. */
typedef void checker(const struct history *h, const struct expectations *e, struct findings *f);

checker check_exclusion, check_witness, check_fence, check_store, check_permits, check_readers;
checker check_order, check_wake, check_linear, check_leaks, check_self_fence, check_bounded;
checker check_vacuity, check_whole;

/* Keeps the first flaw only. */
void history_flaw(struct history *h, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* calloc and realloc that end the process instead of failing. */
void *history_memory(size_t count, size_t size);
void *history_grow(void *old, size_t count, size_t size);

#endif
