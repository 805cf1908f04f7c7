/* SPDX-License-Identifier: MIT */
/* Wires: connections to the real server that hold back what is sent and answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <cmocka.h>

#include "chaos.h"

/* Mostly quick, sometimes slow, and now and then longer than a lease. */
int64_t a_while(struct world *w)
{
  if (w->is_healing)
    return 0;
  switch (below(w, 40)) {
  case 0: return (int64_t)below(w, 400) * MS;
  case 1: case 2: case 3: return (int64_t)below(w, 60) * MS;
  default: return (int64_t)below(w, 3000) * 1000;
  }
}

void stream_add(struct world *w, struct stream *s, const char *bytes, size_t size)
{
  struct chunk *c = malloc(sizeof(*c) + size);

  assert_non_null(c);
  c->next = NULL;
  c->due = now_ns() + a_while(w);
  if (s->last != NULL && s->last->due > c->due)
    c->due = s->last->due;
  c->size = size;
  memcpy(c->bytes, bytes, size);
  if (s->last != NULL)
    s->last->next = c;
  else
    s->first = c;
  s->last = c;
}

struct chunk *stream_take(struct stream *s, int64_t now)
{
  struct chunk *c = s->first;

  if (c == NULL || c->due > now)
    return NULL;
  s->first = c->next;
  if (s->first == NULL)
    s->last = NULL;
  return c;
}

static void stream_clear(struct stream *s)
{
  struct chunk *c;

  while ((c = stream_take(s, INT64_MAX)) != NULL)
    free(c);
}

struct wire *wire_free(struct wire *x)
{
  if (x != NULL) {
    stream_clear(&x->in);
    stream_clear(&x->out);
    (void)close(x->fd);
    free(x);
  }
  return NULL;
}

struct wire *wire_new(struct world *w)
{
  struct wire *x = calloc(1, sizeof(*x));
  struct sockaddr_un address = { .sun_family = AF_UNIX };

  assert_non_null(x);
  (void)snprintf(address.sun_path, sizeof(address.sun_path), "%s",
                 test_server_socket(chaos_server));
  x->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(x->fd >= 0);
  assert_int_equal(connect(x->fd, (struct sockaddr *)&address, sizeof(address)), 0);
  x->open_at = now_ns() + a_while(w);
  return x;
}

/* A late request may be granted a lease that nobody asks for any more (S8 is bounded by its
 * `until`, and the lease by its ttl): in time for it to be over in the end. */
static bool may_be_late(const struct world *w)
{
  return now_ns() - w->begun_at < (CHAOS_MS - LATE_MS) * MS;
}

void wire_forget(struct party *p, int i)
{
  struct wire *x = p->wires[i];

  p->wires[i] = NULL;
  if (x == NULL)
    return;
  if (below(p->world, 2) == 0 || !may_be_late(p->world)) {
    (void)wire_free(x);
    return;
  }
  x->close_at = now_ns() + (int64_t)below(p->world, 400) * MS;
  x->next = p->old;
  p->old = x;
}

static void wire_write(struct wire *x, int64_t now)
{
  struct chunk *c;

  while ((c = stream_take(&x->out, now)) != NULL) {
    (void)send(x->fd, c->bytes, c->size, MSG_NOSIGNAL);
    free(c);
  }
}

static bool wire_read(struct world *w, struct wire *x)
{
  char bytes[8192];
  ssize_t got;

  while ((got = recv(x->fd, bytes, sizeof(bytes), MSG_DONTWAIT)) > 0)
    stream_add(w, &x->in, bytes, (size_t)got);
  return got != 0;
}

void wires_carry(struct party *p, int64_t now)
{
  for (int i = 0; i < ONE_SERVER_LINKS; i++)
    if (p->wires[i] != NULL) {
      wire_write(p->wires[i], now);
      (void)wire_read(p->world, p->wires[i]);
    }
  for (struct wire **at = &p->old; *at != NULL;) {
    struct wire *x = *at;

    if (may_be_late(p->world))
      wire_write(x, now);
    if (now < x->close_at && may_be_late(p->world)) {
      at = &x->next;
      continue;
    }
    *at = x->next;
    (void)wire_free(x);
  }
}
