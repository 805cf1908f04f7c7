/* SPDX-License-Identifier: MIT */
/* local/entries.h - lists a directory without heap memory. */
#ifndef LOCAL_ENTRIES_H
#define LOCAL_ENTRIES_H

#include <stdbool.h>

/* Calls `each` with the name of each entry but "." and "..". false: see errno.
 * Async-signal-safe, unlike readdir(). */
bool entries_each(int directory, void (*each)(const char *name, void *data), void *data);

#endif
