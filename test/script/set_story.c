/* SPDX-License-Identifier: MIT */
/* test/script/set_story.c - see set_story.h. */

#include "tests.h"

#include <stdio.h>

#include "set_story.h"

void assert_held(char letter, const lease_id *l)
{
  assert_string_equal(members_holder(w, letter), lease_text(l));
}

void assert_free(char letter) { assert_string_equal(members_holder(w, letter), ""); }

void hear(void)
{
  for (int who = ANNA; who <= FRED; who++)
    world_listen(w, who);
}

const char *entry(int who, int set, int ask)
{
  static char out[8][64];
  static unsigned next;
  char *to = out[next++ % 8];

  if (set > 0)
    (void)snprintf(to, 64, "%s.%d %d ", world_native(w, who)->client, set, ask);
  else
    (void)snprintf(to, 64, "%s %d ", world_native(w, who)->client, ask);
  return to;
}
