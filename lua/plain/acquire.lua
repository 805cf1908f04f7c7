-- SPDX-License-Identifier: MIT
-- Asks for a lock that is a string: SET NX PX, as in redsync, redislock, redis-py,
-- node-redlock and the documentation of Redis. Properties S1 S8 S10 L12;
-- doc/design/dialects.md 3.
-- KEYS 1 the lock  2 the end of this ask  3 the last token, known to dibs only
-- ARGV 1 owner `U:K`, the value  2 ttl ms  3 until (0: none)  4 mode w|t  5 floor
-- answers as native/acquire.lua, also T alone for a new grant. Of a foreign owner only the
--         existence is reported
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local key, owner, ttl = KEYS[1], ARGV[1], tonumber(ARGV[2])
local until_us = tonumber(ARGV[3])
--@may_return ask_stands
if redis.call('SET', key, owner, 'NX', 'PX', ARGV[2]) then
  --@include next_token
  local token = next_token(KEYS[3], math.max(now, ARGV[5] + 1))
  return token == now and now or { 1, now, ttl, token }
end
if redis.call('GET', key) == owner then
  --@include held_token
  local left = redis.call('PTTL', key)
  left = left < 0 and ttl or left
  local token = held_token(KEYS[3], math.max(now, ARGV[5] + 1))
  return { 2, now, left, math.max(left, ttl), token, 0 }
end
--@include foreign
return taken(key, ARGV[4], now)
