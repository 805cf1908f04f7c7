-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Forgets a rate limiter, and what was taken of it.
-- KEYS as shared/rate.lua says, 6 as shared/told.lua
-- answers '1' deleted   '0' there was none
--@include told
if not redis.call('HMGET', KEYS[1], 'rate')[1] and redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('WRONGTYPE this key does not hold a rate limiter')
end
local there = redis.call('EXISTS', KEYS[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
return answer(there == 1 and '1' or '0')
