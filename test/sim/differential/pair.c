/* SPDX-License-Identifier: MIT */
/* test/sim/differential/pair.c - see pair.h. */
#include "pair.h"

#include <assert.h>
#include <string.h>

void pair_init(pair *p, side *right, side *other)
{
  memset(p, 0, sizeof(*p));
  p->sides[0] = right;
  p->sides[1] = other;
  for (int i = 0; i < 2; i++) {
    buffer_init(&p->replies[i], &frame_heap);
    for (int c = 0; c < SIDE_CONNECTIONS; c++)
      buffer_init(&p->messages[i][c], &frame_heap);
  }
}

void pair_deinit(pair *p)
{
  for (int i = 0; i < 2; i++) {
    buffer_deinit(&p->replies[i]);
    for (int c = 0; c < SIDE_CONNECTIONS; c++)
      buffer_deinit(&p->messages[i][c]);
  }
}

void pair_clock(pair *p, int64_t wall_us)
{
  for (int i = 0; i < 2; i++)
    p->sides[i]->clock(p->sides[i]->self, wall_us);
}

void pair_set(pair *p, side_condition which, bool is_on)
{
  for (int i = 0; i < 2; i++)
    p->sides[i]->set(p->sides[i]->self, which, is_on);
}

void pair_hang_up(pair *p, int connection)
{
  for (int i = 0; i < 2; i++) {
    p->sides[i]->hang_up(p->sides[i]->self, connection);
    buffer_clear(&p->messages[i][connection]);
  }
}

void pair_reset(pair *p, int64_t wall_us)
{
  pair_clock(p, wall_us);
  p->difference[0] = '\0';
  for (int i = 0; i < 2; i++) {
    p->sides[i]->reset(p->sides[i]->self);
    for (int c = 0; c < SIDE_CONNECTIONS; c++)
      buffer_clear(&p->messages[i][c]);
  }
}

/* ---- telling a difference ---- */

static void tell(pair *p, const char *what, frame of, frame right, frame other)
{
  text t = text_over(p->difference, sizeof(p->difference));
  frame said[2] = { right, other };

  text_add(&t, what);
  text_add(&t, " ");
  frame_print(of, &t);
  for (int i = 0; i < 2; i++) {
    text_add(&t, "\n    ");
    text_add(&t, p->sides[i]->name);
    text_add(&t, ": ");
    frame_print_all(said[i], &t);
  }
}

static bool knows_all(pair *p)
{
  for (int i = 0; i < 2; i++) {
    const char *unknown = p->sides[i]->unknown(p->sides[i]->self);
    text t = text_over(p->difference, sizeof(p->difference));

    if (unknown == NULL)
      continue;
    text_add(&t, p->sides[i]->name);
    text_add(&t, " does not know: ");
    text_add(&t, unknown);
    return false;
  }
  return true;
}

/* ---- requests ---- */

static bool is_word(frame word, const char *expected)
{
  size_t size = strlen(expected);

  if (word.size != size)
    return false;
  for (size_t i = 0; i < size; i++)
    if ((word.bytes[i] | 0x20) != expected[i])
      return false;
  return true;
}

/* How many replies a command has: one for each channel of these. */
static size_t reply_count(frame command)
{
  static const char *const each[] = { "subscribe", "unsubscribe", "psubscribe", "punsubscribe",
                                      "ssubscribe", "sunsubscribe" };
  size_t words = (size_t)frame_count(command);

  for (size_t i = 0; i < sizeof(each) / sizeof(each[0]); i++)
    if (is_word(frame_text(frame_child(command, 0)), each[i]))
      return words > 1 ? words - 1 : 1;
  return 1;
}

static frame_order order_of(frame command)
{
  static const struct { const char *name; frame_order order; } all[] = {
    { "hgetall", FRAME_AS_PAIRS }, { "hkeys", FRAME_AS_SET }, { "hvals", FRAME_AS_SET },
    { "keys", FRAME_AS_SET }, { "smembers", FRAME_AS_SET }, { "pubsub", FRAME_AS_SET },
    { "scan", FRAME_SCANNED }, { "hscan", FRAME_SCANNED_PAIRS },
    { "zscan", FRAME_SCANNED_PAIRS }, { "exec", FRAME_OF_ANY_ORDER },
  };
  frame word = frame_text(frame_child(command, 0));

  for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
    if (is_word(word, all[i].name))
      return all[i].order;
  return FRAME_IN_ORDER;
}

static bool is_message(frame f)
{
  frame word;

  if (frame_count(f) < 3)
    return false;
  word = frame_text(frame_child(f, 0));
  return is_word(word, "message") || is_word(word, "pmessage") || is_word(word, "smessage");
}

