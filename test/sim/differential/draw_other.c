/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw_other.c - requests of latches, barriers, elections and guarded
 * writes; and calls of our scripts that make no sense. */
#include "draw.h"

#include <assert.h>
#include <string.h>

#include "dialect/native/barrier.h"
#include "dialect/native/election.h"
#include "dialect/native/guard.h"
#include "dialect/native/latch.h"
#include "rendered.h"

static protocol *some_client(draw *d) { return &d->clients[draw_below(d, DRAW_CLIENTS)]; }

/* Numbers of requests: mostly new, sometimes one that was there before. */
static uint64_t some_number(draw *d)
{
  return draw_once_in(d, 4) && d->count > 3 ? d->count - draw_below(d, 3) : ++d->count;
}

static bool latch(draw *d)
{
  protocol *by = some_client(d);
  latch_call c = { .name = "s1", .name_size = 2, .number = some_number(d),
                   .count = 1 + (int64_t)draw_below(d, 3), .id = "id-1", .id_size = 4 };

  if (draw_once_in(d, 2))
    c.id_size = 0;
  switch (draw_below(d, 8)) {
  case 0: case 1: return RENDERED(native_latch_set, by, &d->command, false, &c);
  case 2:         return RENDERED(native_latch_delete, by, &d->command, false, &c);
  case 3:         return RENDERED(native_latch_look, by, &d->command, false, c.name,
                                  c.name_size);
  default:        return RENDERED(native_latch_down, by, &d->command, false, &c);
  }
}

static bool barrier(draw *d)
{
  protocol *by = some_client(d);
  barrier_call c = { .name = "a", .name_size = 1, .party = 1 + draw_below(d, 3), .parties = 3,
                     .generation = draw_below(d, 3), .silence_ms = BARRIER_SILENCE_MS };

  draw_edge(d, BARRIER_SILENCE_MS);
  if (draw_once_in(d, 10))
    c.parties = 2;
  switch (draw_below(d, 10)) {
  case 0:         return RENDERED(native_barrier_leave, by, &d->command, false, &c);
  case 1: case 2: return RENDERED(native_barrier_look, by, &d->command, false, "a", 1);
  case 3:         return RENDERED(native_barrier_reset, by, &d->command, false, "a", 1,
                                  c.generation);
  default:        return RENDERED(native_barrier_arrive, by, &d->command, false, &c);
  }
}

static bool election(draw *d)
{
  protocol *by = some_client(d);
  lease_id l = { .ask = 1, .token = 1 };
  publish_call c = { .name = "a", .name_size = 1, .lease = &l, .publication = draw_below(d, 4),
                     .ttl_ms = 30000, .value = "me", .value_size = draw_below(d, 3) };

  memcpy(l.client, by->client, CLIENT_ID_SIZE);
  if (d->lease_count > 0)
    l = d->leases[(d->lease_count - 1) % DRAW_LEASES];
  c.fence = l.token * 1024 + draw_below(d, 2);
  switch (draw_below(d, 4)) {
  case 0:  return RENDERED(native_elect_look, by, &d->command, false, "a", 1);
  case 1:  return RENDERED(native_elect_clear, by, &d->command, false, &c);
  default: return RENDERED(native_elect_publish, by, &d->command, false, &c);
  }
}

void draw_observed(draw *d)
{
  uint64_t kind = draw_below(d, 8);
  bool is_made;

  if (kind == 0) {                       /* elections are among those who have locks */
    draw_lock(d);
    return;
  }
  buffer_clear(&d->command);
  is_made = kind < 3 ? latch(d) : kind < 6 ? barrier(d) : election(d);
  assert(is_made);
}

void draw_guarded(draw *d)
{
  static const char *const keys[] = { "s1", "s2", "h1", "l1" };
  protocol *by = some_client(d);
  bool is_made;
  resp_argument words[] = { RESP_TEXT("f"), RESP_TEXT("1"), RESP_TEXT("g"), RESP_TEXT("2") };
  guard_call c = { .key = keys[draw_below(d, 4)], .key_size = 2, .number = some_number(d),
                   .fence = (uint64_t)d->wall_us * 1024 - draw_below(d, 3000) };
  const resp_argument key = { c.key, c.key_size };

  c.settled = draw_once_in(d, 3) ? c.number - draw_below(d, 2) : 0;
  buffer_clear(&d->command);
  switch (draw_below(d, 8)) {
  case 0: case 1:
    is_made = RENDERED(native_guarded_set, by, &d->command, false, &c,
                       words[draw_below(d, 4)], draw_once_in(d, 2) ? 500 : 0);
    draw_edge(d, 500);
    break;
  case 2:
    is_made = RENDERED(native_guarded_hset, by, &d->command, false, &c, words, 4);
    break;
  case 3:
    is_made = RENDERED(native_guarded_hdel, by, &d->command, false, &c, words, 1);
    break;
  case 4:
    is_made = RENDERED(native_guarded_del, by, &d->command, false, &c);
    break;
  case 5:
    is_made = RENDERED(native_guarded_get, by, &d->command, false, key,
                       draw_once_in(d, 2) ? &words[0] : NULL, draw_below(d, 2));
    break;
  default:
    is_made = RENDERED(native_guarded_incr, by, &d->command, false, &c,
                       5 - (int64_t)draw_below(d, 8));
  }
  assert(is_made);
}

/* Those for data stand behind the native ones. The model has no sets, and the order of a page
 * comes by chance. */
static size_t native_count(void)
{
  size_t count = 0;

  while (count < script_count && strncmp(script_table[count]->name, "native/", 7) == 0)
    count++;
  return count;
}

void draw_nonsense(draw *d)
{
  static const char *const strange[] = { "", "0", "1", "-1", "x", "AAAAAAAAAAAAAAAAAAAAAA:1:1",
                                         "dibs a", "w 0 - 0 dibs a", "1.5", "9007199254740992" };
  const script *s = script_table[draw_below(d, native_count())];
  resp_argument keys[4], arguments[8];
  size_t key_count = 1 + draw_below(d, 3), count = draw_below(d, 9);
  draw_words w;
  request r;

  draw_words_init(&w);
  draw_template(d, "$k $k dibs:m:{a} $h", &w);
  for (size_t i = 0; i < key_count; i++)
    keys[i] = w.all[draw_below(d, 4)];
  for (size_t i = 0; i < count; i++) {
    const char *word = strange[draw_below(d, sizeof(strange) / sizeof(strange[0]))];
    arguments[i] = (resp_argument){ word, strlen(word) };
  }
  request_init(&r, &d->command.memory);
  buffer_clear(&d->command);
  if (!request_script(&r, s, keys, key_count, arguments, count))
    assert(false);
  r.carries_text = true;
  if (!request_render(&r, false, &d->command))
    assert(false);
  request_deinit(&r);
}
