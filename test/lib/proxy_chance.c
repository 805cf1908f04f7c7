/* SPDX-License-Identifier: MIT */
/* test/lib/proxy_chance.c - what whole commands may meet by chance: loss, loss of the answer,
 * doubling, and arrival when nobody waits for it any more. */
#include "proxy_parts.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server_parts.h"

enum { TO_SERVER, TO_CLIENT };

/* splitmix64: every seed will do. */
uint64_t proxy_random(struct test_proxy *p, uint64_t limit)
{
  uint64_t x = p->random += 0x9e3779b97f4a7c15ULL;

  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return (x ^ (x >> 31)) % limit;
}

static void send_it(struct test_proxy *p, struct connection *c, int64_t due_us)
{
  c->asked++;
  flow_queue(p, c, TO_SERVER, c->command, c->command_size, due_us);
}

/* The client's side ends now; the server's when it has got everything. */
static void orphan(struct test_proxy *p, struct connection *c)
{
  struct linger now = { .l_onoff = 1, .l_linger = 0 };

  (void)setsockopt(c->fd[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
  (void)close(c->fd[0]);
  c->fd[0] = -1;
  c->flow[TO_SERVER].is_ended = true;
  c->flow[TO_CLIENT].has_lost = true;
  p->generation++;               /* the thread may poll the closed one */
}

static void cut(struct test_proxy *p, struct connection *c)
{
  (void)flow_write(p, c, TO_SERVER, INT64_MAX);    /* what came before arrives */
  p->counts.cuts += !c->is_cut;
  connection_cut(p, c);
}

static void send_twice(struct test_proxy *p, struct connection *c)
{
  send_it(p, c, test_now_us());
  c->twins[c->twin_count++] = c->asked + proxy_random(p, 2);
  send_it(p, c, test_now_us());
  p->counts.duplicated++;
}

static void meet_chance(struct test_proxy *p, struct connection *c)
{
  const struct test_proxy_chances *chances = &p->chances;
  int64_t drawn = (int64_t)proxy_random(p, 10000), now = test_now_us();

  p->counts.commands++;
  if ((drawn -= chances->lose_request) < 0) {
    p->counts.requests_lost++;
    cut(p, c);
  } else if ((drawn -= chances->lose_reply) < 0) {
    c->is_losing = true;
    c->cut_at = c->asked + 1;
    p->counts.replies_lost++;
    send_it(p, c, now);
  } else if ((drawn -= chances->duplicate) < 0 && c->twin_count < TWINS_MAX) {
    send_twice(p, c);
  } else if ((drawn -= chances->late) < 0) {
    p->counts.late++;
    send_it(p, c, now + 1000 * (int64_t)proxy_random(p, (uint64_t)chances->late_ms_max + 1));
    orphan(p, c);
  } else if ((drawn -= chances->silence) < 0) {
    p->counts.silenced++;
    flow_count_drop(p, &c->flow[TO_SERVER], TO_SERVER, c->command_size);
  } else {
    send_it(p, c, now);
  }
}

static bool has_chance(const struct test_proxy *p, const struct connection *c)
{
  return p->has_chances && !c->is_losing && c->fd[0] >= 0 && connection_is_chosen(p, c)
         && memmem(c->opening, c->opening_size, "SUBSCRIBE", 9) == NULL
         && memmem(c->command, c->command_size, p->chance_word, strlen(p->chance_word)) != NULL;
}

void chance_take_command(struct test_proxy *p, struct connection *c, const char *bytes,
                         size_t size, bool is_end)
{
  char *grown = realloc(c->command, c->command_size + size);

  if (grown == NULL)
    test_bail_out("no memory");
  memcpy(grown + c->command_size, bytes, size);
  c->command = grown;
  c->command_size += size;
  if (!is_end)
    return;
  if (c->flow[TO_SERVER].has_lost)
    flow_count_drop(p, &c->flow[TO_SERVER], TO_SERVER, c->command_size);
  else if (has_chance(p, c))
    meet_chance(p, c);
  else
    send_it(p, c, test_now_us());
  c->command_size = 0;
}

bool chance_is_twin(struct connection *c, bool is_end)
{
  bool is_twin = c->twin_count > 0 && c->answered + 1 == c->twins[0];

  if (is_twin && is_end) {
    c->twin_count--;
    memmove(c->twins, c->twins + 1, c->twin_count * sizeof(c->twins[0]));
  }
  return is_twin;
}
