/* SPDX-License-Identifier: MIT */
/* test/unit/lock/nodes.c - one lock table before several nodes, played by hand. */
#include "nodes.h"

#include "base/plain_memory.h"
#include "script/script.h"

#define START_US 1700000000000000

static const memory plain = PLAIN_MEMORY;

static dibs_status last_status;
static char last_reason[320];

const memory *nodes_memory(void) { return &plain; }

struct nodes *nodes_new(void)
{
  return nodes_new_of(&native_dialect);
}

struct nodes *nodes_new_of(const dialect_ops *dialect)
{
  struct nodes *l = calloc(1, sizeof(*l));
  protocol spoken = { .prefix = "dibs", .client = SELF, .dialect = dialect, .has_tags = true };
  lock_settings s = { .memory = &plain, .protocol = &spoken, .seed = 7,
                      .connect_timeout = SPAN_MS(5000), .command_timeout = SPAN_MS(2000),
                      .clock_rate_error_ppm = 10000, .local_handovers_max = 16,
                      .local_handover_time = SPAN_MS(10), .route_count = NODES,
                      .slots = l->slots };

  l->now = (instant){ SPAN_MS(1000000).ns };
  l->table = lock_table_new(&s);
  assert_non_null(l->table);
  l->front = hold_front_new(&plain);
  hold_front_add(l->front, lock_backend(l->table));
  lock_sharded_channels(l->table, true);
  for (size_t i = 0; i < NODES; i++) {
    lock_server_time(l->table, i, nodes_us(l), l->now, l->now);
    lock_link_up(l->table, i, l->now);
    lock_inbox_up(l->table, i, l->now);
  }
  return l;
}

void nodes_free(struct nodes *l)
{
  hold_front_free(l->front);
  lock_table_free(l->table);
  free(l);
}

long long nodes_us(const struct nodes *l)
{
  return START_US + l->now.ns / 1000;
}

lock_spec nodes_wish(const char *name)
{
  return (lock_spec){ .kind = LOCK_MUTEX, .name = name, .name_size = strlen(name), .units = 1,
                      .ttl = SPAN_MS(30000), .give_up_at = INSTANT_NEVER,
                      .replicas_wait = SPAN_MS(1000) };
}

uint64_t nodes_lock_with(struct nodes *l, const lock_spec *w)
{
  uint64_t id = 0;

  assert_int_equal(hold_claim(l->front, w, l->now, &id), DIBS_OK);
  return id;
}

uint64_t nodes_lock(struct nodes *l, const char *name)
{
  lock_spec w = nodes_wish(name);

  return nodes_lock_with(l, &w);
}

void nodes_move(struct nodes *l, const char *name, uint16_t to)
{
  char key[80];
  int size = snprintf(key, sizeof(key), "dibs:m:{%s}", name);

  l->slots[slot_of_key(key, (size_t)size)] = to;
  lock_slots_changed(l->table, l->now);
}

/* A table that asks to be ticked without end is found here. */
void nodes_pass(struct nodes *l, int64_t ms)
{
  instant end = instant_add(l->now, SPAN_MS(ms));
  int64_t ticks = 0;

  while (!instant_before(end, hold_deadline(l->front))) {
    l->now = instant_max(l->now, hold_deadline(l->front));
    hold_tick(l->front, l->now);
    assert_true(++ticks < 100 + ms);
  }
  l->now = end;
  hold_tick(l->front, l->now);
}

/* ---- commands ---- */

static const size_t *sizes_of(const request *r, size_t *ret_count)
{
  *ret_count = buffer_size(&r->sizes) / sizeof(size_t);
  return (const size_t *)(const void *)buffer_bytes(&r->sizes);
}

static void keep_words(struct nodes *l, const request *r)
{
  const char *at = buffer_bytes(&r->bytes);
  size_t count, used = 0;
  const size_t *sizes = sizes_of(r, &count);

  for (size_t i = 0; i < count; at += sizes[i], i++)
    used += (size_t)snprintf(l->words + used, sizeof(l->words) - used, "%.*s ", (int)sizes[i],
                             at);
}

const char *nodes_words(const struct nodes *l) { return l->words; }

static const char *verb(struct nodes *l, const request *r)
{
  static char words[16];
  size_t count;
  const size_t *sizes = sizes_of(r, &count);

  keep_words(l, r);
  if (r->script != NULL)
    return strchr(r->script->name, '/') + 1;
  assert_true(count > 0);
  snprintf(words, sizeof(words), "%.*s", (int)sizes[0], buffer_bytes(&r->bytes));
  return words;
}

const char *nodes_next(struct nodes *l, size_t node)
{
  lock_command k;
  request out;
  const char *words = "";

  request_init(&out, &plain);
  if (lock_next_command(l->table, node, &out, &k, l->now)) {
    l->tag = k.tag;
    l->sent_at = l->now;
    l->is_asking = k.is_asking;
    words = verb(l, &out);
  }
  request_deinit(&out);
  return words;
}

