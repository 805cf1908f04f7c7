/* SPDX-License-Identifier: MIT */
/* Unit: api/inspect_quorum - the answers of several servers about one name become one. */
#include "tests.h"

#include <stdlib.h>
#include <string.h>

#include "api/api.h"

#define FENCE 1000u      /* the token that a majority has */

/* Servers with these tokens of the same lease; `holders` 0: it is over. */
static uint64_t token_shown(size_t holders, const uint64_t *tokens, size_t count, size_t silent)
{
  inspect_answer *all = calloc(count + 1, sizeof(*all));
  uint64_t shown;

  assert_non_null(all);
  for (size_t i = 0; i < count; i++)
    all[i] = (inspect_answer){ .last_token = tokens[i], .holder_count = holders,
                               .shown_holders = holders,
                               .holders = { { .lease = { .client = "me", .token = tokens[i] } } } };
  inspect_majority(all, count, silent, &all[count]);
  assert_int_equal(all[count].holder_count, holders);
  assert_true(holders == 0 || all[count].holders[0].lease.token == all[count].last_token);
  shown = all[count].last_token;
  free(all);
  return shown;
}

TEST(a_higher_token_of_servers_that_granted_late_is_not_the_fence)
{
  assert_int_equal(token_shown(1, (uint64_t[]){ FENCE, FENCE, FENCE + 7 }, 3, 0), FENCE);
  assert_int_equal(token_shown(1, (uint64_t[]){ FENCE + 7, FENCE, FENCE }, 3, 0), FENCE);
}

TEST(nor_is_it_while_servers_of_the_majority_are_silent)
{
  assert_int_equal(token_shown(1, (uint64_t[]){ FENCE, FENCE + 7 }, 2, 1), FENCE);
  assert_int_equal(token_shown(1, (uint64_t[]){ FENCE + 7, FENCE }, 2, 1), FENCE);
  assert_int_equal(token_shown(1, (uint64_t[]){ FENCE + 9, FENCE, FENCE + 7 }, 3, 2), FENCE);
}

/* It gets the fence's when the client has raised it. */
TEST(a_lower_token_of_one_server_is_not_the_fence)
{
  assert_int_equal(token_shown(1, (uint64_t[]){ FENCE - 7, FENCE, FENCE }, 3, 0), FENCE);
}

/* The other one left it at a server when it died; the third server is silent. */
TEST(of_two_clients_that_may_hold_the_name_the_later_one_is_shown)
{
  inspect_answer all[3] = { { .last_token = FENCE - 7, .holder_count = 1, .shown_holders = 1,
                              .holders = { { .lease = { .client = "dead" } } } },
                            { .last_token = FENCE, .holder_count = 1, .shown_holders = 1,
                              .holders = { { .lease = { .client = "me" } } } } };

  inspect_majority(all, 2, 1, &all[2]);
  assert_string_equal(all[2].holders[0].lease.client, "me");
  assert_int_equal(all[2].last_token, FENCE);
}

TEST(a_free_name_has_the_newest_token_or_that_of_most_servers)
{
  assert_int_equal(token_shown(0, (uint64_t[]){ FENCE, FENCE, FENCE + 7 }, 3, 0), FENCE);
  assert_int_equal(token_shown(0, (uint64_t[]){ FENCE, FENCE - 7 }, 2, 1), FENCE);
  assert_int_equal(token_shown(0, (uint64_t[]){ FENCE - 7, FENCE }, 2, 1), FENCE);
}

typedef struct seen { const char *client; uint64_t token; } seen;

/* The holder shown for each order of these answers is the same. */
static void shown_in_each_order(const seen *answers, size_t count, size_t silent,
                                const seen *expected)
{
  inspect_answer *all = calloc(count + 1, sizeof(*all));

  assert_non_null(all);
  assert_int_equal(count, 3);
  for (size_t order = 0; order < 6; order++) {
    size_t first = order % 3, second = (first + 1 + order / 3) % 3;
    size_t places[] = { first, second, 3 - first - second };

    for (size_t i = 0; i < count; i++) {
      const seen *one = &answers[places[i]];

      all[i] = (inspect_answer){ .last_token = one->token, .holder_count = 1, .shown_holders = 1 };
      (void)strcpy(all[i].holders[0].lease.client, one->client);
      all[i].holders[0].lease.token = one->token;
    }
    inspect_majority(all, count, silent, &all[count]);
    assert_string_equal(all[count].holders[0].lease.client, expected->client);
    assert_int_equal(all[count].last_token, expected->token);
  }
  free(all);
}

/* One of them has a lease with two tokens, and that of the other is between them. */
TEST(the_order_of_the_servers_does_not_decide_which_holder_is_shown)
{
  shown_in_each_order((seen[]){ { "me", FENCE }, { "me", FENCE + 20 }, { "dead", FENCE - 7 } },
                      3, 2, &(seen){ "me", FENCE });
  shown_in_each_order((seen[]){ { "dead", FENCE - 7 }, { "dead", FENCE + 20 }, { "me", FENCE } },
                      3, 2, &(seen){ "me", FENCE });
}

TEST(the_later_holder_is_shown_though_fewer_of_the_servers_that_answer_name_it)
{
  shown_in_each_order((seen[]){ { "dead", FENCE - 7 }, { "dead", FENCE - 7 }, { "me", FENCE } },
                      3, 2, &(seen){ "me", FENCE });
}

RUN_TESTS(NULL, NULL)
