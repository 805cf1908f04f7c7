-- SPDX-License-Identifier: MIT
-- Asks for a lock of Spring Integration's RedisLockRegistry. Properties S1 S8 S10 L12;
-- doc/design/dialects.md 2. Only the lock has Spring's own format: its value is the UUID of
-- a registry, which is our client; a second key contains the ask that has it, `U:K`.
-- KEYS 1 the lock  2 the end of this ask  3 the ask that has the lock
-- ARGV 1 owner `U:K`  2 ttl ms  3 until (0: none)  4 mode w|t  5 floor
-- answers as native/acquire.lua, also T alone for a new grant. Of a foreign owner, or another ask
--         of ours, only the existence is reported
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local until_us, token = tonumber(ARGV[3]), math.max(now, ARGV[5] + 1)
--@may_return ask_stands
if redis.call('SET', key, string.sub(owner, 1, 36), 'NX', 'PX', ARGV[2]) then
  redis.call('SET', KEYS[3], owner, 'PX', ARGV[2])
  return token == now and now or { 1, now, ttl, token }
end
--@include holds
if holds(key, KEYS[3], owner) then
  local left = redis.call('PTTL', key)
  left = left < 0 and ttl or left
  return { 2, now, left, math.max(left, ttl), token, 0 }
end
redis.call('GET', key)      -- an error, of another type of key
--@include foreign
return taken(key, ARGV[4], now)
