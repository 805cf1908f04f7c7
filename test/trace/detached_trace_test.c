/* SPDX-License-Identifier: MIT */
/* Stories of detached leases: they continue without their client, which ends none of them. */
#include "tests.h"

#include <string.h>

#include "peer.h"

#define A PEER_CLIENT
#define KEY "dibs:m:{n}"
#define BEHIND_B "[3 %lld 29000 30000 '" A ":2:70 0 0]"

TEST(a_detached_lease_is_left_alone_even_when_it_is_wanted)
{
  struct peer *p = peer_held((struct wish){ 0 });
  uint64_t id = 0;

  peer_lock(p, "b", (struct wish){ .name = "m" });    /* keeps an inbox */
  peer_serve(p, "acquire*", "[6 %lld]", peer_server_us(p));
  peer_connect(p, 1);
  peer_expect(p, "renew*");
  peer_expect(p, "acquire*");
  for (id = 1; id < 1u << 16; id++)                   /* the id of "a" is the peer's own */
    if (engine_detach(peer_engine(p), (1ull << 32) | (id - 1), peer_now(p)) == DIBS_OK)
      break;
  peer_advance_ms(p, 0);
  peer_expect_told(p, "detached a DIBS_OK");
  peer_message(p, "want " A ":1:60 n");
  peer_expect_nothing(p);
  peer_free(p);
}

static uint64_t table_bytes(struct peer *p)
{
  return engine_get_stats(peer_engine(p)).table_bytes;
}

TEST(the_memory_of_a_detached_lease_is_counted_and_ends_with_the_next_grant_of_the_name)
{
  struct peer *p = peer_asked((struct wish){ 0 });
  uint64_t of_one = 0;

  for (int round = 0; round < 3; round++) {
    peer_serve(p, "acquire*", "[1 %lld 30000 %d]", peer_server_us(p), 60 + round);
    peer_expect_told(p, "granted a");
    assert_int_equal(peer_detach(p, "a"), DIBS_OK);
    peer_expect_told(p, "detached a DIBS_OK");
    if (round == 0)
      of_one = table_bytes(p);
    assert_in_range(table_bytes(p), 1, of_one);
    peer_lock(p, "a", (struct wish){ 0 });
  }
  peer_serve(p, "acquire*", "[1 %lld 30000 63]", peer_server_us(p));
  peer_expect_told(p, "granted a");
  peer_release(p, "a");
  peer_serve(p, "release " A ":4:63", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_advance_ms(p, 60000);             /* the release is not repeated any more */
  assert_int_equal(table_bytes(p), 0);
  peer_end_clean(p);
}

/* "a" was released, "b" is detached, and "c" gives up: a server that stood still for so long keeps
 * the lease of "b". */
TEST(a_cancel_without_a_reply_leaves_a_detached_lease_alone)
{
  struct peer *p = peer_held((struct wish){ .ttl_ms = 3000, .is_fixed = true });
  bool has_cancelled = false;

  peer_lock(p, "b", (struct wish){ 0 });
  peer_release(p, "a");
  peer_serve(p, "release " A ":1:60", "1");
  peer_expect_told(p, "released a DIBS_OK");
  peer_serve(p, "acquire " KEY " 2 w", "[1 %lld 30000 70]", peer_server_us(p));
  peer_expect_told(p, "granted b");
  peer_lock(p, "c", (struct wish){ .ttl_ms = 200, .wait_ms = 300 });
  assert_int_equal(peer_detach(p, "b"), DIBS_OK);
  peer_expect_told(p, "detached b DIBS_OK");
  peer_serve(p, "acquire " KEY " 3 w", BEHIND_B, peer_server_us(p));
  for (int i = 0; i < 3000; i++) {
    if (peer_try_expect(p, "*")) {
      assert_null(strstr(peer_last_command(p), "release"));
      if (strcmp(peer_last_command(p), "cancel 3") == 0)
        has_cancelled = true;
      else
        peer_answer(p, BEHIND_B, peer_server_us(p));
    }
    (void)peer_try_told(p, "failed c DIBS_TIMED_OUT");
    peer_advance_ms(p, 1);
  }
  assert_true(has_cancelled);
  peer_end_clean(p);
}

RUN_TESTS(NULL, NULL)
