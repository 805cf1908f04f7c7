/* SPDX-License-Identifier: MIT */
/* Unit: base/fence.h - fences of a token, as resources and server scripts compute them. */
#include "base/fence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void a_token_has_1024_fences_that_lead_back_to_it(void **state)
{
  uint64_t token = UINT64_C(1767225600000395);

  (void)state;
  assert_true(fence_of_token(token, 0) == UINT64_C(1809639014400404480));
  assert_true(fence_of_token(token, 1023) == UINT64_C(1809639014400405503));
  assert_true(fence_of_token(token + 1, 0) == UINT64_C(1809639014400405504));
  for (uint64_t number = 0; number < 1024; number++)
    assert_true(token_of_fence(fence_of_token(token, number)) == token);
}

int main(void)
{
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_token_has_1024_fences_that_lead_back_to_it),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
