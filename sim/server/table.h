/* SPDX-License-Identifier: MIT */
/* sim/server/table.h - uthash with this room's memory, and keys of bytes. */
#ifndef SIM_SERVER_TABLE_H
#define SIM_SERVER_TABLE_H

#include <stdlib.h>

#include "server/value.h"

#define uthash_malloc(bytes) sim_alloc(bytes)
#define uthash_free(pointer, bytes) sim_free(pointer)
#define uthash_fatal(message) abort()
#include <uthash.h>

#endif
