/* SPDX-License-Identifier: MIT */
/* test/trace/fleet.c - one engine before many servers. */
#include "fleet.h"
#include "base/plain_memory.h"

#define CLIENT "AAAAAAAAAAAAAAAAAAAAAA"
#define START_US 1700000000000000

static const memory plain = PLAIN_MEMORY;

struct peers *peers_new(const char *url,
                        void (*answer)(struct peers *, int, const resp_reply *, char *, size_t))
{
  struct peers *f = calloc(1, sizeof(*f));
  char words[400];
  text why = text_over(words, sizeof(words));
  engine_settings s = { .memory = plain, .dialect = &native_dialect, .seed = 7,
                        .client_id = CLIENT, .prefix = "dibs",
                        .deployment = &f->deployment, .host = "h", .program = "p",
                        .version = "v", .note = "", .connect_timeout = SPAN_MS(5000),
                        .command_timeout = SPAN_MS(2000), .clock_rate_error_ppm = 10000,
                        .local_handovers_max = 16, .local_handover_time = SPAN_MS(10) };

  f->now = (instant){ SPAN_MS(1000000).ns };
  f->answer = answer;
  if (deployment_parse(&plain, url, &f->deployment, &why) != DIBS_OK)
    fail_msg("%s", words);
  f->engine = engine_new(&s, f->now);
  assert_non_null(f->engine);
  return f;
}

void peers_free(struct peers *f)
{
  engine_free(f->engine);
  for (int i = 0; i < ENGINE_LINKS_MAX; i++)
    resp_reader_free(f->readers[i]);
  deployment_deinit(&f->deployment);
  free(f);
}

long long peers_us(const struct peers *f) { return START_US + f->now.ns / 1000; }

bool peers_says(const resp_reply *r, size_t i, const char *words)
{
  const resp_node *n = resp_child(r, resp_root(r), i);

  return n != NULL && strcmp(n->bytes, words) == 0;
}

bool peers_runs(const resp_reply *r, const script *s)
{
  return peers_says(r, 1, s->sha1) || peers_says(r, 1, s->bytes);
}

void peers_slots(char *out, size_t size, int last, int other)
{
  size_t used = (size_t)snprintf(out, size, "*%d\r\n*3\r\n:0\r\n:%d\r\n*2\r\n$1\r\nh\r\n:1\r\n",
                                 other != 0 ? 2 : 1, last);

  if (other != 0)
    snprintf(out + used, size - used, "*3\r\n:%d\r\n:16383\r\n*2\r\n$1\r\nh\r\n:%d\r\n",
             last + 1, other);
}

/* ---- connections ---- */

static void gone(struct peers *f, int link)
{
  f->ports[link] = 0;
  f->readers[link] = resp_reader_free(f->readers[link]);
}

static void connect_now(struct peers *f, const effect *e)
{
  int port = e->server->port, link = e->link;

  assert_in_range(port, 1, FLEET_PORTS - 1);
  gone(f, link);
  f->connects[port]++;
  if (f->is_dead[port]) {
    engine_disconnected(f->engine, link, DIBS_ERR_UNREACHABLE, "refused", f->now);
    return;
  }
  f->ports[link] = port;
  f->readers[link] = resp_reader_new(&plain, RESP_LIMITS_DEFAULT);
  engine_connected(f->engine, link, f->now);
}

static void tell(struct peers *f, const effect *e, const char *what)
{
  size_t used = strlen(f->lines);

  (void)e;
  snprintf(f->lines + used, sizeof(f->lines) - used, "%s ", what);
}

static void take(struct peers *f, const effect *e)
{
  switch (e->kind) {
  case EFFECT_CONNECT: connect_now(f, e); break;
  case EFFECT_DISCONNECT: gone(f, e->link); break;
  case EFFECT_LOCK_GRANTED: tell(f, e, "granted"); break;
  case EFFECT_LOCK_FAILED: tell(f, e, dibs_status_name(e->status)); break;
  case EFFECT_HOLD_LOST: tell(f, e, "lost"); break;
  case EFFECT_RELEASED: tell(f, e, "released"); break;
  case EFFECT_CLOSED: tell(f, e, "closed"); break;
  default: break;
  }
  resp_reply_free(e->reply);
}

/* ---- what servers say ---- */

