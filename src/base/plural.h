/* SPDX-License-Identifier: MIT */
/* base/plural.h - "1 time", "2 times" in messages. */
#ifndef BASE_PLURAL_H
#define BASE_PLURAL_H

#include <stdint.h>

/* The ending of a noun after its number. */
static inline const char *plural_s(uint64_t count) { return count == 1 ? "" : "s"; }

#endif
