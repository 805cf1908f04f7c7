/* SPDX-License-Identifier: MIT */
/* test/sim/differential/draw_script.c - commands inside scripts, and what becomes of answers
 * and errors between Lua and RESP. */
#include "draw.h"

#include <string.h>

#define COUNT_OF(list) (sizeof(list) / sizeof((list)[0]))

/* Each runs the command in ARGV. */
static const char *const wrappers[] = {
  "return redis.call(unpack(ARGV))",
  "return redis.call(unpack(ARGV))",
  "return redis.pcall(unpack(ARGV))",
  "local r = redis.pcall(unpack(ARGV)) return type(r) == 'table' and r.err or 'no error'",
  "local r = redis.pcall(unpack(ARGV)) "
    "if type(r) == 'table' then return {'table', r.err or r.ok or #r, r[1] == false, r} end "
    "return {type(r), tostring(r), r}",
  "redis.call('SET', 's1', 'before') redis.call(unpack(ARGV)) "
    "return redis.call('PTTL', 's1')",
  "local ok, e = pcall(redis.call, unpack(ARGV)) "
    "return {ok and 1 or 0, type(e), ok and '' or (type(e) == 'table' and e.err or e)}",
  "redis.call('HSET', 'h1', 'n', 1) local r = redis.pcall(unpack(ARGV)) "
    "return {redis.call('HGET', 'h1', 'n'), r}",
  "redis.call('DEL', 'l1') return {redis.pcall(unpack(ARGV)), redis.pcall(unpack(ARGV))}",
};

/* ARGV: three values. KEYS: two. Without error({1}): Redis 7.0.15 dies of it. */
static const char *const programs[] = {
  "return nil", "return false", "return true", "return 3.99", "return -3.99", "return 1/3",
  "return {1, 2.9, -0.5, 'a', {3, {4}}, true, false, nil, 5}", "return {}", "return {{}}",
  "return {ok='FINE'}", "return {err='MINE went wrong'}", "return {err='without a word'}",
  "return {1, {ok='in'}, {err='ERR in'}}", "return redis.status_reply('DONE')",
  "return redis.error_reply('MINE it')", "return redis.error_reply('-MINE it')",
  "return redis.error_reply('lonely')", "return {err='ERR two\\r\\nlines'}",
  "return {ok='two\\r\\nlines'}", "return 'bin\\0ary\\r\\n'",
  "return KEYS", "return ARGV", "return {#KEYS, #ARGV, KEYS[1], ARGV[3], ARGV[4]}",
  "return ARGV[1] + 1", "return ARGV[1] * 1.5", "return ARGV[1] .. ARGV[2]",
  "return tonumber(ARGV[1])", "return tostring(tonumber(ARGV[1]))",
  "return tostring(ARGV[1] / ARGV[2])", "return ARGV[1] == ARGV[2]", "return ARGV[1] < ARGV[2]",
  "return string.format('%.0f %d %s %5.2f', ARGV[1], ARGV[2], ARGV[3], ARGV[1])",
  "return string.format('%.0f', 1700000000123456 * 1024)",
  "return 1700000000123456",
  "return 9007199254740993", "return tostring(9007199254740993)", "return tostring(1e15)",
  "return {1e15, 2^53, -2^53}", "return tostring(2^63)", "return {tostring(1/0), tostring(-1/0)}",
  "return string.match(ARGV[1], '^(%d+)') or 'none'",
  "return {string.find(ARGV[1], '(%-?)(%d+)')}",
  "return #ARGV[1] + string.len(ARGV[2])", "return {unpack(ARGV, 2)}",
  "return select('#', unpack(ARGV))", "return math.max(1, 2.5, -3)", "return math.min_token(-2.5)",
  "return math.ceil(2.1)", "return 7 % 3", "return -7 % 3", "return 2 ^ 10",
  "return nothing", "nothing = 1", "error('mine')", "error({err='MINE t'})",
  "error('mine', 0)", "return ARGV[1] + {}", "return #nil", "return nil .. 'a'",
  "local t = nil return t.x", "return redis.call()", "return redis.call('GET')",
  "return redis.call('GET', {})", "return redis.call('GET', nil)",
  "return redis.call('SET', KEYS[1], 1.5)", "return redis.call('SET', KEYS[1], 1e20)",
  "return redis.call('SET', KEYS[1], 10)", "return redis.call('SET', KEYS[1], 1700000000123456)",
  "return redis.call('SET', KEYS[1], true)", "return redis.pcall('INCRBY', KEYS[1], 2.0)",
  "return redis.sha1hex(ARGV[1])", "return syntax error here", "return 1 1", "",
  "return {redis.call('TIME')[1], redis.call('TIME')[2]}",
  "local t = redis.call('TIME') return t[1] * 1000000 + t[2]",
  "local t = redis.call('TIME') return string.format('%.0f', t[1] * 1000000 + t[2] + 0.5)",
  "return redis.call('MGET', KEYS[1], KEYS[2])[1] == false",
  "return redis.call('HMGET', 'h1', 'f', 'nope')", "return redis.pcall('HMGET', 's1', 'f').err",
  "return {redis.call('EXISTS', KEYS[1]), redis.call('PEXPIRE', KEYS[1], 500)}",
  "redis.call('SET', KEYS[1], ARGV[1], 'PX', 1) return redis.call('GET', KEYS[1])",
  "redis.call('SET', KEYS[1], 'x') error('after a write')",
  "redis.call('SET', KEYS[1], 'x') return redis.call('HGET', KEYS[1], 'f')",
  "redis.call('DEL', KEYS[1]) return redis.call('SET', KEYS[1], ARGV[1])",
  "redis.call('PEXPIRE', KEYS[1], 1000) return redis.pcall('SET', KEYS[1], 'y', 'KEEPTTL')",
  "return redis.call('PUBLISH', 'news', ARGV[1])",
  "return redis.call('PUBSUB', 'NUMSUB', 'news', 'nobody')",
  "return redis.call('SUBSCRIBE', 'news')", "return redis.call('EVAL', 'return 1', 0)",
  "return pcall(error)", "local ok, e = pcall(error, {err='MINE x'}) return e.err",
  "local t = setmetatable({}, { __index = function() return 'm' end }) return t.x",
  "local s = '' for w in string.gmatch('a=1,b=2', '(%w)=') do s = s .. w end return s",
  "local t = {3, 1, 2} table.sort(t) return table.concat(t, ',')",
  "return {type(redis.call('GET', 'none')), type(redis.call('HGETALL', 'none'))}",
  "return table.getn({1, 2})", "return string.rep('ab', 3)",
  "return tostring(redis.call('SET', 's2', 'q').ok)",
};

