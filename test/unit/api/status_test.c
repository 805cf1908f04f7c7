/* SPDX-License-Identifier: MIT */
/* Unit: api/status - each status of the header has a name, a sentence, and is retriable or
 * not. */
#include "tests.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <dibs/status.h>

/* The last ones of each side; whoever adds one moves these. */
enum { FIRST = DIBS_ERR_LIMIT, LAST = DIBS_FENCED };

TEST(every_status_has_a_name_and_a_sentence_of_its_own)
{
  for (int a = FIRST; a <= LAST; a++) {
    const char *name = dibs_status_name((dibs_status)a);

    assert_int_equal(strncmp(name, a < 0 ? "DIBS_ERR_" : "DIBS_", a < 0 ? 9 : 5), 0);
    if (strcmp(name, "DIBS_?") == 0)
      fail_msg("%d has no name", a);
    for (int b = FIRST; b < a; b++) {
      assert_string_not_equal(name, dibs_status_name((dibs_status)b));
      assert_string_not_equal(dibs_status_text((dibs_status)a),
                              dibs_status_text((dibs_status)b));
    }
  }
  assert_string_equal(dibs_status_name(DIBS_BROKEN), "DIBS_BROKEN");
  assert_string_equal(dibs_status_name(DIBS_FENCED), "DIBS_FENCED");
  assert_string_equal(dibs_status_name(DIBS_ERR_NOT_SET), "DIBS_ERR_NOT_SET");
}

TEST(what_is_no_status_has_the_name_of_none)
{
  assert_string_equal(dibs_status_name((dibs_status)(FIRST - 1)), "DIBS_?");
  assert_string_equal(dibs_status_name((dibs_status)(LAST + 1)), "DIBS_?");
  assert_non_null(dibs_status_text((dibs_status)1000));
}

TEST(only_what_may_pass_by_itself_is_retriable)
{
  for (int a = FIRST; a <= LAST; a++) {
    bool passes = a == DIBS_BUSY || a == DIBS_TIMED_OUT || a == DIBS_UNKNOWN ||
                  a == DIBS_ERR_UNREACHABLE || a == DIBS_ERR_REFUSED || a == DIBS_ERR_READ_ONLY ||
                  a == DIBS_ERR_NOT_REPLICATED;

    assert_int_equal(dibs_status_is_retriable((dibs_status)a), passes);
  }
}

TEST(a_hold_that_had_ended_before_is_lost)
{
  for (int a = FIRST; a <= LAST; a++)
    assert_int_equal(dibs_status_is_lost((dibs_status)a),
                     a == DIBS_LOST || a == DIBS_EXPIRED || a == DIBS_TAKEN);
}

RUN_TESTS(NULL, NULL)
