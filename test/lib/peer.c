/* SPDX-License-Identifier: MIT */
/* test/lib/peer.c - a scripted server for trace tests. */
#include "peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/native.h"
#include "script/script.h"

#define LINES_MAX 64
#define WHO_MAX 64
#define OWN_CHANNEL "dibs:inbox:" PEER_CLIENT

struct who {
  const char *name;
  uint64_t id, fence;
  instant valid_until;
};

struct peer {
  memory memory;
  bool holds_channels, forbids_channels, forbids_inbox;
  char held_channel[256];     /* asked for and not confirmed */
  int channels;               /* confirmed, besides the inbox */
  engine *engine;
  instant now;
  int64_t server_offset_us;
  bool wanted[ENGINE_LINKS], up[ENGINE_LINKS];
  resp_reader *readers[ENGINE_LINKS];
  char *commands[LINES_MAX];
  size_t command_count, unanswered;
  char *owed[LINES_MAX];      /* in the order of the commands: what we say ourselves, or "" */
  size_t owed_count;
  char *lines[LINES_MAX];
  size_t line_count;
  struct who who[WHO_MAX];
  size_t who_count;
};

static void *allocate(size_t bytes, void *data) { (void)data; return malloc(bytes); }
static void *reallocate(void *p, size_t bytes, void *data) { (void)data; return realloc(p, bytes); }
static void give_back(void *p, void *data) { (void)data; free(p); }

engine_settings peer_settings(void)
{
  engine_settings s = { .memory = { allocate, reallocate, give_back, NULL }, .seed = 7,
                        .prefix = "dibs", .host = "here", .program = "test", .version = "0",
                        .note = "", .pid = 1, .connect_timeout = SPAN_MS(5000),
                        .command_timeout = SPAN_MS(2000), .clock_rate_error_ppm = 10000,
                        .local_handovers_max = 16, .local_handover_time = SPAN_MS(10) };

  memcpy(s.client_id, PEER_CLIENT, sizeof(s.client_id));
  return s;
}

static void pull(struct peer *p);

struct peer *peer_new_with(const engine_settings *settings)
{
  struct peer *p = calloc(1, sizeof(*p));

  p->memory = peer_settings().memory;
  p->now = (instant){ SPAN_MS(1000000).ns };
  p->server_offset_us = PEER_START_US - p->now.ns / 1000;
  p->engine = engine_new(settings, p->now);
  assert_non_null(p->engine);
  return p;
}

struct peer *peer_new(void)
{
  engine_settings s = peer_settings();

  return peer_new_with(&s);
}

struct peer *peer_free(struct peer *p)
{
  engine_free(p->engine);
  for (int i = 0; i < ENGINE_LINKS; i++)
    resp_reader_free(p->readers[i]);
  for (size_t i = 0; i < p->command_count; i++)
    free(p->commands[i]);
  for (size_t i = 0; i < p->line_count; i++)
    free(p->lines[i]);
  for (size_t i = 0; i < p->owed_count; i++)
    free(p->owed[i]);
  free(p);
  return NULL;
}

engine *peer_engine(struct peer *p) { return p->engine; }
instant peer_now(const struct peer *p) { return p->now; }
int64_t peer_server_us(const struct peer *p) { return p->now.ns / 1000 + p->server_offset_us; }
void peer_step_server_ms(struct peer *p, int64_t ms) { p->server_offset_us += ms * 1000; }

static struct who *who_of(struct peer *p, const char *name)
{
  for (size_t i = 0; i < p->who_count; i++)
    if (strcmp(p->who[i].name, name) == 0)
      return &p->who[i];
  fail_msg("nobody called %s", name);
  return NULL;
}

uint64_t peer_fence(struct peer *p, const char *who) { return who_of(p, who)->fence; }

int64_t peer_valid_ms(struct peer *p, const char *who)
{
  return span_to_ms(instant_since(who_of(p, who)->valid_until, p->now));
}

uint64_t peer_id(struct peer *p, const char *who) { return who_of(p, who)->id; }

