/* SPDX-License-Identifier: MIT */
/* test/lib/peer_story.c - how stories begin, go on after a broken connection, and end. */
#include "peer_parts.h"

struct peer *peer_asked(struct wish w)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", w);
  peer_connect(p, 0);
  return p;
}

struct peer *peer_held(struct wish w)
{
  struct peer *p = peer_asked(w);

  peer_expect(p, "acquire*");
  peer_answer(p, "[1 %lld %lld 60]", peer_server_us(p),
              (long long)(w.ttl_ms > 0 ? w.ttl_ms : 30000));
  peer_expect_told(p, "granted a");
  return p;
}

struct peer *peer_queued(struct wish w)
{
  struct peer *p = peer_asked(w);

  peer_serve(p, "acquire dibs:m:{n} 1 w", "[6 %lld]", peer_server_us(p));
  peer_connect(p, 1);
  peer_expect(p, "acquire dibs:m:{n} 1 w");
  peer_answer(p, "[3 %lld 30000 30000 '" PEER_OTHER ":9:50 0 0]", peer_server_us(p));
  peer_expect_nothing(p);
  return p;
}

void peer_reconnect(struct peer *p)
{
  peer_break(p, 0);
  peer_advance_ms(p, 1);
  peer_connect(p, 0);
}

void peer_end_clean(struct peer *p)
{
  assert_int_equal(engine_get_stats(peer_engine(p)).names, 0);
  peer_expect_told_nothing(p);
  peer_expect_nothing(p);
  peer_free(p);
}
