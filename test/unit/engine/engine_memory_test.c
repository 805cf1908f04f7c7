/* SPDX-License-Identifier: MIT */
/* engine: every allocation of a whole story refused in turn. No crash, no leak, no hold
 * without its end; what was refused for once is tried again. */
#include "tests.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/plain_memory.h"
#include "engine/engine.h"
#include "failing_heap.h"
#include "one_server.h"
#include "script/script.h"

#define CLIENT "AAAAAAAAAAAAAAAAAAAAAA"
#define SERVER_US 1700000000000000

struct world {
  engine *engine;
  instant now;
  resp_reader *readers[ONE_SERVER_LINKS];
  int acquires, log_ins;
  bool granted, ended;
  bool went_well;
  uint64_t id;
};

static const memory plain = PLAIN_MEMORY;

static bool says(const resp_reply *r, size_t i, const char *words)
{
  const resp_node *n = resp_child(r, resp_root(r), i);

  return n != NULL && strcmp(n->bytes, words) == 0;
}

static bool calls(const resp_reply *r, const script *s)
{
  return says(r, 1, s->sha1);
}

/* The first ask is deaf, the second waits, the third is granted. */
static void answer_acquire(struct world *w, char *out, size_t size)
{
  long long us = (long long)(SERVER_US + w->now.ns / 1000);

  switch (w->acquires++) {
  case 0:
    snprintf(out, size, "*2\r\n:6\r\n:%lld\r\n", us);
    break;
  case 1:
    snprintf(out, size, "*7\r\n:3\r\n:%lld\r\n:500\r\n:500\r\n$%zu\r\n%s\r\n:0\r\n:0\r\n", us,
             strlen("BBBBBBBBBBBBBBBBBBBBBB:9:50"), "BBBBBBBBBBBBBBBBBBBBBB:9:50");
    break;
  default:
    snprintf(out, size, "*4\r\n:1\r\n:%lld\r\n:1000\r\n:60\r\n", us);
  }
}

static void answer(struct world *w, const resp_reply *r, char *out, size_t size)
{
  long long us = (long long)(SERVER_US + w->now.ns / 1000);

  w->log_ins += says(r, 0, "AUTH");
  if (says(r, 0, "CLIENT") || says(r, 0, "AUTH"))
    snprintf(out, size, "+OK\r\n");
  else if (says(r, 0, "TIME"))
    snprintf(out, size, "*2\r\n$10\r\n%lld\r\n$1\r\n0\r\n", us / 1000000);
  else if (says(r, 0, "SUBSCRIBE"))
    snprintf(out, size, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
             resp_child(r, resp_root(r), 1)->size, resp_child(r, resp_root(r), 1)->bytes);
  else if (says(r, 0, "UNSUBSCRIBE"))
    snprintf(out, size, "*3\r\n$11\r\nunsubscribe\r\n$1\r\nc\r\n:1\r\n");
  else if (says(r, 0, "INFO"))
    snprintf(out, size, "$0\r\n\r\n");
  else if (calls(r, &script_native_acquire))
    answer_acquire(w, out, size);
  else if (calls(r, &script_native_renew))
    snprintf(out, size, "*3\r\n:%lld\r\n:0\r\n:1000\r\n", us);
  else
    snprintf(out, size, ":1\r\n");
}

static void serve(struct world *w, int link)
{
  size_t size;
  const char *bytes = engine_output(w->engine, link, &size);
  resp_reply *r;

  if (size == 0 || w->readers[link] == NULL)
    return;
  assert_int_equal(resp_reader_feed(w->readers[link], bytes, size), DIBS_OK);
  engine_written(w->engine, link, size);
  while (w->readers[link] != NULL && resp_reader_next(w->readers[link], &r) == DIBS_OK &&
         r != NULL) {
    char out[512] = "";

    answer(w, r, out, sizeof(out));
    resp_reply_free(r);
    engine_received(w->engine, link, out, strlen(out), w->now);
  }
}

static void take(struct world *w, const effect *e)
{
  switch (e->kind) {
  case EFFECT_CONNECT:
    resp_reader_free(w->readers[e->link]);
    w->readers[e->link] = resp_reader_new(&plain, RESP_LIMITS_DEFAULT);
    engine_connected(w->engine, e->link, w->now);
    break;
  case EFFECT_DISCONNECT:
    w->readers[e->link] = resp_reader_free(w->readers[e->link]);
    break;
  case EFFECT_LOCK_GRANTED:
    w->granted = true;
    break;
  case EFFECT_LOCK_FAILED:
  case EFFECT_RELEASED:
    w->ended = true;
    break;
  case EFFECT_OP_OVER:
    w->ended = true;
    w->went_well = e->status == DIBS_OK;
    break;
  default:
    resp_reply_free(e->reply);
  }
}

