/* SPDX-License-Identifier: MIT */
/* test/lib/peer.c - one engine and its user in trace tests: time, and what is asked of it. */
#include "peer_parts.h"

#include "base/plain_memory.h"
#include "dialect/native.h"

engine_settings peer_settings(void)
{
  engine_settings s = { .memory = PLAIN_MEMORY, .seed = 7,
                        .dialect = &native_dialect, .deployment = one_server(),
                        .prefix = "dibs", .host = "here",
                        .program = "test", .version = "0",
                        .note = "", .pid = 1, .connect_timeout = SPAN_MS(5000),
                        .command_timeout = SPAN_MS(2000), .clock_rate_error_ppm = 10000,
                        .local_handovers_max = 16, .local_handover_time = SPAN_MS(10) };

  memcpy(s.client_id, PEER_CLIENT, sizeof(s.client_id));
  return s;
}

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
  for (int i = 0; i < ONE_SERVER_LINKS; i++)
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

long long peer_server_us(const struct peer *p)
{
  return p->now.ns / 1000 + p->server_offset_us;
}

void peer_step_server_ms(struct peer *p, int64_t ms) { p->server_offset_us += ms * 1000; }

struct who *peer_who_of(struct peer *p, const char *name)
{
  for (size_t i = 0; i < p->who_count; i++)
    if (strcmp(p->who[i].name, name) == 0)
      return &p->who[i];
  fail_msg("nobody called %s", name);
  return NULL;
}

uint64_t peer_fence(struct peer *p, const char *who) { return peer_who_of(p, who)->fence; }

int64_t peer_valid_ms(struct peer *p, const char *who)
{
  return span_to_ms(instant_since(peer_who_of(p, who)->valid_until, p->now));
}

uint64_t peer_id(struct peer *p, const char *who) { return peer_who_of(p, who)->id; }

void peer_keep(char **list, size_t *count, const char *line)
{
  assert_true(*count < LINES_MAX);
  list[(*count)++] = strdup(line);
}

void peer_drop_first(char **list, size_t *count)
{
  free(list[0]);
  memmove(list, list + 1, --*count * sizeof(list[0]));
}

void peer_pull(struct peer *p)
{
  effect e;
  bool more = true;

  while (more) {
    more = false;
    while (engine_next_effect(p->engine, &e))
      peer_take_effect(p, &e);
    for (int i = 0; i < ONE_SERVER_LINKS; i++)
      more |= peer_read_commands(p, i);
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
    peer_pull(p);
  }
  p->now = end;
  engine_tick(p->engine, p->now);
  peer_pull(p);
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
  peer_pull(p);
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
  lock_spec r;
  const char *name = w.name != NULL ? w.name : "n";
  many_name members[3];
  size_t count = 0;

  while (count < 3 && w.names[count] != NULL) {
    members[count] = (many_name){ w.names[count], strlen(w.names[count]) };
    count++;
  }
  r = (lock_spec){ .context = entry, .name = name, .name_size = strlen(name),
                   .kind = w.kind, .reads = w.reads,
                   .names = count > 0 ? members : NULL, .name_count = count,
                   .units = w.is_drain ? 0 : w.units > 0 ? w.units : 1, .limit = w.limit,
                   .linger = SPAN_MS(w.linger_ms),
                   .owner = w.owner, .owner_size = w.owner != NULL ? strlen(w.owner) : 0,
                   .is_try = w.is_try, .is_fixed = w.is_fixed, .no_reentry = w.no_reentry,
                   .ttl = SPAN_MS(w.ttl_ms > 0 ? w.ttl_ms : 30000),
                   .max_hold = SPAN_MS(w.max_hold_ms), .warn = SPAN_MS(w.warn_ms),
                   .give_up_at = w.wait_ms > 0 ? instant_add(p->now, SPAN_MS(w.wait_ms))
                                                  : INSTANT_NEVER };
  assert_int_equal(engine_lock(p->engine, &r, p->now, &entry->id), DIBS_OK);
  peer_pull(p);
}

static bool observed_ask(const sync_op *op, const protocol *p, request *out)
{
  (void)op;
  return native_inspect(p, out, "n", 1);
}

/* Each reply is news: "observed a 5". */
static sync_next observed_read(sync_op *op, const resp_reply *reply)
{
  struct observed *o = (struct observed *)(void *)op;
  const resp_node *said = resp_root(reply);
  sync_next next = sync_repeat();

  if (said->kind == RESP_INTEGER)
    snprintf(o->reply, sizeof(o->reply), "%lld", (long long)said->integer);
  else
    snprintf(o->reply, sizeof(o->reply), "%s", said->bytes);
  if (o->next_ms != 0)
    next.at = instant_add(op->now, SPAN_MS(o->next_ms));
  next.is_news = true;
  return next;
}

static void observed_channel_write(const sync_op *op, const protocol *p, text *out)
{
  (void)p;
  text_add(out, ((const struct observed *)(const void *)op)->channel);
}

void peer_observe(struct peer *p, const char *who, struct watch w)
{
  struct who *entry = who_add(p, who);
  struct observed *o = &entry->observed;

  *o = (struct observed){ .channel = w.channel != NULL ? w.channel : "thing:{n}",
                          .next_ms = w.next_ms };
  o->row = (sync_row){ .name = "observed", .is_patient = w.is_patient,
                       .every = SPAN_MS(w.every_ms > 0 ? w.every_ms : 3000),
                       .ask = observed_ask, .read = observed_read,
                       .channel = o->channel[0] != '\0' ? observed_channel_write : NULL };
  o->op = (sync_op){ .row = &o->row, .context = entry,
                     .give_up_at = w.wait_ms > 0 ? instant_add(p->now, SPAN_MS(w.wait_ms))
                                                 : INSTANT_NEVER };
  assert_int_equal(engine_run(p->engine, &o->op, p->now, &entry->id), DIBS_OK);
  peer_pull(p);
}

void peer_run(struct peer *p, const char *who, sync_op *op)
{
  struct who *entry = who_add(p, who);

  op->context = entry;
  assert_int_equal(engine_run(p->engine, op, p->now, &entry->id), DIBS_OK);
  peer_pull(p);
}

bool peer_observe_end(struct peer *p, const char *who)
{
  bool was_there = engine_stop(p->engine, peer_who_of(p, who)->id, p->now);

  peer_pull(p);
  return was_there;
}

void peer_cancel(struct peer *p, const char *who)
{
  engine_cancel(p->engine, peer_who_of(p, who)->id, p->now);
  peer_pull(p);
}

void peer_downgrade(struct peer *p, const char *who)
{
  assert_int_equal(engine_downgrade(p->engine, peer_who_of(p, who)->id, p->now), DIBS_OK);
  peer_pull(p);
}

dibs_status peer_detach(struct peer *p, const char *who)
{
  dibs_status status = engine_detach(p->engine, peer_who_of(p, who)->id, p->now);

  peer_pull(p);
  return status;
}

void peer_close(struct peer *p)
{
  engine_close(p->engine, p->now);
  peer_pull(p);
}

void peer_release(struct peer *p, const char *who)
{
  assert_int_equal(engine_release(p->engine, peer_who_of(p, who)->id, p->now), DIBS_OK);
  peer_pull(p);
}
