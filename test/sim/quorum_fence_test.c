/* SPDX-License-Identifier: MIT */
/* Quorum, step by step, over real lock tables and scripts: a name with a token far ahead. */
#include "tests.h"
#include "quorum/claimant.h"

#include <stdio.h>
#include <string.h>

#define YEAR_US (INT64_C(365) * 86400 * 1000000)

/* As a client left it whose server's clock was wrong. */
static void set_far_ahead(site *s, size_t server)
{
  char words[128];
  int size = snprintf(words, sizeof(words), "SET dibs:m:{bad} =%.22s:1:%lld\r\n",
                      "zzzzzzzzzzzzzzzzzzzzzz", (long long)(SITE_START_US + 10 * YEAR_US));

  site_ask(s, server, words, (size_t)size);
}

static void take_and_release(site *s, const char *name, told *t)
{
  lock_spec w = wish_for(t);

  w.name = name;
  w.name_size = strlen(name);
  claim_as(s, 0, t, &w);
  (void)await(s, &t->granted, SPAN_MS(2000));
  site_run_for(s, SPAN_MS(100));         /* the rest of the servers, and raises */
  release_by(s, 0, t);
  site_run_for(s, SPAN_MS(100));
}

TEST(a_token_far_ahead_at_some_servers_is_no_floor_for_other_names)
{
  for (size_t far = 1; far <= 3; far++) {
    site *s = site_of(3, 1);
    told bad, again, other;

    for (size_t i = 0; i < far; i++)
      set_far_ahead(s, i);
    take_and_release(s, "bad", &bad);
    take_and_release(s, "bad", &again);
    assert_true(again.fence > bad.fence);
    hold(s, 0, &other);
    site_run_for(s, SPAN_MS(100));
    assert_in_range(other.fence / 1024, SITE_START_US, SITE_START_US + 60 * INT64_C(1000000));
    assert_int_equal(with_token(s, other.fence / 1024), 3);
    over(s);
  }
}

RUN_TESTS(NULL, NULL)