static void turn(struct world *w)
{
  effect e;
  instant at;

  while (engine_next_effect(w->engine, &e))
    take(w, &e);
  for (int i = 0; i < ONE_SERVER_LINKS; i++)
    serve(w, i);
  while (engine_next_effect(w->engine, &e))
    take(w, &e);
  at = instant_min(engine_deadline(w->engine), instant_add(w->now, SPAN_MS(50)));
  w->now = instant_max(at, instant_add(w->now, SPAN_MS(1)));
  engine_tick(w->engine, w->now);
}

static bool story(struct world *w)
{
  lock_spec r = { .context = w, .name = "n", .name_size = 1, .ttl = SPAN_MS(1000),
                  .note = "why", .give_up_at = INSTANT_NEVER };

  if (engine_lock(w->engine, &r, w->now, &w->id) != DIBS_OK)
    return false;
  for (int i = 0; i < 500 && !w->granted && !w->ended; i++)
    turn(w);
  if (!w->granted)
    return false;
  for (int i = 0; i < 30 && !w->ended; i++)         /* some renewals */
    turn(w);
  engine_release(w->engine, w->id, w->now);
  for (int i = 0; i < 500 && !w->ended; i++)
    turn(w);
  return w->ended;
}

/* Repeated for some replies, another question then. */
struct counting {
  sync_op op;
  int replies;
};

static bool counting_ask(const sync_op *op, const protocol *p, request *out)
{
  bool is_second = ((const struct counting *)(const void *)op)->replies >= 5;
  resp_argument words[] = { RESP_TEXT("GET"), { is_second ? "m" : "n", 1 } };

  (void)p;
  return request_command(out, words, 2);
}

static sync_next counting_read(sync_op *op, const resp_reply *reply)
{
  int replies = ++((struct counting *)(void *)op)->replies;

  (void)reply;
  if (replies == 9)
    return sync_over(DIBS_OK, "");
  return replies == 5 ? sync_step() : sync_repeat();
}

static void counting_channel(const sync_op *op, const protocol *p, text *out)
{
  (void)op;
  (void)p;
  text_add(out, "c");
}

static bool observing(struct world *w)
{
  static const sync_row row = { .name = "counting", .every = { 20000000 },
                                .ask = counting_ask, .read = counting_read,
                                .channel = counting_channel };
  struct counting c = { .op = { .row = &row, .context = w, .give_up_at = INSTANT_NEVER } };

  if (engine_run(w->engine, &c.op, w->now, &w->id) != DIBS_OK)
    return false;
  for (int i = 0; i < 1000 && !w->ended; i++)
    turn(w);
  assert_true(w->ended || engine_stop(w->engine, w->id, w->now));
  return w->went_well;
}

/* Of the commands and of the inbox: both log in with them, or none. */
static bool replacing_credentials(struct world *w)
{
  lock_spec r = { .context = w, .name = "n", .name_size = 1, .ttl = SPAN_MS(30000),
                  .give_up_at = INSTANT_NEVER };
  bool is_done;

  if (engine_lock(w->engine, &r, w->now, &w->id) != DIBS_OK)
    return false;
  for (int i = 0; i < 500 && !w->granted && !w->ended; i++)
    turn(w);
  is_done = engine_set_credentials(w->engine, "user", "password");
  for (int i = 0; i < ONE_SERVER_LINKS; i++)
    engine_disconnected(w->engine, i, DIBS_ERR_UNREACHABLE, "reset", w->now);
  for (int i = 0; i < 20; i++)
    turn(w);
  if (!is_done)
    assert_int_equal(w->log_ins, 0);
  return w->log_ins == ONE_SERVER_LINKS;
}

typedef bool (*story_of)(struct world *w);

static bool lives_through(failing_heap *heap, void *data)
{
  struct world w = { .now = { SPAN_MS(1000).ns } };
  engine_settings s = { .memory = FAILING_HEAP_AS(memory, heap), .dialect = &native_dialect,
                        .seed = 3,
                        .client_id = CLIENT, .prefix = "dibs", .deployment = one_server(),
                        .host = "h", .program = "p", .version = "v", .note = "",
                        .connect_timeout = SPAN_MS(5000), .command_timeout = SPAN_MS(2000),
                        .clock_rate_error_ppm = 10000, .local_handovers_max = 16,
                        .local_handover_time = SPAN_MS(10) };
  bool through = false;

  w.engine = engine_new(&s, w.now);
  if (w.engine != NULL) {
    through = (*(story_of *)data)(&w);
    engine_close(w.engine, w.now);
    for (int i = 0; i < 10; i++)
      turn(&w);
  }
  engine_free(w.engine);
  for (int i = 0; i < ONE_SERVER_LINKS; i++)
    resp_reader_free(w.readers[i]);
  return through;
}

TEST(every_refused_allocation_is_survived)
{
  story_of told = story;

  failing_heap_try_all(lives_through, &told);
}

TEST(an_observation_survives_every_refused_allocation)
{
  story_of told = observing;

  failing_heap_try_all(lives_through, &told);
}

TEST(credentials_that_are_refused_memory_are_at_no_link)
{
  story_of told = replacing_credentials;

  failing_heap_try_all(lives_through, &told);
}

RUN_TESTS(NULL, NULL)
