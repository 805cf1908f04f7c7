/* SPDX-License-Identifier: MIT */
/* test/lib/proxy_flow.c - bytes through the proxy, and what faults do to them. */
#include "proxy_parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "server_parts.h"

enum { TO_SERVER, TO_CLIENT };
enum { TRICKLE_US = 100 };   /* time for the reader to see each byte alone */

static bool contains(const char *bytes, size_t size, const char *word)
{
  return memmem(bytes, size, word, strlen(word)) != NULL;
}

bool connection_is_chosen(const struct test_proxy *p, const struct connection *c)
{
  return p->only[0] == '\0' || contains(c->opening, c->opening_size, p->only);
}

enum flow_mode flow_mode_of(const struct test_proxy *p, const struct connection *c,
                            int which)
{
  return connection_is_chosen(p, c) ? p->direction[which].mode : FLOW_PASS;
}

void connection_cut(struct test_proxy *p, struct connection *c)
{
  struct linger now = { .l_onoff = 1, .l_linger = 0 };

  if (c->is_cut)
    return;
  c->is_cut = true;
  for (int i = 0; i < 2; i++) {
    (void)setsockopt(c->fd[i], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    (void)close(c->fd[i]);
    c->fd[i] = -1;
  }
  p->generation++;
  (void)pthread_cond_broadcast(&p->changed);
}

static void cut_by_fault(struct test_proxy *p, struct connection *c)
{
  p->counts.cuts++;
  connection_cut(p, c);
}

void flow_count_drop(struct test_proxy *p, struct flow *f, int which, size_t size)
{
  f->has_lost = true;
  *(which == TO_SERVER ? &p->counts.dropped_to_server : &p->counts.dropped_to_client) +=
    size;
  (void)pthread_cond_broadcast(&p->changed);
}

static int64_t due_now(struct test_proxy *p, const struct connection *c, int which)
{
  const struct direction *d = &p->direction[which];
  int64_t us = 0;

  if (flow_mode_of(p, c, which) == FLOW_DELAY) {
    us = (int64_t)d->delay_ms * 1000;
    if (d->delay_ms_max > d->delay_ms)
      us += (int64_t)proxy_random(p, (uint64_t)(d->delay_ms_max - d->delay_ms) * 1000);
  }
  return test_now_us() + us;
}

void flow_queue(struct test_proxy *p, struct connection *c, int which, const char *bytes,
                size_t size, int64_t due_us)
{
  struct flow *f = &c->flow[which];
  struct chunk *chunk = malloc(sizeof(*chunk) + size);

  (void)p;

  if (chunk == NULL)
    test_bail_out("no memory");
  memcpy(chunk->bytes, bytes, size);
  chunk->next = NULL;
  chunk->size = size;
  chunk->sent = 0;
  chunk->due_us = due_us;
  *f->last = chunk;
  f->last = &chunk->next;
  f->queued += size;
}

static void queue(struct test_proxy *p, struct connection *c, int which,
                  const char *bytes, size_t size)
{
  flow_queue(p, c, which, bytes, size, due_now(p, c, which));
}

/* Once its limit of bytes is used up, a direction lets nothing more through. */
static void queue_to_the_limit(struct test_proxy *p, struct connection *c, int which,
                               const char *bytes, size_t size)
{
  struct direction *d = &p->direction[which];

  if (!d->has_cut_after || !connection_is_chosen(p, c)) {
    queue(p, c, which, bytes, size);
  } else if (size <= d->cut_after) {
    d->cut_after -= size;
    queue(p, c, which, bytes, size);
  } else {
    if (d->cut_after > 0)
      queue(p, c, which, bytes, (size_t)d->cut_after);
    d->has_cut_after = false;
    (void)flow_write(p, c, which, INT64_MAX);
    if (!c->is_cut)
      cut_by_fault(p, c);
  }
}

/* ---- to the server: look for words ---- */

static bool word_appears(struct connection *c, const char *bytes, size_t size,
                         const char *word)
{
  char joint[PROXY_WORD * 4];
  size_t head = size < PROXY_WORD ? size : PROXY_WORD;

  if (word[0] == '\0')
    return false;
  memcpy(joint, c->recent, c->recent_size);
  memcpy(joint + c->recent_size, bytes, head);
  return contains(bytes, size, word) || contains(joint, c->recent_size + head, word);
}

static void remember(struct connection *c, const char *bytes, size_t size)
{
  size_t room = PROXY_OPENING - c->opening_size, old;

  if (room > size)
    room = size;
  memcpy(c->opening + c->opening_size, bytes, room);
  c->opening_size += room;
  if (size > PROXY_WORD) {
    bytes += size - PROXY_WORD;
    size = PROXY_WORD;
  }
  old = c->recent_size < PROXY_WORD ? c->recent_size : PROXY_WORD;
  memmove(c->recent, c->recent + c->recent_size - old, old);
  memcpy(c->recent + old, bytes, size);
  c->recent_size = old + size;
}

/* A piece of one command, at most up to its end. */
static void take_command(struct test_proxy *p, struct connection *c, const char *bytes,
                         size_t size, bool is_end)
{
  bool is_found = word_appears(c, bytes, size, p->lose);

  remember(c, bytes, size);
  if (is_found && !c->is_losing && connection_is_chosen(p, c)) {
    c->is_losing = true;
    c->cut_at = c->asked + 1;
    p->lose[0] = '\0';
  }
  if (is_end)
    c->recent_size = 0;
  if (p->has_chances || c->command_size > 0) {
    chance_take_command(p, c, bytes, size, is_end);
    return;
  }
  c->asked += is_end;
  queue_to_the_limit(p, c, TO_SERVER, bytes, size);
}

/* ---- to the client: swallow replies ---- */

static void silence_if_due(struct test_proxy *p, struct connection *c, bool is_end)
{
  if (!is_end || p->silence_after == 0 || --p->silence_after > 0)
    return;
  (void)flow_write(p, c, TO_CLIENT, INT64_MAX);       /* this reply arrives */
  p->direction[TO_CLIENT].mode = FLOW_BLACK_HOLE;
  p->counts.silent_since_us = test_now_us();
}

static void take_reply(struct test_proxy *p, struct connection *c, const char *bytes,
                       size_t size, bool is_end)
{
  bool is_swallowing = p->swallow > 0 && connection_is_chosen(p, c);
  bool is_twin = chance_is_twin(c, is_end);

  c->answered += is_end;
  if (is_twin && !c->is_losing)
    return;
  if (!is_swallowing && !c->is_losing) {
    queue_to_the_limit(p, c, TO_CLIENT, bytes, size);
    silence_if_due(p, c, is_end);
    return;
  }
  p->counts.replies_swallowed += is_end;
  flow_count_drop(p, &c->flow[TO_CLIENT], TO_CLIENT, size);
  /* What follows a dropped beginning is not another reply. */
  if (is_swallowing && is_end && --p->swallow == 0)
    cut_by_fault(p, c);
  else if (c->is_losing && c->answered >= c->cut_at)
    cut_by_fault(p, c);
}

void flow_take(struct test_proxy *p, struct connection *c, int which, const char *bytes,
               size_t size)
{
  struct flow *f = &c->flow[which];

  bool is_swallowing = which == TO_CLIENT && (p->swallow > 0 || c->is_losing);

  if (flow_mode_of(p, c, which) == FLOW_BLACK_HOLE || (f->has_lost && !is_swallowing)) {
    if (which == TO_SERVER)
      remember(c, bytes, size);
    flow_count_drop(p, f, which, size);
    return;
  }
  while (size > 0 && !c->is_cut) {
    bool is_end;
    size_t taken = resp_scan_feed(&f->scan, bytes, size, &is_end);
    if (which == TO_SERVER)
      take_command(p, c, bytes, taken, is_end);
    else
      take_reply(p, c, bytes, taken, is_end);
    bytes += taken;
    size -= taken;
  }
}

void flow_end(struct test_proxy *p, struct connection *c, int which, bool is_reset)
{
  struct flow *f = &c->flow[which];
  enum flow_mode mode = flow_mode_of(p, c, which);

  f->is_ended = true;
  if (mode == FLOW_BLACK_HOLE)
    f->has_lost = true;
  else if (is_reset && mode != FLOW_HOLD && !f->has_lost)
    connection_cut(p, c);
}

/* ---- out ---- */

static void drop_chunk(struct flow *f)
{
  struct chunk *c = f->first;

  f->first = c->next;
  if (f->first == NULL)
    f->last = &f->first;
  free(c);
}

/* One write; false when the socket takes no more now, or is gone. */
static bool write_some(struct test_proxy *p, struct connection *c, int which)
{
  struct flow *f = &c->flow[which];
  struct chunk *chunk = f->first;
  bool is_trickle = flow_mode_of(p, c, which) == FLOW_TRICKLE;
  int rate = flow_mode_of(p, c, which) == FLOW_RATE ? p->direction[which].rate : 0;
  size_t size = chunk->size - chunk->sent;
  ssize_t sent;

  if (is_trickle)
    size = 1;
  if (rate > 0 && size > (size_t)rate / 50 + 1)
    size = (size_t)rate / 50 + 1;
  sent = send(c->fd[!which], chunk->bytes + chunk->sent, size, MSG_NOSIGNAL);
  if (sent < 0) {
    if (errno != EAGAIN && errno != EINTR)
      connection_cut(p, c);
    return false;
  }
  chunk->sent += (size_t)sent;
  if (is_trickle)
    chunk->due_us = test_now_us() + TRICKLE_US;
  if (rate > 0)
    f->ready_us = test_now_us() + sent * 1000000 / rate;
  f->queued -= (size_t)sent;
  *(which == TO_SERVER ? &p->counts.passed_to_server : &p->counts.passed_to_client) +=
    (uint64_t)sent;
  if (chunk->sent == chunk->size)
    drop_chunk(f);
  (void)pthread_cond_broadcast(&p->changed);
  return true;
}

int64_t flow_write(struct test_proxy *p, struct connection *c, int which, int64_t now)
{
  struct flow *f = &c->flow[which];
  enum flow_mode mode = flow_mode_of(p, c, which);

  if (mode == FLOW_BLACK_HOLE || f->has_lost)
    while (f->first != NULL) {
      flow_count_drop(p, f, which, f->first->size - f->first->sent);
      f->queued = 0;
      drop_chunk(f);
    }
  if (mode == FLOW_HOLD || c->is_cut)
    return INT64_MAX;
  while (f->first != NULL) {
    if (f->first->due_us > now)
      return f->first->due_us;
    if (mode == FLOW_RATE && f->ready_us > now)
      return f->ready_us;
    if (!write_some(p, c, which))
      return c->is_cut ? INT64_MAX : 0;
  }
  if (f->is_ended && !f->is_end_passed && !f->has_lost) {
    f->is_end_passed = true;
    (void)shutdown(c->fd[!which], SHUT_WR);
  }
  return INT64_MAX;
}
