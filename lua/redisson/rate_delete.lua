-- SPDX-License-Identifier: MIT
--@function allow-oom
-- Deletes a rate limiter and its entries.
-- KEYS as in shared/rate.lua, 6 as in shared/told.lua
-- answers '1' deleted   '0' there was none
--@may_return late
--@may_return told
--@may_return rate_config
if not config[1] and redis.call('EXISTS', KEYS[1]) == 1 then
  return foreign
end
local there = redis.call('EXISTS', KEYS[1])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5])
return answer(there == 1 and '1' or '0')
