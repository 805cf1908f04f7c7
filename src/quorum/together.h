/* SPDX-License-Identifier: MIT */
/* quorum/together.h - which of several names one command can take: those of one hash tag. */
#ifndef TOGETHER_H
#define TOGETHER_H

#include "lock/lock.h"

/* In the order of their slots and tags, and by bytes within a tag, as sets want them; or all by
 * bytes. */
void names_sort(many_name *names, size_t count, bool only_bytes);

/* How many of them, from the first on, have its tag: at least 1. */
size_t names_together(const many_name *names, size_t count);

#endif
