/* SPDX-License-Identifier: MIT */
/* Fuzz: what servers answer to scouts, and how the search goes on.
 *
 * The first byte names the kind of deployment, the second seeds who answers, who breaks and
 * how much time passes; the rest is what all peers say, one reply after the other. Facts
 * checked: numbers of scouts are lent once at a time; a search ends; a result is an address,
 * or a map whose slots lie in its nodes; a search without a result has words. */
#include "fuzz.h"

#include "topo/finder.h"

#include <string.h>

#define TURNS_MAX 2000
#define SEARCHES 3

typedef struct search {
  finder *finder;
  resp_reader *reader;
  random_source source;
  instant now;
  bool is_out[SCOUTS_MAX], is_asked[SCOUTS_MAX];
} search;

static const memory heap = PLAIN_MEMORY;
static const char *const urls[] = {
  "redis://h1,h2,h3", "redis+sentinel://u:p@h1,h2,h3/orders/2?map=a:1%3Eb:2&sentinel_user=w",
  "redis+cluster://h1,h2", "rediss+cluster://h1?map=a%3Eb" };

static void take_home(search *s)
{
  int scout;

  while (finder_next_home(s->finder, &scout)) {
    FUZZ_CHECK(scout >= 0 && scout < SCOUTS_MAX && s->is_out[scout]);
    s->is_out[scout] = s->is_asked[scout] = false;
  }
}

static void send_out(search *s)
{
  const server_url *url;
  request out;
  int scout;

  while (finder_next_probe(s->finder, s->now, &scout, &url)) {
    FUZZ_CHECK(scout >= 0 && scout < SCOUTS_MAX && !s->is_out[scout]);
    FUZZ_CHECK(url->host != NULL && url->host[0] != 0 && url->port >= 1 && url->port <= 65535);
    s->is_out[scout] = true;
  }
  request_init(&out, &heap);
  for (int i = 0; i < SCOUTS_MAX; i++)
    if (s->is_out[i] && !s->is_asked[i]) {
      s->is_asked[i] = finder_next_question(s->finder, i, &out);
      FUZZ_CHECK(!finder_next_question(s->finder, i, &out));
    }
  request_deinit(&out);
}

/* One of those that are out, as the seed has it; -1: nobody is. */
static int somebody(search *s)
{
  int start = (int)random_below(&s->source, SCOUTS_MAX);

  for (int i = 0; i < SCOUTS_MAX; i++)
    if (s->is_out[(start + i) % SCOUTS_MAX])
      return (start + i) % SCOUTS_MAX;
  return -1;
}

static void somebody_breaks(search *s)
{
  int scout = somebody(s);

  if (scout < 0)
    return;
  s->is_out[scout] = s->is_asked[scout] = false;
  finder_failed(s->finder, scout, DIBS_ERR_UNREACHABLE, "gone", s->now);
}

/* Says the next reply to somebody; false: there is none left. */
static bool somebody_hears(search *s)
{
  int scout = somebody(s);
  resp_reply *reply = NULL;

  if (scout < 0)
    return true;
  if (resp_reader_next(s->reader, &reply) != DIBS_OK || reply == NULL)
    return false;
  s->is_asked[scout] = false;
  finder_answer(s->finder, scout, reply, s->now);
  resp_reply_free(reply);
  return true;
}

static void time_passes(search *s)
{
  instant at = finder_deadline(s->finder);

  if (!instant_is_never(at))
    s->now = instant_max(s->now, at);
  finder_tick(s->finder, s->now);
}

static void check_result(search *s)
{
  const server_url *primary = finder_take_primary(s->finder);
  const slot_map *map = primary == NULL ? finder_take_slots(s->finder) : NULL;

  FUZZ_CHECK(primary != NULL || map != NULL);
  if (primary != NULL)
    FUZZ_CHECK(primary->host[0] != 0 && primary->port >= 1 && primary->port <= 65535);
  for (size_t i = 0; map != NULL && i < SLOT_COUNT; i++)
    FUZZ_CHECK(map->node_of[i] == SLOT_UNSERVED || map->node_of[i] < map->node_count);
  for (size_t i = 0; map != NULL && i < map->node_count; i++)
    FUZZ_CHECK(map->nodes[i].host[0] != 0);
}

static void search_once(search *s)
{
  size_t turns = 0;
  const char *words;

  finder_begin(s->finder, instant_add(s->now, SPAN_MS(10000)), s->now);
  while (finder_state_of(s->finder) == FINDER_LOOKING) {
    uint64_t chance = random_below(&s->source, 8);

    FUZZ_CHECK(turns++ < TURNS_MAX);
    if (chance > 0)                        /* now and then the owner is late */
      take_home(s);
    send_out(s);
    if (chance == 1)
      somebody_breaks(s);
    else if (chance == 2 || !somebody_hears(s))
      time_passes(s);
    (void)finder_listen_at(s->finder);
  }
  if (finder_state_of(s->finder) == FINDER_FOUND)
    check_result(s);
  else
    FUZZ_CHECK(finder_why(s->finder, &words) < 0 && words[0] != 0);
  finder_unsubscribed(s->finder);
  finder_doubt(s->finder);               /* its map comes last in the next search */
  FUZZ_CHECK(instant_is_never(finder_deadline(s->finder)));
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
  search s = { .now = { 1000000000 } };
  deployment d;
  char why_bytes[256];
  text why = text_over(why_bytes, sizeof(why_bytes));

  if (size < 2 || size > (1u << 20))
    return 0;
  FUZZ_CHECK(deployment_parse(&heap, urls[bytes[0] % 4], &d, &why) == DIBS_OK);
  random_seed(&s.source, bytes[1]);
  s.finder = finder_new(&heap, &d);
  s.reader = resp_reader_new(&heap, RESP_LIMITS_DEFAULT);
  FUZZ_CHECK(s.finder != NULL && s.reader != NULL);
  (void)resp_reader_feed(s.reader, bytes + 2, size - 2);
  for (int i = 0; i < SEARCHES; i++)
    search_once(&s);
  (void)finder_is_concerned(s.finder, (const char *)bytes, size);
  resp_reader_free(s.reader);
  finder_free(s.finder);
  deployment_deinit(&d);
  return 0;
}
