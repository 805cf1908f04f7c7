/* SPDX-License-Identifier: MIT */
/* cli/early_options.c - options before the subcommand: those that all of them have, and those of
 * the connection, as in `dibs -u URL run NAME -- CMD`. */
#include "cli/options.h"

#include <string.h>

static const option_row *const sets[] = { options_common, options_connection };

/* By its letter, or, where that is 0, by its name. */
static const option_row *row_of(char letter, const char *name, size_t size)
{
  for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++)
    for (const option_row *row = sets[set]; !option_is_end(row); row++)
      if (letter != 0 ? row->letter == letter
                      : row->name != NULL && strlen(row->name) == size &&
                        memcmp(row->name, name, size) == 0)
        return row;
  return NULL;
}

/* How many arguments the option at `word` is, with its value 1 or 2; 0: it is none of these. */
static int words_of(const char *word)
{
  const option_row *row = NULL;

  if (word[1] == '-') {
    size_t size = strcspn(word + 2, "=");

    row = row_of(0, word + 2, size);
    return row == NULL ? 0 : row->value != NULL && word[2 + size] == '\0' ? 2 : 1;
  }
  for (const char *at = word + 1; *at != '\0'; at++) {
    row = row_of(*at, NULL, 0);
    if (row == NULL)
      return 0;
    if (row->value != NULL)
      return at[1] == '\0' ? 2 : 1;      /* -u URL, or -uURL */
  }
  return row == NULL ? 0 : 1;
}

int options_before_command(int argc, char **argv)
{
  int at = 1, words = 1;

  while (at < argc && argv[at][0] == '-' && words > 0) {
    words = words_of(argv[at]);
    at += words;
  }
  return at;
}
