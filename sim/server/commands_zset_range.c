/* SPDX-License-Identifier: MIT */
/* Commands: sorted sets, by rank and by score. */
#include "server/parts.h"

/* ---- which members: those of rank `from` up to, not with, `to` ---- */

typedef struct ranks { int64_t from, to; } ranks;
typedef struct bounds {
  double low, high;
  bool low_is_out, high_is_out;
} bounds;

static bool bound_read(slice word, double *ret, bool *ret_is_out)
{
  *ret_is_out = word.size > 0 && word.bytes[0] == '(';
  if (*ret_is_out)
    word = (slice){ word.bytes + 1, word.size - 1 };
  return slice_to_bound(word, ret);
}

static bool bounds_read(call *c, slice low, slice high, bounds *b)
{
  if (bound_read(low, &b->low, &b->low_is_out) && bound_read(high, &b->high, &b->high_is_out))
    return true;
  reply_error(c->reply, "ERR min or max is not a float");
  return false;
}

static ranks ranks_of_bounds(const zset *z, const bounds *b)
{
  ranks r = { (int64_t)zset_below(z, b->low, b->low_is_out),
              (int64_t)zset_below(z, b->high, !b->high_is_out) };

  if (r.to < r.from)
    r.to = r.from;
  return r;
}

static bool numbers_read(call *c, slice first, slice second, ranks *ret)
{
  if (slice_to_integer(first, &ret->from) && slice_to_integer(second, &ret->to))
    return true;
  reply_not_integer(c->reply);
  return false;
}

/* From what people write, where -1 is the last one. */
static ranks ranks_of_numbers(size_t total, ranks r)
{
  int64_t count = (int64_t)total;

  r.from = r.from < 0 ? r.from + count : r.from;
  r.to = r.to < 0 ? r.to + count : r.to;
  r.from = r.from < 0 ? 0 : r.from;
  r.to = r.to >= count ? count : r.to + 1;
  r.to = r.to < r.from ? r.from : r.to;
  return r;
}

/* ---- ZRANGE and its kin ---- */

typedef struct range_options {
  bool by_score, is_reversed, with_scores, has_limit;
  int64_t offset, count;        /* LIMIT */
} range_options;

/* `has_words`: ZRANGE itself, which is told what the others have in their names. */
static bool range_options_read(call *c, bool has_words, range_options *o)
{
  for (size_t i = 4; i < c->count; i++) {
    slice word = c->words[i];

    if (slice_is(word, "withscores")) {
      o->with_scores = true;
    } else if (slice_is(word, "limit") && i + 2 < c->count) {
      ranks limit;

      if (!numbers_read(c, c->words[i + 1], c->words[i + 2], &limit))
        return false;
      o->has_limit = true;
      o->offset = limit.from;
      o->count = limit.to;
      i += 2;
    } else if (has_words && slice_is(word, "rev")) {
      o->is_reversed = true;
    } else if (has_words && slice_is(word, "byscore")) {
      o->by_score = true;
    } else {
      if (slice_is(word, "bylex"))
        server_note_unknown(c->server, "the option of ZRANGE", word);
      reply_syntax_error(c->reply);
      return false;
    }
  }
  if (o->has_limit && !o->by_score) {
    reply_error(c->reply, "ERR syntax error, LIMIT is only supported in combination with "
                          "either BYSCORE or BYLEX");
    return false;
  }
  return true;
}

static void answer_range(call *c, const zset *z, ranks r, const range_options *o)
{
  int64_t count = r.to - r.from, skipped = 0;

  if (o->has_limit) {
    skipped = o->offset < 0 || o->offset > count ? count : o->offset;
    count -= skipped;
    count = o->count >= 0 && o->count < count ? o->count : count;
  }
  reply_array(c->reply, (size_t)count * (o->with_scores ? 2 : 1));
  for (int64_t i = skipped; i < skipped + count; i++) {
    double score;
    slice name = zset_at(z, (size_t)(o->is_reversed ? r.to - 1 - i : r.from + i), &score);

    reply_string(c->reply, name);
    if (o->with_scores)
      reply_double(c->reply, score);
  }
}