const char *nodes_next_ack(struct nodes *l, size_t node)
{
  request out;
  const char *words = "";

  request_init(&out, &plain);
  if (lock_next_ack_command(l->table, node, &out, &l->tag, l->now)) {
    l->sent_at = l->now;
    words = verb(l, &out);
  }
  request_deinit(&out);
  return words;
}

/* "-ERR words", ":1", or "[:1 :2 $text]". */
static void encode(const char *words, char *out, size_t size)
{
  char copy[512];
  size_t count = 0, used;

  snprintf(copy, sizeof(copy), "%s", words[0] == '[' ? words + 1 : words);
  if (words[0] != '[') {
    snprintf(out, size, "%s\r\n", copy);
    return;
  }
  copy[strlen(copy) - 1] = '\0';
  for (const char *at = copy; at != NULL; at = strchr(at + 1, ' '))
    count++;
  used = (size_t)snprintf(out, size, "*%zu\r\n", count);
  for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " "))
    if (word[0] == '$')
      used += (size_t)snprintf(out + used, size - used, "$%zu\r\n%s\r\n", strlen(word + 1),
                               word + 1);
    else
      used += (size_t)snprintf(out + used, size - used, "%s\r\n", word);
}

lock_verdict nodes_answer(struct nodes *l, const char *format, ...)
{
  char words[512], bytes[1024];
  resp_reader *reader = resp_reader_new(&plain, RESP_LIMITS_DEFAULT);
  resp_reply *reply = NULL;
  lock_verdict verdict;
  va_list arguments;

  va_start(arguments, format);
  vsnprintf(words, sizeof(words), format, arguments);
  va_end(arguments);
  encode(words, bytes, sizeof(bytes));
  assert_int_equal(resp_reader_feed(reader, bytes, strlen(bytes)), DIBS_OK);
  assert_int_equal(resp_reader_next(reader, &reply), DIBS_OK);
  assert_non_null(reply);
  verdict = lock_answer(l->table, l->tag, l->sent_at, reply, l->now);
  resp_reply_free(reply);
  resp_reader_free(reader);
  return verdict;
}

/* ---- channels, messages, events ---- */

const char *nodes_channel(struct nodes *l, size_t node)
{
  static char bytes[700];
  text channel = text_over(bytes + 1, sizeof(bytes) - 1);
  bool is_left = false;

  bytes[0] = '-';
  if (!lock_next_channel(l->table, node, &channel, &is_left))
    return "";
  bytes[1 + channel.used] = '\0';
  return is_left ? bytes : bytes + 1;
}

void nodes_subscribe(struct nodes *l, size_t node)
{
  const char *channel = nodes_channel(l, node);

  assert_string_not_equal(channel, "");
  lock_channel_up(l->table, node, channel, strlen(channel), l->now);
}

void nodes_message(struct nodes *l, const char *words)
{
  nodes_message_on(l, "", words);
}

void nodes_message_on(struct nodes *l, const char *channel, const char *words)
{
  lock_message(l->table, channel, strlen(channel), words, strlen(words), l->now);
}

char nodes_letter(lock_event_kind kind)
{
  static const char letters[] = {
    [LOCK_GRANTED] = 'g', [LOCK_RENEWED] = 'r', [LOCK_SUSPECT] = 's', [LOCK_ENDS_SOON] = 'w',
    [LOCK_LOST] = 'l', [LOCK_RAISED] = 'R', [LOCK_HELD_BACK] = 'h', [LOCK_FAILED] = 'f',
    [LOCK_RELEASED] = 'e', [LOCK_DETACHED] = 'd',
  };

  return letters[kind];
}

const char *nodes_events(struct nodes *l)
{
  static char seen[64];
  size_t count = 0;
  lock_event event;

  while (count + 1 < sizeof(seen) && hold_next_event(l->front, &event)) {
    seen[count++] = nodes_letter(event.kind);
    last_status = event.status;
    snprintf(last_reason, sizeof(last_reason), "%s", event.words != NULL ? event.words : "");
  }
  seen[count] = '\0';
  return seen;
}

dibs_status nodes_status(const struct nodes *l)
{
  (void)l;
  return last_status;
}

const char *nodes_reason(const struct nodes *l)
{
  (void)l;
  return last_reason;
}

/* ---- beginnings ---- */

uint64_t nodes_queued(struct nodes *l, const char *name)
{
  uint64_t id = nodes_lock(l, name);

  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:6 :%lld]", nodes_us(l));
  nodes_subscribe(l, 0);
  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :5]", nodes_us(l));
  assert_string_equal(nodes_next(l, 0), "");
  return id;
}

uint64_t nodes_held(struct nodes *l, const char *name)
{
  uint64_t id = nodes_lock(l, name);

  assert_string_equal(nodes_next(l, 0), "acquire");
  nodes_answer(l, "[:1 :%lld :30000 :60]", nodes_us(l));
  assert_string_equal(nodes_events(l), "g");
  return id;
}
