/* SPDX-License-Identifier: MIT */
/* Unit: base/fence.h - fences of a token, as resources and server scripts compute them. */
#include "tests.h"
#include "base/fence.h"

TEST(a_token_has_1024_fences_that_lead_back_to_it)
{
  uint64_t token = UINT64_C(1767225600000395);

  assert_true(fence_of_token(token, 0) == UINT64_C(1809639014400404480));
  assert_true(fence_of_token(token, 1023) == UINT64_C(1809639014400405503));
  assert_true(fence_of_token(token + 1, 0) == UINT64_C(1809639014400405504));
  for (uint64_t number = 0; number < 1024; number++)
    assert_true(token_of_fence(fence_of_token(token, number)) == token);
}

RUN_TESTS(NULL, NULL)
