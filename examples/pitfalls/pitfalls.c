/* SPDX-License-Identifier: MIT */
/* pitfalls - locks as people make them by hand, each broken by a schedule of steps on a real
 * server, and dibs in the same schedule.
 *
 *   pitfalls [WORD ...]      all, or those named; --list names them
 *
 * Ends with 0 when every lock by hand broke and dibs never did. doc/guide/why-not-set-nx.md
 * walks through what it prints. */
#include "pitfall.h"

#include <stdio.h>
#include <string.h>

static const pitfall *const all[] = { &two_commands, &clock_ahead, &losers_timestamp,
                                      &unchecked_del, &get_then_del, &no_renewal };
enum { COUNT = sizeof(all) / sizeof(all[0]) };

/* Each play has a server of its own. */
static int play(void (*steps)(stage *s))
{
  stage *s = stage_open();
  int broken;

  steps(s);
  broken = stage_breaks(s);
  (void)stage_close(s);
  return broken;
}

static bool show(const pitfall *p)
{
  int by_hand, by_dibs;

  printf("%s\n\n by hand:\n", p->title);
  by_hand = play(p->by_hand);
  printf("\n dibs:\n");
  by_dibs = play(p->by_dibs);
  printf("  ----  %s\n\n", by_dibs == 0 ? "holds" : "IT DOES NOT HOLD");
  return by_hand > 0 && by_dibs == 0;
}

static bool is_wanted(const pitfall *p, int count, char **words)
{
  for (int i = 1; i < count; i++)
    if (strcmp(words[i], p->word) == 0)
      return true;
  return count <= 1;
}

int main(int count, char **words)
{
  bool is_as_said = true;

  /* Each line at once: processes are forked and killed between them. */
  (void)setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  if (count == 2 && strcmp(words[1], "--list") == 0) {
    for (int i = 0; i < COUNT; i++)
      printf("%-18s %s\n", all[i]->word, all[i]->title);
    return 0;
  }
  for (int i = 0; i < COUNT; i++)
    if (is_wanted(all[i], count, words))
      is_as_said = show(all[i]) && is_as_said;
  return is_as_said ? 0 : 1;
}
