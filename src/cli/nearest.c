/* SPDX-License-Identifier: MIT */
/* cli/nearest.c - "did you mean": the nearest of some words. */
#include <string.h>

#include "base/nearest.h"
#include "cli/options.h"

const char *nearest_word(const char *word, const char *const *words, size_t count)
{
  const char *best = NULL;
  size_t best_distance = strlen(word) / 3 + 1; /* farther than that is another word */

  for (size_t i = 0; i < count; i++) {
    size_t d = edit_distance(word, strlen(word), words[i], strlen(words[i]));

    if (d <= best_distance && (best == NULL || d < best_distance)) {
      best = words[i];
      best_distance = d;
    }
  }
  return best;
}