/* What locks of other libraries are like: an owner's field in a hash, a token in a string, a
 * queue in a list with its timeouts beside it, permits in a sorted set. KEYS 1 .. 3, ARGV
 * ttl, owner, channel. */
static const char *const locks[] = {
  "if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then "
    "redis.call('HINCRBY', KEYS[1], ARGV[2], 1) redis.call('PEXPIRE', KEYS[1], ARGV[1]) "
    "return nil end return redis.call('PTTL', KEYS[1])",
  "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return nil end "
    "local left = redis.call('HINCRBY', KEYS[1], ARGV[2], -1) "
    "if left > 0 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) return 0 end "
    "redis.call('DEL', KEYS[1]) redis.call('PUBLISH', ARGV[3], 0) return 1",
  "if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then "
    "return redis.call('PEXPIRE', KEYS[1], ARGV[1]) end return 0",
  "if redis.call('GET', KEYS[1]) == ARGV[2] then return redis.call('DEL', KEYS[1]) end return 0",
  "if redis.call('GET', KEYS[1]) == ARGV[2] then "
    "return redis.call('PEXPIRE', KEYS[1], ARGV[1]) else return 0 end",
  "local now = redis.call('TIME')[1] + 0 while true do "
    "local first = redis.call('LINDEX', KEYS[2], 0) if not first then break end "
    "local ends = tonumber(redis.call('ZSCORE', KEYS[3], first)) "
    "if ends and ends > now then break end "
    "redis.call('ZREM', KEYS[3], first) redis.call('LPOP', KEYS[2]) end "
    "redis.call('RPUSH', KEYS[2], ARGV[2]) redis.call('ZADD', KEYS[3], now + 2, ARGV[2]) "
    "return {redis.call('LLEN', KEYS[2]), redis.call('ZSCORE', KEYS[3], ARGV[2])}",
  "local now = redis.call('TIME')[1] + 0 redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', now) "
    "if redis.call('ZCARD', KEYS[3]) < 2 then "
    "redis.call('ZADD', KEYS[3], now + 1, ARGV[2]) return 1 end "
    "return redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')",
};

static void add_text(draw_words *w, const char *words)
{
  draw_add_word(w, words, strlen(words));
}

/* Answered in the order of a table with a secret seed. Not in a script, whose answer could
 * not be compared. */
static bool has_no_order(const draw_words *w)
{
  static const char *const all[] = { "KEYS", "SCAN", "PUBSUB" };

  for (size_t i = 0; i < COUNT_OF(all); i++)
    if (w->all[0].size == strlen(all[i]) && memcmp(w->all[0].bytes, all[i], w->all[0].size) == 0)
      return true;
  return false;
}

static void draw_wrapped(draw *d, draw_words *w)
{
  draw_words inner;

  do {
    draw_words_init(&inner);
    if (draw_once_in(d, 40))
      draw_template(d, "SUBSCRIBE $c", &inner);
    else
      draw_plain_words(d, &inner);
  } while (has_no_order(&inner));
  add_text(w, wrappers[draw_below(d, COUNT_OF(wrappers))]);
  add_text(w, "0");
  for (size_t i = 0; i < inner.count; i++)
    draw_add_word(w, inner.all[i].bytes, inner.all[i].size);
}

void draw_script(draw *d)
{
  draw_words w;
  uint64_t kind = draw_below(d, 10);

  draw_words_init(&w);
  add_text(&w, "EVAL");
  if (kind < 5)
    draw_wrapped(d, &w);
  else if (kind < 8) {
    add_text(&w, programs[draw_below(d, COUNT_OF(programs))]);
    draw_template(d, "2 $s $k $v $v $v", &w);
  } else {
    add_text(&w, locks[draw_below(d, COUNT_OF(locks))]);
    draw_template(d, "3 {$h|$s} $l $z $t {owner-1|owner-2} $c", &w);
  }
  if (draw_once_in(d, 80))
    w.all[2] = draw_once_in(d, 2) ? RESP_TEXT("99") : RESP_TEXT("-1");
  draw_to_command(d, &w);
}
