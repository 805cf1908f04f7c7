/* SPDX-License-Identifier: MIT */
/* test/unit/lock/nodes.c - one lock table before several nodes, played by hand. */
#include "nodes.h"

#include "script/script.h"

#define START_US 1700000000000000

static void *allocate(size_t bytes, void *data) { (void)data; return malloc(bytes); }
static void *reallocate(void *p, size_t n, void *data) { (void)data; return realloc(p, n); }
static void give_back(void *p, void *data) { (void)data; free(p); }
static const memory plain = { allocate, reallocate, give_back, NULL };

static dibs_status last_status;

const memory *nodes_memory(void) { return &plain; }

struct nodes *nodes_new(void)
{
  return nodes_new_of(DIALECT_NATIVE);
}

struct nodes *nodes_new_of(dialect_kind dialect)
{
  struct nodes *n = calloc(1, sizeof(*n));
  lock_settings s = { .memory = &plain, .prefix = "dibs", .client_id = SELF, .seed = 7,
                      .connect_timeout = SPAN_MS(5000), .command_timeout = SPAN_MS(2000),
                      .clock_rate_error_ppm = 10000, .local_handovers_max = 16,
                      .local_handover_time = SPAN_MS(10), .route_count = NODES,
                      .slots = n->slots, .dialect = dialect };

  n->now = (instant){ SPAN_MS(1000000).ns };
  n->table = lock_table_new(&s);
  assert_non_null(n->table);
  lock_sharded_channels(n->table, true);
  for (size_t i = 0; i < NODES; i++) {
    lock_server_time(n->table, i, nodes_us(n), n->now, n->now);
    lock_link_up(n->table, i, n->now);
    lock_inbox_up(n->table, i, n->now);
  }
  return n;
}

void nodes_free(struct nodes *n)
{
  lock_table_free(n->table);
  free(n);
}

long long nodes_us(const struct nodes *n)
{
  return START_US + n->now.ns / 1000;
}

lock_wish nodes_wish(const char *name)
{
  return (lock_wish){ .kind = LOCK_MUTEX, .name = name, .name_size = strlen(name), .units = 1,
                      .ttl = SPAN_MS(30000), .give_up_at = INSTANT_NEVER,
                      .replicas_wait = SPAN_MS(1000) };
}

uint64_t nodes_lock_with(struct nodes *n, const lock_wish *w)
{
  uint64_t id = 0;

  assert_int_equal(lock_claim(n->table, w, n->now, &id), DIBS_OK);
  return id;
}

uint64_t nodes_lock(struct nodes *n, const char *name)
{
  lock_wish w = nodes_wish(name);

  return nodes_lock_with(n, &w);
}

void nodes_move(struct nodes *n, const char *name, uint16_t to)
{
  char key[80];
  int size = snprintf(key, sizeof(key), "dibs:m:{%s}", name);

  n->slots[slot_of_key(key, (size_t)size)] = to;
  lock_slots_changed(n->table, n->now);
}

/* A table that asks to be ticked without end is found here. */
void nodes_pass(struct nodes *n, int64_t ms)
{
  instant end = instant_add(n->now, SPAN_MS(ms));
  int64_t ticks = 0;

  while (!instant_before(end, lock_deadline(n->table))) {
    n->now = instant_max(n->now, lock_deadline(n->table));
    lock_tick(n->table, n->now);
    assert_true(++ticks < 100 + ms);
  }
  n->now = end;
  lock_tick(n->table, n->now);
}

/* ---- commands ---- */

static const char *script_name(const resp_argument *digest)
{
  static const struct { const script *script; const char *name; } known[] = {
    { &script_native_acquire, "acquire" }, { &script_native_release, "release" },
    { &script_native_renew, "renew" },     { &script_native_cancel, "cancel" },
    { &script_native_raise, "raise" },     { &script_native_many_acquire, "many_acquire" },
    { &script_native_many_release, "many_release" },
    { &script_redisson_acquire, "acquire" }, { &script_redisson_release, "release" },
    { &script_redisson_renew, "renew" },     { &script_redisson_cancel, "cancel" },
    { &script_redisson_rw_acquire, "rw_acquire" },
    { &script_redisson_share_release, "share_release" },
    { &script_spring_acquire, "acquire" },   { &script_spring_release, "release" },
  };

  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if ((digest->size == 40 && memcmp(digest->bytes, known[i].script->sha1, 40) == 0) ||
        (digest->size == known[i].script->size &&
         memcmp(digest->bytes, known[i].script->bytes, digest->size) == 0))
      return known[i].name;
  return "another script";
}