static void keep(char **list, size_t *count, const char *line)
{
  assert_true(*count < LINES_MAX);
  list[(*count)++] = strdup(line);
}

static void drop_first(char **list, size_t *count)
{
  free(list[0]);
  memmove(list, list + 1, --*count * sizeof(list[0]));
}

/* ---- what the engine sends ---- */

static void feed(struct peer *p, int i, const char *bytes, size_t size)
{
  engine_wall_clock(p->engine, p->now.ns / 1000 + PEER_START_US - SPAN_MS(1000000).ns / 1000,
                    p->now);
  engine_received(p->engine, i, bytes, size, p->now);
}

static const resp_node *word(const resp_reply *r, size_t i)
{
  return resp_child(r, resp_root(r), i);
}

static bool is_word(const resp_reply *r, size_t i, const char *expected)
{
  const resp_node *n = word(r, i);

  return n != NULL && n->size == strlen(expected) && memcmp(n->bytes, expected, n->size) == 0;
}

static bool is_forbidden(const struct peer *p, const resp_reply *r)
{
  return p->forbids_inbox || (p->forbids_channels && !is_word(r, 1, OWN_CHANNEL));
}

/* Counts who listens where, and confirms it. */
static void channel_reply(struct peer *p, const resp_reply *r, char *reply, size_t size)
{
  bool is_left = is_word(r, 0, "UNSUBSCRIBE");

  if (!is_word(r, 1, OWN_CHANNEL))
    p->channels += is_left ? -1 : 1;
  snprintf(reply, size, "*3\r\n$%d\r\n%s\r\n$%zu\r\n%s\r\n:1\r\n", is_left ? 11 : 9,
           is_left ? "unsubscribe" : "subscribe", word(r, 1)->size, word(r, 1)->bytes);
}

