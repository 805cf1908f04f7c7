/* SPDX-License-Identifier: MIT */
/* Unit: cli/show.c - the text for a waiter on a name without a holder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cli/show.h"

static void expect_free(const dibs_inspection *i, const char *wanted)
{
  char text[200];

  show_holder(i, text, sizeof(text));
  assert_string_equal(text, wanted);
}

static void a_free_name_is_handed_over_only_if_clients_wait(void **state)
{
  dibs_inspection i = { .size = sizeof(i), .obstacle = "" };

  (void)state;
  expect_free(&i, "free, the request is under way");
  i.waiter_count = 1;
  expect_free(&i, "free, to be handed over");
  i.kind = DIBS_KIND_SEMAPHORE;
  expect_free(&i, "permits are free, to be handed over");
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_free_name_is_handed_over_only_if_clients_wait),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
