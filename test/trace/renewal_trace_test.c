/* SPDX-License-Identifier: MIT */
/* Stories of renewals that are late, refused or crossed by a message, and of leases that are
 * shorter than their holder asked for. protocol.md 5. */
#include "tests.h"

#include <string.h>

#include "peer.h"

#define A PEER_CLIENT
#define KEY "dibs:m:{n}"

/* ---- a lease that is over sooner than its holder's ttl ---- */

TEST(a_grant_whose_reply_was_slow_is_renewed_before_it_is_lost)
{
  struct peer *p = peer_asked((struct wish){ .ttl_ms = 2000 });
  long long us = peer_server_us(p);

  peer_expect(p, "acquire*");
  peer_advance_ms(p, 1400);
  peer_answer(p, "[1 %lld 2000 60]", us);
  peer_expect_told(p, "granted a");
  peer_advance_ms(p, 1);
  peer_serve(p, "renew " A ":1:60", "[%lld 0 2000]", peer_server_us(p));
  peer_expect_told(p, "renewed a");
  peer_free(p);
}

TEST(a_confirmation_whose_reply_was_slow_counts_for_the_next_renewal)
{
  struct peer *p = peer_queued((struct wish){ .ttl_ms = 3000 });
  long long us;

  peer_break(p, 0);
  peer_advance_ms(p, 3500);
  peer_connect(p, 0);
  peer_serve(p, "acquire " KEY " 1 w", "[2 %lld 2500 3000 60 0]", peer_server_us(p));
  peer_expect(p, "renew " A ":1:60");
  us = peer_server_us(p);
  peer_advance_ms(p, 700);
  peer_answer(p, "[%lld 0 3000]", us);
  peer_expect_told(p, "granted a");
  peer_advance_ms(p, 410);               /* a third of its ttl since the renewal */
  peer_expect(p, "renew " A ":1:60");
  peer_free(p);
}

RUN_TESTS(NULL, NULL)
