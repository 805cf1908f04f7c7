/* SPDX-License-Identifier: MIT */
/* test/fault/dibs_history.c - reads a stored run again: checks it, or prints it.
 *
 *   dibs-history DIRECTORY...              all checks, as the scenario expected it
 *   dibs-history --lines DIRECTORY         every record
 *   dibs-history --lock N --from S --to S --lines DIRECTORY
 *
 * Ends with 0 when every run is as expected. A newer build checks runs of an older one. */
#include "run_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct what { bool lines; long lock; double from, to; };

static void print_lines(const struct history *h, const struct what *w)
{
  char line[400];

  for (size_t i = 0; i < h->count; i++) {
    const struct record *r = &h->records[i];
    double at = (double)(r->at_ns - h->records[0].at_ns) / 1e9;

    if ((w->lock < 0 || r->lock == w->lock || r->lock == NO_LOCK) && at >= w->from &&
        at <= w->to)
      (void)printf("%s\n", history_line(h, i, line, sizeof(line)));
  }
}

static bool read_run(const char *directory, const struct what *w)
{
  struct history *h = history_load(directory), *again;
  struct expectations expects;
  struct findings *f;
  bool is_good;

  if (h == NULL) {
    (void)fprintf(stderr, "dibs-history: %s: no run\n", directory);
    return false;
  }
  if (w->lines) {
    print_lines(h, w);
    h = history_free(h);
    return true;
  }
  again = calloc(1, sizeof(*again));
  f = calloc(1, sizeof(*f));
  if (again == NULL || f == NULL || !run_read(directory, again, &expects))
    exit(70);
  is_good = check_all(h, &expects, f);
  (void)printf("%s: %s\n", directory, is_good ? "as expected" : "NOT as expected");
  findings_print(f, h, "");
  findings_table(f, h, "");
  free(again);
  free(f);
  h = history_free(h);
  return is_good;
}

int main(int argc, char **argv)
{
  struct what w = { false, -1, 0, 1e9 };
  int good = 0, bad = 0;

  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--lines") == 0)
      w.lines = true;
    else if (strcmp(argv[i], "--lock") == 0 && i + 1 < argc)
      w.lock = strtol(argv[++i], NULL, 10);
    else if (strcmp(argv[i], "--from") == 0 && i + 1 < argc)
      w.from = strtod(argv[++i], NULL);
    else if (strcmp(argv[i], "--to") == 0 && i + 1 < argc)
      w.to = strtod(argv[++i], NULL);
    else if (read_run(argv[i], &w))
      good++;
    else
      bad++;
  }
  if (good + bad == 0) {
    (void)fputs("dibs-history [--lines [--lock N] [--from S] [--to S]] DIRECTORY...\n", stderr);
    return 64;
  }
  return bad == 0 ? 0 : 1;
}
