/* SPDX-License-Identifier: MIT */
/* fuzz.h - what every fuzz target needs: its entry, memory, and a
 * check that stays in release builds. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Called with one input after another; nothing may be left over. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define FUZZ_CHECK(fact)                                                   \
  do {                                                                     \
    if (!(fact)) {                                                         \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact);   \
      abort();                                                             \
    }                                                                      \
  } while (0)

static inline void *fuzz_allocate(size_t bytes, void *data)
{
  (void)data;
  return malloc(bytes);
}

static inline void *fuzz_reallocate(void *old, size_t bytes, void *data)
{
  (void)data;
  return realloc(old, bytes);
}

static inline void fuzz_release(void *old, void *data)
{
  (void)data;
  free(old);
}

#define FUZZ_MEMORY { fuzz_allocate, fuzz_reallocate, fuzz_release, NULL }

#endif
