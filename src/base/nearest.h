/* SPDX-License-Identifier: MIT */
/* base/nearest.h - the distance of a misspelt word to a known one. */
#ifndef BASE_NEAREST_H
#define BASE_NEAREST_H

#include <stddef.h>

#define EDIT_DISTANCE_MAX 32

/* The least number of letters to insert, delete or replace to change `a` to `b`;
 * EDIT_DISTANCE_MAX if one of them is longer than that. */
size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size);

#endif
