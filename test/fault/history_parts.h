/* SPDX-License-Identifier: MIT */
/* test/fault/history_parts.h - what the files that read histories tell each other. */
#ifndef HISTORY_PARTS_H
#define HISTORY_PARTS_H

#include "history.h"

/* Each fills its part of `h` from the sorted records. */
void history_derive(struct history *h);          /* asks, grants, faults, reached markers */
void history_find_stalls(struct history *h);
struct stalls *history_stalls_free(struct stalls *s);
struct calls *history_calls_free(struct calls *c);

/* Keeps the first flaw only. */
void history_flaw(struct history *h, const char *format, ...)
  __attribute__((format(printf, 2, 3)));

/* calloc and realloc that end the process instead of failing. */
void *fault_memory(size_t count, size_t size);
void *fault_grow(void *old, size_t count, size_t size);

#endif
