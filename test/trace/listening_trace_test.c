/* SPDX-License-Identifier: MIT */
/* Stories of holders that listen for the end of their lease: an administrator's break is
 * learned at once, however long the ttl is. protocol.md 5. */
#include "tests.h"

#include <stdint.h>

#include <dibs/client.h>

#include "peer.h"

#define A PEER_CLIENT
#define LEASE A ":1:60"
#define HOUR_MS 3600000

static void is_broken(struct peer *p)
{
  peer_serve(p, "renew " LEASE, "[%lld -1 0]", peer_server_us(p));
  peer_expect_told(p, "lost a DIBS_LOST");
  peer_expect(p, "release " LEASE);
}

static void is_confirmed(struct peer *p, int64_t remaining_ms)
{
  peer_expect(p, "renew " LEASE);
  peer_answer(p, "[%lld 0 %lld]", peer_server_us(p), (long long)remaining_ms);
}

static struct peer *listening(struct wish w)
{
  struct peer *p = peer_held(w);

  peer_advance_ms(p, 600);
  peer_connect(p, 1);
  return p;
}

TEST(a_short_hold_costs_no_subscription)
{
  struct peer *p = peer_held((struct wish){ 0 });

  peer_advance_ms(p, 400);
  assert_false(peer_wants(p, 1));
  peer_release(p, "a");
  peer_serve(p, "release " LEASE, "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_advance_ms(p, 1000);
  assert_false(peer_wants(p, 1));
  peer_free(p);
}

TEST(a_break_is_learned_at_once)
{
  struct peer *p = listening((struct wish){ .ttl_ms = HOUR_MS });

  is_confirmed(p, HOUR_MS);
  peer_expect_told(p, "renewed a");
  peer_advance_ms(p, 60000);
  peer_expect_nothing(p);
  peer_message(p, "lost " LEASE " n");
  is_broken(p);
  peer_free(p);
}

TEST(a_break_before_the_subscription_is_learned_with_it)
{
  struct peer *p = listening((struct wish){ .ttl_ms = HOUR_MS });

  is_broken(p);
  peer_free(p);
}

/* `n` and `{n}` have one key: a release by the other name would end this lease. */
TEST(a_message_in_another_spelling_is_about_the_same_lease)
{
  struct peer *p = listening((struct wish){ .ttl_ms = HOUR_MS });

  is_confirmed(p, HOUR_MS);
  peer_expect_told(p, "renewed a");
  peer_message(p, "want " LEASE " {n}");
  peer_expect_nothing(p);
  peer_message(p, "lost " LEASE " {n}");
  is_broken(p);
  peer_free(p);
}

/* The renewal that asks leaves the end where it was. */
TEST(a_fixed_lease_listens_and_is_not_renewed)
{
  struct peer *p = listening((struct wish){ .ttl_ms = HOUR_MS, .is_fixed = true });
  int64_t valid_ms = peer_valid_ms(p, "a");

  is_confirmed(p, HOUR_MS - 600);
  peer_expect_told_nothing(p);
  assert_true(peer_valid_ms(p, "a") <= valid_ms);
  peer_advance_ms(p, 60000);
  peer_message(p, "lost " LEASE " n");
  is_broken(p);
  peer_free(p);
}

/* And warns of nothing, as nothing waits. */
TEST(a_refused_inbox_leaves_the_hold_as_it_is)
{
  const char *const refusals[] = { "-ERR unknown command 'SUBSCRIBE'", "-NOPERM no channels" };

  for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
    struct peer *p = peer_held((struct wish){ .ttl_ms = 12000 });

    peer_refuse_inbox(p, refusals[i]);
    peer_advance_ms(p, 600);
    peer_connect(p, 1);
    peer_advance_ms(p, 2500);
    peer_expect_told_nothing(p);
    assert_int_equal(peer_events(p, DIBS_EVENT_WARNING), 0);
    peer_advance_to_command(p);
    is_confirmed(p, 12000);
    peer_expect_told(p, "renewed a");
    peer_free(p);
  }
}

RUN_TESTS(NULL, NULL)
