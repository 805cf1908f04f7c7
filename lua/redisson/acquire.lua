-- SPDX-License-Identifier: MIT
-- Asks for a lock of Redisson: RLock, RSpinLock, RFairLock, RFencedLock. Properties S1 S8
-- S10 L12; doc/design/redisson.md 2. Redisson's own format has the hash, the fair lock's
-- queue and deadlines, and the fenced lock's token.
-- KEYS 1 the lock  2 the end of this ask  3 fair: the queue  4 its deadlines
--      3 fenced: the token; on a server of a quorum the last token, known to dibs only
-- ARGV 1 owner `U:K`  2 ttl ms  3 until (0: none)  4 `<mode w|t|p> <lock|spin|fair|fenced>`
--      5 floor; of a fenced lock the last token that this client had of it
-- answers as native/acquire.lua, also T alone for a new grant. Of a foreign owner only the
--         existence is reported
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local mode, kind = string.match(ARGV[4], '^(%a) (%a+)$')
local until_us, token = tonumber(ARGV[3]), math.max(now, ARGV[5] + 1)
local is_vote = kind == 'lock' and #KEYS == 3
--@may_return ask_stands
-- The fenced lock's counter may have been lost: this client had a higher fence of this lock.
local function counted(fence)
  if fence <= tonumber(ARGV[5]) then
    fence = ARGV[5] + 1
    redis.call('SET', KEYS[3], string.format('%.0f', fence))
  end
  return fence
end
if redis.call('HEXISTS', key, owner) == 1 then
  local left = redis.call('PTTL', key)
  if kind == 'fenced' then
    token = counted(tonumber(redis.call('GET', KEYS[3]) or 0))
  elseif is_vote then
    --@include held_token
    token = held_token(KEYS[3], token)
  end
  return { 2, now, left, math.max(left, ttl), token, 0 }
end

local is_free = redis.call('EXISTS', key) == 0
if kind == 'fair' then
  --@include fair_turn
  is_free = fair_turn(KEYS[3], KEYS[4], owner, now, is_free, mode ~= 't',
    redis.call('PTTL', key))
end
if not is_free then
  --@include foreign
  return taken(key, mode, now)
end
-- The token first: one that no lock gets does no harm, as a lock that no client knows would.
if kind == 'fenced' then
  token = counted(redis.call('INCR', KEYS[3]))
elseif is_vote then
  --@include next_token
  token = next_token(KEYS[3], token)
end
redis.call('HINCRBY', key, owner, 1)
local done = redis.pcall('PEXPIRE', key, ttl)
if type(done) == 'table' then                      -- no right to it: the lock would never end
  redis.call('DEL', key)
  return done
end
if token == now then
  return now
end
return { 1, now, ttl, token }
