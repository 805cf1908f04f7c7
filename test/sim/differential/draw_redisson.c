/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw_redisson.c - requests for locks in Redisson's format, and what a
 * Java program does to their keys. The name `a` is a plain lock, `b` a fair one, `c` fenced. */
#include "draw.h"

#include <assert.h>
#include <string.h>

#include "dialect/dialect.h"
#include "dialect/redisson/redisson.h"
#include "rendered.h"

static const char *const names[DRAW_NAMES] = { "a", "b", "c" };
static const lock_kind kinds[DRAW_NAMES] = { LOCK_MUTEX, LOCK_FAIR, LOCK_FENCED };

typedef struct drawn_request {
  protocol by;
  size_t name;
  uint64_t ask;
  int64_t ttl_ms;
  lease_id lease;
} drawn_request;

/* Few clients with few asks each, so that they meet again. */
static drawn_request some_request(draw *d)
{
  static const int64_t ttls[] = { 1, 500, 500, 5000, 30000, 30000 };
  drawn_request r = { .by = d->clients[draw_below(d, DRAW_CLIENTS)], .name = draw_below(d, 3),
                .ask = 1 + draw_below(d, 3), .ttl_ms = ttls[draw_below(d, 6)] };

  r.by.dialect = &redisson_dialect;
  r.by.client[CLIENT_ID_SIZE - 2] = 'A';        /* else no 16 bytes */
  r.lease = (lease_id){ .ask = r.ask, .token = 1 };
  memcpy(r.lease.client, r.by.client, CLIENT_ID_SIZE);
  draw_edge(d, r.ttl_ms);
  if (draw_once_in(d, 4))
    draw_edge(d, 30000);                        /* a deadline in the queue */
  return r;
}

static bool acquire(draw *d, const drawn_request *r)
{
  acquire_call c = { .name = names[r->name], .name_size = 1, .ask = r->ask,
                     .ttl_ms = r->ttl_ms, .waits = !draw_once_in(d, 3),
                     .kind = draw_once_in(d, 20) ? LOCK_FAIR : kinds[r->name] };

  if (draw_once_in(d, 6))
    c.until_us = d->wall_us + (int64_t)draw_below(d, 3) - 1;
  if (draw_once_in(d, 6))
    c.min_token = (uint64_t)d->wall_us + draw_below(d, 5000000);
  return RENDERED(redisson_acquire, &r->by, &d->command, false, &c);
}

static bool renew(draw *d, const drawn_request *r)
{
  renew_item items[DRAW_NAMES];
  size_t count = draw_once_in(d, 3) ? DRAW_NAMES : 1;

  for (size_t i = 0; i < count; i++)
    items[i] = (renew_item){ count == 1 ? names[r->name] : names[i], 1, &r->lease, r->ttl_ms };
  return RENDERED(redisson_renew, &r->by, &d->command, false, items, count, 1);
}

/* Keys end, and queues lose their order, their deadlines or their heads. */
static void java(draw *d, const drawn_request *r)
{
  static const char *const queue = "redisson_lock_queue:{b}";
  static const char *const deadlines = "redisson_lock_timeout:{b}";
  char bytes[64];
  text owner = text_over(bytes, sizeof(bytes));
  draw_words w;

  redisson_owner(r->by.client, r->ask, &owner);
  draw_words_init(&w);
  switch (draw_below(d, 6)) {
  case 0:
    draw_template(d, "{DEL|PTTL|HGETALL|PERSIST} {a|b|c}", &w);
    break;
  case 1:
    draw_template(d, "PEXPIRE {a|b|c} $t", &w);
    break;
  case 2:
    draw_template(d, "ZINCRBY", &w);
    draw_add_word(&w, deadlines, strlen(deadlines));
    draw_template(d, "{-5000|-30000|2000}", &w);
    draw_add_word(&w, bytes, owner.used);
    break;
  case 3:
    draw_template(d, "{ZREM|ZSCORE}", &w);
    draw_add_word(&w, deadlines, strlen(deadlines));
    draw_add_word(&w, bytes, owner.used);
    break;
  case 4:
    draw_template(d, "{RPUSH|LPUSH}", &w);
    draw_add_word(&w, queue, strlen(queue));
    draw_add_word(&w, bytes, owner.used);
    break;
  default:
    draw_template(d, "{LPOP|LLEN|DEL}", &w);
    draw_add_word(&w, queue, strlen(queue));
  }
  draw_to_command(d, &w);
}

void draw_redisson(draw *d)
{
  drawn_request r = some_request(d);
  uint64_t kind = draw_below(d, 100);
  int64_t copies_us = draw_once_in(d, 3) ? 899001 : 0;      /* 900 ms from time 1 */
  bool is_made = true;

  buffer_clear(&d->command);
  if (kind < 48)
    is_made = acquire(d, &r);
  else if (kind < 66)
    is_made = RENDERED(redisson_release, &r.by, &d->command, false, names[r.name], 1,
                       &r.lease, copies_us, 1);
  else if (kind < 76)
    is_made = renew(d, &r);
  else if (kind < 86)
    is_made = RENDERED(redisson_cancel, &r.by, &d->command, false, names[r.name], 1,
                       r.ask, copies_us, 1, NULL);
  else if (kind < 90)
    is_made = RENDERED(redisson_break, &r.by, &d->command, false, names[r.name], 1,
                       &r.lease, 1);
  else if (kind < 94)
    is_made = RENDERED(redisson_inspect, &r.by, &d->command, false, names[r.name], 1);
  else
    java(d, &r);
  assert(is_made);
}

/* Of a name, or of one who waits for it. */
void draw_redisson_listener(draw *d)
{
  drawn_request r = some_request(d);
  char bytes[128];
  text channel = text_over(bytes, sizeof(bytes));
  draw_words w;

  redisson_channel(&r.by, names[r.name], 1, 0, kinds[r.name], r.ask, &channel);
  draw_words_init(&w);
  draw_template(d, draw_once_in(d, 4) ? "UNSUBSCRIBE" : "SUBSCRIBE", &w);
  draw_add_word(&w, bytes, channel.used);
  draw_to_command(d, &w);
}
