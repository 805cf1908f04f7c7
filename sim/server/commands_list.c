/* SPDX-License-Identifier: MIT */
/* Commands: lists. */
#include "server/parts.h"

static list *list_of(call *c, bool *ret_is_wrong)
{
  key *entry = db_find_kind(c, c->words[1], VALUE_LIST, ret_is_wrong);

  return entry == NULL ? NULL : key_value(entry)->as.list;
}

static void changed(call *c, key *entry)
{
  db_changed(c->server, key_name(entry));
  db_remove_if_empty(c->server, entry);
}

/* ---- pushing ---- */

static void push(call *c, bool in_front, bool only_if_there)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong);
  list *l;

  if (is_wrong)
    return;
  if (entry == NULL && only_if_there) {
    reply_integer(c->reply, 0);
    return;
  }
  entry = db_need(c, c->words[1], VALUE_LIST);
  l = key_value(entry)->as.list;
  for (size_t i = 2; i < c->count; i++)
    list_insert(l, in_front ? 0 : l->count, c->words[i]);
  db_changed(c->server, key_name(entry));
  reply_integer(c->reply, (int64_t)l->count);
}

static void run_lpush(call *c) { push(c, true, false); }

static void run_rpush(call *c) { push(c, false, false); }

static void run_lpushx(call *c) { push(c, true, true); }

static void run_rpushx(call *c) { push(c, false, true); }

static void run_linsert(call *c)
{
  bool is_behind = slice_is(c->words[2], "after"), is_wrong;
  key *entry;
  list *l;

  if (!is_behind && !slice_is(c->words[2], "before")) {
    reply_syntax_error(c->reply);
    return;
  }
  entry = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong);
  if (is_wrong)
    return;
  if (entry == NULL) {
    reply_integer(c->reply, 0);
    return;
  }
  l = key_value(entry)->as.list;
  for (size_t i = 0; i < l->count; i++)
    if (slice_equal(list_at(l, i), c->words[3])) {
      list_insert(l, is_behind ? i + 1 : i, c->words[4]);
      changed(c, entry);
      reply_integer(c->reply, (int64_t)l->count);
      return;
    }
  reply_integer(c->reply, -1);
}

/* ---- popping ---- */

static void pop_one(reply *r, list *l, bool in_front)
{
  size_t i = in_front ? 0 : l->count - 1;

  reply_string(r, list_at(l, i));
  list_remove(l, i);
}

static void pop(call *c, bool in_front, const char *name)
{
  int64_t count = 1;
  bool is_wrong;
  key *entry;
  list *l;

  if (c->count > 3) {
    reply_wrong_count(c->reply, name);
    return;
  }
  if (c->count == 3 && (!slice_to_integer(c->words[2], &count) || count < 0)) {
    reply_error(c->reply, "ERR value is out of range, must be positive");
    return;
  }
  entry = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong);
  if (is_wrong)
    return;
  if (entry == NULL) {
    if (c->count == 3)
      reply_no_array(c->reply);
    else
      reply_nothing(c->reply);
    return;
  }
  l = key_value(entry)->as.list;
  if ((uint64_t)count > l->count)
    count = (int64_t)l->count;
  if (c->count == 3)
    reply_array(c->reply, (size_t)count);
  for (int64_t i = 0; i < count; i++)
    pop_one(c->reply, l, in_front);
  if (count > 0)
    changed(c, entry);
}

static void run_lpop(call *c) { pop(c, true, "lpop"); }

static void run_rpop(call *c) { pop(c, false, "rpop"); }

static void move(call *c, bool from_front, bool to_front)
{
  bool is_wrong;
  key *from = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong), *to;
  blob *moved;
  list *l;

  if (is_wrong)
    return;
  if (from == NULL) {
    reply_nothing(c->reply);
    return;
  }
  to = db_need(c, c->words[2], VALUE_LIST);
  if (to == NULL)
    return;
  l = key_value(from)->as.list;
  moved = blob_new(list_at(l, from_front ? 0 : l->count - 1));
  list_remove(l, from_front ? 0 : l->count - 1);
  l = key_value(to)->as.list;
  list_insert(l, to_front ? 0 : l->count, blob_slice(moved));
  db_changed(c->server, key_name(to));
  changed(c, from);
  reply_string(c->reply, blob_slice(moved));
  sim_free(moved);
}

static void run_rpoplpush(call *c) { move(c, false, true); }

static void run_lmove(call *c)
{
  for (size_t i = 3; i < 5; i++)
    if (!slice_is(c->words[i], "left") && !slice_is(c->words[i], "right")) {
      reply_syntax_error(c->reply);
      return;
    }
  move(c, slice_is(c->words[3], "left"), slice_is(c->words[4], "left"));
}

