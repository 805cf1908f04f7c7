/* SPDX-License-Identifier: MIT */
/* Unit: cli/show.c - the text for a waiter on a name without a holder. */
#include "tests.h"

#include <stdint.h>
#include <string.h>

#include "cli/show.h"

static void expect_free(const dibs_inspection *i, const char *wanted)
{
  char text[200];

  show_holder(i, text, sizeof(text));
  assert_string_equal(text, wanted);
}

TEST(a_free_name_is_handed_over_only_if_clients_wait)
{
  dibs_inspection i = { .size = sizeof(i), .obstacle = "" };

  expect_free(&i, "free, the request is under way");
  i.waiter_count = 1;
  expect_free(&i, "free, to be handed over");
  i.kind = DIBS_KIND_SEMAPHORE;
  i.limit = 1;
  expect_free(&i, "permits are free, to be handed over");
}

TEST(a_semaphore_with_no_permits_has_none_to_hand_over)
{
  dibs_inspection i = { .size = sizeof(i), .obstacle = "", .kind = DIBS_KIND_SEMAPHORE };

  for (i.waiter_count = 0; i.waiter_count < 2; i.waiter_count++) {
    i.generation = 1;
    expect_free(&i, "paused: it has 0 permits until dibs sem set gives it some");
  }
  i.generation = 0;                    /* of another dialect: all are taken */
  expect_free(&i, "no permit is free");
}

RUN_TESTS(NULL, NULL)
