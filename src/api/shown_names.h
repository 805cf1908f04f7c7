/* SPDX-License-Identifier: MIT */
/* api/shown_names.h - which names a walk has shown: several servers of a quorum have the same. */
#ifndef API_SHOWN_NAMES_H
#define API_SHOWN_NAMES_H

#include <dibs/inspect.h>

#include "base/base.h"

/* NULL: none. */
typedef struct shown_name shown_name;

bool shown_names_have(const shown_name *all, dibs_family family, const char *name, size_t size);
/* Without memory it is not kept, and so is shown again. */
void shown_names_add(const memory *m, shown_name **all, dibs_family family, const char *name,
                     size_t size);
void shown_names_free(const memory *m, shown_name **all);

#endif
