/* SPDX-License-Identifier: MIT */
/* fuzz.h - what every fuzz target needs: its entry, memory, and a
 * check that stays in release builds. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/plain_memory.h"

/* Called with one input after another; nothing may be left over. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define FUZZ_CHECK(fact)                                                   \
  do {                                                                     \
    if (!(fact)) {                                                         \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #fact);   \
      abort();                                                             \
    }                                                                      \
  } while (0)

#endif
