/* SPDX-License-Identifier: MIT */
/* quorum/names_in_one_slot.h - finds names that one command can take: those of one hash tag. */
#ifndef NAMES_IN_ONE_SLOT_H
#define NAMES_IN_ONE_SLOT_H

#include "lock/lock.h"

/* Sorts by slot, tag and bytes, as sets need it; or by bytes only. */
void names_sort(many_name *names, size_t count, bool only_bytes);

/* The number of names, from the first on, with its tag: at least 1. */
size_t names_in_one_slot(const many_name *names, size_t count);

#endif
