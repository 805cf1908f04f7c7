/* SPDX-License-Identifier: MIT */
/* Commands: hashes. */
#include "server/parts.h"

static hash *hash_of(call *c, bool *ret_is_wrong)
{
  key *entry = db_find_kind(c, c->words[1], VALUE_HASH, ret_is_wrong);

  return entry == NULL ? NULL : key_value(entry)->as.hash;
}

static void run_hget(call *c)
{
  bool is_wrong;
  const hash *h = hash_of(c, &is_wrong);
  slice held;

  if (is_wrong)
    return;
  if (h != NULL && hash_get(h, c->words[2], &held))
    reply_string(c->reply, held);
  else
    reply_nothing(c->reply);
}

static void run_hmget(call *c)
{
  bool is_wrong;
  const hash *h = hash_of(c, &is_wrong);
  slice held;

  if (is_wrong)
    return;
  reply_array(c->reply, c->count - 2);
  for (size_t i = 2; i < c->count; i++) {
    if (h != NULL && hash_get(h, c->words[i], &held))
      reply_string(c->reply, held);
    else
      reply_nothing(c->reply);
  }
}

static void answer_all(call *c, bool with_names, bool with_values)
{
  bool is_wrong;
  const hash *h = hash_of(c, &is_wrong);
  size_t each = (size_t)with_names + (size_t)with_values;

  if (is_wrong)
    return;
  reply_array(c->reply, h == NULL ? 0 : hash_count(h) * each);
  if (h == NULL)
    return;
  for (const hash_field *f = hash_next(h, NULL); f != NULL; f = hash_next(h, f)) {
    if (with_names)
      reply_string(c->reply, hash_field_name(f));
    if (with_values)
      reply_string(c->reply, hash_field_value(f));
  }
}

static void run_hgetall(call *c) { answer_all(c, true, true); }

static void run_hkeys(call *c) { answer_all(c, true, false); }

static void run_hvals(call *c) { answer_all(c, false, true); }

static void run_hlen(call *c)
{
  bool is_wrong;
  const hash *h = hash_of(c, &is_wrong);

  if (!is_wrong)
    reply_integer(c->reply, h == NULL ? 0 : (int64_t)hash_count(h));
}

static void run_hexists(call *c)
{
  bool is_wrong;
  const hash *h = hash_of(c, &is_wrong);
  slice held;

  if (!is_wrong)
    reply_integer(c->reply, h != NULL && hash_get(h, c->words[2], &held));
}

static void run_hstrlen(call *c)
{
  bool is_wrong;
  const hash *h = hash_of(c, &is_wrong);
  slice held = { NULL, 0 };

  if (is_wrong)
    return;
  if (h != NULL)
    (void)hash_get(h, c->words[2], &held);
  reply_integer(c->reply, (int64_t)held.size);
}

/* How many fields are new; -1: answered with an error. */
static int64_t set_fields(call *c, const char *name)
{
  int64_t fresh = 0;
  key *entry;

  if (c->count % 2 == 1) {
    reply_wrong_count(c->reply, name);
    return -1;
  }
  entry = db_need(c, c->words[1], VALUE_HASH);
  if (entry == NULL)
    return -1;
  for (size_t i = 2; i < c->count; i += 2)
    fresh += hash_set(key_value(entry)->as.hash, c->words[i], c->words[i + 1]);
  db_changed(c->server, key_name(entry));
  return fresh;
}

static void run_hset(call *c)
{
  int64_t fresh = set_fields(c, "hset");

  if (fresh >= 0)
    reply_integer(c->reply, fresh);
}

static void run_hmset(call *c)
{
  if (set_fields(c, "hmset") >= 0)
    reply_ok(c->reply);
}

static void run_hsetnx(call *c)
{
  key *entry = db_need(c, c->words[1], VALUE_HASH);
  slice held;

  if (entry == NULL)
    return;
  if (hash_get(key_value(entry)->as.hash, c->words[2], &held)) {
    reply_integer(c->reply, 0);
    return;
  }
  (void)hash_set(key_value(entry)->as.hash, c->words[2], c->words[3]);
  db_changed(c->server, key_name(entry));
  reply_integer(c->reply, 1);
}

static void run_hdel(call *c)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_HASH, &is_wrong);
  int64_t gone = 0;

  if (is_wrong)
    return;
  for (size_t i = 2; entry != NULL && i < c->count; i++)
    gone += hash_remove(key_value(entry)->as.hash, c->words[i]);
  if (gone > 0) {
    db_changed(c->server, key_name(entry));
    db_remove_if_empty(c->server, entry);
  }
  reply_integer(c->reply, gone);
}

static void run_hincrby(call *c)
{
  char room[SLICE_FORMAT_MAX];
  int64_t n = 0, by;
  key *entry;
  slice held;

  if (!slice_to_integer(c->words[3], &by)) {
    reply_not_integer(c->reply);
    return;
  }
  entry = db_need(c, c->words[1], VALUE_HASH);
  if (entry == NULL)
    return;
  if (hash_get(key_value(entry)->as.hash, c->words[2], &held) &&
      !slice_to_integer(held, &n)) {
    reply_error(c->reply, "ERR hash value is not an integer");
    return;
  }
  if ((by > 0 && n > INT64_MAX - by) || (by < 0 && n < INT64_MIN - by)) {
    reply_error(c->reply, "ERR increment or decrement would overflow");
    return;
  }
  (void)hash_set(key_value(entry)->as.hash, c->words[2], slice_from_integer(n + by, room));
  db_changed(c->server, key_name(entry));
  reply_integer(c->reply, n + by);
}

#define WRITE (COMMAND_WRITES | COMMAND_ALLOCATES)

const command commands_hash[] = {
  { "hget", 3, 0, run_hget },
  { "hmget", -3, 0, run_hmget },
  { "hgetall", 2, 0, run_hgetall },
  { "hkeys", 2, 0, run_hkeys },
  { "hvals", 2, 0, run_hvals },
  { "hlen", 2, 0, run_hlen },
  { "hexists", 3, 0, run_hexists },
  { "hstrlen", 3, 0, run_hstrlen },
  { "hset", -4, WRITE, run_hset },
  { "hmset", -4, WRITE, run_hmset },
  { "hsetnx", 4, WRITE, run_hsetnx },
  { "hdel", -3, COMMAND_WRITES, run_hdel },
  { "hincrby", 4, WRITE, run_hincrby },
  { NULL, 0, 0, NULL }
};
