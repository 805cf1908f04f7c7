/* SPDX-License-Identifier: MIT */
/* Connections: bytes on their way, in order, each piece as late as chance and faults want.
 * Order is kept inside a direction of one connection, and nowhere else. */
#include "world/world.h"

#include <stdlib.h>
#include <string.h>

/* So long a server of today keeps a connection whose other end is silent. */
#define KEEPALIVE_NS (300ll * 1000000000)

/* ---- streams ---- */

static void stream_clear(stream *s)
{
  while (s->first != NULL) {
    chunk *c = s->first;

    s->first = c->next;
    free(c);
  }
  s->last = NULL;
}

static void stream_follow(dibs_sim *sim, stream *s)
{
  if (s->first == NULL)
    timers_clear(&sim->events, &s->timer.timer);
  else if (!timer_is_set(&s->timer.timer))
    sim_timer_set(sim, &s->timer, s->first->due);
}

static chunk *stream_take(stream *s)
{
  chunk *c = s->first;

  s->first = c->next;
  if (s->first == NULL)
    s->last = NULL;
  return c;
}

static int64_t delay(wire *w)
{
  const dibs_sim_options *o = &w->process->sim->options;
  random_source *r = &w->process->sim->random_network;
  uint64_t width = (uint64_t)(o->delay_max_us - o->delay_min_us) * 1000 + 1;
  int64_t ns = (int64_t)o->delay_min_us * 1000 + (int64_t)random_below(r, width);

  if (w->process->slow_until > w->process->sim->now && w->process->slow_ms > 0)
    ns += (int64_t)random_below(r, (uint64_t)w->process->slow_ms * 1000000);
  return ns;
}

static void stream_add(wire *w, int direction, const void *bytes, size_t size, int64_t due,
                       bool is_end)
{
  stream *s = &w->streams[direction];
  chunk *c = sim_zalloc(sizeof(*c) + size);

  c->due = s->last != NULL && s->last->due > due ? s->last->due : due;
  c->size = size;
  c->is_end = is_end;
  if (size > 0)
    memcpy(c->bytes, bytes, size);
  if (s->last != NULL)
    s->last->next = c;
  else
    s->first = c;
  s->last = c;
  stream_follow(w->process->sim, s);
}

void wire_send(wire *w, int direction, const void *bytes, size_t size, bool is_end)
{
  dibs_sim *sim = w->process->sim;
  const char *at = bytes;
  size_t first = size;

  if (w->streams[direction].has_hole || (direction == UP ? w->server == NULL
                                                         : w->drive == NULL))
    return;                        /* nobody is there to get it */
  if (size > 1 && sim_chance(&sim->random_network, sim->options.split_per_mille))
    first = 1 + (size_t)random_below(&sim->random_network, size - 1);
  stream_add(w, direction, at, first, sim->now + delay(w), is_end && first == size);
  if (first < size)
    stream_add(w, direction, at + first, size - first, sim->now + delay(w), is_end);
}

/* ---- life ---- */

void wire_new(drive *d, int link, const server_url *to)
{
  dibs_sim *sim = d->process->sim;
  wire *w = sim_zalloc(sizeof(*w));

  w->process = d->process;
  w->host = host_find(sim, to == NULL ? NULL : to->host, to == NULL ? 0 : to->port);
  w->drive = d;
  w->link = link;
  w->number = ++sim->last_wire;
  d->wires[link] = w;
  w->next = sim->wires;
  if (w->next != NULL)
    w->next->previous = w;
  sim->wires = w;
  sim_timer_new(sim, &w->open, EVENT_OPEN, w);
  sim_timer_new(sim, &w->gone, EVENT_GONE, w);
  sim_timer_new(sim, &w->streams[UP].timer, EVENT_UP, w);
  sim_timer_new(sim, &w->streams[DOWN].timer, EVENT_DOWN, w);
  sim_timer_set(sim, &w->open, sim->now + delay(w) + delay(w));
}

