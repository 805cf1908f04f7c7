/* SPDX-License-Identifier: MIT */
/* api/pattern.h - whether a name is one that a caller asks for by a pattern of fnmatch(3). */
#ifndef API_PATTERN_H
#define API_PATTERN_H

#include "dialect/dialect.h"

/* `name` ends with a zero. A pattern that is the name itself means it, whatever bytes it has; and
 * where `{x}` is another spelling of the lock `x`, one that is in braces means that. */
bool pattern_means(const char *pattern, const char *name);
bool pattern_means_lock(const protocol *n, const char *pattern, const char *name);
/* It means one name only, which is in the slot of that lock, of whatever family it is. */
bool pattern_is_in_one_slot(const char *pattern);

#endif