/* The next frame that is none of the messages, which are put aside; size 0: none came. */
static frame read_reply(pair *p, int i, int connection)
{
  for (;;) {
    frame f = p->sides[i]->read(p->sides[i]->self, connection);

    if (f.size == 0 || !is_message(f))
      return f;
    if (!buffer_append(&p->messages[i][connection], f.bytes, f.size))
      assert(false);
  }
}

/* False when it does not answer. */
static bool exchange(pair *p, int i, int connection, frame command, size_t replies)
{
  side *s = p->sides[i];
  bool is_answered = true;

  buffer_clear(&p->replies[i]);
  s->send(s->self, connection, command.bytes, command.size);
  for (; replies > 0 && is_answered; replies--) {
    frame f = read_reply(p, i, connection);
    is_answered = f.size > 0;
    if (!buffer_append(&p->replies[i], f.bytes, f.size))
      assert(false);
  }
  return is_answered;
}

static frame whole(const buffer *b) { return (frame){ buffer_bytes(b), buffer_size(b) }; }

frame pair_replies(const pair *p) { return whole(&p->replies[0]); }

bool pair_request(pair *p, int connection, frame command)
{
  size_t replies = reply_count(command);
  bool is_answered = true;

  p->requests++;
  for (int i = 0; i < 2; i++)
    is_answered = exchange(p, i, connection, command, replies) && is_answered;
  if (!knows_all(p))
    return false;
  if (is_answered && frame_equal(whole(&p->replies[0]), whole(&p->replies[1]), order_of(command)))
    return true;
  tell(p, "the replies differ to", command, whole(&p->replies[0]), whole(&p->replies[1]));
  return false;
}

bool pair_listen(pair *p, int connection)
{
  static const char ping[] = "*1\r\n$4\r\nPING\r\n";
  bool is_same;

  if (!pair_request(p, connection, (frame){ ping, sizeof(ping) - 1 }))
    return false;
  p->learned = whole(&p->messages[0][connection]);
  is_same = frame_equal(p->learned, whole(&p->messages[1][connection]), FRAME_IN_ORDER);
  if (!is_same)
    tell(p, "published was not the same before", (frame){ ping, sizeof(ping) - 1 }, p->learned,
         whole(&p->messages[1][connection]));
  for (int i = 0; i < 2; i++)
    buffer_clear(&p->messages[i][connection]);   /* `learned` stays until the next append */
  return is_same;
}

/* ---- the keys ---- */

static bool ask(pair *p, const char *const *words, size_t count, frame key)
{
  resp_argument all[6];
  buffer command;
  bool is_same;

  assert(count < 6);
  for (size_t i = 0; i < count; i++)
    all[i] = words[i] != NULL ? (resp_argument){ words[i], strlen(words[i]) }
                              : (resp_argument){ key.bytes, key.size };
  buffer_init(&command, &frame_heap);
  if (!resp_command(&command, all, count))
    assert(false);
  is_same = pair_request(p, 0, whole(&command));
  buffer_deinit(&command);
  return is_same;
}

static bool compare_value(pair *p, frame key)
{
  static const struct { const char *type, *words[5]; } reads[] = {
    { "string", { "GET", NULL } },
    { "hash", { "HGETALL", NULL } },
    { "list", { "LRANGE", NULL, "0", "-1" } },
    { "zset", { "ZRANGE", NULL, "0", "-1", "WITHSCORES" } },
    { "set", { "SMEMBERS", NULL } },
  };
  static const size_t counts[] = { 2, 2, 4, 5, 2 };
  frame type;

  if (!ask(p, (const char *[]){ "TYPE", NULL }, 2, key))
    return false;
  type = frame_text(pair_replies(p));
  for (size_t i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
    if (is_word(type, reads[i].type))
      return ask(p, reads[i].words, counts[i], key)
             && ask(p, (const char *[]){ "PEXPIRETIME", NULL }, 2, key);
  assert(false);
  return false;
}

bool pair_compare_keys(pair *p)
{
  buffer keys;
  bool is_same = ask(p, (const char *[]){ "KEYS", "*" }, 2, (frame){ "", 0 });
  frame all;

  if (!is_same)
    return false;
  buffer_init(&keys, &frame_heap);
  if (!buffer_append(&keys, buffer_bytes(&p->replies[0]), buffer_size(&p->replies[0])))
    assert(false);
  all = whole(&keys);
  for (int64_t i = 0; i < frame_count(all) && is_same; i++)
    is_same = compare_value(p, frame_text(frame_child(all, (size_t)i)));
  buffer_deinit(&keys);
  return is_same;
}