static bool courtesy(const struct peers *f, const resp_reply *r, char *out, size_t size)
{
  if (peers_says(r, 0, "CLIENT") || peers_says(r, 0, "ASKING"))
    snprintf(out, size, "+OK\r\n");
  else if (peers_says(r, 0, "TIME"))
    snprintf(out, size, "*2\r\n$10\r\n%lld\r\n$1\r\n0\r\n", peers_us(f) / 1000000);
  else if (peers_says(r, 0, "INFO"))
    snprintf(out, size, "$0\r\n\r\n");
  else if (peers_says(r, 0, "PING"))
    snprintf(out, size, "+PONG\r\n");
  else if (peers_says(r, 0, "HSET") || peers_says(r, 0, "PEXPIRE") || peers_says(r, 0, "DEL"))
    snprintf(out, size, ":1\r\n");
  else if (peers_says(r, 0, "SUBSCRIBE"))
    snprintf(out, size, "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:1\r\n",
             resp_child(r, resp_root(r), 1)->size, resp_child(r, resp_root(r), 1)->bytes);
  else if (peers_says(r, 0, "CLUSTER") && peers_says(r, 1, "SHARDS"))
    snprintf(out, size, "-ERR unknown subcommand 'SHARDS'\r\n");
  else
    return false;
  return true;
}

static void heard(struct peers *f, int link, const resp_reply *r)
{
  static char out[32768];
  int port = f->ports[link];

  out[0] = 0;
  f->asked_for_map += peers_says(r, 0, "CLUSTER") && peers_says(r, 1, "SLOTS");
  f->scripts[port] += peers_says(r, 0, "EVALSHA") || peers_says(r, 0, "EVAL");
  if (!courtesy(f, r, out, sizeof(out)))
    f->answer(f, port, r, out, sizeof(out));
  f->was_asking[port] = peers_says(r, 0, "ASKING");
  engine_received(f->engine, link, out, strlen(out), f->now);
}

static bool serve(struct peers *f, int link)
{
  size_t size;
  const char *bytes = engine_output(f->engine, link, &size);
  resp_reply *r;

  if (size == 0 || f->ports[link] == 0)
    return false;
  assert_int_equal(resp_reader_feed(f->readers[link], bytes, size), DIBS_OK);
  engine_written(f->engine, link, size);
  while (f->readers[link] != NULL && resp_reader_next(f->readers[link], &r) == DIBS_OK &&
         r != NULL) {
    heard(f, link, r);
    resp_reply_free(r);
  }
  return true;
}

static void pull(struct peers *f)
{
  bool more = true;
  int turns = 0;
  effect e;

  while (more) {
    assert_true(++turns < 1000);             /* or they talk without end at one instant */
    more = false;
    while (engine_next_effect(f->engine, &e)) {
      take(f, &e);
      more = true;
    }
    for (int i = 0; i < engine_link_count(f->engine); i++)
      more |= serve(f, i);
  }
}

/* ---- time, and the program ---- */

void peers_pass(struct peers *f, int64_t ms)
{
  instant end = instant_add(f->now, SPAN_MS(ms));
  int64_t ticks = 0;

  pull(f);
  while (!instant_before(end, engine_deadline(f->engine))) {
    f->now = instant_max(f->now, engine_deadline(f->engine));
    engine_tick(f->engine, f->now);
    pull(f);
    assert_true(++ticks < 100 + ms);
  }
  f->now = end;
  engine_tick(f->engine, f->now);
  pull(f);
}

void peers_lock(struct peers *f, const char *name, const char *other)
{
  many_name names[2] = { { name, strlen(name) }, { other, other != NULL ? strlen(other) : 0 } };
  lock_spec r = { .context = f, .name = name, .name_size = strlen(name),
                  .names = other != NULL ? names : NULL, .name_count = 2,
                  .units = 1, .ttl = SPAN_MS(30000), .give_up_at = INSTANT_NEVER };

  assert_int_equal(engine_lock(f->engine, &r, f->now, &f->id), DIBS_OK);
  pull(f);
}

void peers_kill(struct peers *f, int port)
{
  f->is_dead[port] = true;
  for (int i = 0; i < ENGINE_LINKS_MAX; i++)
    if (f->ports[i] == port) {
      gone(f, i);
      engine_disconnected(f->engine, i, DIBS_ERR_UNREACHABLE, "reset", f->now);
    }
  pull(f);
}
