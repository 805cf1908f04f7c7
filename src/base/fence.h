/* SPDX-License-Identifier: MIT */
/* base/fence.h - fences: the numbers that a guarded resource compares.
 *
 * A token is the server's number of a grant. It has FENCES_PER_TOKEN fences: the first for
 * the claim that was granted, the others for claims of the same process that get the lease
 * by local handoff. Server scripts compute fences in the same way. */
#ifndef BASE_FENCE_H
#define BASE_FENCE_H

#include <stdint.h>

#define FENCES_PER_TOKEN 1024

/* `number` is below FENCES_PER_TOKEN. */
static inline uint64_t fence_of_token(uint64_t token, uint64_t number)
{
  return token * FENCES_PER_TOKEN + number;
}

static inline uint64_t token_of_fence(uint64_t fence) { return fence / FENCES_PER_TOKEN; }

#endif