static void run_lrem(call *c)
{
  int64_t count, gone = 0;
  bool is_wrong;
  key *entry;
  list *l;

  if (!slice_to_integer(c->words[2], &count)) {
    reply_not_integer(c->reply);
    return;
  }
  entry = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong);
  if (is_wrong)
    return;
  l = entry == NULL ? NULL : key_value(entry)->as.list;
  for (size_t seen = 0, total = l == NULL ? 0 : l->count; seen < total; seen++) {
    size_t i = count < 0 ? total - 1 - seen : seen - (size_t)gone;

    if (count != 0 && gone == (count < 0 ? -count : count))
      break;
    if (!slice_equal(list_at(l, i), c->words[3]))
      continue;
    list_remove(l, i);
    gone++;
  }
  if (gone > 0)
    changed(c, entry);
  reply_integer(c->reply, gone);
}

/* ---- looking ---- */

static void run_llen(call *c)
{
  bool is_wrong;
  const list *l = list_of(c, &is_wrong);

  if (!is_wrong)
    reply_integer(c->reply, l == NULL ? 0 : (int64_t)l->count);
}

/* Where `word` points, from the end when it is negative; false: answered with an error. */
static bool index_read(call *c, slice word, const list *l, int64_t *ret)
{
  if (!slice_to_integer(word, ret)) {
    reply_not_integer(c->reply);
    return false;
  }
  if (*ret < 0)
    *ret += (int64_t)l->count;
  return true;
}

static void run_lindex(call *c)
{
  bool is_wrong;
  const list *l = list_of(c, &is_wrong);
  int64_t i;

  if (is_wrong)
    return;
  if (l == NULL) {
    reply_nothing(c->reply);
    return;
  }
  if (!index_read(c, c->words[2], l, &i))
    return;
  if (i < 0 || (uint64_t)i >= l->count)
    reply_nothing(c->reply);
  else
    reply_string(c->reply, list_at(l, (size_t)i));
}

static void run_lset(call *c)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong);
  int64_t i;
  list *l;

  if (is_wrong)
    return;
  if (entry == NULL) {
    reply_error(c->reply, "ERR no such key");
    return;
  }
  l = key_value(entry)->as.list;
  if (!index_read(c, c->words[2], l, &i))
    return;
  if (i < 0 || (uint64_t)i >= l->count) {
    reply_error(c->reply, "ERR index out of range");
    return;
  }
  list_set(l, (size_t)i, c->words[3]);
  changed(c, entry);
  reply_ok(c->reply);
}

/* From `*from` up to, not with, `*to`. */
static bool range_read(call *c, size_t count, int64_t *from, int64_t *to)
{
  if (!slice_to_integer(c->words[2], from) || !slice_to_integer(c->words[3], to)) {
    reply_not_integer(c->reply);
    return false;
  }
  if (*from < 0)
    *from += (int64_t)count;
  if (*to < 0)
    *to += (int64_t)count;
  if (*from < 0)
    *from = 0;
  *to = *to >= (int64_t)count ? (int64_t)count : *to + 1;
  if (*to < *from)
    *to = *from;
  return true;
}

static void run_lrange(call *c)
{
  bool is_wrong;
  int64_t from, to;
  const list *l;

  if (!range_read(c, 0, &from, &to))
    return;
  l = list_of(c, &is_wrong);
  if (is_wrong)
    return;
  (void)range_read(c, l == NULL ? 0 : l->count, &from, &to);
  reply_array(c->reply, (size_t)(to - from));
  for (; from < to; from++)
    reply_string(c->reply, list_at(l, (size_t)from));
}

static void run_ltrim(call *c)
{
  bool is_wrong;
  int64_t from, to;
  key *entry;
  list *l;

  if (!range_read(c, 0, &from, &to))
    return;
  entry = db_find_kind(c, c->words[1], VALUE_LIST, &is_wrong);
  if (is_wrong)
    return;
  if (entry != NULL) {
    l = key_value(entry)->as.list;
    (void)range_read(c, l->count, &from, &to);
    while (l->count > (size_t)to)
      list_remove(l, l->count - 1);
    for (; from > 0 && l->count > 0; from--)
      list_remove(l, 0);
    changed(c, entry);
  }
  reply_ok(c->reply);
}

#define WRITE (COMMAND_WRITES | COMMAND_ALLOCATES)

const command commands_list[] = {
  { "lpush", -3, WRITE, run_lpush },
  { "rpush", -3, WRITE, run_rpush },
  { "lpushx", -3, WRITE, run_lpushx },
  { "rpushx", -3, WRITE, run_rpushx },
  { "linsert", 5, WRITE, run_linsert },
  { "lpop", -2, COMMAND_WRITES, run_lpop },
  { "rpop", -2, COMMAND_WRITES, run_rpop },
  { "rpoplpush", 3, WRITE, run_rpoplpush },
  { "lmove", 5, WRITE, run_lmove },
  { "lrem", 4, COMMAND_WRITES, run_lrem },
  { "llen", 2, 0, run_llen },
  { "lindex", 3, 0, run_lindex },
  { "lset", 4, WRITE, run_lset },
  { "lrange", 4, 0, run_lrange },
  { "ltrim", 4, COMMAND_WRITES, run_ltrim },
  { NULL, 0, 0, NULL }
};
