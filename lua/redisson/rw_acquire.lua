-- SPDX-License-Identifier: MIT
-- Asks for Redisson's RReadWriteLock, to read or to write. Properties S1 S8 S10 L12;
-- doc/design/redisson-shares.md 1.
-- KEYS 1 the lock  2 the end of this ask  3 the end of this owner's reading
--      4 on a server of a quorum: the last token, known to dibs only
-- ARGV 1 owner `U:K`  2 ttl ms  3 until (0: none)  4 `<mode w|t> <r|w>`  5 floor
-- answers as native/share_acquire.lua. Of a foreign owner only the existence is reported
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key, ttl = KEYS[1], tonumber(ARGV[2])
local mode, kind = string.match(ARGV[4], '^(%a) (%a)$')
local field = kind == 'w' and ARGV[1] .. ':write' or ARGV[1]
local until_us, token = tonumber(ARGV[3]), math.max(now, ARGV[5] + 1)
--@may_return ask_stands
if redis.call('HEXISTS', key, field) == 1 then
  local left = math.max(0, redis.call('PTTL', kind == 'w' and key or KEYS[3]))
  if KEYS[4] then
    --@include held_token
    token = held_token(KEYS[4], token)
  end
  return { 2, now, left, math.max(left, ttl), token, 0, 1 }
end

local held = redis.call('HGET', key, 'mode')
local left = redis.call('PTTL', key)
if not held and left ~= -2 then
  return redis.error_reply('WRONGTYPE this name is used as a lock')
end
if held and not (kind == 'r' and held == 'read') then
  --@include foreign
  local answer = taken(key, mode, now)
  answer[8] = 0
  return answer
end
-- First what does no harm without the lock.
if KEYS[4] then
  --@include next_token
  token = next_token(KEYS[4], token)
end
if kind == 'r' then
  redis.call('SET', KEYS[3], '1', 'PX', ttl)
end
redis.call('HSET', key, 'mode', kind == 'w' and 'write' or 'read', field, '1')
local done = redis.pcall('PEXPIRE', key, math.max(left, ttl))
if type(done) == 'table' then                      -- no right to it: the lock would never end
  if held then
    redis.call('HDEL', key, field)
  else
    redis.call('DEL', key)
  end
  return done
end
return { 1, now, ttl, ttl, token, 1 }
