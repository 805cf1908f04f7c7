-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Deletes a rate limiter and its entries.
-- KEYS as in shared/rate.lua, 6 as in shared/told.lua
-- answers '1' deleted   '0' there was none
--@may_return late
--@may_return told
if not redis.call('HMGET', KEYS[1], 'rate')[1] and redis.call('EXISTS', KEYS[1]) == 1 then
  return redis.error_reply('WRONGTYPE this key does not hold a rate limiter')
end
local there = redis.call('EXISTS', KEYS[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
return answer(there == 1 and '1' or '0')