/* What every client says and no test is about. */
static bool answer_courtesy(struct peer *p, int link, const resp_reply *r, char reply[256])
{
  const size_t size = 256;

  if (is_word(r, 0, "CLIENT"))
    snprintf(reply, size, "+OK\r\n");
  else if (is_word(r, 0, "TIME")) {
    char seconds[24], micros[24];
    snprintf(seconds, sizeof(seconds), "%lld", (long long)(peer_server_us(p) / 1000000));
    snprintf(micros, sizeof(micros), "%lld", (long long)(peer_server_us(p) % 1000000));
    snprintf(reply, size, "*2\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n", strlen(seconds),
             seconds, strlen(micros), micros);
  } else if (is_word(r, 0, "SUBSCRIBE") && p->holds_channels && !is_word(r, 1, OWN_CHANNEL)) {
    snprintf(p->held_channel, sizeof(p->held_channel), "%s", word(r, 1)->bytes);
    reply[0] = '\0';
  } else if (is_word(r, 0, "SUBSCRIBE") && is_forbidden(p, r))
    snprintf(reply, size, "-NOPERM No permissions to access a channel\r\n");
  else if (is_word(r, 0, "SUBSCRIBE") || is_word(r, 0, "UNSUBSCRIBE"))
    channel_reply(p, r, reply, size);
  else if (is_word(r, 0, "PING"))
    snprintf(reply, size, link == 0 ? "+PONG\r\n"
                                             : "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
  else if (is_word(r, 0, "HSET") || is_word(r, 0, "HDEL") || is_word(r, 0, "PEXPIRE") ||
           is_word(r, 0, "DEL"))
    snprintf(reply, size, ":1\r\n");
  else if (is_word(r, 0, "INFO"))
    snprintf(reply, size, "$13\r\nmaxmemory:0\r\n\r\n");
  else
    return false;
  return true;
}

static const char *script_word(const resp_reply *r)
{
  for (size_t i = 0; i < script_count; i++) {
    const script *s = script_table[i];

    if (is_word(r, 1, s->sha1) ||
        (word(r, 1)->size == s->size && memcmp(word(r, 1)->bytes, s->bytes, s->size) == 0))
      return strchr(s->name, '/') + 1;
  }
  return "?";
}

static const char *argument(const resp_reply *r, size_t i)
{
  size_t keys = (size_t)strtoul(word(r, 2)->bytes, NULL, 10);
  const resp_node *n = word(r, 3 + keys + i);

  return n != NULL ? n->bytes : NULL;
}

/* "acquire KEY K w", then "doubt" when the clock is not to be used, and "watched" when
 * it claims to have watched the holder for a whole lease. */
static void describe_acquire(const resp_reply *r, char *line, size_t size)
{
  char mode, watched[128];
  long long give_up;

  assert_int_equal(sscanf(argument(r, 6), "%c %lld %127s", &mode, &give_up, watched), 3);
  snprintf(line, size, " %s %s %c%s%s", word(r, 3)->bytes, argument(r, 1), mode,
           strcmp(argument(r, 5), "0") == 0 ? " doubt" : "",
           strcmp(watched, "-") != 0 ? " watched" : "");
}

/* "share_acquire KEY K r w", "share_acquire KEY K p2 t", then as acquire. */
static void describe_share_acquire(const resp_reply *r, char *line, size_t size)
{
  char mode, watched[128];
  long long give_up;

  assert_int_equal(sscanf(argument(r, 7), "%c %lld %127s", &mode, &give_up, watched), 3);
  snprintf(line, size, " %s %s %s %c%s", word(r, 3)->bytes, argument(r, 1), argument(r, 6),
           mode, strcmp(watched, "-") != 0 ? " watched" : "");
}

/* "share_release C:K:T", then "tombstone" when it is to leave one. */
static void describe_share_release(const resp_reply *r, char *line, size_t size)
{
  snprintf(line, size, " %s:%s%s", argument(r, 0), argument(r, 1),
           strcmp(argument(r, 4), "0") != 0 ? " tombstone" : "");
}

/* "share_renew L", of each: then its mode when that is not what it was asked for: "still"
 * when it is not lengthened. */
static void describe_share_renew(const resp_reply *r, char *line, size_t size)
{
  size_t keys = (size_t)strtoul(word(r, 2)->bytes, NULL, 10);

  for (size_t i = 0; i < keys; i++) {
    long long ttl;
    char mode;
    int used;

    assert_int_equal(sscanf(argument(r, 2 * i + 1), "%lld %c", &ttl, &mode), 2);
    used = snprintf(line, size, " %s %c%s", argument(r, 2 * i), mode, ttl == 0 ? " still" : "");
    line += used;
    size -= (size_t)used;
  }
}

/* "many_acquire C.n K w", then "keeps" and "watched". */
static void describe_many_acquire(const resp_reply *r, char *line, size_t size)
{
  char mode, keeps, watched[128];
  long long give_up;

  assert_int_equal(sscanf(argument(r, 6), "%c %c %lld %127s", &mode, &keeps, &give_up, watched),
                   4);
  snprintf(line, size, " %s %s %c%s%s", strrchr(argument(r, 0), '.'), argument(r, 1), mode,
           keeps == '1' ? " keeps" : "", strcmp(watched, "-") != 0 ? " watched" : "");
}

/* One line for a script call: what the tests are about, without the times. */
static void describe(const resp_reply *r, char *line, size_t size)
{
  const char *verb = script_word(r);
  int used = snprintf(line, size, "%s%s", is_word(r, 0, "EVAL") ? "text:" : "", verb);

  line += used;
  size -= (size_t)used;
  if (strcmp(verb, "acquire") == 0)
    describe_acquire(r, line, size);
  else if (strcmp(verb, "cancel") == 0)
    snprintf(line, size, " %s", argument(r, 1));
  else if (strcmp(verb, "release") == 0)
    snprintf(line, size, " %s", argument(r, 0));
  else if (strcmp(verb, "share_acquire") == 0)
    describe_share_acquire(r, line, size);
  else if (strcmp(verb, "share_release") == 0)
    describe_share_release(r, line, size);
  else if (strcmp(verb, "share_cancel") == 0 || strcmp(verb, "many_release") == 0)
    snprintf(line, size, " %s", argument(r, 0));
  else if (strcmp(verb, "share_renew") == 0)
    describe_share_renew(r, line, size);
  else if (strcmp(verb, "many_acquire") == 0)
    describe_many_acquire(r, line, size);
  else if (strcmp(verb, "many_cancel") == 0)
    snprintf(line, size, " %s %s", strrchr(argument(r, 0), '.'), argument(r, 1));
  else
    for (size_t i = 0; argument(r, i) != NULL; i++)
      if (strchr(argument(r, i), ':') != NULL) {
        used = snprintf(line, size, " %s", argument(r, i));
        line += used;
        size -= (size_t)used;
      }
}

/* Answers are in the order of the commands: ours wait for the script's before them. */
static void settle(struct peer *p)
{
  while (p->owed_count > 0 && p->owed[0][0] != '\0') {
    char reply[256];

    snprintf(reply, sizeof(reply), "%s", p->owed[0]);
    drop_first(p->owed, &p->owed_count);
    feed(p, 0, reply, strlen(reply));
  }
}

static bool read_commands(struct peer *p, int i)
{
  size_t size;
  const char *bytes = engine_output(p->engine, i, &size);
  resp_reply *r;
  bool fed = false;

  if (size == 0 || !p->up[i])
    return false;
  assert_int_equal(resp_reader_feed(p->readers[i], bytes, size), DIBS_OK);
  engine_written(p->engine, i, size);
  while (resp_reader_next(p->readers[i], &r) == DIBS_OK && r != NULL) {
    char line[1024], reply[256];

    if (answer_courtesy(p, i, r, reply)) {
      if (i == 0)
        keep(p->owed, &p->owed_count, reply);
      else
        feed(p, i, reply, strlen(reply));
      fed = true;
    } else {
      describe(r, line, sizeof(line));
      keep(p->commands, &p->command_count, line);
      keep(p->owed, &p->owed_count, "");
    }
    resp_reply_free(r);
  }
  settle(p);
  return fed;
}

/* Nobody will hear the answers to what was asked on it. */
static void connection_is_gone(struct peer *p, int link)
{
  p->up[link] = false;
  if (link != 0) {
    p->channels = 0;
    p->held_channel[0] = '\0';
    return;
  }
  while (p->command_count > 0)
    drop_first(p->commands, &p->command_count);
  while (p->owed_count > 0)
    drop_first(p->owed, &p->owed_count);
  p->unanswered = 0;
}

/* ---- what the engine tells ---- */

static void tell(struct peer *p, const char *what, const effect *e, bool with_status)
{
  char line[128];
  const struct who *w = e->context;

  snprintf(line, sizeof(line), "%s %s%s%s", what, w->name, with_status ? " " : "",
           with_status ? dibs_status_name(e->status) : "");
  keep(p->lines, &p->line_count, line);
}

/* "observed a 5", "observed a words", and at the end "over a DIBS_TIMED_OUT". */
static void observed(struct peer *p, const effect *e)
{
  char line[128];
  const struct who *w = e->context;
  const resp_node *said = e->reply != NULL ? resp_root(e->reply) : NULL;

  if (said == NULL)
    tell(p, "over", e, true);
  else if (said->kind == RESP_INTEGER)
    snprintf(line, sizeof(line), "observed %s %lld", w->name, (long long)said->integer);
  else
    snprintf(line, sizeof(line), "observed %s %s", w->name, said->bytes);
  if (said != NULL)
    keep(p->lines, &p->line_count, line);
  assert_int_equal(e->is_over, said == NULL);
  resp_reply_free(e->reply);
}

static void take_effect(struct peer *p, const effect *e)
{
  struct who *w = e->context;

  switch (e->kind) {
  case EFFECT_CONNECT:
    connection_is_gone(p, e->link);
    p->wanted[e->link] = true;
    break;
  case EFFECT_DISCONNECT:
    connection_is_gone(p, e->link);
    p->wanted[e->link] = false;
    break;
  case EFFECT_LOCK_GRANTED:
    w->fence = e->fence;
    w->valid_until = e->valid_until;
    tell(p, "granted", e, false);
    break;
  case EFFECT_LOCK_FAILED:
    tell(p, "failed", e, true);
    break;
  case EFFECT_HOLD_RENEWED:
    w->valid_until = e->valid_until;
    tell(p, "renewed", e, false);
    break;
  case EFFECT_HOLD_SUSPECT:
    tell(p, "suspect", e, false);
    break;
  case EFFECT_HOLD_LOST:
    tell(p, "lost", e, true);
    break;
  case EFFECT_RELEASED:
    tell(p, "released", e, true);
    break;
  case EFFECT_DETACHED:
    tell(p, "detached", e, true);
    break;
  case EFFECT_CLOSED:
    keep(p->lines, &p->line_count, "closed");
    break;
  case EFFECT_ANSWERED:
    resp_reply_free(e->reply);
    break;
  case EFFECT_OBSERVED:
    observed(p, e);
    break;
  case EFFECT_EVENT:
    break;
  }
}

static void pull(struct peer *p)
{
  effect e;
  bool more = true;

  while (more) {
    more = false;
    while (engine_next_effect(p->engine, &e))
      take_effect(p, &e);
    for (int i = 0; i < ENGINE_LINKS; i++)
      more |= read_commands(p, i);
  }
}

/* ---- time ---- */

void peer_advance_ms(struct peer *p, int64_t ms)
{
  instant end = instant_add(p->now, SPAN_MS(ms));

  for (;;) {
    instant at = engine_deadline(p->engine);

    if (instant_before(end, at))
      break;
    p->now = instant_max(p->now, at);
    engine_tick(p->engine, p->now);
    pull(p);
  }
  p->now = end;
  engine_tick(p->engine, p->now);
  pull(p);
}

void peer_advance_to_command(struct peer *p)
{
  for (int i = 0; i < 100000 && p->command_count == 0; i++)
    peer_advance_ms(p, 1);
  assert_true(p->command_count > 0);
}

void peer_stop_ms(struct peer *p, int64_t ms)
{
  p->now = instant_add(p->now, SPAN_MS(ms));
  engine_tick(p->engine, p->now);
  pull(p);
}

/* ---- requests ---- */

static struct who *who_add(struct peer *p, const char *name)
{
  struct who *entry = NULL;

  for (size_t i = 0; i < p->who_count; i++)
    if (strcmp(p->who[i].name, name) == 0)
      entry = &p->who[i];
  if (entry == NULL) {
    assert_true(p->who_count < WHO_MAX);
    entry = &p->who[p->who_count++];
  }
  *entry = (struct who){ .name = name };
  return entry;
}

void peer_lock(struct peer *p, const char *who, struct wish w)
{
  struct who *entry = who_add(p, who);
  lock_request r;
  const char *name = w.name != NULL ? w.name : "n";
  many_name members[3];
  size_t count = 0;

  while (count < 3 && w.names[count] != NULL) {
    members[count] = (many_name){ w.names[count], strlen(w.names[count]) };
    count++;
  }
  r = (lock_request){ .context = entry, .name = name, .name_size = strlen(name),
                      .kind = w.kind, .names = members, .name_count = count,
                      .units = w.is_drain ? 0 : w.units > 0 ? w.units : 1,
                      .linger = SPAN_MS(w.linger_ms),
                      .owner = w.owner, .owner_size = w.owner != NULL ? strlen(w.owner) : 0,
                      .is_try = w.is_try, .is_fixed = w.is_fixed, .no_reentry = w.no_reentry,
                      .ttl = SPAN_MS(w.ttl_ms > 0 ? w.ttl_ms : 30000),
                      .max_hold = SPAN_MS(w.max_hold_ms),
                      .give_up_at = w.wait_ms > 0 ? instant_add(p->now, SPAN_MS(w.wait_ms))
                                                  : INSTANT_NEVER };
  assert_int_equal(engine_lock(p->engine, &r, p->now, &entry->id), DIBS_OK);
  pull(p);
}

/* A question as good as any: this script has a key and no arguments. */
static void question_write(buffer *out, bool with_text, const char *name)
{
  native names = { .prefix = "dibs" };
  memory m = peer_settings().memory;

  buffer_init(out, &m);
  assert_true(native_inspect(&names, out, with_text, name, strlen(name)));
}

void peer_observe(struct peer *p, const char *who, struct watch w)
{
  struct who *entry = who_add(p, who);
  const char *channel = w.channel != NULL ? w.channel : "thing:{n}";
  buffer by_digest, by_text;
  observe_request r = { .context = entry, .channel = channel,
                        .channel_size = strlen(channel), .command = &by_digest,
                        .with_text = &by_text, .is_patient = w.is_patient,
                        .every = SPAN_MS(w.every_ms > 0 ? w.every_ms : 3000),
                        .give_up_at = w.wait_ms > 0 ? instant_add(p->now, SPAN_MS(w.wait_ms))
                                                    : INSTANT_NEVER };

  question_write(&by_digest, false, "n");
  question_write(&by_text, true, "n");
  assert_int_equal(engine_observe(p->engine, &r, p->now, &entry->id), DIBS_OK);
  buffer_deinit(&by_digest);
  buffer_deinit(&by_text);
  pull(p);
}

void peer_observe_at(struct peer *p, const char *who, int64_t in_ms)
{
  engine_observe_at(p->engine, who_of(p, who)->id, instant_add(p->now, SPAN_MS(in_ms)), p->now);
  pull(p);
}

bool peer_observe_end(struct peer *p, const char *who)
{
  bool was_there = engine_observe_end(p->engine, who_of(p, who)->id, p->now);

  pull(p);
  return was_there;
}

void peer_cancel(struct peer *p, const char *who)
{
  engine_cancel(p->engine, who_of(p, who)->id, p->now);
  pull(p);
}

void peer_downgrade(struct peer *p, const char *who)
{
  assert_int_equal(engine_downgrade(p->engine, who_of(p, who)->id, p->now), DIBS_OK);
  pull(p);
}

dibs_status peer_detach(struct peer *p, const char *who)
{
  dibs_status status = engine_detach(p->engine, who_of(p, who)->id, p->now);

  pull(p);
  return status;
}

void peer_close(struct peer *p)
{
  engine_close(p->engine, p->now);
  pull(p);
}

void peer_release(struct peer *p, const char *who)
{
  assert_int_equal(engine_release(p->engine, who_of(p, who)->id, p->now), DIBS_OK);
  pull(p);
}

/* ---- connections ---- */

bool peer_wants(struct peer *p, int link) { return p->wanted[link]; }

void peer_connect(struct peer *p, int link)
{
  assert_true(p->wanted[link]);
  p->wanted[link] = false;
  p->up[link] = true;
  resp_reader_free(p->readers[link]);
  p->readers[link] = resp_reader_new(&p->memory, RESP_LIMITS_DEFAULT);
  engine_connected(p->engine, link, p->now);
  pull(p);
}

void peer_break(struct peer *p, int link)
{
  p->wanted[link] = false;
  connection_is_gone(p, link);
  engine_disconnected(p->engine, link, DIBS_ERR_UNREACHABLE, "connection reset", p->now);
  pull(p);
}

/* ---- dialogue ---- */

static bool matches(const char *pattern, const char *line)
{
  size_t size = strlen(pattern);

  if (size > 0 && pattern[size - 1] == '*')
    return strncmp(pattern, line, size - 1) == 0;
  return strcmp(pattern, line) == 0;
}

void peer_expect(struct peer *p, const char *pattern)
{
  if (p->command_count == 0)
    fail_msg("expected the command \"%s\", got none", pattern);
  if (!matches(pattern, p->commands[0]))
    fail_msg("expected the command \"%s\", got \"%s\"", pattern, p->commands[0]);
  drop_first(p->commands, &p->command_count);
  p->unanswered++;
}

bool peer_try_expect(struct peer *p, const char *pattern)
{
  if (p->command_count == 0)
    return false;
  peer_expect(p, pattern);
  return true;
}

void peer_expect_nothing(struct peer *p)
{
  if (p->command_count > 0)
    fail_msg("expected no command, got \"%s\"", p->commands[0]);
}

static size_t encode(const char *words, char *out, size_t size);

static size_t encode_array(const char **words, char *out, size_t size)
{
  char body[4096] = "";
  size_t used = 0;
  int count = 0;

  (*words)++;
  while (**words != ']' && **words != '\0') {
    char item[1024];
    size_t n = 0;

    while (**words == ' ')
      (*words)++;
    while (**words != ' ' && **words != ']' && **words != '\0')
      item[n++] = *(*words)++;
    item[n] = '\0';
    if (n > 0) {
      used += encode(item, body + used, sizeof(body) - used);
      count++;
    }
  }
  return (size_t)snprintf(out, size, "*%d\r\n%s", count, body);
}

static size_t encode(const char *words, char *out, size_t size)
{
  if (words[0] == '[')
    return encode_array(&words, out, size);
  if (words[0] == '\'')
    return (size_t)snprintf(out, size, "$%zu\r\n%s\r\n", strlen(words + 1), words + 1);
  if (words[0] == '-' && (words[1] < '0' || words[1] > '9'))
    return (size_t)snprintf(out, size, "%s\r\n", words);
  return (size_t)snprintf(out, size, ":%s\r\n", words);
}

void peer_answer(struct peer *p, const char *format, ...)
{
  char words[2048], bytes[8192];
  va_list arguments;

  assert_true(p->unanswered > 0);
  assert_true(p->owed_count > 0);
  p->unanswered--;
  drop_first(p->owed, &p->owed_count);
  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  feed(p, 0, bytes, encode(words, bytes, sizeof(bytes)));
  settle(p);
  pull(p);
}

void peer_speak(struct peer *p, const char *channel, const char *words)
{
  char bytes[2048];

  snprintf(bytes, sizeof(bytes), "*3\r\n$7\r\nmessage\r\n$%zu\r\n%s\r\n$%zu\r\n%s\r\n",
           strlen(channel), channel, strlen(words), words);
  feed(p, 1, bytes, strlen(bytes));
  pull(p);
}

void peer_hold_channels(struct peer *p) { p->holds_channels = true; }
void peer_forbid_channels(struct peer *p) { p->forbids_channels = true; }
void peer_forbid_inbox(struct peer *p) { p->forbids_inbox = true; }
int peer_channels(const struct peer *p) { return p->channels; }

void peer_message(struct peer *p, const char *format, ...)
{
  char words[1024];
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  peer_speak(p, OWN_CHANNEL, words);
}

void peer_subscribed(struct peer *p)
{
  char bytes[512];

  assert_string_not_equal(p->held_channel, "");
  snprintf(bytes, sizeof(bytes), "*3\r\n$9\r\nsubscribe\r\n$%zu\r\n%s\r\n:2\r\n",
           strlen(p->held_channel), p->held_channel);
  p->held_channel[0] = '\0';
  p->channels++;
  feed(p, 1, bytes, strlen(bytes));
  pull(p);
}

void peer_expect_told(struct peer *p, const char *line)
{
  if (p->line_count == 0)
    fail_msg("expected to be told \"%s\", was told nothing", line);
  if (strcmp(p->lines[0], line) != 0)
    fail_msg("expected to be told \"%s\", was told \"%s\"", line, p->lines[0]);
  drop_first(p->lines, &p->line_count);
}

bool peer_try_told(struct peer *p, const char *line)
{
  if (p->line_count == 0 || strcmp(p->lines[0], line) != 0)
    return false;
  drop_first(p->lines, &p->line_count);
  return true;
}

void peer_expect_told_nothing(struct peer *p)
{
  if (p->line_count > 0)
    fail_msg("expected to be told nothing, was told \"%s\"", p->lines[0]);
}

struct peer *peer_held(struct wish w)
{
  struct peer *p = peer_new();

  peer_lock(p, "a", w);
  peer_connect(p, 0);
  peer_expect(p, "acquire*");
  peer_answer(p, "[1 %lld %lld 60]", (long long)peer_server_us(p),
              (long long)(w.ttl_ms > 0 ? w.ttl_ms : 30000));
  peer_expect_told(p, "granted a");
  return p;
}
