/* SPDX-License-Identifier: MIT */
/* Commands: sorted sets, member by member. */
#include "server/parts.h"

#include <math.h>

static zset *zset_of(call *c, bool *ret_is_wrong)
{
  key *entry = db_find_kind(c, c->words[1], VALUE_ZSET, ret_is_wrong);

  return entry == NULL ? NULL : key_value(entry)->as.zset;
}

static bool score_read(call *c, slice word, double *ret)
{
  if (slice_to_double(word, ret))
    return true;
  reply_error(c->reply, "ERR value is not a valid float");
  return false;
}

/* ---- ZADD, ZINCRBY ---- */

typedef struct add_options {
  bool nx, xx, gt, lt, ch, incr;
  size_t first;                 /* the first score */
} add_options;

static bool add_options_read(call *c, add_options *o)
{
  size_t i = 2;

  *o = (add_options){ .incr = false };
  for (; i < c->count; i++) {
    slice word = c->words[i];

    if (slice_is(word, "nx"))
      o->nx = true;
    else if (slice_is(word, "xx"))
      o->xx = true;
    else if (slice_is(word, "gt"))
      o->gt = true;
    else if (slice_is(word, "lt"))
      o->lt = true;
    else if (slice_is(word, "ch"))
      o->ch = true;
    else if (slice_is(word, "incr"))
      o->incr = true;
    else
      break;
  }
  o->first = i;
  if (i == c->count || (c->count - i) % 2 == 1)
    reply_syntax_error(c->reply);
  else if (o->nx && o->xx)
    reply_error(c->reply, "ERR XX and NX options at the same time are not compatible");
  else if ((o->gt && o->lt) || (o->nx && (o->gt || o->lt)))
    reply_error(c->reply, "ERR GT, LT, and/or NX options at the same time are not "
                          "compatible");
  else if (o->incr && c->count - i > 2)
    reply_error(c->reply, "ERR INCR option supports a single increment-element pair");
  else
    return true;
  return false;
}

typedef struct added { int64_t fresh, updated, processed; double score; } added;

/* false: the sum is no number, answered. */
static bool add_one(call *c, zset *z, const add_options *o, double score, slice name,
                    added *a)
{
  double old = 0;
  bool is_there = zset_score(z, name, &old);

  if (is_there ? o->nx : o->xx)
    return true;
  if (is_there && o->incr) {
    score += old;
    if (isnan(score)) {
      reply_error(c->reply, "ERR resulting score is not a number (NaN)");
      return false;
    }
  }
  if (is_there && ((o->gt && score <= old) || (o->lt && score >= old)))
    return true;
  a->processed++;
  a->score = score;
  a->fresh += !is_there;
  a->updated += is_there && score != old;
  if (!is_there || score != old)
    zset_set(z, name, score);
  return true;
}

static void add(call *c, const add_options *o)
{
  added a = { 0, 0, 0, 0 };
  bool is_wrong, is_good = true;
  key *entry;
  double score;

  for (size_t i = o->first; i < c->count; i += 2)
    if (!score_read(c, c->words[i], &score))
      return;
  entry = db_find_kind(c, c->words[1], VALUE_ZSET, &is_wrong);
  if (is_wrong)
    return;
  if (entry == NULL && !o->xx)
    entry = db_need(c, c->words[1], VALUE_ZSET);
  for (size_t i = o->first; entry != NULL && is_good && i < c->count; i += 2) {
    (void)slice_to_double(c->words[i], &score);
    is_good = add_one(c, key_value(entry)->as.zset, o, score, c->words[i + 1], &a);
  }
  if (a.fresh + a.updated > 0)
    db_changed(c->server, key_name(entry));
  if (entry != NULL)
    db_remove_if_empty(c->server, entry);
  if (!is_good)
    return;
  if (!o->incr)
    reply_integer(c->reply, o->ch ? a.fresh + a.updated : a.fresh);
  else if (a.processed > 0)
    reply_double(c->reply, a.score);
  else
    reply_nothing(c->reply);
}

static void run_zadd(call *c)
{
  add_options o;

  if (add_options_read(c, &o))
    add(c, &o);
}

static void run_zincrby(call *c)
{
  const add_options o = { .incr = true, .first = 2 };

  add(c, &o);
}