void wire_free(wire *w)
{
  dibs_sim *sim = w->process->sim;

  if (w->previous != NULL)
    w->previous->next = w->next;
  else
    sim->wires = w->next;
  if (w->next != NULL)
    w->next->previous = w->previous;
  if (w->server != NULL)
    host_hang_up(w);
  stream_clear(&w->streams[UP]);
  stream_clear(&w->streams[DOWN]);
  sim_timer_end(sim, &w->open);
  sim_timer_end(sim, &w->gone);
  sim_timer_end(sim, &w->streams[UP].timer);
  sim_timer_end(sim, &w->streams[DOWN].timer);
  free(w);
}

static void leave_client(wire *w)
{
  if (w->drive != NULL)
    w->drive->wires[w->link] = NULL;
  w->drive = NULL;
  stream_clear(&w->streams[DOWN]);
  stream_follow(w->process->sim, &w->streams[DOWN]);
}

void wire_vanish(wire *w)
{
  leave_client(w);
  if (w->server == NULL)
    wire_free(w);
  else
    sim_timer_set(w->process->sim, &w->gone, w->process->sim->now + KEEPALIVE_NS);
}

void wire_let_go(wire *w)
{
  if (w->streams[UP].has_hole || !w->is_open) {
    wire_vanish(w);
    return;
  }
  leave_client(w);
  if (w->server == NULL)
    wire_free(w);
  else
    wire_send(w, UP, NULL, 0, true);
}

/* ---- breaking ---- */

/* The client learns as soon as it runs and looks. */
static void report_client(wire *w, int64_t due)
{
  if (w->drive == NULL)
    return;
  w->streams[DOWN].has_hole = false;
  stream_add(w, DOWN, NULL, 0, due, true);
}

void wire_reset(wire *w, const char *words)
{
  dibs_sim *sim = w->process->sim;

  trace(sim, w->process, "connection %llu is reset: %s", (unsigned long long)w->number, words);
  for (int i = 0; i < 2; i++) {
    stream_clear(&w->streams[i]);
    timers_clear(&sim->events, &w->streams[i].timer.timer);
  }
  if (w->server != NULL)
    host_hang_up(w);
  if (w->drive == NULL)
    wire_free(w);
  else
    report_client(w, sim->now);
}

void wire_cut_late(wire *w, int64_t ns)
{
  dibs_sim *sim = w->process->sim;
  stream *up = &w->streams[UP];
  int64_t before = sim->now;

  if (w->drive == NULL || w->server == NULL)
    return;
  trace(sim, w->process, "connection %llu breaks, what it sent may come later",
        (unsigned long long)w->number);
  for (chunk *c = up->first; c != NULL; c = c->next) {
    c->due += ns > 0 ? (int64_t)random_below(&sim->random_faults, (uint64_t)ns) : 0;
    if (c->due < before)
      c->due = before;
    before = c->due;
  }
  timers_clear(&sim->events, &up->timer.timer);
  wire_send(w, UP, NULL, 0, true);
  stream_clear(&w->streams[DOWN]);
  timers_clear(&sim->events, &w->streams[DOWN].timer.timer);
  report_client(w, sim->now);
}

void wire_end_by_server(wire *w)
{
  dibs_sim *sim = w->process->sim;

  host_hang_up(w);
  stream_clear(&w->streams[UP]);
  timers_clear(&sim->events, &w->streams[UP].timer.timer);
  if (w->drive == NULL)
    wire_free(w);
  else
    wire_send(w, DOWN, NULL, 0, true);
}

void wires_of_host_end(host *h)
{
  wire *next;

  for (wire *w = h->sim->wires; w != NULL; w = next) {
    next = w->next;
    if (w->host == h && w->server != NULL)
      wire_end_by_server(w);
  }
}

/* ---- events ---- */

/* Until when nothing passes between this program and this server. */
static int64_t apart_until(const wire *w)
{
  int64_t own = w->host == NULL ? 0 : w->process->apart_from[w->host->number - 1];

  return w->host != NULL && w->host->apart_from_programs > own ? w->host->apart_from_programs
                                                               : own;
}