static void keep_words(struct nodes *n, const buffer *out)
{
  resp_argument said[16];
  size_t count = resp_command_words(out, said, 16), used = 0;

  for (size_t i = 0; i < count && said[i].size < 100; i++)
    used += (size_t)snprintf(n->words + used, sizeof(n->words) - used, "%.*s ",
                             (int)said[i].size, (const char *)said[i].bytes);
}

const char *nodes_words(const struct nodes *n) { return n->words; }

static const char *verb(struct nodes *n, const buffer *out)
{
  static char words[16];
  resp_argument said[2];
  size_t count = resp_command_words(out, said, 2);

  assert_true(count > 0);
  keep_words(n, out);
  if (count > 1 && said[0].size >= 4 && memcmp(said[0].bytes, "EVAL", 4) == 0)
    return script_name(&said[1]);
  snprintf(words, sizeof(words), "%.*s", (int)said[0].size, (const char *)said[0].bytes);
  return words;
}

const char *nodes_next(struct nodes *n, size_t node)
{
  lock_command k;
  buffer out;
  const char *words = "";

  buffer_init(&out, &plain);
  if (lock_next_command(n->table, node, &out, &k, n->now)) {
    n->tag = k.tag;
    n->sent_at = n->now;
    n->is_asking = k.is_asking;
    words = verb(n, &out);
  }
  buffer_deinit(&out);
  return words;
}

const char *nodes_next_ack(struct nodes *n, size_t node)
{
  buffer out;
  const char *words = "";

  buffer_init(&out, &plain);
  if (lock_next_ack_command(n->table, node, &out, &n->tag, n->now)) {
    n->sent_at = n->now;
    words = verb(n, &out);
  }
  buffer_deinit(&out);
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

lock_verdict nodes_answer(struct nodes *n, const char *format, ...)
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
  verdict = lock_answer(n->table, n->tag, n->sent_at, reply, n->now);
  resp_reply_free(reply);
  resp_reader_free(reader);
  return verdict;
}

/* ---- channels, messages, events ---- */

const char *nodes_channel(struct nodes *n, size_t node)
{
  static char bytes[700];
  text channel = text_over(bytes + 1, sizeof(bytes) - 1);
  bool is_left = false;

  bytes[0] = '-';
  if (!lock_next_channel(n->table, node, &channel, &is_left))
    return "";
  bytes[1 + channel.used] = '\0';
  return is_left ? bytes : bytes + 1;
}

void nodes_subscribe(struct nodes *n, size_t node)
{
  const char *channel = nodes_channel(n, node);

  assert_string_not_equal(channel, "");
  lock_channel_up(n->table, node, channel, strlen(channel), n->now);
}

void nodes_message(struct nodes *n, const char *words)
{
  nodes_message_on(n, "", words);
}

void nodes_message_on(struct nodes *n, const char *channel, const char *words)
{
  lock_message(n->table, channel, strlen(channel), words, strlen(words), n->now);
}

const char *nodes_events(struct nodes *n)
{
  static const char letters[] = " grslRfed";
  static char seen[64];
  size_t count = 0;
  lock_event event;

  while (count + 1 < sizeof(seen) && lock_next_event(n->table, &event)) {
    seen[count++] = letters[event.kind];
    last_status = event.status;
  }
  seen[count] = '\0';
  return seen;
}

dibs_status nodes_status(const struct nodes *n)
{
  (void)n;
  return last_status;
}

/* ---- beginnings ---- */

uint64_t nodes_queued(struct nodes *n, const char *name)
{
  uint64_t id = nodes_lock(n, name);

  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:6 :%lld]", nodes_us(n));
  nodes_subscribe(n, 0);
  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:3 :%lld :30000 :30000 $" OTHER ":9:50 :0 :5]", nodes_us(n));
  assert_string_equal(nodes_next(n, 0), "");
  return id;
}

uint64_t nodes_held(struct nodes *n, const char *name)
{
  uint64_t id = nodes_lock(n, name);

  assert_string_equal(nodes_next(n, 0), "acquire");
  nodes_answer(n, "[:1 :%lld :30000 :60]", nodes_us(n));
  assert_string_equal(nodes_events(n), "g");
  return id;
}
