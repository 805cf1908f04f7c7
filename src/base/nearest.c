/* SPDX-License-Identifier: MIT */
/* base/nearest.c - the edit distance (Levenshtein), a row at a time. */
#include "base/nearest.h"

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

size_t edit_distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
  size_t row[EDIT_DISTANCE_MAX + 1];

  if (a_size > EDIT_DISTANCE_MAX || b_size > EDIT_DISTANCE_MAX)
    return EDIT_DISTANCE_MAX;
  for (size_t j = 0; j <= b_size; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_size; i++) {
    size_t diagonal = row[0];

    row[0] = i;
    for (size_t j = 1; j <= b_size; j++) {
      size_t above = row[j];
      size_t replaced = diagonal + (a[i - 1] != b[j - 1]);

      row[j] = smaller(smaller(above, row[j - 1]) + 1, replaced);
      diagonal = above;
    }
  }
  return row[b_size];
}