static void range(call *c, bool has_words, range_options o)
{
  bounds b = { 0, 0, false, false };
  ranks r = { 0, 0 };
  bool is_wrong;
  key *entry;
  const zset *z;

  if (!range_options_read(c, has_words, &o))
    return;
  if (o.by_score ? !bounds_read(c, c->words[o.is_reversed ? 3 : 2],
                                c->words[o.is_reversed ? 2 : 3], &b)
                 : !numbers_read(c, c->words[2], c->words[3], &r))
    return;
  entry = db_find_kind(c, c->words[1], VALUE_ZSET, &is_wrong);
  if (is_wrong)
    return;
  if (entry == NULL) {
    reply_array(c->reply, 0);
    return;
  }
  z = key_value(entry)->as.zset;
  if (o.by_score) {
    r = ranks_of_bounds(z, &b);
  } else {
    r = ranks_of_numbers(zset_count(z), r);
    /* Counted from the end. */
    if (o.is_reversed)
      r = (ranks){ (int64_t)zset_count(z) - r.to, (int64_t)zset_count(z) - r.from };
    if (r.to <= r.from)
      r = (ranks){ 0, 0 };
  }
  answer_range(c, z, r, &o);
}

static void run_zrange(call *c) { range(c, true, (range_options){ .by_score = false }); }

static void run_zrevrange(call *c)
{
  range(c, false, (range_options){ .is_reversed = true });
}

static void run_zrangebyscore(call *c)
{
  range(c, false, (range_options){ .by_score = true });
}

static void run_zrevrangebyscore(call *c)
{
  range(c, false, (range_options){ .by_score = true, .is_reversed = true });
}

static void run_zcount(call *c)
{
  bounds b;
  bool is_wrong;
  key *entry;
  ranks r = { 0, 0 };

  if (!bounds_read(c, c->words[2], c->words[3], &b))
    return;
  entry = db_find_kind(c, c->words[1], VALUE_ZSET, &is_wrong);
  if (is_wrong)
    return;
  if (entry != NULL)
    r = ranks_of_bounds(key_value(entry)->as.zset, &b);
  reply_integer(c->reply, r.to - r.from);
}

/* ---- removing ---- */

static void remove_ranks(call *c, key *entry, ranks r)
{
  zset *z = key_value(entry)->as.zset;
  int64_t gone = r.to - r.from;

  for (int64_t i = 0; i < gone; i++) {
    double score;

    (void)zset_remove(z, zset_at(z, (size_t)r.from, &score));
  }
  if (gone > 0) {
    db_changed(c->server, key_name(entry));
    db_remove_if_empty(c->server, entry);
  }
  reply_integer(c->reply, gone);
}

static void remove_range(call *c, bool by_score)
{
  bounds b = { 0, 0, false, false };
  ranks r = { 0, 0 };
  bool is_wrong;
  key *entry;
  const zset *z;

  if (by_score ? !bounds_read(c, c->words[2], c->words[3], &b)
               : !numbers_read(c, c->words[2], c->words[3], &r))
    return;
  entry = db_find_kind(c, c->words[1], VALUE_ZSET, &is_wrong);
  if (is_wrong)
    return;
  if (entry == NULL) {
    reply_integer(c->reply, 0);
    return;
  }
  z = key_value(entry)->as.zset;
  r = by_score ? ranks_of_bounds(z, &b) : ranks_of_numbers(zset_count(z), r);
  remove_ranks(c, entry, r);
}

static void run_zremrangebyscore(call *c) { remove_range(c, true); }

static void run_zremrangebyrank(call *c) { remove_range(c, false); }

const command commands_zset_range[] = {
  { "zrange", -4, 0, run_zrange },
  { "zrevrange", -4, 0, run_zrevrange },
  { "zrangebyscore", -4, 0, run_zrangebyscore },
  { "zrevrangebyscore", -4, 0, run_zrevrangebyscore },
  { "zcount", 4, 0, run_zcount },
  { "zremrangebyscore", 4, COMMAND_WRITES, run_zremrangebyscore },
  { "zremrangebyrank", 4, COMMAND_WRITES, run_zremrangebyrank },
  { NULL, 0, 0, NULL }
};
