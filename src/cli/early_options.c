/* SPDX-License-Identifier: MIT */
/* cli/early_options.c - options before the subcommand: those that all of them have, and those of
 * the connection, as in `dibs -u URL run NAME -- CMD`. */
#include "cli/connection.h"
#include "cli/options.h"

#include <string.h>

static const option_row *const sets[] = { options_common, options_connection };

#define FOR_EACH_ROW(row) \
  for (size_t set = 0; set < sizeof(sets) / sizeof(sets[0]); set++) \
    for (const option_row *row = sets[set]; !option_is_end(row); row++)

static const option_row *long_row(const char *name, size_t size)
{
  FOR_EACH_ROW(row)
    if (row->name != NULL && strlen(row->name) == size && memcmp(row->name, name, size) == 0)
      return row;
  return NULL;
}

static const option_row *letter_row(char letter)
{
  FOR_EACH_ROW(row)
    if (row->letter == letter)
      return row;
  return NULL;
}

/* How many arguments the option at `word` is, with its value 1 or 2; 0: it is none of these. */
static int words_of(const char *word)
{
  const option_row *row = NULL;

  if (word[1] == '-') {
    size_t size = strcspn(word + 2, "=");

    row = long_row(word + 2, size);
    return row == NULL ? 0 : row->value != NULL && word[2 + size] == '\0' ? 2 : 1;
  }
  for (const char *at = word + 1; *at != '\0'; at++) {
    row = letter_row(*at);
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