/* When this direction lets bytes through again; 0: now. A hole swallows them. */
static int64_t held_until(const wire *w, int direction)
{
  int64_t until = w->process->held_until[direction];

  if (apart_until(w) > until)
    until = apart_until(w);
  return until > w->process->sim->now ? until : 0;
}

static bool swallowed(wire *w, int direction)
{
  stream *s = &w->streams[direction];

  if (w->process->holed_until[direction] <= w->process->sim->now)
    return false;
  trace(w->process->sim, w->process, "bytes vanish %s", direction == UP ? "on their way up"
                                                                        : "on their way down");
  s->has_hole = true;
  stream_clear(s);
  if (direction == UP && w->drive == NULL)
    sim_timer_set(w->process->sim, &w->gone, w->process->sim->now + KEEPALIVE_NS);
  return true;
}

static void opened(dibs_sim *sim, wire *w)
{
  const process *p = w->process;
  int64_t later = p->paused_until;

  for (int i = 0; i < 2; i++) {
    later = p->held_until[i] > later ? p->held_until[i] : later;
    later = p->holed_until[i] > later ? p->holed_until[i] : later;
  }
  if (apart_until(w) > later)
    later = apart_until(w);
  if (later > sim->now) {
    sim_timer_set(sim, &w->open, later);
    return;
  }
  if (w->host == NULL || host_is_down(w->host) || p->refused_until > sim->now) {
    drive *d = w->drive;

    trace(sim, p, "cannot connect");
    leave_client(w);
    drive_wire_down(d, w, w->host == NULL ? "no such host" : "connection refused");
    wire_free(w);
    return;
  }
  w->is_open = true;
  w->server = sim_server_accept(w->host->server);
  sim_connection_set_data(w->server, w);
  drive_wire_up(w->drive, w);
}

static void up(dibs_sim *sim, wire *w)
{
  int64_t later = held_until(w, UP);
  chunk *c;

  if (later == 0 && host_is_paused(w->host))
    later = w->host->paused_until;
  if (later > 0) {
    sim_timer_set(sim, &w->streams[UP].timer, later);
    return;
  }
  if (swallowed(w, UP))
    return;
  c = stream_take(&w->streams[UP]);
  stream_follow(sim, &w->streams[UP]);
  if (c->is_end) {
    host_hang_up(w);
    if (w->drive == NULL)
      wire_free(w);
  } else if (w->server != NULL) {      /* else sent after the end, before it was told */
    trace_bytes(sim, w, UP, c->bytes, c->size);
    sim_mix_bytes(sim, c->bytes, c->size);
    host_receive(w->host, w, c->bytes, c->size);
  }
  free(c);
}

static void down(dibs_sim *sim, wire *w)
{
  int64_t later = held_until(w, DOWN);
  drive *d = w->drive;
  chunk *c;

  if (w->process->paused_until > sim->now && w->process->paused_until > later)
    later = w->process->paused_until;
  if (later > 0) {
    sim_timer_set(sim, &w->streams[DOWN].timer, later);
    return;
  }
  if (!drive_serve(d) || swallowed(w, DOWN))
    return;                        /* wire_served() comes back to it */
  c = stream_take(&w->streams[DOWN]);
  stream_follow(sim, &w->streams[DOWN]);
  sim_mix_bytes(sim, c->bytes, c->size);
  if (c->is_end) {
    leave_client(w);
    drive_wire_down(d, w, "lost server");
    if (w->server == NULL && w->streams[UP].first == NULL)
      wire_free(w);
  } else {
    trace_bytes(sim, w, DOWN, c->bytes, c->size);
    drive_wire_bytes(d, w, c->bytes, c->size);
  }
  free(c);
}

void wire_event(dibs_sim *sim, wire *w, int kind)
{
  switch (kind) {
  case EVENT_OPEN:
    opened(sim, w);
    break;
  case EVENT_UP:
    up(sim, w);
    break;
  case EVENT_DOWN:
    down(sim, w);
    break;
  default:
    wire_free(w);
    break;
  }
}

void wire_served(wire *w)
{
  stream_follow(w->process->sim, &w->streams[DOWN]);
}
