/* SPDX-License-Identifier: MIT */
/* sim/server/memory.h - memory, or the end of the program: a simulation that has none left has
 * nothing to say. Also for sim/world. */
#ifndef SIM_MEMORY_H
#define SIM_MEMORY_H

#include "base/base.h"

void *sim_alloc(size_t size);
void *sim_zalloc(size_t size);
void *sim_realloc(void *old, size_t size);
void sim_free(void *p);
const memory *sim_memory(void);      /* the same, for base/ */

#endif
