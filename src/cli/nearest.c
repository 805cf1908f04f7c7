/* SPDX-License-Identifier: MIT */
/* cli/nearest.c - "did you mean": the nearest of some words. */
#include <stdlib.h>
#include <string.h>

#include "cli/options.h"

#define WORD_MAX 32

static size_t smallest(size_t a, size_t b, size_t c)
{
  size_t least = a < b ? a : b;

  return least < c ? least : c;
}

/* Changes of one letter that turn `a` into `b`; WORD_MAX for words that are too long. */
static size_t distance(const char *a, const char *b)
{
  size_t row[WORD_MAX + 1];
  size_t a_size = strlen(a), b_size = strlen(b);

  if (a_size > WORD_MAX || b_size > WORD_MAX)
    return WORD_MAX;
  for (size_t j = 0; j <= b_size; j++)
    row[j] = j;
  for (size_t i = 1; i <= a_size; i++) {
    size_t diagonal = row[0];

    row[0] = i;
    for (size_t j = 1; j <= b_size; j++) {
      size_t above = row[j];

      row[j] = smallest(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1]));
      diagonal = above;
    }
  }
  return row[b_size];
}

const char *nearest_word(const char *word, const char *const *words, size_t count)
{
  const char *best = NULL;
  size_t best_distance = strlen(word) / 3 + 1; /* farther than that is another word */

  for (size_t i = 0; i < count; i++) {
    size_t d = distance(word, words[i]);

    if (d <= best_distance && (best == NULL || d < best_distance)) {
      best = words[i];
      best_distance = d;
    }
  }
  return best;
}