/* ---- the rest ---- */

static void run_zrem(call *c)
{
  bool is_wrong;
  key *entry = db_find_kind(c, c->words[1], VALUE_ZSET, &is_wrong);
  int64_t gone = 0;

  if (is_wrong)
    return;
  for (size_t i = 2; entry != NULL && i < c->count; i++)
    gone += zset_remove(key_value(entry)->as.zset, c->words[i]);
  if (gone > 0) {
    db_changed(c->server, key_name(entry));
    db_remove_if_empty(c->server, entry);
  }
  reply_integer(c->reply, gone);
}

static void answer_score(call *c, const zset *z, slice name)
{
  double score;

  if (z != NULL && zset_score(z, name, &score))
    reply_double(c->reply, score);
  else
    reply_nothing(c->reply);
}

static void run_zscore(call *c)
{
  bool is_wrong;
  const zset *z = zset_of(c, &is_wrong);

  if (!is_wrong)
    answer_score(c, z, c->words[2]);
}

static void run_zmscore(call *c)
{
  bool is_wrong;
  const zset *z = zset_of(c, &is_wrong);

  if (is_wrong)
    return;
  reply_array(c->reply, c->count - 2);
  for (size_t i = 2; i < c->count; i++)
    answer_score(c, z, c->words[i]);
}

static void run_zcard(call *c)
{
  bool is_wrong;
  const zset *z = zset_of(c, &is_wrong);

  if (!is_wrong)
    reply_integer(c->reply, z == NULL ? 0 : (int64_t)zset_count(z));
}

static void answer_rank(call *c, bool from_end)
{
  bool is_wrong;
  const zset *z = zset_of(c, &is_wrong);
  size_t rank;

  if (is_wrong)
    return;
  if (z == NULL || !zset_rank(z, c->words[2], &rank))
    reply_nothing(c->reply);
  else
    reply_integer(c->reply, (int64_t)(from_end ? zset_count(z) - 1 - rank : rank));
}

static void run_zrank(call *c) { answer_rank(c, false); }

static void run_zrevrank(call *c) { answer_rank(c, true); }

static void pop(call *c, bool at_end)
{
  int64_t count = 1;
  bool is_wrong;
  key *entry;
  zset *z;

  if (c->count > 3) {
    reply_syntax_error(c->reply);
    return;
  }
  if (c->count == 3 && (!slice_to_integer(c->words[2], &count) || count < 0)) {
    reply_error(c->reply, "ERR value is out of range, must be positive");
    return;
  }
  entry = db_find_kind(c, c->words[1], VALUE_ZSET, &is_wrong);
  if (is_wrong)
    return;
  z = entry == NULL ? NULL : key_value(entry)->as.zset;
  if (z == NULL)
    count = 0;
  else if ((uint64_t)count > zset_count(z))
    count = (int64_t)zset_count(z);
  reply_array(c->reply, 2 * (size_t)count);
  for (int64_t i = 0; i < count; i++) {
    double score;
    slice name = zset_at(z, at_end ? zset_count(z) - 1 : 0, &score);

    reply_string(c->reply, name);
    reply_double(c->reply, score);
    (void)zset_remove(z, name);
  }
  if (count > 0) {
    db_changed(c->server, key_name(entry));
    db_remove_if_empty(c->server, entry);
  }
}

static void run_zpopmin(call *c) { pop(c, false); }

static void run_zpopmax(call *c) { pop(c, true); }

#define WRITE (COMMAND_WRITES | COMMAND_ALLOCATES)

const command commands_zset[] = {
  { "zadd", -4, WRITE, run_zadd },
  { "zincrby", 4, WRITE, run_zincrby },
  { "zrem", -3, COMMAND_WRITES, run_zrem },
  { "zscore", 3, 0, run_zscore },
  { "zmscore", -3, 0, run_zmscore },
  { "zcard", 2, 0, run_zcard },
  { "zrank", 3, 0, run_zrank },
  { "zrevrank", 3, 0, run_zrevrank },
  { "zpopmin", -2, COMMAND_WRITES, run_zpopmin },
  { "zpopmax", -2, COMMAND_WRITES, run_zpopmax },
  { NULL, 0, 0, NULL }
};
