/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw.c - where a sequence begins, and how its time goes on. */
#include "draw.h"

#include <assert.h>
#include <string.h>

void draw_init(draw *d)
{
  memset(d, 0, sizeof(*d));
  buffer_init(&d->command, &frame_heap);
}

void draw_deinit(draw *d) { buffer_deinit(&d->command); }

void draw_begin(draw *d, uint64_t seed, int64_t wall_us)
{
  random_seed(&d->random, seed);
  d->wall_us = wall_us;
  d->edge_count = d->lease_count = 0;
  memset(d->is_loaded, 0, sizeof(d->is_loaded));
  d->asked.token = d->asked.ask = 0;
  d->count = 1;
  for (int who = 0; who < DRAW_CLIENTS; who++) {
    memset(&d->clients[who], 0, sizeof(d->clients[who]));
    memcpy(d->clients[who].prefix, "dibs", 5);
    memset(d->clients[who].client, 'A' + who, CLIENT_ID_SIZE - 1);
    d->asks[who] = 1;
  }
}

void draw_edge(draw *d, int64_t ms)
{
  if (ms > 0)
    d->edges_us[d->edge_count++ % DRAW_EDGES] = d->wall_us + ms * 1000;
}

/* The last microsecond before it, its own, and those around the next whole millisecond. */
static void go_to_an_edge(draw *d)
{
  static const int64_t around_us[] = { -1001, -1000, -1, 0, 1, 999, 1000, 1001 };
  size_t known = d->edge_count < DRAW_EDGES ? d->edge_count : DRAW_EDGES;
  int64_t at = d->wall_us;

  if (known > 0 && draw_once_in(d, 2))
    at = d->edges_us[(d->edge_count - 1) % DRAW_EDGES];      /* of what was just done */
  else if (known > 0)
    at = d->edges_us[draw_below(d, known)];
  at += around_us[draw_below(d, 8)];
  if (draw_once_in(d, 2))              /* the beginning, or the end, of its millisecond */
    at = at / 1000 * 1000 + (draw_once_in(d, 2) ? 999 : 0);
  if (at > d->wall_us)
    d->wall_us = at;
}

void draw_time(draw *d)
{
  uint64_t kind = draw_below(d, 40);

  if (kind < 5)
    go_to_an_edge(d);
  else if (kind == 5)
    d->wall_us += (int64_t)draw_below(d, 40000000);
  else if (kind == 6 && draw_once_in(d, 3))
    d->wall_us -= (int64_t)draw_below(d, 5000000);
  else if (kind < 20)
    d->wall_us += (int64_t)draw_below(d, 3000);
}

/* ---- scripts ---- */

/* Its place in the table; script_count: none of ours. */
static size_t script_of(frame digest)
{
  size_t i = 0;

  while (i < script_count
         && (digest.size != 40 || memcmp(digest.bytes, script_table[i]->sha1, 40) != 0))
    i++;
  return i;
}

void draw_text_of_script(draw *d)
{
  frame command = { buffer_bytes(&d->command), buffer_size(&d->command) };
  size_t count = (size_t)frame_count(command), i;
  resp_argument words[256];
  buffer changed;

  if (count < 3 || count > 256 || frame_text(frame_child(command, 0)).size != 7)
    return;                                     /* not EVALSHA */
  i = script_of(frame_text(frame_child(command, 1)));
  if (i == script_count || draw_once_in(d, 40) || (d->is_loaded[i] && !draw_once_in(d, 20)))
    return;
  assert(i < DRAW_SCRIPTS);
  d->is_loaded[i] = true;
  for (size_t w = 2; w < count; w++) {
    frame word = frame_text(frame_child(command, w));
    words[w] = (resp_argument){ word.bytes, word.size };
  }
  words[0] = RESP_TEXT("EVAL");
  words[1] = (resp_argument){ script_table[i]->bytes, script_table[i]->size };
  buffer_init(&changed, &frame_heap);
  if (!resp_command(&changed, words, count))
    assert(false);
  buffer_deinit(&d->command);
  d->command = changed;
}

/* ---- leases ---- */

static void add_lease(draw *d, const lease_id *l)
{
  d->leases[d->lease_count++ % DRAW_LEASES] = *l;
}

static bool is_token(frame f)
{
  return f.bytes[0] == ':' && f.size >= 19 && f.size <= 20;    /* 16 or 17 digits */
}

/* A grant, as the one is told who asked: T alone, or {1|2, now, ..., T, ...}. */
static void learn_grant(draw *d, frame said)
{
  lease_id l = d->asked;
  frame found = said;

  if (l.ask == 0)
    return;
  if (frame_count(said) >= 4) {
    frame code = frame_child(said, 0);
    if (code.bytes[0] != ':' || (code.bytes[1] != '1' && code.bytes[1] != '2'))
      return;
    for (size_t i = 3; i < (size_t)frame_count(said); i++)
      if (is_token(frame_child(said, i)))
        found = frame_child(said, i);
  }
  if (!is_token(found))
    return;
  found = frame_text(found);
  if (text_to_uint(found.bytes, found.size, &l.token))
    add_lease(d, &l);
}

/* Lease strings anywhere: of those who hold, and in messages. */
static void learn_strings(draw *d, frame said)
{
  const char *end = said.bytes + said.size, *at = said.bytes;

  while (at < end && (at = memchr(at, ':', (size_t)(end - at))) != NULL) {
    const char *from = at, *to = at;
    lease_id l;

    while (from > said.bytes && strchr(" \n=", from[-1]) == NULL)
      from--;
    while (to < end && strchr(" \r", *to) == NULL)
      to++;
    if (from < at && lease_id_read(from, (size_t)(to - from), &l))
      add_lease(d, &l);
    at = to;
  }
}

void draw_learn(draw *d, frame said)
{
  if (said.size == 0)
    return;
  if (said.size > 9 && memcmp(said.bytes, "-NOSCRIPT", 9) == 0)
    memset(d->is_loaded, 0, sizeof(d->is_loaded));
  learn_grant(d, said);
  learn_strings(d, said);
  d->asked.ask = 0;
}
