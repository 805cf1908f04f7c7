/* SPDX-License-Identifier: MIT */
/* test/trace/seat.c - see seat.h. */
#include "seat.h"

struct peer *seated(struct wish w)
{
  struct peer *p;

  w.ttl_ms = w.ttl_ms > 0 ? w.ttl_ms : 3000;
  p = peer_asked(w);
  peer_expect(p, "share_acquire*");
  peer_answer(p, "[1 %lld %lld %lld 60 %lld]", peer_server_us(p), (long long)w.ttl_ms,
              (long long)w.ttl_ms, (long long)(w.units > 0 ? w.units : 1));
  peer_expect_told(p, "granted a");
  return p;
}

void seat_answer_waiting(struct peer *p, int rank, int last)
{
  peer_answer(p, "[3 %lld 30000 30000 '" PEER_OTHER ":9:50 0 %d %d]", peer_server_us(p),
              rank, last);
}

struct peer *seat_queued(struct wish w)
{
  struct peer *p;

  w.ttl_ms = 3000;
  p = peer_asked(w);
  peer_serve(p, "share_acquire*", "[6 %lld]", peer_server_us(p));
  peer_connect(p, 1);
  peer_expect(p, "share_acquire*");
  seat_answer_waiting(p, 0, 50);
  return p;
}
