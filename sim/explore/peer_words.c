/* SPDX-License-Identifier: MIT */
/* What Redisson's locks do on the server, as far as others see it; doc/design/redisson.md.
 * KEYS 1 the lock  2 the fair queue  3 its deadlines  4 the token
 * ARGV 1 owner  2 ttl ms  3 wait ms  4 now ms  5 the channel  6 `try` */
#include "explore.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "world/world.h"

/* Who is over at the head of a fair queue leaves it. */
#define TIDY \
  "local now = tonumber(ARGV[4]) " \
  "local head = redis.call('LINDEX', KEYS[2], 0) " \
  "while head do " \
  "  local score = redis.call('ZSCORE', KEYS[3], head) " \
  "  if not score or tonumber(score) > now then break end " \
  "  redis.call('ZREM', KEYS[3], head) redis.call('LPOP', KEYS[2]) " \
  "  head = redis.call('LINDEX', KEYS[2], 0) " \
  "end "

#define TAKE \
  "redis.call('HINCRBY', KEYS[1], ARGV[1], 1) redis.call('PEXPIRE', KEYS[1], ARGV[2]) "

#define IS_MINE "redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 "

#define TELL_HEAD "if head then redis.call('PUBLISH', ARGV[5] .. ':' .. head, '0') end "

static const char lock_plain[] =
  "if redis.call('EXISTS', KEYS[1]) == 0 or " IS_MINE "then " TAKE "return nil end "
  "return redis.call('PTTL', KEYS[1])";

static const char lock_fenced[] =
  "if redis.call('EXISTS', KEYS[1]) == 0 or " IS_MINE "then "
  "redis.call('INCR', KEYS[4]) " TAKE "return nil end "
  "return redis.call('PTTL', KEYS[1])";

static const char lock_fair[] = TIDY
  "if redis.call('EXISTS', KEYS[1]) == 0 and (not head or head == ARGV[1]) then "
  "  redis.call('LPOP', KEYS[2]) redis.call('ZREM', KEYS[3], ARGV[1]) "
  "  for _, one in ipairs(redis.call('ZRANGE', KEYS[3], 0, -1)) do "
  "    redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[3]), one) end "
     TAKE "return nil "
  "end "
  "if " IS_MINE "then " TAKE "return nil end "
  "if ARGV[6] == 'try' then return 1 end "
  "local left = redis.call('PTTL', KEYS[1]) "
  "if redis.call('ZSCORE', KEYS[3], ARGV[1]) then return math.max(0, left) end "
  "local last = redis.call('LINDEX', KEYS[2], -1) "
  "local score = last and last ~= ARGV[1] and redis.call('ZSCORE', KEYS[3], last) "
  "if score then left = tonumber(score) - now end "
  "if redis.call('ZADD', KEYS[3], left + ARGV[3] + now, ARGV[1]) == 1 then "
  "  redis.call('RPUSH', KEYS[2], ARGV[1]) end "
  "return left";

static const char renew[] =
  "if " IS_MINE "then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0";

#define COUNT_DOWN \
  "if not (" IS_MINE ") then return nil end " \
  "if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then " \
  "  redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 0 end " \
  "redis.call('DEL', KEYS[1]) "

static const char unlock_plain[] = COUNT_DOWN
  "redis.call('PUBLISH', ARGV[5], '0') return 1";

static const char unlock_spin[] = COUNT_DOWN "return 1";

static const char unlock_fair[] = TIDY
  "if redis.call('EXISTS', KEYS[1]) == 0 then " TELL_HEAD "return 1 end "
  COUNT_DOWN TELL_HEAD "return 1";

/* A wait that is over. */
static const char leave_fair[] =
  "local is_behind = false "
  "for _, one in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do "
  "  if is_behind then redis.call('ZINCRBY', KEYS[3], -tonumber(ARGV[3]), one) end "
  "  is_behind = is_behind or one == ARGV[1] "
  "end "
  "redis.call('ZREM', KEYS[3], ARGV[1]) return redis.call('LREM', KEYS[2], 0, ARGV[1])";

static const char force_plain[] =
  "if redis.call('DEL', KEYS[1]) == 1 then "
  "  redis.call('PUBLISH', ARGV[5], '0') return 1 end return 0";

static const char force_spin[] = "return redis.call('DEL', KEYS[1])";

static const char force_fair[] = TIDY
  "if redis.call('DEL', KEYS[1]) == 1 then " TELL_HEAD "return 1 end return 0";

static const char *script_of(const peer_call *c)
{
  bool is_fair = c->redisson_kind == REDISSON_FAIR, spins = c->redisson_kind == REDISSON_SPIN;

  switch (c->verb) {
  case PEER_LOCK:
    return is_fair ? lock_fair : c->redisson_kind == REDISSON_FENCED ? lock_fenced : lock_plain;
  case PEER_RENEW:
    return renew;
  case PEER_UNLOCK:
    return is_fair ? unlock_fair : spins ? unlock_spin : unlock_plain;
  case PEER_LEAVE:
    return leave_fair;
  case PEER_FORCE:
    break;
  }
  return is_fair ? force_fair : spins ? force_spin : force_plain;
}

static resp_argument number_word(char bytes[24], int64_t number)
{
  (void)snprintf(bytes, 24, "%" PRId64, number);
  return (resp_argument){ bytes, strlen(bytes) };
}

static resp_argument name_word(char bytes[64], const char *kind, int name)
{
  (void)snprintf(bytes, 64, "%s:{%s}", kind, name_texts[name]);
  return (resp_argument){ bytes, strlen(bytes) };
}

bool peer_ask(trial *t, const peer_call *c, int64_t *ret_number)
{
  char queue[64], deadlines[64], token[64], channel[64], ttl[24], wait[24], now[24];
  const char *program = script_of(c), *reply;
  resp_argument words[] = {
    RESP_TEXT("EVAL"), { program, strlen(program) }, RESP_TEXT("4"),
    { name_texts[c->name], strlen(name_texts[c->name]) },
    name_word(queue, "redisson_lock_queue", c->name),
    name_word(deadlines, "redisson_lock_timeout", c->name),
    name_word(token, "redisson_lock_token", c->name),
    { c->owner, strlen(c->owner) }, number_word(ttl, c->ttl_ms),
    number_word(wait, c->wait_ms), number_word(now, c->now_ms),
    name_word(channel, "redisson_lock__channel", c->name),
    { c->is_try ? "try" : "wait", c->is_try ? 3 : 4 }
  };
  size_t size = 0;
  buffer bytes;

  buffer_init(&bytes, sim_memory());
  if (!resp_command(&bytes, words, sizeof(words) / sizeof(words[0])))
    abort();
  reply = world_command(t->sim, buffer_bytes(&bytes), buffer_size(&bytes), &size);
  buffer_deinit(&bytes);
  if (reply == NULL || size == 0 || reply[0] == '-')
    return false;
  *ret_number = reply[0] == ':' ? strtoll(reply + 1, NULL, 10) : -1;
  return true;
}
